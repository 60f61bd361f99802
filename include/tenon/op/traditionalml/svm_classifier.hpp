// SVMClassifier: support vector classification.   onnx.ai/onnx/operators/onnx_aionnxml_SVMClassifier.html
#pragma once

#include <numeric>

#include "tenon/base/costs.hpp"
#include "tenon/kernels/reduce/arg_reduce.hpp"
#include "tenon/op/families/svm.hpp"

namespace tenon::TENON_ABI::op {

/// With support vectors (`vectors_per_class` of each class, one class after the other) a decision function
/// for each pair of the E classes votes for one of the two, and Y (N) holds the label with most votes. Z is
/// (N,E), probabilities, if prob_a and prob_b are stated; else (N,2), -s and s of the one decision s, for two
/// classes; else (N,E(E-1)/2), all decisions. Without support vectors each class has a linear function, Z
/// (N,E) holds their values plus rho[0], and Y the label of the greatest one. Z is transformed, "PROBIT" of
/// the one decision of two classes alone, (N,1). X (C) is one row.
struct SVMClassifier {
  std::vector<int64_t> classlabels_ints{};
  std::vector<std::string> classlabels_strings{};
  std::vector<float> coefficients{};  ///< (E-1, vectors), or (E,C) without support vectors
  std::vector<float> kernel_params{};
  Str kernel_type = "LINEAR";
  Str post_transform = "NONE";
  std::vector<float> prob_a{};
  std::vector<float> prob_b{};
  std::vector<float> rho{};
  std::vector<float> support_vectors{};  ///< (vectors, C)
  std::vector<int64_t> vectors_per_class{};

  static constexpr Spec spec{.name = "SVMClassifier",
                             .domain = "ai.onnx.ml",
                             .since = {1},
                             .inputs = {{"X", "T1"}},
                             .outputs = {{"Y", "T2"}, {"Z", "tensor(float)"}},
                             .types = {{"T1", feature_types}, {"T2", types::string | types::int64}}};
  static constexpr Attributes attributes{attr("classlabels_ints", &SVMClassifier::classlabels_ints),
                                         attr("classlabels_strings", &SVMClassifier::classlabels_strings),
                                         attr("coefficients", &SVMClassifier::coefficients),
                                         attr("kernel_params", &SVMClassifier::kernel_params),
                                         attr("kernel_type", &SVMClassifier::kernel_type),
                                         attr("post_transform", &SVMClassifier::post_transform),
                                         attr("prob_a", &SVMClassifier::prob_a),
                                         attr("prob_b", &SVMClassifier::prob_b),
                                         attr("rho", &SVMClassifier::rho),
                                         attr("support_vectors", &SVMClassifier::support_vectors),
                                         attr("vectors_per_class", &SVMClassifier::vectors_per_class)};

