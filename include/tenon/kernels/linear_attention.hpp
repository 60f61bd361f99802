// Linear attention: per head a matrix that is updated with outer products of keys and values and read with
// queries, step by step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/gemm/gemm.hpp"

namespace tenon::TENON_ABI::kernels {

/// Vectors of all heads are contiguous: a step's row of q is (heads * key_size), of k (kv_heads * key_size),
/// of v (kv_heads * value_size); rows are ordered by batch entry, then step.
template <class T>
struct LinearAttentionArgs {
  int64_t batch = 0, steps = 0, heads = 0, kv_heads = 0;  ///< `heads` is a multiple of `kv_heads`
  int64_t key_size = 0, value_size = 0;
  const T *q = nullptr, *k = nullptr, *v = nullptr;
  const T* decay = nullptr;  ///< (batch, steps, kv_heads, decay_size) factors, or nullptr: ones
  int64_t decay_size = 1;    ///< key_size: a factor for each row of the state; 1: one for all
  const T* beta = nullptr;   ///< (batch, steps, beta_heads), or nullptr: values are written unchanged
  int64_t beta_heads = 1;    ///< kv_heads, or 1: shared
  T scale = 1;
  T* state = nullptr;  ///< (batch, kv_heads, key_size, value_size), before and after
  T* y = nullptr;      ///< (batch, steps, heads * value_size)
};

/// For each step: S = decay * S; S += k (v)^T, or with beta S += k (beta (v - S^T k))^T; y = scale S^T q for
/// each query head of the group that shares S.
template <class T>
void linear_attention(const LinearAttentionArgs<T>& a) {
  const int64_t group = a.kv_heads > 0 ? a.heads / a.kv_heads : 0, keys = a.key_size, values = a.value_size;
  parallel_for(a.batch * a.kv_heads, 1, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    T *written = scratch.take<T>(values), *added = scratch.take<T>(values);
    T *decayed = scratch.take<T>(keys), *factors = scratch.take<T>(keys);
    std::fill_n(factors, keys, T{1});
    for (int64_t item = begin; item < end; ++item) {
      const int64_t b = item / a.kv_heads, h = item % a.kv_heads;
      T* state = a.state + item * keys * values;
      for (int64_t t = 0; t < a.steps; ++t) {
        const int64_t at = b * a.steps + t, own = at * a.kv_heads + h;
        const T *k = a.k + own * keys, *v = a.v + own * values;
        if (a.decay != nullptr)
          for (int64_t d = 0; d < keys; ++d)
            factors[d] = a.decay[own * a.decay_size + (a.decay_size == 1 ? 0 : d)];
        if (a.beta != nullptr) {
          for (int64_t d = 0; d < keys; ++d) decayed[d] = factors[d] * k[d];
          GemmArgs<T> read;  // v - S^T k of the decayed S
          read.m = 1, read.n = values, read.k = keys;
          read.a = decayed, read.a_row = keys;
          read.b = state, read.b_row = values;
          read.c = written, read.c_row = values;
          read.alpha = -1, read.beta = 1;
          read.d = v, read.d_row = values;
          gemm(read);
          const T beta = a.beta[at * a.beta_heads + (a.beta_heads == 1 ? 0 : h)];
          for (int64_t m = 0; m < values; ++m) written[m] *= beta;
        } else {
          std::copy_n(v, values, written);
        }
        for (int64_t d = 0; d < keys; ++d) {
          T* row = state + d * values;
          const T factor = factors[d], key = k[d];
          // Products are stored before they are added, so that their bits are the same where a compiler may
          // contract.
          for (int64_t m = 0; m < values; ++m) added[m] = key * written[m];
          for (int64_t m = 0; m < values; ++m) row[m] *= factor;
          for (int64_t m = 0; m < values; ++m) row[m] += added[m];
        }
        GemmArgs<T> g;
        g.m = group, g.n = values, g.k = keys;
        g.a = a.q + (at * a.heads + h * group) * keys, g.a_row = keys;
        g.b = state, g.b_row = values;
        g.c = a.y + (at * a.heads + h * group) * values, g.c_row = values;
        g.alpha = a.scale;
        gemm(g);
      }
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels
