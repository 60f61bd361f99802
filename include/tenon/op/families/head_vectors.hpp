// Vectors of heads, as projections give them: normalised and rotated.
#pragma once

#include <algorithm>
#include <cmath>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/rotary.hpp"

namespace tenon::TENON_ABI::op {

/// The vectors of `heads` heads, which are neighbours; tokens are `row` apart, entries of the batch `batch`.
template <class T>
struct HeadVectors {
  const T* data;
  int64_t batch, row;
};
/// How many there are, and their size.
struct HeadCounts {
  int64_t batch, steps, heads, size;
  int64_t all() const { return batch * steps * heads * size; }
  /// Vectors without gaps.
  template <class T>
  HeadVectors<T> dense(const T* data) const {
    return {data, steps * heads * size, heads * size};
  }
};

/// x / sqrt(mean of x^2 + epsilon) * weight for each vector.
template <class T>
HeadVectors<T> normalised_heads(Scratch& scratch, HeadVectors<T> x, const HeadCounts& n, const T* weight,
                                float epsilon) {
  T* y = scratch.take<T>(n.all());
  parallel_for(n.batch * n.steps, 1, [&](int64_t first, int64_t last) {
    for (int64_t at = first; at < last; ++at)
      for (int64_t h = 0; h < n.heads; ++h) {
        const T* from = x.data + at / n.steps * x.batch + at % n.steps * x.row + h * n.size;
        T* to = y + (at * n.heads + h) * n.size;
        float squares = 0;
        for (int64_t c = 0; c < n.size; ++c)
          squares += static_cast<float>(from[c]) * static_cast<float>(from[c]);
        const float factor = 1 / std::sqrt(squares / static_cast<float>(n.size) + epsilon);
        for (int64_t c = 0; c < n.size; ++c)
          to[c] = static_cast<T>(static_cast<float>(from[c]) * factor * static_cast<float>(weight[c]));
      }
  });
  return n.dense(y);
}

/// Pairs turned by the angles in row positions[b, step] of the caches (rows, pairs).
template <class T>
HeadVectors<T> rotated_heads(Scratch& scratch, HeadVectors<T> x, const HeadCounts& n, const T* cos,
                             const T* sin, int64_t pairs, bool interleaved, const int64_t* positions) {
  T* y = scratch.take<T>(n.all());
  const int64_t token = n.heads * n.size;
  for (int64_t at = 0; at < n.batch * n.steps; ++at)
    std::copy_n(x.data + at / n.steps * x.batch + at % n.steps * x.row, token, y + at * token);
  kernels::RotaryArgs<T> r;
  r.batch = n.batch, r.steps = n.steps, r.heads = n.heads, r.size = n.size;
  r.batch_stride = n.steps * token, r.step_stride = token, r.head_stride = n.size;
  r.x = r.y = y;
  r.pairs = r.angle_row = pairs;
  r.interleaved = interleaved;
  r.cos = cos, r.sin = sin;
  r.rows = positions;
  kernels::rotary(r);
  return n.dense(y);
}

}  // namespace tenon::TENON_ABI::op
