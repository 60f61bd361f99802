// Elements as blocks of bytes, for functions that do not depend on their type: selection, tests of bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tenon/kernels/elementwise/broadcast.hpp"

namespace tenon::TENON_ABI::kernels::detail {

/// An integer of `bytes` bytes, or for 16 the bytes themselves. Elements of any type pass through it by
/// memcpy.
template <std::size_t bytes>
struct ElementOf {
  struct type {
    char at[bytes];
  };
};
template <>
struct ElementOf<1> : std::type_identity<uint8_t> {};
template <>
struct ElementOf<2> : std::type_identity<uint16_t> {};
template <>
struct ElementOf<4> : std::type_identity<uint32_t> {};
template <>
struct ElementOf<8> : std::type_identity<uint64_t> {};

template <std::size_t bytes>
typename ElementOf<bytes>::type load_block(const char* p, int64_t i) {
  typename ElementOf<bytes>::type block;
  std::memcpy(&block, p + i * static_cast<int64_t>(bytes), bytes);
  return block;
}

// One run of elements. The compiler vectorises panels of known length that alias no operand: c may be a or b.
template <class Arch, std::size_t size, bool a_moves, bool b_moves>
void where_run(const bool* choose, const char* a, const char* b, char* c, int64_t n) {
  constexpr int64_t panel = 64;
  typename ElementOf<size>::type chosen[panel];
  const auto run = [&](int64_t at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      auto x = load_block<size>(a, a_moves ? at + i : 0), y = load_block<size>(b, b_moves ? at + i : 0);
      if constexpr (size > 8) {
        chosen[i] = choose[at + i] ? x : y;
      } else {
        // A conditional would become a branch around the loads.
        const auto mask = static_cast<decltype(x)>(-static_cast<int64_t>(choose[at + i]));
        chosen[i] = static_cast<decltype(x)>(y ^ ((x ^ y) & mask));
      }
    }
    std::memcpy(c + at * static_cast<int64_t>(size), chosen, static_cast<std::size_t>(count) * size);
  };
  int64_t i = 0;
  for (; i + panel <= n; i += panel) run(i, panel);
  if (i < n) run(i, n - i);
}

template <class Arch, std::size_t bytes>
void where_blocks(const bool* condition, const char* a, const char* b, char* c, const BroadcastPlan<3>& plan,
                  int64_t begin, int64_t end) {
  constexpr auto size = static_cast<int64_t>(bytes);
  const int inner = plan.rank - 1;
  const int64_t step = plan.strides[0][inner], step_a = plan.strides[1][inner],
                step_b = plan.strides[2][inner];
  // Steps of innermost rows are 0 or 1.
  for_each_run(plan, begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
    const bool* choose = condition + offsets[0];
    const char *from_a = a + offsets[1] * size, *from_b = b + offsets[2] * size;
    char* to = c + at * size;
    if (step == 0) {
      const char* from = *choose ? from_a : from_b;
      if ((*choose ? step_a : step_b) != 0) {
        std::memmove(to, from, static_cast<std::size_t>(count * size));
      } else {
        const auto block = load_block<bytes>(from, 0);
        for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * size, &block, bytes);
      }
    } else if (step_a != 0) {
      if (step_b != 0) where_run<Arch, bytes, true, true>(choose, from_a, from_b, to, count);
      else where_run<Arch, bytes, true, false>(choose, from_a, from_b, to, count);
    } else {
      if (step_b != 0) where_run<Arch, bytes, false, true>(choose, from_a, from_b, to, count);
      else where_run<Arch, bytes, false, false>(choose, from_a, from_b, to, count);
    }
  });
}

template <class Arch, std::size_t size>
void within_blocks(const void* x, bool* __restrict y, int64_t n, uint64_t mask, uint64_t low, uint64_t high) {
  using Bits = typename ElementOf<size>::type;
  const Bits kept = static_cast<Bits>(mask), least = static_cast<Bits>(low),
             span = static_cast<Bits>(high - low);
  const char* from = static_cast<const char*>(x);
  const auto run = [&](int64_t at, int64_t count) {
    for (int64_t i = at; i < at + count; ++i)
      y[i] = static_cast<Bits>((load_block<size>(from, i) & kept) - least) <= span;
  };
  constexpr int64_t panel = 64;
  int64_t i = 0;
  for (; i + panel <= n; i += panel) run(i, panel);
  if (i < n) run(i, n - i);
}

}  // namespace tenon::TENON_ABI::kernels::detail
