// Kernels that are compiled for several numbers of neighbouring cells. A compiled model has only the numbers
// that its run uses, because each is a long function: a run that is recorded notes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::kernels {

/// The numbers of cells, from 1 to 16, for which functions exist, in 16 families of functions: bit n - 1 of a
/// family's word stands for n.
using Variants = std::array<uint16_t, 16>;

namespace detail {
TENON_PROCESS_WIDE inline constinit thread_local Variants* noted_variants = nullptr;
}

/// Notes the variants that kernels use on this thread.
class NotedVariants {
 public:
  explicit NotedVariants(Variants& to) : before_(detail::noted_variants) { detail::noted_variants = &to; }
  ~NotedVariants() { detail::noted_variants = before_; }
  NotedVariants(const NotedVariants&) = delete;
  NotedVariants& operator=(const NotedVariants&) = delete;

 private:
  Variants* before_;
};

/// Whether there is a function for `cells` cells. For one cell there always is.
constexpr bool has_variant(int /*family*/, int64_t /*cells*/) { return true; }

/// The number of cells, at most `cells`, that the next call computes, of a family's functions by number - 1.
template <class Function>
int64_t use_variant(int family, const Function* /*functions*/, int64_t cells) {
  if (Variants* const noted = detail::noted_variants; noted != nullptr) [[unlikely]] {
    uint16_t& word = (*noted)[static_cast<std::size_t>(family)];
    word = static_cast<uint16_t>(word | 1u << (cells - 1));
  }
  return cells;
}

}  // namespace tenon::TENON_ABI::kernels
