// Attention of a piece of the queries, by products of matrices. The keys come in chunks, whose scores stay in
// the second-level cache, and the softmax is extended by each: working memory does not grow with the keys.
// Chunks are narrow where windows end, so that few scores are computed of keys that queries do not attend to.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tenon/base/platform/uncontracted.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/attention/args.hpp"
#include "tenon/kernels/attention/cached.hpp"
#include "tenon/kernels/attention/mask.hpp"
#include "tenon/kernels/attention/numbers.hpp"
#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/kernels/gemm/gemm.hpp"
#include "tenon/kernels/reduce/softmax.hpp"

namespace tenon::TENON_ABI::kernels::detail {

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

/// The queries [first, last) of each of `heads` query heads from `head` on, which share a KV head. Of one
/// head, rows may continue in the next ones: row r is query (first + r) % a.queries of head `head` + (first +
/// r) / a.queries.
template <class W>
class AttentionPiece {
 public:
  AttentionPiece(const AttentionArgs& a, int64_t b, int64_t head, int64_t heads, int64_t first, int64_t last)
      : a_(a),
        b_(b),
        head_(head),
        heads_(heads),
        kv_head_(head / (a.heads / a.kv_heads)),
        first_(first),
        rows_(last - first),
        keys_(a.keys()),
        chunk_(needs_all(a) ? keys_ : std::min(keys_, longest + longest / 2)),
        k_(scratch_, a, true, b, kv_head_, chunk_),
        v_(scratch_, a, false, b, kv_head_, chunk_),
        mask_(scratch_, a, b, chunk_) {
    scores_ = scratch_.take<W>(rows_ * chunk_);
    q_ = {dtype_of<W>, place(a.q, 0), 0, a.q.head, row_of(a.q)};
    if (a.q.dtype != dtype_of<W> || a.k_factors != nullptr) {
      W* const copy = scratch_.take<W>(heads_ * rows_ * a.size);
      for (int64_t h = 0; h < heads_; ++h)
        for (int64_t r = 0; r < rows_; ++r) {
          W* const row = copy + (h * rows_ + r) * a.size;
          load_row(a.q.dtype, moved(place(a.q, h), a.q.dtype, r * row_of(a.q)), row, a.size);
          multiply_row(row, a.k_factors, kv_head_, a.size);
        }
      q_ = {dtype_of<W>, copy, 0, rows_ * a.size, a.size};
    }
    y_ = {dtype_of<W>, place(a.y, 0), 0, a.y.head, row_of(a.y)};
    if (a.y.dtype != dtype_of<W>)
      y_ = {dtype_of<W>, scratch_.take<W>(heads_ * rows_ * a.value_size), 0, rows_ * a.value_size,
            a.value_size};
    state_ = scratch_.take<SoftmaxState<W>>(heads_ * rows_);
    open_ = scratch_.take<bool>(heads_ * rows_);
    if (heads_ > 1) {
      packed_k_ = scratch_.take<W>(packed_b_size<W>(a.size, chunk_));
      packed_v_ = scratch_.take<W>(packed_b_size<W>(chunk_, a.value_size));
    }
  }

  /// Whether all scores of a query have to be known at once.
  static bool needs_all(const AttentionArgs& a) {
    return (a.scores.data != nullptr && a.scores_kind == AttentionScores::weights) ||
           (a.softmax_type != DType::undefined && a.softmax_type != dtype_of<W>);
  }

  void run() {
    std::fill_n(state_, heads_ * rows_, SoftmaxState<W>{});
    std::fill_n(open_, heads_ * rows_, false);
    for (int64_t h = 0; h < heads_; ++h)
      for (int64_t r = 0; r < rows_; ++r) std::fill_n(y(h, r), a_.value_size, W{0});
    KeySpan all{0, 0}, common{0, keys_};  // the keys that any row or all attend to
    for (int64_t r = 0; r < rows_; ++r) {
      all = all.with(window(r));
      common = {std::max(common.first, window(r).first), std::min(common.last, window(r).last)};
    }
    if (shown() && a_.scores_kind != AttentionScores::weights) all = {0, keys_};
    if (needs_all(a_)) {
      attend(all);
    } else {
      for (int64_t from = all.first; from < all.last;) {
        const KeySpan keys{from, chunk_end(from, all.last, common)};
        attend(keys);
        from = keys.last;
      }
    }
    for (int64_t h = 0; h < heads_; ++h) finish(h);
  }

