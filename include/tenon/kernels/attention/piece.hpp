// Attention of a piece of the queries, by products of matrices. The keys come in chunks, whose scores stay in
// the second-level cache, and the softmax is extended by each: working memory does not grow with the keys.
// Chunks are narrow where windows end, so that few scores are computed of keys that queries do not attend to.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tenon/base/scratch.hpp"
#include "tenon/base/uncontracted.hpp"
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
        chunk_(needs_all(a) ? keys_ : std::min(keys_, longest + longest / 2)),
        k_(scratch_, a, true, b, kv_head_, chunk_),
        v_(scratch_, a, false, b, kv_head_, chunk_),
        mask_(scratch_, a, b, chunk_) {
    scores_ = scratch_.take<W>(rows_ * chunk_);
    q_row_ = row_of(a.q), y_row_ = row_of(a.y);
    const bool direct = a.y.dtype == dtype_of<W>;
    y_ = direct ? static_cast<W*>(place(a.y)) : scratch_.take<W>(rows_ * (y_row_ = a.value_size));
    state_ = scratch_.take<SoftmaxState<W>>(rows_);
    open_ = scratch_.take<bool>(rows_);
    if (a.q.dtype == dtype_of<W>) {
      q_ = static_cast<const W*>(place(a.q));
    } else {
      W* const copy = scratch_.take<W>(rows_ * a.size);
      for (int64_t r = 0; r < rows_; ++r)
        load_row(a.q.dtype, moved(place(a.q), a.q.dtype, r * q_row_), copy + r * a.size, a.size);
      q_ = copy, q_row_ = a.size;
    }
  }

  /// Whether all scores of a query have to be known at once.
  static bool needs_all(const AttentionArgs& a) {
    return (a.scores.data != nullptr && a.scores_kind == AttentionScores::weights) ||
           (a.softmax_type != DType::undefined && a.softmax_type != dtype_of<W>);
  }

  void run() {
    for (int64_t r = 0; r < rows_; ++r) {
      std::fill_n(y_ + r * y_row_, a_.value_size, W{0});
      state_[r] = {};
      open_[r] = false;
    }
    KeySpan all{0, 0}, common{0, keys_};  // the keys that any number or all attend to
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
    finish();
  }

 private:
  bool shown() const { return a_.scores.data != nullptr; }
  int64_t head(int64_t r) const { return head_ + (first_ + r) / a_.queries; }
  int64_t query(int64_t r) const { return (first_ + r) % a_.queries; }
  KeySpan window(int64_t r) const { return key_window(a_, keys_, b_, query(r)); }

  // Rows of one head, or of several heads at equal distances.
  int64_t row_of(const auto& h) const { return a_.queries == 1 ? h.head : h.row; }
  auto place(const auto& h) const {
    return moved(h.data, h.dtype, b_ * h.batch + head_ * h.head + first_ * row_of(h));
  }

  /// The end of the chunk of keys that begins at `from`, before `last`. Keys that all numbers attend to make
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
    int64_t begin = 0, end = rows_;  // the numbers that attend to any of the keys
    const auto apart = [&](int64_t r) { return window(r).within(keys).empty(); };
    if (!shown() && !needs_all(a_)) {
      while (begin < end && apart(begin)) ++begin;
      while (begin < end && apart(end - 1)) --end;
    }
    const int64_t n = keys.size(), rows = end - begin;
    W* const scores = scores_;
    GemmArgs<W> g;
    g.m = rows, g.n = n, g.k = a_.size;
    g.a = q_ + begin * q_row_, g.a_row = q_row_;
    g.b = k_(keys.first, keys.last, g.b_col);
    g.b_row = 1;
    g.c = scores, g.c_row = n;
    if (a_.size > 0) g.alpha = static_cast<W>(a_.scale);
    gemm(g);
    const auto show = [&](AttentionScores kind) {
      for (int64_t r = begin; shown() && a_.scores_kind == kind && r < end; ++r)
        store_scores(scores + (r - begin) * n, r, keys.first, n);
    };
    show(AttentionScores::scaled);
    if (a_.softcap > 0) cap_scores(a_, scores, rows * n);
    show(AttentionScores::capped);
    for (int64_t r = begin; r < end; ++r)
      open_[r] |= mask_(scores + (r - begin) * n, head(r), query(r), window(r), keys);
    show(AttentionScores::masked);
    if (needs_all(a_)) {
      weigh_all(scores, keys);
    } else {
      extend_softmax(
          SoftmaxBlock<W>{rows, n, scores, state_ + begin, y_ + begin * y_row_, y_row_, a_.value_size});
    }
    GemmArgs<W> sums;
    sums.m = rows, sums.n = a_.value_size, sums.k = n;
    sums.a = scores, sums.a_row = n;
    sums.b = v_(keys.first, keys.last, sums.b_row);
    sums.c = y_ + begin * y_row_, sums.c_row = y_row_;
    sums.d = sums.c, sums.d_row = y_row_, sums.beta = 1;
    gemm(sums);
  }

  /// The weights of all numbers, of which `keys` are all keys.
  void weigh_all(W* scores, KeySpan keys) {
    const int64_t n = keys.size();
    if (n > 0 && a_.sinks != nullptr) {
      Scratch inner;
      W* const line = inner.take<W>(keys_ + 1);
      for (int64_t r = 0; r < rows_; ++r) {
        std::copy_n(scores + r * n, n, line);
        line[n] = static_cast<W>(a_.sinks[head(r)]);
        softmax_rows(a_.softmax_type, line, 1, n + 1);
        std::copy_n(line, n, scores + r * n);
      }
    } else if (n > 0) {
      softmax_rows(a_.softmax_type, scores, rows_, n);
    }
    for (int64_t r = 0; r < rows_; ++r)
      if (!open_[r]) std::fill_n(scores + r * n, n, W{0});
    if (!shown() || a_.scores_kind != AttentionScores::weights) return;
    // Weights of keys that no window reaches are 0.
    Scratch inner;
    W* const line = inner.take<W>(keys_);
    std::fill_n(line, keys_, W{0});
    for (int64_t r = 0; r < rows_; ++r) {
      std::copy_n(scores + r * n, n, line + keys.first);
      store_scores(line, r, 0, keys_);
    }
  }

  /// Writes n scores of number r, from a key on.
  void store_scores(const W* x, int64_t r, int64_t key, int64_t n) const {
    const HeadRows<void>& to = a_.scores;
    store_row(x, to.dtype,
              moved(to.data, to.dtype, b_ * to.batch + head_ * to.head + (first_ + r) * to.row + key), n);
  }

  void finish() {
    for (int64_t r = 0; r < rows_; ++r) {
      W* const y = y_ + r * y_row_;
      if (!open_[r]) {
        std::fill_n(y, a_.value_size, W{0});
      } else if (!needs_all(a_)) {
        const double kept = share(r);
        if (kept != 1) unary<UnaryOp::linear>(y, y, a_.value_size, {kept, 0});
      }
      if (a_.y.dtype != dtype_of<W>)
        store_row(y, a_.y.dtype, moved(place(a_.y), a_.y.dtype, r * row_of(a_.y)), a_.value_size);
    }
  }
  /// The share of number r's keys in the weights, whose rest is the sink's. NaN if all scores are -infinity.
  double share(int64_t r) const {
    const SoftmaxState<W>& s = state_[r];
    if (a_.sinks == nullptr) return s.total / s.total;
    const double sink = static_cast<double>(a_.sinks[head(r)]), most = static_cast<double>(s.most),
                 greatest = std::max(most, sink), shift = greatest > out ? greatest : 0;
    const double own = uncontracted(std::exp(most - shift) * s.total);
    return own / (own + std::exp(sink - shift));
  }

  static constexpr double out = -std::numeric_limits<double>::infinity();
  // The keys of a chunk, unless all scores are needed at once, and of a chunk where windows end.
  static constexpr int64_t longest = 512, ragged = 64;

  const AttentionArgs& a_;
  const int64_t b_, head_, kv_head_, first_, rows_, keys_, chunk_;
  Scratch scratch_;
  VectorReader<W> k_, v_;
  ScoreMask<W> mask_;
  W* scores_ = nullptr;  // (rows, keys of a chunk)
  const W* q_ = nullptr;
  W* y_ = nullptr;
  int64_t q_row_ = 0, y_row_ = 0;
  SoftmaxState<W>* state_ = nullptr;
  bool* open_ = nullptr;  // whether a number attends to any key
};

}  // namespace tenon::TENON_ABI::kernels::detail
