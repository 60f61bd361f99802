// Negative log-likelihood: the weighted sum of the negated log-probabilities of the samples' classes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/convert.hpp"
#include "tenon/base/costs.hpp"
#include "tenon/base/inline_vector.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"

namespace tenon::TENON_ABI::kernels {

/// Log-probabilities x of extents (outer, classes, inner), the classes of outer * inner samples, and a factor
/// for each class. Samples of class `ignored` are skipped.
template <class X, class W, class I>
struct Likelihood {
  const X* x = nullptr;
  const I* target = nullptr;
  const W* weight = nullptr;  ///< null: 1 for every class
  int64_t outer = 1, classes = 1, inner = 1;
  Opt<int64_t> ignored{};
};

struct LossSum {
  double loss = 0, weight = 0;
};

/// Writes each sample's loss to y, unless y is null; returns the sums of losses and weights. Targets that are
/// not ignored lie in [0, classes). Sums are in double, and their cuts depend on the extents alone.
template <class X, class W, class I, class Y>
LossSum negative_log_likelihood(const Likelihood<X, W, I>& p, Y* y) {
  using C = std::conditional_t<std::is_same_v<Y, double>, double, float>;
  constexpr int64_t grain = task_work::costly;
  const int64_t n = p.outer * p.inner, chunks = n / grain + 1;
  Scratch scratch;
  LossSum* sums = scratch.take<LossSum>(chunks);
  std::fill_n(sums, chunks, LossSum{});
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    LossSum sum;
    for (int64_t k = begin; k < end;) {
      const int64_t row = k / p.inner, at = row * p.inner, last = std::min(end, at + p.inner);
      const X* x = p.x + row * p.classes * p.inner;
      for (; k < last; ++k) {
        const int64_t c = p.target[k];
        C loss = 0;
        if (!p.ignored || c != *p.ignored) {
          const C weight = p.weight ? static_cast<C>(p.weight[c]) : C(1);
          loss = -static_cast<C>(x[c * p.inner + k - at]) * weight;
          sum.loss += static_cast<double>(loss);
          sum.weight += static_cast<double>(weight);
        }
        if (y != nullptr) y[k] = convert<Y>(loss);
      }
    }
    sums[begin / grain] = sum;
  });
  LossSum total;
  for (int64_t k = 0; k < chunks; ++k) total.loss += sums[k].loss, total.weight += sums[k].weight;
  return total;
}

}  // namespace tenon::TENON_ABI::kernels