 private:
  bool shown() const { return a_.scores.data != nullptr; }
  int64_t head(int64_t h, int64_t r) const { return head_ + h + (first_ + r) / a_.queries; }
  int64_t query(int64_t r) const { return (first_ + r) % a_.queries; }
  KeySpan window(int64_t r) const { return key_window(a_, keys_, b_, query(r)); }

  // Rows of one head, or of several heads at equal distances.
  int64_t row_of(const auto& h) const { return a_.queries == 1 ? h.head : h.row; }
  auto place(const auto& rows, int64_t h) const {
    return moved(rows.data, rows.dtype, b_ * rows.batch + (head_ + h) * rows.head + first_ * row_of(rows));
  }
  const W* q(int64_t h, int64_t r) const { return static_cast<const W*>(q_.data) + h * q_.head + r * q_.row; }
  W* y(int64_t h, int64_t r) const { return static_cast<W*>(y_.data) + h * y_.head + r * y_.row; }

  /// The end of the chunk of keys that begins at `from`, before `last`. Keys that all rows attend to make
  /// long chunks.
  int64_t chunk_end(int64_t from, int64_t last, KeySpan common) const {
    const auto next = [from](int64_t length) { return (from / length + 1) * length; };
    if (a_.queries > ragged / 2 && !common.empty()) {
      if (from < common.first) return std::min({last, next(ragged), common.first});
      last = std::min(last, std::max(next(ragged), common.last / ragged * ragged));
    }
    return last - from <= longest + longest / 2 ? last : next(longest);
  }

  /// Adds the values of `keys` to y.
  void attend(KeySpan keys) {
    int64_t begin = 0, end = rows_;  // the rows that attend to any of the keys
    const auto apart = [&](int64_t r) { return window(r).within(keys).empty(); };
    if (!shown() && !needs_all(a_)) {
      while (begin < end && apart(begin)) ++begin;
      while (begin < end && apart(end - 1)) --end;
    }
    const int64_t n = keys.size();
    GemmArgs<W> g;
    g.m = end - begin, g.n = n, g.k = a_.size;
    g.a_row = q_.row;
    g.b = k_(keys.first, keys.last, g.b_col);
    g.b_row = 1;
    g.c = scores_, g.c_row = n;
    if (a_.size > 0) g.alpha = static_cast<W>(a_.scale);
    GemmArgs<W> sums;
    sums.m = end - begin, sums.n = a_.value_size, sums.k = n;
    sums.a = scores_, sums.a_row = n;
    sums.b = v_(keys.first, keys.last, sums.b_row);
    sums.c_row = sums.d_row = y_.row, sums.beta = 1;
    if (heads_ > 1) {
      pack_b(g, packed_k_), g.packed_b = packed_k_;
      pack_b(sums, packed_v_), sums.packed_b = packed_v_;
    }
    for (int64_t h = 0; h < heads_; ++h) {
      g.a = q(h, begin);
      gemm(g);
      weigh(h, begin, end, keys);
      sums.d = sums.c = y(h, begin);
      gemm(sums);
    }
  }

  /// Makes the scores of the rows [begin, end) of a head weights, and multiplies their earlier sums.
  void weigh(int64_t h, int64_t begin, int64_t end, KeySpan keys) {
    const int64_t n = keys.size(), rows = end - begin;
    const auto show = [&](AttentionScores kind) {
      for (int64_t r = begin; shown() && a_.scores_kind == kind && r < end; ++r)
        store_scores(scores_ + (r - begin) * n, h, r, keys.first, n);
    };
    show(AttentionScores::scaled);
    if (a_.softcap > 0) cap_scores(a_, scores_, rows * n);
    show(AttentionScores::capped);
    for (int64_t r = begin; r < end; ++r)
      open_[h * rows_ + r] |= mask_(scores_ + (r - begin) * n, head(h, r), query(r), window(r), keys);
    show(AttentionScores::masked);
    if (needs_all(a_)) {
      weigh_all(h, keys);
    } else {
      extend_softmax(
          SoftmaxBlock<W>{rows, n, scores_, state_ + h * rows_ + begin, y(h, begin), y_.row, a_.value_size});
    }
  }

