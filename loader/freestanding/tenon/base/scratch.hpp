// Working memory of kernels in a freestanding program, from the lent block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tenon/base/lent.hpp"

namespace tenon::TENON_ABI {

/// Working memory for the lifetime of this object, as in other programs.
class Scratch {
 public:
  Scratch() : lent_(detail::lent), begin_(lent_ == nullptr ? nullptr : lent_->low()) {}
  ~Scratch() {
    if (lent_ != nullptr) lent_->low(begin_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T>
  T* take(int64_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (n < 0 || static_cast<std::size_t>(n) > (SIZE_MAX >> 8) / sizeof(T)) fail(ErrorCode::out_of_memory);
    return static_cast<T*>(detail::lent_memory().take_low(static_cast<std::size_t>(n) * sizeof(T)));
  }

 private:
  Lent* lent_;  // null if nothing was lent, because nothing is taken
  std::byte* begin_;
};

}  // namespace tenon::TENON_ABI
