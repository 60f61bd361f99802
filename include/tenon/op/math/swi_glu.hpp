// SwiGLU: a linear unit gated by Swish.   onnx.ai/onnx/operators/onnx__SwiGLU.html
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/op/families/elementwise.hpp"
#include "tenon/op/families/wide.hpp"

namespace tenon::TENON_ABI::op {

/// Y = A sigmoid(alpha A) B for A and B of the same extents. op::SwiGLU{}(1.0f, 2.0f) gives 1.46212.
struct SwiGLU {
  float alpha = 1;

  static constexpr Spec spec{.name = "SwiGLU",
                             .since = {28},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats_bf16}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("alpha", &SwiGLU::alpha)};

  constexpr void infer(Infer& i) const { infer_same_extents(i); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<T> y) const {
    using W = compute_t<T>;
    parallel_for(y.size(), task_work::costly, [&](int64_t begin, int64_t end) {
      // Gates, values and results of a piece stay in the first-level cache.
      constexpr int64_t piece = cache_bytes::l1 / 4 / int64_t{sizeof(float)};
      for (int64_t at = begin; at < end; at += piece) {
        const int64_t n = std::min(piece, end - at);
        Scratch scratch;
        W* gate = scratch.take<W>(n);
        const W* value = widen(scratch, b.data() + at, n);
        kernels::unary<kernels::UnaryOp::swish>(widen(scratch, a.data() + at, n), gate, n, {alpha, 0});
        W* out = wide_result(scratch, y.data() + at, n);
        const int64_t extents[] = {n};
        kernels::binary<kernels::BinaryOp::mul>(gate, value, out, kernels::broadcast_plan(extents, extents));
        narrow(out, y.data() + at, n);
      }
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::SwiGLU)
