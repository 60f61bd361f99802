// NonZero: where the elements are that are not zero.   onnx.ai/onnx/operators/onnx__NonZero.html
#pragma once

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// Y (rank, N): coordinates of the elements of X that are not zero (strings: not empty), in row-major order.
/// A scalar has no axis, so that Y is (0, 1) or (0, 0): ONNX's text and reference, where numpy and ONNX
/// Runtime take it as a vector of one element. op::NonZero{}(x) of (1,0,1) gives ((0,2)).
struct NonZero {
  static constexpr Spec spec{.name = "NonZero",
                             .since = {9, 13},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "tensor(int64)"}},
                             .types = {{"T", {{9, types::all}, {13, types::all_ir4}}}}};

  constexpr void infer(Infer& i) const {
    if (!i.ranked(0)) return i.out(0, Dims::of_rank(2));
    i.out(0, Dims{i.dims(0).rank(), Dim::unknown()});
  }
  template <class T>
  Tensor<int64_t> compute(Context& c, TensorView<const T> x) const {
    const auto nonzero = [](const T& e) {
      if constexpr (std::is_same_v<T, std::string>) return !e.empty();
      else return e != T{};
    };
    const int64_t n = std::count_if(x.begin(), x.end(), nonzero);
    const int rank = x.rank();
    auto y = Tensor<int64_t>::uninitialized(Extents{rank, n}, c.allocator());
    if (rank == 0) return y;
    const int64_t width = x.extent(-1);
    int64_t at[max_rank]{};  // of the line, on all axes but the last
    for (int64_t found = 0, line = 0; found < n; line += width) {
      for (int64_t k = 0; k < width; ++k) {
        if (!nonzero(x[line + k])) continue;
        for (int axis = 0; axis + 1 < rank; ++axis) y[axis * n + found] = at[axis];
        y[(rank - 1) * n + found++] = k;
      }
      for (int axis = rank - 1; axis-- > 0 && ++at[axis] == x.extent(axis);) at[axis] = 0;
    }
    return y;
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::NonZero)
