// Trilu: the upper or lower triangle of the last two axes.   onnx.ai/onnx/operators/onnx__Trilu.html
#pragma once

#include "tenon/kernels/move/triangle.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// Keeps the elements of each matrix on the k-th diagonal and above it or, with `upper` 0, on it and below
/// it; the others are 0. Diagonal 0 is the main one; diagonals above it have positive numbers:
/// op::Trilu{.upper = 0}(x).
struct Trilu {
  int64_t upper = 1;

  static constexpr Spec spec{.name = "Trilu",
                             .since = {14},
                             .inputs = {{"input", "T"}, {"k", "tensor(int64)", optional}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::all_ir4}}};
  static constexpr Attributes attributes{attr("upper", &Trilu::upper).flag()};

  constexpr void infer(Infer& i) const {
    i.expect_rank_at_least(0, 2);
    i.expect_one(1);
    i.out(0, i.dims(0));
  }
  void compute(AnyView input, TensorView<const int64_t> k, AnyOut output) const {
    kernels::triangle(input.dtype(), output.data(), input.data(), input.size(), input.extent(-2),
                      input.extent(-1), k ? k[0] : 0, upper != 0);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Trilu)
