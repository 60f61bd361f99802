// A header without the list of its operators.
// expect: tenon/op/math/none.hpp does not end with TENON_OPERATORS(tenon::op::Name), which lists its
// operators
#include "tenon/op/framework/registration.hpp"

namespace tenon::TENON_ABI {

void f(Registry& registry) { register_header<"tenon/op/math/none.hpp">(registry); }

}  // namespace tenon::TENON_ABI
