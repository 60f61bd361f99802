// Kernels that are compiled for several numbers of neighbouring cells, in a compiled model: those that its
// run used. Others compute the cells of a number in parts, with the same results.
#pragma once

#include <cstdint>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::kernels {

constexpr bool has_variant([[maybe_unused]] int family, [[maybe_unused]] int64_t cells) {
#if defined(TENON_VARIANTS)
  constexpr std::uint16_t words[] = {TENON_VARIANTS};
  return cells == 1 || (words[family] >> (cells - 1) & 1) != 0;
#else
  return true;
#endif
}

template <class Function>
int64_t use_variant(int /*family*/, const Function* functions, int64_t cells) {
  while (functions[cells - 1] == nullptr) --cells;
  return cells;
}

}  // namespace tenon::TENON_ABI::kernels
