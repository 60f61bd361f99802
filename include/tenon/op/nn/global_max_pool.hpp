// GlobalMaxPool: the greatest element of each channel.   onnx.ai/onnx/operators/onnx__GlobalMaxPool.html
#pragma once

#include "tenon/op/families/reduction.hpp"
#include "tenon/op/families/window.hpp"

namespace tenon::op {

/// Y (N, C, 1...) from X (N, C, in...); NaN if any element is. op::GlobalMaxPool{}(x) of (1,3,8,8) gives
/// (1,3,1,1).
struct GlobalMaxPool {
  static constexpr Spec spec{.name = "GlobalMaxPool",
                             .since = {1, 22},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{1, types::floats}, {22, types::floats_bf16}}}}};

  constexpr void infer(Infer& i) const { infer_global_pool(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    reduce<kernels::ReduceOp::max>(x, reduced_axes({}, x.rank()) & ~3u, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
