// A view of the other one of long and long long than int64_t.
// expect: T is none of the 26 element types
#include "tenon/tensor/view.hpp"

using Other = std::conditional_t<std::is_same_v<int64_t, long>, long long, long>;

bool f(const tenon::TensorView<Other>& v) { return v.empty(); }
