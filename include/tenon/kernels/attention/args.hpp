// Scaled dot-product attention: arguments. Entry: attention.hpp.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "tenon/base/types.hpp"

namespace tenon::TENON_ABI::kernels {

/// Vectors of numbers of a type known at run time. Distances are in elements.
template <class Void>
struct HeadRows {
  DType dtype = DType::undefined;
  Void* data = nullptr;  ///< nullptr: absent
  int64_t batch = 0, head = 0, row = 0;
};

/// The factors of vectors of codes, one for each batch entry, head and key. A distance of 0 means that there
/// is one for all.
struct HeadScales {
  const float* data = nullptr;  ///< nullptr: all are 1
  int64_t batch = 0, head = 0, row = 0;
};

/// Keys and their values that lie together, such as a page of a cache. Their types are floating-point types,
/// or int8 and uint4, as store_codes (kernels/kv_cache.hpp) writes them. Codes may have scales.
struct AttentionPart {
  HeadRows<const void> k, v;
  int64_t keys = 0;
  HeadScales k_scale{}, v_scale{};
};

/// A number for each batch entry, query head, query and key that is added to the score. A bool stands for 0
/// or, if false, -infinity. `hidden` is the score where it is -infinity.
struct AttentionMask {
  DType dtype = DType::undefined;  ///< bool or a number type; undefined: absent
  const void* data = nullptr;
  int64_t batch = 0, head = 0, row = 0;
  int64_t keys = 0;        ///< the length of a row; further keys get -infinity
  bool stretched = false;  ///< a row holds one number, for all keys
  double hidden = -std::numeric_limits<double>::infinity();
  bool none_is_nan = false;  ///< a query whose row is -infinity for all keys gets NaN, not zeros
};

/// Which intermediate numbers between the products of queries and keys and their softmax are a result.
enum class AttentionScores : uint8_t { scaled, capped, masked, weights };

struct AttentionArgs {
  int64_t batch = 0, heads = 0, kv_heads = 0;  ///< `heads` is a multiple of `kv_heads`
  int64_t queries = 0, size = 0, value_size = 0;
  HeadRows<const void> q;
  std::span<const AttentionPart> parts;  ///< in the order of their keys
  HeadRows<void> y;
  /// Of the numbers of all keys, (kv_heads, size), and of all values, (kv_heads, value_size). nullptr: 1.
  const float *k_factors = nullptr, *v_factors = nullptr;
  double scale = 1, softcap = 0;  ///< softcap 0: none
  AttentionMask mask;
  /// Query i of batch entry b is at position p = i + offsets[b] (nullptr: i + offset) among the keys, and
  /// attends to keys [p - left, p + right] (negative: unbounded) below ends[b] (nullptr: all).
  int64_t left = -1, right = -1;
  int64_t offset = 0;
  const int64_t *offsets = nullptr, *ends = nullptr;
  bool nan_is_zero = false;               ///< a query whose weights are NaN gets zeros
  DType softmax_type = DType::undefined;  ///< undefined: the type of all other computations
  const float* sinks = nullptr;           ///< for each query head: a score of a key without value
  HeadRows<void> scores;                  ///< (batch, heads, queries, keys); may be absent
  AttentionScores scores_kind = AttentionScores::scaled;

  int64_t keys() const {
    int64_t n = 0;
    for (const AttentionPart& part : parts) n += part.keys;
    return n;
  }
};

}  // namespace tenon::TENON_ABI::kernels
