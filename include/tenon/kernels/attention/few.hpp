// Attention of few queries, as in a decoding step, where reading keys and values takes most of the time. They
// are read once for all queries that share them, in blocks of a fixed number of keys, which threads share.
// Each block has its own softmax; the blocks' results are weighed and added up at the end, in their order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/uncontracted.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/attention/args.hpp"
#include "tenon/kernels/attention/cached.hpp"
#include "tenon/kernels/attention/mask.hpp"
#include "tenon/kernels/attention/numbers.hpp"

namespace tenon::TENON_ABI::kernels::detail {

/// Attention of the queries of a group of heads, whose rows are numbered head by head.
class FewQueries {
 public:
  explicit FewQueries(const AttentionArgs& a)
      : a_(a), keys_(a.keys()), rows_(a.heads / a.kv_heads * a.queries), slots_((keys_ + block - 1) / block) {
    // Windows that are bounded on both sides reach few blocks.
    if (a.left >= 0 && a.right >= 0) {
      const int64_t reach = std::min(a.left, keys_) + std::min(a.right, keys_) + a.queries;
      slots_ = std::min(slots_, reach / block + 2);
    }
  }

  static bool serves(const AttentionArgs& a) {
    const auto is_float = [](DType d) {
      return d == DType::float32 || d == DType::float16 || d == DType::bfloat16;
    };
    const auto is_cached = [&](const HeadRows<const void>& h) {
      return is_float(h.dtype) || h.dtype == DType::int8 || h.dtype == DType::uint4;
    };
    const int64_t group = a.heads / a.kv_heads;
    return group <= most_rows && a.queries <= most_rows && group * a.queries <= most_rows &&
           a.scores.data == nullptr && is_float(a.q.dtype) &&
           (a.softmax_type == DType::undefined || a.softmax_type == DType::float32) &&
           std::all_of(a.parts.begin(), a.parts.end(), [&](const AttentionPart& part) {
             return part.keys == 0 || (is_cached(part.k) && is_cached(part.v));
           });
  }