  void infer(Infer& i) const {
    if (!expect_svm_kernel(i, kernel_type, kernel_params) || !expect_post_transform(i, post_transform))
      return;
    if (!labels().expect_one_kind(i, "classlabel") || !expect_rows(i)) return;
    const int64_t classes = labels().count(), weights = size(coefficients);
    if (classes == 0) return i.fail("states no labels");
    if (rho.empty()) return i.fail("rho is missing");
    int64_t vectors = 0;
    for (const int64_t n : vectors_per_class)
      if (n < 0 || tenon::detail::add_overflow(vectors, n, &vectors))
        return i.fail("vectors_per_class holds ", n);
    int64_t features = weights / classes;
    if (vectors > 0) {
      if (classes == 1) return i.fail("has support vectors, but one class");
      if (!i.expect_entries("vectors_per_class", vectors_per_class.size(), classes)) return;
      if (vectors > weights / (classes - 1))
        return i.fail(weights, " coefficients for ", classes, " classes and ", vectors, " support vectors");
      if (size(support_vectors) % vectors != 0)
        return i.fail("support_vectors: ", size(support_vectors), " numbers for ", vectors, " vectors");
      const int64_t needed = classes * (classes - 1) / 2;
      if (!i.expect_at_least("entries of rho", size(rho), needed)) return;
      if (prob_a.size() != prob_b.size())
        return i.fail("prob_a has ", prob_a.size(), " entries, prob_b has ", prob_b.size());
      if (!prob_a.empty() && !i.expect_at_least("entries of prob_a", size(prob_a), needed)) return;
      features = size(support_vectors) / vectors;
    } else if (weights % classes != 0) {
      return i.fail(weights, " coefficients for ", classes, " classes");
    }
    if (feature_count(i.dims(0)).differs(features))
      return i.fail("X has ", feature_count(i.dims(0)), " features, expected ", features);
    i.out(0, labels().dtype(), {row_count(i.dims(0))});
    i.out(1, DType::float32, {row_count(i.dims(0)), columns()});
  }
  template <class T>
  void compute(TensorView<const T> x, AnyOut y, TensorView<float> z) const {
    compute_with(prepare<T>(), x, y, z);
  }
  template <class T>
  SvmModel<T> prepare() const {
    return {ModelList<model_t<T>>(coefficients), ModelList<model_t<T>>(support_vectors)};
  }
  template <class T>
  void compute_with(const SvmModel<T>& m, TensorView<const T> x, AnyOut y, TensorView<float> z) const {
    using C = model_t<T>;
    const int64_t rows = row_count(x), features = x.extent(-1), classes = labels().count();
    if (rows == 0) return;
    Scratch scratch;
    const C* from = as_model<C>(scratch, x.data(), x.size());
    C* scores = score_memory<C>(scratch, z, rows * columns());
    int64_t* best = scratch.take<int64_t>(rows);
    const auto transform = post_transform_of(post_transform);
    if (!has_vectors()) {
      const C offset = static_cast<C>(rho[0]);
      linear_scores<C>(from, rows, features, m.coefficients.data(), classes, nullptr, scores);
      for (int64_t k = 0; k < rows * classes; ++k) scores[k] += offset;
      kernels::arg_reduce(true, false, static_cast<const C*>(scores), best, rows, classes, 1);
      if (y) label_linear(scores, best, rows, y);
    } else {
      decide(m, from, rows, features, scores, best);
      for (int64_t r = 0; y && r < rows; ++r) labels().put(y, r, best[r]);
      if (prob_a.empty() && classes == 2 && transform != PostTransform::probit)
        pair_scores(scores, rows, false);
    }
    apply_post_transform(transform, scores, rows, columns());
    store_scores(scores, z);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  ClassLabels labels() const { return {classlabels_strings, classlabels_ints}; }
  static int64_t size(const std::vector<float>& list) { return static_cast<int64_t>(list.size()); }
  bool has_vectors() const {
    return std::any_of(vectors_per_class.begin(), vectors_per_class.end(), [](int64_t n) { return n > 0; });
  }
  int64_t columns() const {
    const int64_t classes = labels().count();
    if (!has_vectors() || !prob_a.empty()) return classes;
    if (classes > 2) return classes * (classes - 1) / 2;
    return post_transform == "PROBIT" ? 1 : 2;
  }

  /// Labels of linear functions. For one or two classes with one rho the weights decide: a single class is 1
  /// above 0, else 0; of two classes without a negative weight the second is taken from 0.5 on.
  template <class C>
  void label_linear(const C* scores, const int64_t* best, int64_t rows, AnyOut y) const {
    const int64_t classes = labels().count();
    const bool positive =
        std::all_of(coefficients.begin(), coefficients.end(), [](float w) { return w >= 0; });
    for (int64_t r = 0; r < rows; ++r) {
      const C greatest = scores[r * classes + best[r]];
      if (rho.size() == 1 && classes == 1) {
        if (y.dtype() == DType::string) static_cast<std::string*>(y.data())[r] = greatest > 0 ? "1" : "0";
        else static_cast<int64_t*>(y.data())[r] = greatest > 0;
      } else {
        labels().put(y, r, rho.size() == 1 && classes == 2 && positive && greatest >= C(0.5) ? 1 : best[r]);
      }
    }
  }

  /// The decisions of all pairs, or the classes' probabilities, and the class with most votes for each row.
  template <class T, class C>
  void decide(const SvmModel<T>& m, const C* x, int64_t rows, int64_t features, C* scores,
              int64_t* best) const {
    const int64_t classes = labels().count(), pairs = classes * (classes - 1) / 2;
    const int64_t width = prob_a.empty() ? pairs : classes;
    Scratch scratch;
    int64_t* first = scratch.take<int64_t>(classes + 1);
    first[0] = 0;
    std::partial_sum(vectors_per_class.begin(), vectors_per_class.end(), first + 1);
    const int64_t vectors = first[classes];
    const auto row = [&, weights = m.coefficients.data()](const C* near, C* decisions, int64_t* votes) {
      std::fill_n(votes, classes, int64_t{0});
      std::size_t pair = 0;
      for (int64_t a = 0; a < classes; ++a)
        for (int64_t b = a + 1; b < classes; ++b, ++pair) {
          double sum = rho[pair];
          const auto add = [&](int64_t own, int64_t other) {
            for (int64_t v = first[own]; v < first[own + 1]; ++v)
              sum += static_cast<double>(uncontracted(weights[other * vectors + v] * near[v]));
          };
          add(a, b - 1);
          add(b, a);
          decisions[pair] = static_cast<C>(sum);
          ++votes[decisions[pair] > 0 ? a : b];
        }
      return std::max_element(votes, votes + classes) - votes;
    };
    for_similarities(kernel_type, kernel_params, x, rows, m.vectors.data(), vectors, features,
                     [&](int64_t start, int64_t count, const C* similarity) {
                       parallel_for(count, std::max<int64_t>(task_work::moderate / (classes * vectors), 1),
                                    [&](int64_t begin, int64_t end) {
                                      Scratch own;
                                      int64_t* votes = own.take<int64_t>(classes);
                                      C* decisions = own.take<C>(pairs);
                                      for (int64_t r = begin; r < end; ++r) {
                                        C* to = scores + (start + r) * width;
                                        best[start + r] = row(similarity + r * vectors, decisions, votes);
                                        if (prob_a.empty()) std::copy_n(decisions, pairs, to);
                                        else probabilities(decisions, classes, to);
                                      }
                                    });
                     });
  }
  template <class C>
  void probabilities(const C* decisions, int64_t classes, C* result) const {
    Scratch scratch;
    double* of_pairs = scratch.take<double>(classes * classes);
    double* p = scratch.take<double>(classes);
    std::size_t pair = 0;
    for (int64_t a = 0; a < classes; ++a)
      for (int64_t b = a + 1; b < classes; ++b, ++pair) {
        const double logit = uncontracted(static_cast<double>(decisions[pair]) * prob_a[pair]) + prob_b[pair];
        const double chance = std::clamp(1 / (1 + std::exp(logit)), 1e-7, 1 - 1e-7);
        of_pairs[a * classes + b] = chance;
        of_pairs[b * classes + a] = 1 - chance;
      }
    kernels::couple_probabilities(of_pairs, classes, p, scratch.take<double>(classes * classes + classes));
    for (int64_t c = 0; c < classes; ++c) result[c] = static_cast<C>(p[c]);
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::SVMClassifier)
