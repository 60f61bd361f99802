// The scattering operators share the reductions of updates with what is in place.
#pragma once

#include "tenon/kernels/move/scatter.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::op {

/// The version has the reduction, and input 0's elements do: strings have none, complex numbers no order.
constexpr bool check_reduction(Infer& i, const Str& reduction) {
  const bool known = i.version() >= 18
                         ? i.expect_choice("reduction", reduction, {"none", "add", "mul", "max", "min"})
                         : i.expect_choice("reduction", reduction, {"none", "add", "mul"});
  if (!known) return false;
  if (reduction != "none" && i.dtype(0) == DType::string)
    return i.fail("strings have no '", reduction, "'"), false;
  if ((reduction == "max" || reduction == "min") && is_complex(i.dtype(0)))
    return i.fail("complex numbers have no '", reduction, "'"), false;
  return true;
}

/// The kernels' name of a reduction that has been checked.
constexpr kernels::ScatterOp scatter_op(const Str& reduction) {
  using enum kernels::ScatterOp;
  return reduction == "none"  ? none
         : reduction == "add" ? add
         : reduction == "mul" ? mul
         : reduction == "max" ? max
                              : min;
}

/// Calls f.template operator()<T>() for the T of elements that can be reduced.
template <class F>
void dispatch_reduced(DType d, F&& f) {
  dispatch(number_types{}, d, f) || dispatch<bool, complex64, complex128>(d, f);
}

}  // namespace tenon::op
