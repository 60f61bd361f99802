// Parts of support vector machines.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/uncontracted.hpp"
#include "tenon/simd/vector.hpp"

namespace tenon::TENON_ABI::kernels {

/// d (rows, count) = the squared distances between rows of x (rows, n) and of v (count, n).
template <class C>
void squared_distances(const C* x, int64_t rows, const C* v, int64_t count, int64_t n, C* d) {
  const int64_t work = std::max<int64_t>(count * n, 1);
  parallel_for(rows, std::max<int64_t>(task_work::moderate / work, 1), [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t c = 0; c < count; ++c) {
        const C *a = x + r * n, *b = v + c * n;
        constexpr int ways = 8, width = 16 / sizeof(C);  // independent sums
        using Few = simd::Vector<C, width>;
        Few sums[ways / width] = {};
        int64_t k = 0;
        for (; k + ways <= n; k += ways)
          for (int w = 0; w < ways / width; ++w) {
            Few of_a, of_b;
            std::memcpy(&of_a, a + k + w * width, sizeof of_a);
            std::memcpy(&of_b, b + k + w * width, sizeof of_b);
            sums[w] += uncontracted((of_a - of_b) * (of_a - of_b));
          }
        C total = 0;
        for (int w = 0; w < ways; ++w) total += sums[w / width][w % width];
        for (; k < n; ++k) total += uncontracted((a[k] - b[k]) * (a[k] - b[k]));
        d[r * count + c] = total;
      }
  });
}

/// Probabilities p (n) of n classes from probabilities of pairs: pairs[i * n + j] is the probability of class
/// i given that it is i or j. Wu, Lin and Weng, "Probability estimates for multi-class classification by
/// pairwise coupling", second approach. `work` holds n * n + n numbers.
inline void couple_probabilities(const double* pairs, int64_t n, double* p, double* work) {
  double *q = work, *qp = work + n * n;
  for (int64_t t = 0; t < n; ++t) {
    p[t] = 1.0 / static_cast<double>(n);
    q[t * n + t] = 0;
    for (int64_t j = 0; j < n; ++j) {
      if (j == t) continue;
      q[t * n + t] += uncontracted(pairs[j * n + t] * pairs[j * n + t]);
      q[t * n + j] = -pairs[j * n + t] * pairs[t * n + j];
    }
  }
  const double enough = 0.005 / static_cast<double>(n);
  for (int64_t round = 0; round < std::max<int64_t>(100, n); ++round) {
    double pqp = 0, error = 0;
    for (int64_t t = 0; t < n; ++t) {
      qp[t] = 0;
      for (int64_t j = 0; j < n; ++j) qp[t] += uncontracted(q[t * n + j] * p[j]);
      pqp += uncontracted(p[t] * qp[t]);
    }
    for (int64_t t = 0; t < n; ++t) error = std::max(error, std::abs(qp[t] - pqp));
    if (error < enough) return;
    for (int64_t t = 0; t < n; ++t) {
      const double step = (pqp - qp[t]) / q[t * n + t];
      p[t] += step;
      pqp = (pqp + uncontracted(step * (uncontracted(step * q[t * n + t]) + 2 * qp[t]))) /
            ((1 + step) * (1 + step));
      for (int64_t j = 0; j < n; ++j) {
        qp[j] = (qp[j] + uncontracted(step * q[t * n + j])) / (1 + step);
        p[j] /= 1 + step;
      }
    }
  }
}

}  // namespace tenon::TENON_ABI::kernels
