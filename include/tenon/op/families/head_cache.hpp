// A cache of heads' vectors, floats or integers, that new tokens are added to.
#pragma once

#include <algorithm>
#include <cstring>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/attention/attention.hpp"
#include "tenon/kernels/kv_cache.hpp"
#include "tenon/tensor/view.hpp"

namespace tenon::TENON_ABI::op {

/// How a cache holds numbers: as floats, or as integers of `bits` bits times scales, one in all or one for
/// each head and channel.
struct CacheForm {
  int64_t bits = 0;
  const float* scale = nullptr;  ///< nullptr: floats
  bool channels = false;
};

/// New vectors as numbers, and as the cache stores them: (tokens, heads, vector), distances in bytes.
struct FreshVectors {
  kernels::HeadRows<const void> numbers;
  const std::byte* stored;
  int64_t row, head;
};

/// One entry of the batch in the past, (heads, past_rows, vector), and in the present. Distances are in
/// bytes.
class HeadCache {
 public:
  HeadCache(DType type, const CacheForm& form, AnyView past, AnyOut present, int64_t entry, int64_t heads,
            int64_t size)
      : type_(type),
        vector_(size * bits_of(type) / 8),
        past_rows_(past ? past.extent(2) : 0),
        heads_(heads),
        size_(size) {
    if (form.scale != nullptr) {
      codes_ = {static_cast<int>(form.bits), size, form.scale, form.channels ? size : 0, form.channels};
      vector_ = codes_.bytes();
    }
    if (past) past_ = static_cast<const std::byte*>(past.data()) + entry * heads_ * past_rows_ * vector_;
    if (present.empty()) return;
    rows_ = present.extent(2);
    present_ = static_cast<std::byte*>(present.data()) + entry * heads_ * rows_ * vector_;
  }

  /// The first `rows` rows of the past, as numbers, or as integers if attention takes them with their scale.
  kernels::HeadRows<const void> earlier(Scratch& scratch, int64_t rows) const {
    if (codes_.scale == nullptr) return {type_, past_, 0, past_rows_ * size_, size_};
    if (scales().data != nullptr) return {DType::int8, past_, 0, past_rows_ * size_, size_};
    auto* numbers = scratch.take<float>(heads_ * rows * size_);
    parallel_for(heads_ * rows, 64, [&](int64_t first, int64_t last) {
      for (int64_t at = first; at < last; ++at) {
        const int64_t h = at / rows;
        kernels::load_cached(codes_, h, past_ + (h * past_rows_ + at % rows) * vector_, numbers + at * size_);
      }
    });
    return {DType::float32, numbers, 0, rows * size_, size_};
  }

  /// The scale of `earlier`, if these are integers.
  kernels::HeadScales scales() const {
    return {codes_.bits == 8 && codes_.scale_step == 0 ? codes_.scale : nullptr};
  }

  /// New vectors x, tokens `row` apart, as the cache rounds them.
  template <class T>
  FreshVectors fresh(Scratch& scratch, const T* x, int64_t row, int64_t steps) const {
    constexpr int64_t bytes = sizeof(T);
    if (codes_.scale == nullptr)
      return {{type_, x, 0, size_, row}, reinterpret_cast<const std::byte*>(x), row * bytes, size_ * bytes};
    auto* stored = scratch.take<std::byte>(steps * heads_ * vector_);
    auto* numbers = scratch.take<float>(steps * heads_ * size_);
    for (int64_t at = 0; at < steps * heads_; ++at) {
      const int64_t h = at % heads_;
      float* to = numbers + at * size_;
      for (int64_t i = 0; i < size_; ++i) to[i] = static_cast<float>(x[at / heads_ * row + h * size_ + i]);
      kernels::store_cached(codes_, h, to, stored + at * vector_);
      kernels::load_cached(codes_, h, stored + at * vector_, to);
    }
    return {{DType::float32, numbers, 0, size_, heads_ * size_}, stored, heads_ * vector_, vector_};
  }

  /// Writes the last `kept` of `count` vectors, `held` of the past and then new ones, to the present. Further
  /// rows become 0, unless the past is the present's memory.
  void store(const FreshVectors& x, int64_t held, int64_t count, int64_t kept) const {
    if (present_ == nullptr) return;
    const bool shared = present_ == past_;
    const int64_t from = count - kept, old = std::max<int64_t>(0, held - from);
    parallel_for(heads_, 1, [&](int64_t first, int64_t last) {
      for (int64_t h = first; h < last; ++h) {
        std::byte* to = present_ + h * rows_ * vector_;
        if (old > 0 && !(shared && from == 0))
          std::memmove(to, past_ + (h * past_rows_ + from) * vector_,
                       static_cast<std::size_t>(old * vector_));
        for (int64_t row = old; row < kept; ++row)
          std::memcpy(to + row * vector_, x.stored + (row + from - held) * x.row + h * x.head,
                      static_cast<std::size_t>(vector_));
        if (!shared)
          std::memset(static_cast<void*>(to + kept * vector_), 0,
                      static_cast<std::size_t>((rows_ - kept) * vector_));
      }
    });
  }

 private:
  DType type_;
  kernels::CacheCodes codes_{};  // without a scale: floats of type_
  const std::byte* past_ = nullptr;
  std::byte* present_ = nullptr;  // nullptr: not requested
  int64_t vector_, past_rows_, rows_ = 0, heads_, size_;
};

}  // namespace tenon::TENON_ABI::op
