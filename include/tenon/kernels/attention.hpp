// Scaled dot-product attention over batches of heads. Scores exist for a piece of the queries of one head at
// a time, and only for the keys that some query of the piece may attend to. Computes in float or double;
// operands may be of any floating-point type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/base/types.hpp"
#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/kernels/elementwise/half.hpp"
#include "tenon/kernels/gemm/gemm.hpp"
#include "tenon/kernels/reduce/softmax.hpp"

namespace tenon::TENON_ABI::kernels {

/// Vectors of numbers of a type known at run time. Distances are in elements.
template <class Void>
struct HeadRows {
  DType dtype = DType::undefined;
  Void* data = nullptr;  ///< nullptr: absent
  int64_t batch = 0, head = 0, row = 0;
};

/// Keys and their values that lie together, such as a page of a cache.
struct AttentionPart {
  HeadRows<const void> k, v;
  int64_t keys = 0;
};

/// A number for each batch entry, query head, query and key that is added to the score. A bool stands for 0
/// or, if false, -infinity.
struct AttentionMask {
  DType dtype = DType::undefined;  ///< bool or a number type; undefined: absent
  const void* data = nullptr;
  int64_t batch = 0, head = 0, row = 0;
  int64_t keys = 0;          ///< the length of a row; further keys get -infinity
  bool stretched = false;    ///< a row holds one number, for all keys
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
  double scale = 1, softcap = 0;  ///< softcap 0: none
  AttentionMask mask;
  /// Query i of batch entry b is at position p = i + offsets[b] (nullptr: i + offset) among the keys, and
  /// attends to keys [p - left, p + right] (negative: unbounded) below ends[b] (nullptr: all).
  int64_t left = -1, right = -1;
  int64_t offset = 0;
  const int64_t *offsets = nullptr, *ends = nullptr;
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

namespace detail {

using AttentionFloats = TypeList<float, double, float16, bfloat16>;
using MaskTypes = TypeList<bool, float, double, float16, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                           uint16_t, uint32_t, uint64_t>;

template <class Void>
Void* moved(Void* p, DType d, int64_t elements) {
  using Byte = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
  return static_cast<Byte*>(p) + elements * (bits_of(d) / 8);
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

/// `count` vectors of n numbers as W, `row` apart: in place, or in a copy.
template <class W>
const W* load_rows(Scratch& scratch, DType d, const void* x, int64_t count, int64_t n, int64_t& row) {
  if (d == dtype_of<W>) return static_cast<const W*>(x);
  W* copy = scratch.take<W>(count * n);
  visit_types(AttentionFloats{}, d, [&]<class T>() {
    for (int64_t i = 0; i < count; ++i) convert_floats(static_cast<const T*>(x) + i * row, copy + i * n, n);
  });
  row = n;
  return copy;
}
template <class W>
void store_row(const W* x, DType d, void* y, int64_t n) {
  visit_types(AttentionFloats{}, d, [&]<class T>() { convert_floats(x, static_cast<T*>(y), n); });
}

template <class W, class T>
W mask_number(T x) {
  if constexpr (std::is_same_v<T, bool>) return x ? W{0} : -std::numeric_limits<W>::infinity();
  else return static_cast<W>(static_cast<compute_t<T>>(x));
}
/// The mask's entries for the keys [first, last) of a row, rounded to type `round`.
template <class W>
void load_mask(const AttentionMask& mask, int64_t at, int64_t first, int64_t last, DType round, W* bias) {
  constexpr W out = -std::numeric_limits<W>::infinity();
  const int64_t held = mask.stretched ? last : std::clamp(mask.keys, first, last);
  visit_types(MaskTypes{}, mask.dtype, [&]<class T>() {
    const T* row = static_cast<const T*>(mask.data) + at;
    for (int64_t j = first; j < held; ++j) bias[j - first] = mask_number<W>(row[mask.stretched ? 0 : j]);
  });
  if (mask.dtype != round && mask.dtype != DType::bool_)
    visit_types<float16, bfloat16>(round, [&]<class T>() {
      for (int64_t j = 0; j < held - first; ++j)
        bias[j] = static_cast<W>(static_cast<float>(static_cast<T>(static_cast<float>(bias[j]))));
    });
  std::fill(bias + (held - first), bias + (last - first), out);
}

/// Softmax of rows of n, computed as numbers of type d.
template <class W>
void softmax_rows(DType d, W* x, int64_t rows, int64_t n) {
  if (d == DType::undefined || d == dtype_of<W>) return softmax(x, x, rows, n, 1);
  visit_types(AttentionFloats{}, d, [&]<class T>() {
    Scratch scratch;
    T* copy = scratch.take<T>(rows * n);
    convert_floats(x, copy, rows * n);
    softmax(copy, copy, rows, n, 1);
    convert_floats(copy, x, rows * n);
  });
}

/// The queries [first, last) of the query heads from `head` on, of one batch entry: number r is query (first
/// + r) % a.queries of head `head` + (first + r) / a.queries.
template <class W>
class AttentionPiece {
 public:
  AttentionPiece(const AttentionArgs& a, int64_t b, int64_t head, int64_t first, int64_t last)
      : a_(a),
        b_(b),
        head_(head),
        kv_head_(head / (a.heads / a.kv_heads)),
        first_(first),
        rows_(last - first),
        keys_(a.keys()),
        all_{keys_, 0} {
    for (int64_t r = 0; r < rows_; ++r) {
      const Span s = attended(r);
      if (s.first < s.last) all_ = {std::min(all_.first, s.first), std::max(all_.last, s.last)};
    }
    if (shown() && a.scores_kind != AttentionScores::weights) all_ = {0, keys_};
    n_ = std::max<int64_t>(0, all_.last - all_.first);
    score_ = scratch_.take<W>(rows_ * n_);
    attends_ = scratch_.take<bool>(rows_);
  }

  void run() {
    multiply_keys();
    show(AttentionScores::scaled);
    if (a_.softcap > 0) cap();
    show(AttentionScores::capped);
    mask();
    show(AttentionScores::masked);
    if (n_ > 0 && a_.sinks != nullptr) softmax_with_sinks();
    else if (n_ > 0) softmax_rows(a_.softmax_type, score_, rows_, n_);
    for (int64_t r = 0; r < rows_; ++r)
      if (!attends_[r]) std::fill_n(score_ + r * n_, n_, W{0});
    if (shown() && a_.scores_kind == AttentionScores::weights) show_weights();
    multiply_values();
  }

 private:
  static constexpr W out = -std::numeric_limits<W>::infinity();
  struct Span {
    int64_t first, last;
  };
  /// The keys or values of a part that the piece reads.
  struct Part {
    int64_t first, last;  // of the keys of `all_`
    const void* data;
  };

  bool shown() const { return a_.scores.data != nullptr; }

  /// The keys in the window of number r.
  Span attended(int64_t r) const {
    // No window extends further than from the first position to the last key and back.
    const int64_t reach = keys_ + a_.queries;
    const int64_t p = (first_ + r) % a_.queries + (a_.offsets != nullptr ? a_.offsets[b_] : a_.offset);
    int64_t from = 0, to = a_.ends != nullptr ? std::min(keys_, a_.ends[b_]) : keys_;
    if (a_.left >= 0) from = std::max(from, p - std::min(a_.left, reach));
    if (a_.right >= 0) to = std::min(to, p + std::min(a_.right, reach) + 1);
    return {from, std::max(from, to)};
  }

  // Rows of one head, or of several heads at equal distances.
  int64_t row_of(const auto& h) const { return a_.queries == 1 ? h.head : h.row; }
  auto place(const auto& h) const {
    return moved(h.data, h.dtype, b_ * h.batch + head_ * h.head + first_ * row_of(h));
  }
  /// For the keys or values of each part that is read, calls set(g, part, row) and runs the product g, whose
  /// b holds the part's vectors of n numbers, `row` apart.
  template <class F>
  void multiply(HeadRows<const void> AttentionPart::* vectors, int64_t n, F set) {
    int64_t start = 0;  // of a part's keys
    for (const AttentionPart& part : a_.parts) {
      const int64_t from = std::max(all_.first, start), to = std::min(all_.last, start + part.keys);
      const HeadRows<const void>& h = part.*vectors;
      if (from < to) {
        const Part read{from - all_.first, to - all_.first,
                        moved(h.data, h.dtype, b_ * h.batch + kv_head_ * h.head + (from - start) * h.row)};
        Scratch inner;
        int64_t row = h.row;
        GemmArgs<W> g;
        g.m = rows_;
        g.b = load_rows<W>(inner, h.dtype, read.data, to - from, n, row);
        set(g, read, row);
        gemm(g);
      }
      start += part.keys;
    }
  }

  /// score_ = scale q k^T.
  void multiply_keys() {
    int64_t q_row = row_of(a_.q);
    const W* q = load_rows<W>(scratch_, a_.q.dtype, place(a_.q), rows_, a_.size, q_row);
    multiply(&AttentionPart::k, a_.size, [&](GemmArgs<W>& g, const Part& keys, int64_t k_row) {
      g.n = keys.last - keys.first, g.k = a_.size;
      g.a = q, g.a_row = q_row;
      g.b_row = 1, g.b_col = k_row;
      g.c = score_ + keys.first, g.c_row = n_;
      if (a_.size > 0) g.alpha = static_cast<W>(a_.scale);
    });
  }

  void cap() {
    unary<UnaryOp::linear>(score_, score_, rows_ * n_, {1 / a_.softcap, 0});
    unary<UnaryOp::tanh>(score_, score_, rows_ * n_);
    unary<UnaryOp::linear>(score_, score_, rows_ * n_, {a_.softcap, 0});
  }

  void softmax_with_sinks() {
    W* line = scratch_.take<W>(n_ + 1);
    for (int64_t r = 0; r < rows_; ++r) {
      std::copy_n(score_ + r * n_, n_, line);
      line[n_] = static_cast<W>(a_.sinks[head_ + (first_ + r) / a_.queries]);
      softmax_rows(a_.softmax_type, line, 1, n_ + 1);
      std::copy_n(line, n_, score_ + r * n_);
    }
  }

  /// Adds the mask, writes -infinity outside of windows, and finds the rows that attend to any key.
  void mask() {
    W* bias = a_.mask.dtype != DType::undefined ? scratch_.take<W>(n_) : nullptr;
    // The span of the mask held in `bias`, which rows may share, and whether it lets any key through.
    int64_t loaded = -1;
    Span held{};
    bool open = false;
    for (int64_t r = 0; r < rows_; ++r) {
      const Span s = attended(r);
      W* line = score_ + r * n_;
      attends_[r] = s.first < s.last;
      if (bias != nullptr && attends_[r]) {
        const int64_t h = head_ + (first_ + r) / a_.queries, i = (first_ + r) % a_.queries;
        const int64_t at = b_ * a_.mask.batch + h * a_.mask.head + i * a_.mask.row, count = s.last - s.first;
        if (at != loaded || s.first != held.first || s.last != held.last) {
          load_mask(a_.mask, at, s.first, s.last, a_.q.dtype, bias);
          loaded = at, held = s;
          open = a_.mask.none_is_nan || std::any_of(bias, bias + count, [](W x) { return x != out; });
        }
        attends_[r] = open;
        W* const scores = line + (s.first - all_.first);
        binary<BinaryOp::add>(scores, bias, scores, BroadcastPlan<2>::flat(count));
      }
      const int64_t from = std::clamp<int64_t>(s.first - all_.first, 0, n_),
                    to = std::clamp<int64_t>(s.last - all_.first, from, n_);
      std::fill(line, line + from, out);
      std::fill(line + to, line + n_, out);
    }
  }

  /// Writes n scores of number r, from a key on, if requested by the caller.
  void store_scores(const W* x, int64_t r, int64_t key, int64_t n) const {
    const HeadRows<void>& to = a_.scores;
    store_row(x, to.dtype,
              moved(to.data, to.dtype, b_ * to.batch + head_ * to.head + (first_ + r) * to.row + key), n);
  }
  void show(AttentionScores kind) const {
    if (!shown() || a_.scores_kind != kind) return;
    for (int64_t r = 0; r < rows_; ++r) store_scores(score_ + r * n_, r, all_.first, n_);
  }
  /// Weights of keys that no window reaches are 0.
  void show_weights() {
    Scratch inner;
    W* line = inner.take<W>(keys_);
    std::fill_n(line, keys_, W{0});
    for (int64_t r = 0; r < rows_; ++r) {
      std::copy_n(score_ + r * n_, n_, line + (n_ > 0 ? all_.first : 0));
      store_scores(line, r, 0, keys_);
    }
  }

  /// y = score_ v.
  void multiply_values() {
    void* to = place(a_.y);
    const bool direct = a_.y.dtype == dtype_of<W>;
    const int64_t y_row = direct ? row_of(a_.y) : a_.value_size;
    W* y = direct ? static_cast<W*>(to) : scratch_.take<W>(rows_ * a_.value_size);
    bool begun = false;
    multiply(&AttentionPart::v, a_.value_size, [&](GemmArgs<W>& g, const Part& values, int64_t v_row) {
      g.n = a_.value_size, g.k = values.last - values.first;
      g.a = score_ + values.first, g.a_row = n_;
      g.b_row = v_row;
      g.c = y, g.c_row = y_row;
      if (begun) g.beta = 1, g.d = y, g.d_row = y_row;
      begun = true;
    });
    for (int64_t r = 0; r < rows_; ++r) {
      if (!begun) std::fill_n(y + r * y_row, a_.value_size, W{0});
      if (!direct)
        store_row(y + r * y_row, a_.y.dtype, moved(to, a_.y.dtype, r * row_of(a_.y)), a_.value_size);
    }
  }

  const AttentionArgs& a_;
  const int64_t b_, head_, kv_head_, first_, rows_, keys_;
  Span all_;       // the keys that any query attends to, or all whose scores are shown
  int64_t n_ = 0;  // their number
  Scratch scratch_;
  W* score_ = nullptr;       // (rows, n)
  bool* attends_ = nullptr;  // to any key
};

}  // namespace detail

/// y = softmax(scale q k^T, capped, + mask) v for every query head; head h has the keys and values of head
/// h / (heads / kv_heads). Queries that attend to no key, because none is in their window or the mask is
/// -infinity for all of them, get zeros (see none_is_nan). Keys outside of a window are not read. W: float or
/// double.
template <class W>
void attention(const AttentionArgs& a) {
  if (a.batch == 0 || a.heads == 0 || a.queries == 0) return;
  // The few queries of all heads that share keys are one product if their rows are equally spaced.
  const int64_t group = a.heads / a.kv_heads;
  const auto even = [&](const auto& h) { return a.queries == 1 || h.head == a.queries * h.row; };
  const bool joint = group > 1 && a.queries <= 8 && even(a.q) && even(a.y);
  const int64_t rows = joint ? group * a.queries : a.queries, heads = joint ? a.kv_heads : a.heads;
  // Few enough queries to skip most keys that windows exclude, and for scores to stay in the second-level
  // cache; enough for packing the keys to pay.
  constexpr int64_t scores = cache_bytes::l2 / int64_t{sizeof(float)};
  const int64_t piece = std::clamp<int64_t>(scores / std::max<int64_t>(1, a.keys()), 64, 128);
  const int64_t pieces = (rows + piece - 1) / piece;
  parallel_for(a.batch * heads * pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t at = item / pieces, from = item % pieces * piece;
      detail::AttentionPiece<W>(a, at / heads, at % heads * (joint ? group : 1), from,
                                std::min(from + piece, rows))
          .run();
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels
