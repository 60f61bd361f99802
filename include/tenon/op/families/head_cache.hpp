// A cache of heads' vectors, floats or codes, that new tokens are added to.
#pragma once

#include <algorithm>
#include <cstring>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/attention/attention.hpp"
#include "tenon/kernels/kv_cache.hpp"
#include "tenon/tensor/view.hpp"

namespace tenon::TENON_ABI::op {

/// How a cache holds numbers: as floats, or as codes times factors (heads, size).
struct CacheForm {
  DType type;
  const float* factors = nullptr;  ///< nullptr: floats
};

/// One entry of the batch in the past, (heads, past_rows, vector), and in the present. Distances are in
/// bytes.
class HeadCache {
 public:
  HeadCache(const CacheForm& form, AnyView past, AnyOut present, int64_t entry, int64_t heads, int64_t size)
      : form_(form),
        vector_(size * bits_of(form.type) / 8),
        past_rows_(past ? past.extent(2) : 0),
        heads_(heads),
        size_(size) {
    if (past) past_ = static_cast<const std::byte*>(past.data()) + entry * heads_ * past_rows_ * vector_;
    if (present.empty()) return;
    rows_ = present.extent(2);
    present_ = static_cast<std::byte*>(present.data()) + entry * heads_ * rows_ * vector_;
  }

  /// The vectors of the past.
  kernels::HeadRows<const void> earlier() const { return {form_.type, past_, 0, past_rows_ * size_, size_}; }

  /// New vectors x, tokens `row` apart, as the cache holds them.
  template <class T>
  kernels::HeadRows<const void> fresh(Scratch& scratch, const T* x, int64_t row, int64_t steps) const {
    if (form_.factors == nullptr) return {form_.type, x, 0, size_, row};
    auto* const codes = scratch.take<std::byte>(steps * heads_ * vector_);
    parallel_for(steps * heads_, 64, [&](int64_t first, int64_t last) {
      for (int64_t at = first; at < last; ++at) {
        const int64_t h = at % heads_;
        kernels::store_codes(form_.type, form_.factors + h * size_, x + at / heads_ * row + h * size_,
                             codes + at * vector_, size_);
      }
    });
    return {form_.type, codes, 0, size_, heads_ * size_};
  }

  /// Writes the last `kept` of `count` vectors, `held` of the past and then new ones, to the present. Further
  /// rows become 0, unless the past is the present's memory.
  void store(const kernels::HeadRows<const void>& x, int64_t held, int64_t count, int64_t kept) const {
    if (present_ == nullptr) return;
    const bool shared = present_ == past_;
    const auto* const added = static_cast<const std::byte*>(x.data);
    const int64_t from = count - kept, old = std::max<int64_t>(0, held - from);
    parallel_for(heads_, 1, [&](int64_t first, int64_t last) {
      for (int64_t h = first; h < last; ++h) {
        std::byte* to = present_ + h * rows_ * vector_;
        if (old > 0 && !(shared && from == 0))
          std::memmove(to, past_ + (h * past_rows_ + from) * vector_,
                       static_cast<std::size_t>(old * vector_));
        for (int64_t row = old; row < kept; ++row)
          std::memcpy(to + row * vector_,
                      added + ((row + from - held) * x.row + h * x.head) * bits_of(x.dtype) / 8,
                      static_cast<std::size_t>(vector_));
        if (!shared)
          std::memset(static_cast<void*>(to + kept * vector_), 0,
                      static_cast<std::size_t>((rows_ - kept) * vector_));
      }
    });
  }

 private:
  CacheForm form_;
  const std::byte* past_ = nullptr;
  std::byte* present_ = nullptr;  // nullptr: not requested
  int64_t vector_, past_rows_, rows_ = 0, heads_, size_;
};

}  // namespace tenon::TENON_ABI::op
