// The memory of a freestanding program: a block that the caller lends for the duration of a run. Scratch
// takes from its start, as a stack, and tenon::std::vector from its end, until `Lent::reset`.
#pragma once

#include <cstddef>

#include "tenon/base/fail.hpp"

namespace tenon::TENON_ABI {

/// The block that Scratch and vectors of the calling thread use while this object lives, starting at an
/// address that is a multiple of 64. A request that does not fit ends in fail(out_of_memory).
class Lent {
 public:
  inline Lent(void* memory, std::size_t bytes);
  inline ~Lent();
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  /// Takes back the memory of all vectors, which must not be used any more.
  void reset() { high_ = end_; }
  /// The greatest number of bytes that were in use.
  std::size_t peak() const { return peak_; }

  std::byte* low() const { return low_; }
  void low(std::byte* to) { low_ = to; }
  void* take_low(std::size_t bytes) {
    std::byte* const p = low_;
    if (bytes > static_cast<std::size_t>(high_ - low_)) fail(ErrorCode::out_of_memory);
    low_ += (bytes + 63) / 64 * 64;
    note();
    return p;
  }
  void* take_high(std::size_t bytes) {
    bytes = (bytes + 63) / 64 * 64;
    if (bytes > static_cast<std::size_t>(high_ - low_)) fail(ErrorCode::out_of_memory);
    high_ -= bytes;
    note();
    return high_;
  }

 private:
  void note() {
    const auto used = static_cast<std::size_t>((low_ - begin_) + (end_ - high_));
    if (used > peak_) peak_ = used;
  }

  std::byte *begin_, *end_, *low_, *high_;
  std::size_t peak_ = 0;
  Lent* before_;
};

namespace detail {
inline constinit thread_local Lent* lent = nullptr;

inline Lent& lent_memory() {
  if (lent == nullptr) fail(ErrorCode::out_of_memory);
  return *lent;
}
}  // namespace detail

inline Lent::Lent(void* memory, std::size_t bytes)
    : begin_(static_cast<std::byte*>(memory)),
      end_(begin_ + bytes / 64 * 64),
      low_(begin_),
      high_(end_),
      before_(detail::lent) {
  detail::lent = this;
}
inline Lent::~Lent() { detail::lent = before_; }

}  // namespace tenon::TENON_ABI
