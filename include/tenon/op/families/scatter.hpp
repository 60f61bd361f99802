// The reductions of updates with elements in place, which the scattering operators share.
#pragma once

#include "tenon/kernels/move/scatter.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// The version has the reduction, and input 0's elements do: strings have none, complex numbers no order.
constexpr bool check_reduction(Infer& i, const Str& reduction) {
  const bool known = i.version() >= 18
                         ? i.expect_choice("reduction", reduction, {"none", "add", "mul", "max", "min"})
                         : i.expect_choice("reduction", reduction, {"none", "add", "mul"});
  if (!known) return false;
  if (reduction != "none" && i.dtype(0) == DType::string)
    return i.fail_type("strings have no '", reduction, "'"), false;
  if ((reduction == "max" || reduction == "min") && is_complex(i.dtype(0)))
    return i.fail_type("complex numbers have no '", reduction, "'"), false;
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

/// Error{out_of_range} unless the coordinates in each row of indices (…, depth) lie within `extents`, counted
/// from the end if negative. `first` is the number of the first of these axes.
inline void check_coordinates(std::string_view name, TensorView<const int64_t> indices,
                              std::span<const int64_t> extents, int first = 0) {
  const auto depth = static_cast<std::size_t>(indices.extent(-1));
  const int64_t *row = indices.data(), *const end = row + indices.size();
  for (; row < end; row += depth)
    for (std::size_t d = 0; d < depth; ++d)
      if (row[d] < -extents[d] || row[d] >= extents[d])
        raise(ErrorCode::out_of_range, name, "index ", row[d], " outside of [", -extents[d], ", ",
              extents[d] - 1, "] on axis ", first + static_cast<int>(d));
}

/// Calls `f.template operator()<T>()` for the T of elements that can be reduced.
template <class F>
void dispatch_reduced(DType d, F&& f) {
  visit_types(number_types{}, d, f) || visit_types<bool, complex64, complex128>(d, f);
}

}  // namespace tenon::TENON_ABI::op
