// SVMClassifier and SVMRegressor share the functions that compare rows with support vectors.
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/kernels/svm.hpp"
#include "tenon/op/families/scores.hpp"

namespace tenon::TENON_ABI::op {

/// The attributes kernel_type and kernel_params.
inline bool expect_svm_kernel(Infer& i, const Str& type, const std::vector<float>& params) {
  if (!i.expect_choice("kernel_type", type, {"LINEAR", "POLY", "RBF", "SIGMOID"})) return false;
  return params.empty() || i.expect_entries("kernel_params", params.size(), 3);
}

/// The parameters of a support vector machine, for features of type T.
template <class T>
struct SvmModel {
  ModelList<model_t<T>> coefficients, vectors;
};

/// similarity (rows, count) of rows of x (rows, n) and support vectors v (count, n). LINEAR: their product;
/// POLY: (gamma product + coef0)^degree; SIGMOID: tanh(gamma product + coef0); RBF: exp(-gamma distance^2).
/// params: gamma, coef0 and degree, an integer, or nothing for zeros.
template <class C>
void svm_kernel(const Str& type, const std::vector<float>& params, const C* x, int64_t rows, const C* v,
                int64_t count, int64_t n, C* similarity) {
  using kernels::UnaryOp;
  const auto param = [&](std::size_t k) { return params.empty() ? 0.0f : params[k]; };
  if (type == "RBF") {
    kernels::squared_distances(x, rows, v, count, n, similarity);
    kernels::unary<UnaryOp::linear>(similarity, similarity, rows * count, {.alpha = -double{param(0)}});
    kernels::unary<UnaryOp::exp>(similarity, similarity, rows * count);
    return;
  }
  linear_scores<C>(x, rows, n, v, count, nullptr, similarity);
  if (type == "LINEAR") return;
  kernels::unary<UnaryOp::linear>(similarity, similarity, rows * count,
                                  {.alpha = param(0), .beta = param(1)});
  if (type == "SIGMOID") return kernels::unary<UnaryOp::tanh>(similarity, similarity, rows * count);
  const auto degree = static_cast<C>(tenon::detail::truncate_to<int32_t>(param(2)));
  auto plan = kernels::BroadcastPlan<2>::flat(rows * count);
  plan.strides[1][0] = 0;
  kernels::binary<kernels::BinaryOp::pow>(similarity, &degree, similarity, plan);
}

/// Calls f(first, block, similarity) for blocks of rows from `first` on, so that memory does not grow with
/// their number.
template <class C, class F>
void for_similarities(const Str& type, const std::vector<float>& params, const C* x, int64_t rows, const C* v,
                      int64_t count, int64_t n, F f) {
  constexpr int64_t near = cache_bytes::l3 / 2 / int64_t{sizeof(double)};
  const int64_t most = std::min(rows, std::max<int64_t>(near / count, 64));
  Scratch scratch;
  C* similarity = scratch.take<C>(most * count);
  for (int64_t first = 0; first < rows; first += most) {
    const int64_t block = std::min(most, rows - first);
    svm_kernel(type, params, x + first * n, block, v, count, n, similarity);
    f(first, block, static_cast<const C*>(similarity));
  }
}

}  // namespace tenon::TENON_ABI::op
