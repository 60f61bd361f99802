// The keys that queries attend to: windows and masks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tenon/base/scratch.hpp"
#include "tenon/kernels/attention/args.hpp"
#include "tenon/kernels/elementwise/elementwise.hpp"

namespace tenon::TENON_ABI::kernels::detail {

using MaskTypes = TypeList<bool, float, double, float16, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                           uint16_t, uint32_t, uint64_t>;

/// Keys [first, last).
struct KeySpan {
  int64_t first, last;

  bool empty() const { return first >= last; }
  int64_t size() const { return last - first; }
  /// The least span that has the keys of both.
  KeySpan with(KeySpan s) const {
    if (s.empty() || empty()) return s.empty() ? *this : s;
    return {std::min(first, s.first), std::max(last, s.last)};
  }
  /// The keys of both spans.
  KeySpan within(KeySpan s) const {
    const int64_t from = std::clamp(first, s.first, s.last);
    return {from, std::clamp(last, from, s.last)};
  }
};

/// The keys in the window of query i of batch entry b, of `keys`.
inline KeySpan key_window(const AttentionArgs& a, int64_t keys, int64_t b, int64_t i) {
  // No window extends further than from the first position to the last key and back.
  const int64_t reach = keys + a.queries;
  const int64_t p = i + (a.offsets != nullptr ? a.offsets[b] : a.offset);
  int64_t from = 0, to = a.ends != nullptr ? std::min(keys, a.ends[b]) : keys;
  if (a.left >= 0) from = std::max(from, p - std::min(a.left, reach));
  if (a.right >= 0) to = std::min(to, p + std::min(a.right, reach) + 1);
  return {from, std::max(from, to)};
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

/// Adds masks to scores of batch entry b.
template <class W>
class ScoreMask {
 public:
  /// For at most `most` keys at a time.
  ScoreMask(Scratch& scratch, const AttentionArgs& a, int64_t b, int64_t most)
      : a_(a), b_(b), bias_(a.mask.dtype != DType::undefined ? scratch.take<W>(most) : nullptr) {}

  /// Adds the mask to the scores of query i of `head` for `keys`, and writes -infinity outside of the
  /// window. Whether the query attends to any of the keys.
  bool operator()(W* scores, int64_t head, int64_t i, KeySpan window, KeySpan keys) {
    const KeySpan s = window.within(keys);
    bool any = !s.empty();
    const W hides_to = static_cast<W>(a_.mask.hidden);
    if (bias_ != nullptr && any) {
      const int64_t at = b_ * a_.mask.batch + head * a_.mask.head + i * a_.mask.row;
      if (at != loaded_ || s.first != held_.first || s.last != held_.last) {
        load_mask(a_.mask, at, s.first, s.last, a_.q.dtype, bias_);
        loaded_ = at, held_ = s;
        open_ = a_.mask.none_is_nan || hides_to > out ||
                std::any_of(bias_, bias_ + s.size(), [](W x) { return x != out; });
      }
      any = open_;
      W* const inside = scores + (s.first - keys.first);
      binary<BinaryOp::add>(inside, bias_, inside, BroadcastPlan<2>::flat(s.size()));
      for (int64_t j = 0; hides_to > out && j < s.size(); ++j)
        if (bias_[j] == out) inside[j] = hides_to;
    }
    std::fill(scores, scores + (s.first - keys.first), out);
    std::fill(scores + (s.last - keys.first), scores + keys.size(), out);
    return any;
  }

 private:
  static constexpr W out = -std::numeric_limits<W>::infinity();
  const AttentionArgs& a_;
  int64_t b_;
  W* bias_;
  // The keys of the mask's row that bias_ holds, which queries may share, and whether it lets any through.
  int64_t loaded_ = -1;
  KeySpan held_{0, 0};
  bool open_ = false;
};

/// Bounds the scores of n keys by softcap.
template <class W>
void cap_scores(const AttentionArgs& a, W* scores, int64_t n) {
  unary<UnaryOp::linear>(scores, scores, n, {1 / a.softcap, 0});
  unary<UnaryOp::tanh>(scores, scores, n);
  unary<UnaryOp::linear>(scores, scores, n, {a.softcap, 0});
}

}  // namespace tenon::TENON_ABI::kernels::detail
