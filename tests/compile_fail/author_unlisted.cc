// A header without the list of its operators.
// expect: tenon/op/math/none.hpp
// expect: does not end with
// expect: TENON_OPERATORS(
#include "tenon/op/framework/registration.hpp"

namespace tenon::TENON_ABI {

void f(Registry& registry) { register_header<"tenon/op/math/none.hpp">(registry); }

}  // namespace tenon::TENON_ABI