  void run() {
    Scratch scratch;
    const int64_t items = a_.batch * a_.kv_heads, count = items * slots_ * rows_;
    states_ = scratch.take<SoftmaxState<float>>(count);
    open_ = scratch.take<bool>(count);
    sums_ = scratch.take<float>(count * a_.value_size);
    const int64_t work = rows_ * std::min(block, keys_) * (a_.size + a_.value_size);
    const int64_t grain = task_work::products / std::max<int64_t>(work, 1) + 1;
    parallel_for(items * slots_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) attend(at / slots_, at % slots_);
    });
    parallel_for(items, task_work::products / std::max<int64_t>(slots_ * rows_ * a_.value_size, 1) + 1,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t item = begin; item < end; ++item)
                     for (int64_t r = 0; r < rows_; ++r) join(item, r);
                 });
  }

 private:
  static constexpr int64_t most_rows = 16, block = 512;
  static constexpr float out = -std::numeric_limits<float>::infinity();

  int64_t head(int64_t item, int64_t r) const {
    return item % a_.kv_heads * (a_.heads / a_.kv_heads) + r / a_.queries;
  }
  template <class Void>
  Void* place(const HeadRows<Void>& h, int64_t item, int64_t r) const {
    return moved(h.data, h.dtype,
                 item / a_.kv_heads * h.batch + head(item, r) * h.head + r % a_.queries * h.row);
  }
  /// Whether a part has codes of 4 bits.
  bool holds_halves() const {
    return std::any_of(a_.parts.begin(), a_.parts.end(), [](const AttentionPart& part) {
      return part.k.dtype == DType::uint4 || part.v.dtype == DType::uint4;
    });
  }
  KeySpan window(int64_t item, int64_t r) const {
    return key_window(a_, keys_, item / a_.kv_heads, r % a_.queries);
  }
  /// The keys of a slot's block that any query attends to.
  KeySpan keys_of(int64_t item, int64_t slot) const {
    KeySpan all{0, 0};
    for (int64_t i = 0; i < a_.queries; ++i) all = all.with(window(item, i));
    const int64_t first = (all.first / block + slot) * block;
    return KeySpan{first, first + block}.within(all);
  }

  void attend(int64_t item, int64_t slot) {
    const int64_t b = item / a_.kv_heads, h = item % a_.kv_heads, at = (item * slots_ + slot) * rows_;
    const KeySpan keys = keys_of(item, slot);
    std::fill_n(states_ + at, rows_, SoftmaxState<float>{});
    if (keys.empty()) return;
    const int64_t n = keys.size(), size = padded_query(a_.size);
    Scratch scratch;
    const int64_t most = std::min(block, keys_);
    float *const q = scratch.take<float>(rows_ * size), *const scores = scratch.take<float>(rows_ * most),
                 *const scales = scratch.take<float>(most);
    auto* const codes = scratch.take<int8_t>(holds_halves() ? most * std::max(a_.size, a_.value_size) : 0);
    ScoreMask<float> mask(scratch, a_, b, most);
    for (int64_t r = 0; r < rows_; ++r) {
      load_row(a_.q.dtype, place(a_.q, item, r), q + r * size, a_.size);
      multiply_row(q + r * size, a_.k_factors, h, a_.size);
      std::fill(q + r * size + a_.size, q + (r + 1) * size, 0.0f);
    }
    const auto visit = [&](bool of_keys, const auto& visitor) {
      for_each_part(
          a_, of_keys, b, h, keys.first, keys.last, [&](const HeadPart& part, int64_t from, int64_t to) {
            const int64_t count = to - from, numbers = of_keys ? a_.size : a_.value_size;
            if (part.rows.dtype == DType::uint4) {
              for (int64_t j = 0; j < count; ++j)
                unpack_codes(static_cast<const uint8_t*>(part.at(from + j)), codes + j * numbers, numbers);
              return visitor(CachedRows<int8_t>{codes, numbers, count, numbers}, part, from);
            }
            visit_types<float, float16, bfloat16, int8_t>(part.rows.dtype, [&]<class T>() {
              visitor(CachedRows<T>{static_cast<const T*>(part.at(from)), part.rows.row, count, numbers},
                      part, from);
            });
          });
    };
    // Multiplies a part's scores or weights by its scales.
    const auto scale = [&]<class T>(const CachedRows<T>& x, const HeadPart& part, int64_t from) {
      if constexpr (std::is_same_v<T, int8_t>) {
        if (part.scales.data == nullptr) return;
        for (int64_t j = 0; j < x.count; ++j) scales[j] = *part.scale(from + j);
        for (int64_t r = 0; r < rows_; ++r) {
          float* const row = scores + r * n + (from - keys.first);
          binary<BinaryOp::mul>(row, scales, row, BroadcastPlan<2>::flat(x.count));
        }
      }
    };
    visit(true, [&](const auto& k, const HeadPart& part, int64_t from) {
      cached_products(k, {q, size, rows_}, {scores + (from - keys.first), n, rows_});
      scale(k, part, from);
    });
    if (a_.size > 0) unary<UnaryOp::linear>(scores, scores, rows_ * n, {a_.scale, 0});
    if (a_.softcap > 0) cap_scores(a_, scores, rows_ * n);
    for (int64_t r = 0; r < rows_; ++r)
      open_[at + r] = mask(scores + r * n, head(item, r), r % a_.queries, window(item, r), keys);
    extend_softmax(SoftmaxBlock<float>{rows_, n, scores, states_ + at});
    float* const sums = sums_ + at * a_.value_size;
    std::fill_n(sums, rows_ * a_.value_size, 0.0f);
    visit(false, [&](const auto& v, const HeadPart& part, int64_t from) {
      scale(v, part, from);
      cached_sums(v, {scores + (from - keys.first), n, rows_}, {sums, a_.value_size, rows_});
    });
  }

  /// Writes y of a row from its blocks.
  void join(int64_t item, int64_t r) const {
    const int64_t at = item * slots_ * rows_ + r;
    const auto state = [&](int64_t slot) -> const SoftmaxState<float>& { return states_[at + slot * rows_]; };
    float most = a_.sinks != nullptr ? a_.sinks[head(item, r)] : out;
    const float sink = most;
    bool open = false;
    int64_t slots = 0;
    for (int64_t slot = 0; slot < slots_ && !keys_of(item, slot).empty(); ++slot, ++slots) {
      open |= open_[at + slot * rows_];
      most = std::max(most, state(slot).most);
    }
    Scratch scratch;
    float* const y = scratch.take<float>(a_.value_size);
    std::fill_n(y, a_.value_size, 0.0f);
    if (open) {
      float* const factors = scratch.take<float>(slots_);
      const double shift = most > out ? static_cast<double>(most) : 0;
      double total = std::exp(static_cast<double>(sink) - shift);
      const auto share = [&](int64_t slot) {
        return uncontracted(std::exp(static_cast<double>(state(slot).most) - shift) * state(slot).total);
      };
      for (int64_t slot = 0; slot < slots; ++slot) total += share(slot);
      open = !a_.nan_is_zero || total > 0;  // 0: all scores are -infinity
      for (int64_t slot = 0; slot < slots; ++slot) factors[slot] = static_cast<float>(share(slot) / total);
      const CachedRows<float> sums{sums_ + at * a_.value_size, rows_ * a_.value_size, slots, a_.value_size};
      if (open) cached_sums(sums, {factors, slots, 1}, {y, a_.value_size, 1});
    }
    multiply_row(y, a_.v_factors, item % a_.kv_heads, a_.value_size);
    store_row(y, a_.y.dtype, place(a_.y, item, r), a_.value_size);
  }

  const AttentionArgs& a_;
  int64_t keys_, rows_;
  int64_t slots_;  // blocks for each KV head
  // For each KV head of each batch entry, slot and row: the softmax of a block, whether the query attends to
  // any of its keys, and the sums of the values by their weights in the block.
  SoftmaxState<float>* states_ = nullptr;
  bool* open_ = nullptr;
  float* sums_ = nullptr;
};

}  // namespace tenon::TENON_ABI::kernels::detail
