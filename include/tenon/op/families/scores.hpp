// Classifiers and regressors share linear scores, the transforms of scores, and the choice of a label.
#pragma once

#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/kernels/gemm/gemm.hpp"
#include "tenon/kernels/reduce/arg_reduce.hpp"
#include "tenon/kernels/reduce/softmax.hpp"
#include "tenon/op/families/features.hpp"

namespace tenon::TENON_ABI::op {

/// Memory for a model's scores: the result's if it is of this type, else scratch.
template <class C>
C* score_memory(Scratch& scratch, TensorView<float> z, int64_t n) {
  if constexpr (std::is_same_v<C, float>)
    if (z) return z.data();
  return scratch.take<C>(n);
}
template <class C>
void store_scores(const C* scores, TensorView<float> z) {
  if constexpr (!std::is_same_v<C, float>)
    for (int64_t k = 0; k < z.size(); ++k) z[k] = static_cast<float>(scores[k]);
}

/// The parameters of linear functions, for features of type T.
template <class T>
struct LinearModel {
  ModelList<model_t<T>> coefficients, intercepts;

  /// An intercept for each function, or null.
  const model_t<T>* bias() const { return intercepts.size() == 0 ? nullptr : intercepts.data(); }
};

/// scores (rows, models) = x (rows, n) W' + bias, where W is (models, n). `bias` holds one for each model, or
/// is null.
template <class C>
void linear_scores(const C* x, int64_t rows, int64_t n, const C* w, int64_t models, const C* bias,
                   C* scores) {
  kernels::GemmArgs<C> args;
  args.m = rows;
  args.n = models;
  args.k = n;
  args.a = x;
  args.a_row = n;
  args.b = w;
  args.b_row = 1;
  args.b_col = n;
  args.c = scores;
  args.c_row = models;
  args.col_bias = bias;
  kernels::gemm(args);
}

// --- transforms of scores ---

/// The transforms of a row of scores, under TreeEnsemble's numbers for them.
enum class PostTransform : uint8_t { none, softmax, logistic, softmax_zero, probit };

constexpr bool expect_post_transform(Infer& i, const Str& name) {
  return i.expect_choice("post_transform", name, {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"});
}
constexpr PostTransform post_transform_of(std::string_view name) {
  using enum PostTransform;
  return name == "SOFTMAX"        ? softmax
         : name == "LOGISTIC"     ? logistic
         : name == "SOFTMAX_ZERO" ? softmax_zero
         : name == "PROBIT"       ? probit
                                  : none;
}

/// The quantile function of the normal distribution, by Winitzki's approximation of the inverse error
/// function, which ONNX's reference uses. 0 for 0 and 1, as there; NaN outside of [0, 1].
template <class C>
C probit(C probability) {
  constexpr double a = 0.147, pi = 3.14159265358979323846;
  const double x = 2 * static_cast<double>(probability) - 1, rest = (1 - x) * (1 + x);
  if (rest == 0) return 0;
  const double log = std::log(rest), half = 2 / (pi * a) + 0.5 * log;
  const double inverse = std::sqrt(std::sqrt(half * half - log / a) - half);
  return static_cast<C>(std::sqrt(2.0) * (x < 0 ? -inverse : inverse));
}

/// Softmax in which scores of 0 stay 0. A row whose results sum to 0 becomes 0.5 throughout.
template <class C>
void softmax_zero(C* scores, int64_t n) {
  C greatest = scores[0], sum = 0;
  for (int64_t k = 1; k < n; ++k) greatest = scores[k] > greatest ? scores[k] : greatest;
  const C shrink = std::exp(-greatest);
  for (int64_t k = 0; k < n; ++k) {
    C& s = scores[k];
    s = s > C(1e-7) || s < C(-1e-7) ? std::exp(s - greatest) : s * shrink;
    sum += s;
  }
  for (int64_t k = 0; k < n; ++k) scores[k] = sum == 0 ? C(0.5) : scores[k] / sum;
}

/// Applies a transform to each row of scores (rows, n).
template <class C>
void apply_post_transform(PostTransform transform, C* scores, int64_t rows, int64_t n) {
  if (n == 0) return;
  switch (transform) {
    case PostTransform::none: return;
    case PostTransform::softmax: return kernels::softmax(scores, scores, rows, n, 1);
    case PostTransform::logistic: return kernels::unary<kernels::UnaryOp::sigmoid>(scores, scores, rows * n);
    case PostTransform::softmax_zero:
      for (int64_t r = 0; r < rows; ++r) softmax_zero(scores + r * n, n);
      return;
    case PostTransform::probit:
      for (int64_t k = 0; k < rows * n; ++k) scores[k] = probit(scores[k]);
      return;
  }
}

/// Scores (rows, 2) from (rows) at the front of their memory: -s and s, or 1 - s and s.
template <class C>
void pair_scores(C* scores, int64_t rows, bool complement) {
  for (int64_t r = rows; r-- > 0;) {
    const C s = scores[r];
    scores[2 * r] = complement ? 1 - s : -s;
    scores[2 * r + 1] = s;
  }
}

/// Labels each row of scores (rows, n) with its greatest score, of equal ones the first.
template <class C>
void label_greatest(const ClassLabels& labels, const C* scores, int64_t rows, int64_t n, AnyOut y,
                    int64_t first = 0) {
  Scratch scratch;
  int64_t* greatest = scratch.take<int64_t>(rows);
  kernels::arg_reduce(true, false, scores, greatest, rows, n, 1);
  for (int64_t r = 0; r < rows; ++r) labels.put(y, first + r, greatest[r]);
}

}  // namespace tenon::TENON_ABI::op
