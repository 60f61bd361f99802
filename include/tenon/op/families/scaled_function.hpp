// Functions of real numbers with a factor inside and one outside: what ONNX had of them was experimental.
#pragma once

#include "tenon/op/families/unary.hpp"
#include "tenon/op/families/wide.hpp"

namespace tenon::TENON_ABI::op {

/// Output = alpha F(beta Input). ONNX states no defaults: the factors are 1 unless stated.
template <Str Name, kernels::UnaryOp F, Str Input, Str Output>
struct ScaledFunction {
  float alpha = 1;
  float beta = 1;

  static constexpr Spec spec{.name = Name,
                             .since = {1},
                             .inputs = {{Input, "T"}},
                             .outputs = {{Output, "T"}},
                             .types = {{"T", types::floats}},
                             .elements = Elements::function,
                             .until = 9};
  static constexpr Attributes attributes{attr("alpha", &ScaledFunction::alpha),
                                         attr("beta", &ScaledFunction::beta)};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    using C = compute_t<T>;
    const int64_t n = x.size();
    Scratch scratch;
    const C* from = widen(scratch, x.data(), n);
    C* to = wide_result(scratch, y.data(), n);
    kernels::unary<kernels::UnaryOp::linear>(from, to, n, {.alpha = beta});
    kernels::unary<F>(static_cast<const C*>(to), to, n, {});
    kernels::unary<kernels::UnaryOp::linear>(static_cast<const C*>(to), to, n, {.alpha = alpha});
    narrow(to, y.data(), n);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op
