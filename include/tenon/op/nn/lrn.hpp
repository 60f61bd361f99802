// LRN: local response normalization across channels.   onnx.ai/onnx/operators/onnx__LRN.html
#pragma once

#include "tenon/kernels/reduce/normalize.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// Y = X / (bias + alpha / size * sum)^beta, (N, C, ...), where each channel's sum adds the squares of the
/// `size` channels around it. op::LRN{.size = 5}(x) of (1,8,4,4) gives (1,8,4,4).
struct LRN {
  float alpha = 0.0001f;
  float beta = 0.75f;
  float bias = 1.0f;
  Opt<int64_t> size{};

  static constexpr Spec spec{.name = "LRN",
                             .since = {1, 13},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{1, types::floats}, {13, types::floats_bf16}}}}};
  static constexpr Attributes attributes{attr("alpha", &LRN::alpha), attr("beta", &LRN::beta),
                                         attr("bias", &LRN::bias), attr("size", &LRN::size).required()};

  constexpr void infer(Infer& i) const {
    if (!i.expect_at_least("size", size.value_or(0), 1) || !i.expect_rank_at_least(0, 2)) return;
    i.out(0, i.dims(0));
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    if (x.empty()) return;
    const auto [batch, channels, spatial] = split_at(x.extents(), 1);
    kernels::lrn<T>({x.data(), y.data(), batch, channels, spatial, *size, alpha, beta, bias});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::LRN)
