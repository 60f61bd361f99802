// Tokens over a cache of earlier ones: how many it holds, where they are, and which attend to which.
#pragma once

#include <algorithm>
#include <string_view>

#include "tenon/base/error.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/tensor/view.hpp"

namespace tenon::TENON_ABI::op {

struct CachedTokens {
  std::string_view op;  ///< for errors
  int64_t window;       ///< the number of nearest tokens, itself included, that a token attends to; -1: all
  bool causal;          ///< not to later ones
  bool sliding;         ///< the cache holds the latest tokens only

  /// Refuses a number of earlier tokens and `steps` new ones, seqlen + 1 in all, of at most `total`, which
  /// the cache has room for.
  void check_length(int64_t seqlen, int64_t steps, int64_t total) const {
    const int64_t length = seqlen + 1;
    if (length < 1 || length > total)
      raise(ErrorCode::out_of_range, op, "seqlens_k has ", seqlen, ", outside of [0, ", total - 1, "]");
    if (steps != total && length < steps)
      raise(ErrorCode::out_of_range, op, "seqlens_k has ", seqlen, ", too few for ", steps, " new tokens");
  }

  /// The latest tokens that a cache of `rows` rows holds after `tokens` tokens.
  int64_t resident(int64_t tokens, int64_t rows) const {
    if (!sliding || tokens <= rows) return tokens;
    const int64_t step = rows - window + 1;
    return tokens - (tokens - rows + step - 1) / step * step;
  }

  /// The position of each token, (batch, steps), all of them rows of the angles' caches.
  const int64_t* positions(Scratch& scratch, TensorView<const int32_t> seqlens_k,
                           TensorView<const int64_t> position_ids, int64_t steps, bool prompt,
                           int64_t rows) const {
    const int64_t batch = seqlens_k.size();
    auto* positions = scratch.take<int64_t>(batch * steps);
    for (int64_t at = 0; at < batch * steps; ++at) {
      const int64_t b = at / steps, step = at % steps;
      int64_t p = prompt ? step : seqlens_k[b] + 1 - steps + step;
      if (position_ids) p = position_ids.data()[prompt ? 0 : at];
      const int64_t beyond = position_ids && prompt ? step : 0;
      if (p < 0 || p >= rows - beyond)
        raise(ErrorCode::out_of_range, op, "position ", p, beyond > 0 ? " and the next are" : " is",
              " outside of ", rows, " rows of cos_cache");
      positions[at] = p + beyond;
    }
    return positions;
  }

  /// Clears the scores (batch, heads, steps, columns) of entry b where a token does not attend, rows past the
  /// end of a prompt among them.
  template <class T>
  void hide(TensorView<T> shown, int64_t b, int64_t past, int64_t start, int64_t length) const {
    const int64_t steps = shown.extent(2), columns = shown.extent(3), lines = shown.extent(1) * steps;
    for (int64_t at = 0; at < lines; ++at) {
      T* line = shown.data() + (b * lines + at) * columns;
      const int64_t p = past + at % steps;
      const int64_t end = causal ? std::min(length, p + 1) : length;
      const int64_t begin = std::min(end, window < 0 ? start : std::max(start, p + 1 - window));
      std::fill(line, line + begin, T(0.0f));
      std::fill(line + end, line + columns, T(0.0f));
    }
  }
};

}  // namespace tenon::TENON_ABI::op