  /// The weights of all rows of a head, of which `keys` are all keys.
  void weigh_all(int64_t h, KeySpan keys) {
    W* const scores = scores_;
    const int64_t n = keys.size();
    if (n > 0 && a_.sinks != nullptr) {
      Scratch inner;
      W* const line = inner.take<W>(keys_ + 1);
      for (int64_t r = 0; r < rows_; ++r) {
        std::copy_n(scores + r * n, n, line);
        line[n] = static_cast<W>(a_.sinks[head(h, r)]);
        softmax_rows(a_.softmax_type, line, 1, n + 1);
        std::copy_n(line, n, scores + r * n);
      }
    } else if (n > 0) {
      softmax_rows(a_.softmax_type, scores, rows_, n);
    }
    for (int64_t r = 0; r < rows_; ++r)
      if (!open_[h * rows_ + r] || (a_.nan_is_zero && n > 0 && std::isnan(scores[r * n])))
        std::fill_n(scores + r * n, n, W{0});
    if (!shown() || a_.scores_kind != AttentionScores::weights) return;
    // Weights of keys that no window reaches are 0.
    Scratch inner;
    W* const line = inner.take<W>(keys_);
    std::fill_n(line, keys_, W{0});
    for (int64_t r = 0; r < rows_; ++r) {
      std::copy_n(scores + r * n, n, line + keys.first);
      store_scores(line, h, r, 0, keys_);
    }
  }

  /// Writes n scores of a row, from a key on.
  void store_scores(const W* x, int64_t h, int64_t r, int64_t key, int64_t n) const {
    const HeadRows<void>& to = a_.scores;
    store_row(x, to.dtype,
              moved(to.data, to.dtype, b_ * to.batch + (head_ + h) * to.head + (first_ + r) * to.row + key),
              n);
  }

  void finish(int64_t h) {
    for (int64_t r = 0; r < rows_; ++r) {
      W* const row = y(h, r);
      if (!open_[h * rows_ + r]) {
        std::fill_n(row, a_.value_size, W{0});
      } else if (!needs_all(a_)) {
        const double kept = share(h, r);
        if (a_.nan_is_zero && std::isnan(kept)) std::fill_n(row, a_.value_size, W{0});
        else if (kept != 1) unary<UnaryOp::linear>(row, row, a_.value_size, {kept, 0});
      }
      multiply_row(row, a_.v_factors, kv_head_, a_.value_size);
      if (a_.y.dtype != dtype_of<W>)
        store_row(row, a_.y.dtype, moved(place(a_.y, h), a_.y.dtype, r * row_of(a_.y)), a_.value_size);
    }
  }
  /// The share of a row's keys in the weights, whose rest is the sink's. NaN if all scores are -infinity.
  double share(int64_t h, int64_t r) const {
    const SoftmaxState<W>& s = state_[h * rows_ + r];
    if (a_.sinks == nullptr) return s.total / s.total;
    const double sink = static_cast<double>(a_.sinks[head(h, r)]), most = static_cast<double>(s.most),
                 greatest = std::max(most, sink), shift = greatest > out ? greatest : 0;
    const double own = uncontracted(std::exp(most - shift) * s.total);
    return own / (own + std::exp(sink - shift));
  }

  static constexpr double out = -std::numeric_limits<double>::infinity();
  // The keys of a chunk, unless all scores are needed at once, and of a chunk where windows end.
  static constexpr int64_t longest = 512, ragged = 64;

  const AttentionArgs& a_;
  const int64_t b_, head_, heads_, kv_head_, first_, rows_, keys_, chunk_;
  Scratch scratch_;
  VectorReader<W> k_, v_;
  ScoreMask<W> mask_;
  W* scores_ = nullptr;  // of one head: (rows, keys of a chunk)
  HeadRows<const void> q_;
  HeadRows<void> y_;
  W *packed_k_ = nullptr, *packed_v_ = nullptr;  // of a chunk, for several heads
  // (heads, rows)
  SoftmaxState<W>* state_ = nullptr;
  bool* open_ = nullptr;  // whether a row attends to any key
};

}  // namespace tenon::TENON_ABI::kernels::detail
