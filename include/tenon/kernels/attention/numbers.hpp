// The operands of attention as numbers of the type in which it computes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tenon/base/scratch.hpp"
#include "tenon/kernels/attention/args.hpp"
#include "tenon/kernels/elementwise/half.hpp"
#include "tenon/kernels/kv_cache.hpp"

namespace tenon::TENON_ABI::kernels::detail {

using AttentionFloats = TypeList<float, double, float16, bfloat16>;

template <class Void>
Void* moved(Void* p, DType d, int64_t elements) {
  using Byte = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
  return static_cast<Byte*>(p) + elements * bits_of(d) / 8;
}

template <class From, class To>
void convert_floats(const From* x, To* y, int64_t n) {
  if constexpr (std::is_same_v<From, To>) {
    std::copy_n(x, n, y);
  } else if constexpr ((std::is_same_v<From, float> && sizeof(To) == 2) ||
                       (std::is_same_v<To, float> && sizeof(From) == 2)) {
    convert_half(x, y, n);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(static_cast<compute_t<From>>(x[i]));
  }
}

/// y = n numbers of type d.
template <class W>
void load_row(DType d, const void* x, W* y, int64_t n) {
  visit_types(AttentionFloats{}, d, [&]<class T>() { convert_floats(static_cast<const T*>(x), y, n); });
}
template <class W>
void store_row(const W* x, DType d, void* y, int64_t n) {
  visit_types(AttentionFloats{}, d, [&]<class T>() { convert_floats(x, static_cast<T*>(y), n); });
}

/// Multiplies n numbers of KV head h by its factors, (kv_heads, n), if there are any.
template <class W>
void multiply_row(W* x, const float* factors, int64_t h, int64_t n) {
  for (int64_t i = 0; factors != nullptr && i < n; ++i) x[i] *= static_cast<W>(factors[h * n + i]);
}

/// The keys or values of a KV head.
struct HeadPart {
  HeadRows<const void> rows;
  HeadScales scales;
  int64_t first, last;  ///< keys, counted from the first part's

  /// The vector of a key, and its scale.
  const void* at(int64_t key) const { return moved(rows.data, rows.dtype, (key - first) * rows.row); }
  const float* scale(int64_t key) const { return scales.data + (key - first) * scales.row; }
};

/// Calls f(part, from, to) for the keys [from, to) of each part that lie in [first, last). Keys, or else
/// values, of KV head h of batch entry b.
template <class F>
void for_each_part(const AttentionArgs& a, bool of_keys, int64_t b, int64_t h, int64_t first, int64_t last,
                   F f) {
  int64_t start = 0;
  for (const AttentionPart& part : a.parts) {
    const int64_t end = start + part.keys, from = std::max(first, start), to = std::min(last, end);
    if (from < to) {
      HeadPart of{of_keys ? part.k : part.v, of_keys ? part.k_scale : part.v_scale, start, end};
      of.rows.data = moved(of.rows.data, of.rows.dtype, b * of.rows.batch + h * of.rows.head);
      if (of.scales.data != nullptr) of.scales.data += b * of.scales.batch + h * of.scales.head;
      f(of, from, to);
    }
    start = end;
  }
}

/// Reads the keys, or else the values, of a KV head as vectors of n numbers W.
template <class W>
class VectorReader {
 public:
  /// For at most `most` keys at a time.
  VectorReader(Scratch& scratch, const AttentionArgs& a, bool of_keys, int64_t b, int64_t h, int64_t most)
      : a_(a), of_keys_(of_keys), b_(b), h_(h), n_(of_keys ? a.size : a.value_size) {
    const auto held = [](const AttentionPart& part) { return part.keys > 0; };
    const auto other = [=](const AttentionPart& part) {
      return held(part) && (of_keys ? part.k : part.v).dtype != dtype_of<W>;
    };
    if (std::count_if(a.parts.begin(), a.parts.end(), held) > 1 ||
        std::any_of(a.parts.begin(), a.parts.end(), other))
      copy_ = scratch.take<W>(most * n_);
  }

  /// The vectors of the keys [first, last), `row` apart: in place, or in a copy.
  const W* operator()(int64_t first, int64_t last, int64_t& row) const {
    const W* found = copy_;
    row = n_;
    for_each_part(a_, of_keys_, b_, h_, first, last, [&](const HeadPart& part, int64_t from, int64_t to) {
      if (part.rows.dtype == dtype_of<W> && from == first && to == last) {
        found = static_cast<const W*>(part.at(from));
        row = part.rows.row;
        return;
      }
      for (int64_t key = from; key < to; ++key) load(part, key, copy_ + (key - first) * n_);
    });
    return found;
  }

 private:
  void load(const HeadPart& part, int64_t key, W* to) const {
    const void* const at = part.at(key);
    if (part.rows.dtype == DType::int8) std::copy_n(static_cast<const int8_t*>(at), n_, to);
    else if (part.rows.dtype == DType::uint4) unpack_codes(static_cast<const uint8_t*>(at), to, n_);
    else return load_row(part.rows.dtype, at, to, n_);
    if (part.scales.data == nullptr) return;
    const float scale = *part.scale(key);
    for (int64_t i = 0; i < n_; ++i) to[i] = static_cast<W>(static_cast<float>(to[i]) * scale);
  }

  const AttentionArgs& a_;
  bool of_keys_;
  int64_t b_, h_, n_;
  W* copy_ = nullptr;  // unless all keys are numbers W in one part
};

}  // namespace tenon::TENON_ABI::kernels::detail
