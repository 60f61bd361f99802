// Sum, Mean, Max and Min fold any number of tensors into one; they differ in their names, types and kernels.
#pragma once

#include "tenon/op/families/compare.hpp"
#include "tenon/op/families/elementwise.hpp"

namespace tenon::TENON_ABI::op {

/// F of all inputs, element by element, with numpy's broadcasting; before version 8 all tensors have the same
/// extents.
template <Str Name, Str Result, kernels::FoldOp F>
struct VariadicFold {
  static constexpr bool extreme = F == kernels::FoldOp::min || F == kernels::FoldOp::max;
  static constexpr Spec spec{
      .name = Name,
      .since = extreme ? List<int16_t, 10>{1, 6, 8, 12, 13} : List<int16_t, 10>{1, 6, 8, 13},
      .inputs = {{"data_0", "T", variadic}},
      .outputs = {{Result, "T"}},
      .types = {extreme ? TypeVar("T", {{1, types::floats}, {12, types::numeric}, {13, types::numeric_bf16}})
                        : TypeVar("T", {{1, types::floats}, {13, types::floats_bf16}})},
      .elements = Elements::arithmetic};
  static constexpr Attributes attributes{consumed_inputs};

  constexpr void infer(Infer& i) const {
    if (i.version() < 8) return infer_same_extents(i);
    infer_broadcast(i);
    if constexpr (extreme)
      if (!i.failed())
        propagate_elements(i, [&](auto value) {
          Dim result = value(0);
          for (int k = 1; k < i.inputs(); ++k) result = extreme_of(result, value(k));
          return result;
        });
  }
  template <class T>
  void compute(std::span<const TensorView<const T>> data_0, TensorView<T> result) const {
    if constexpr (F != kernels::FoldOp::mean)
      if (data_0.size() == 2) return binary<of_two>(spec.name, data_0[0], data_0[1], result);
    fold<F>(data_0, result);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  static constexpr kernels::BinaryOp of_two = F == kernels::FoldOp::min   ? kernels::BinaryOp::min
                                              : F == kernels::FoldOp::max ? kernels::BinaryOp::max
                                                                          : kernels::BinaryOp::add;

  /// F of two propagated elements, where it is known which one is less.
  static constexpr Dim extreme_of(Dim a, Dim b) {
    const Dim less = compared(kernels::CompareOp::less, a, b);
    if (!less.known()) return {};
    return less.is(F == kernels::FoldOp::max) ? b : a;
  }
};

}  // namespace tenon::TENON_ABI::op
