// Walks over the broadcast operands of elementwise functions, which call the loops of loops.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/types.hpp"
#include "tenon/kernels/elementwise/blocks.hpp"
#include "tenon/kernels/elementwise/broadcast.hpp"
#include "tenon/kernels/elementwise/loops.hpp"
#include "tenon/simd/vector.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels::detail {

// gather_blocks of an operand that is constant along innermost rows: the row loop covers the two last axes.
template <class Arch, std::size_t size>
void spread_blocks(BroadcastPlan<2> plan, int k, const void* x, void* to, int64_t at, int64_t count) {
  using Block = typename ElementOf<size>::type;
  constexpr int64_t most = Arch::register_bytes;
  const int64_t row = plan.inner(), step = plan.strides[k][plan.rank - 2];
  plan.extents[--plan.rank - 1] *= row;
  plan.strides[k][plan.rank - 1] = 0;
  for_each_run(plan, at, at + count, [&](int64_t i, const int64_t* offsets, int64_t run) {
    const int64_t first = i % plan.inner();
    const Block* from = static_cast<const Block*>(x) + offsets[k] + first / row * step;
    Block* const out = static_cast<Block*>(to) + (i - at);
    // A register longer than a row would cross cache lines more often when stored.
    const auto fill = [&]<int64_t bytes>(std::integral_constant<int64_t, bytes>) {
      constexpr int64_t width = bytes / static_cast<int64_t>(size);
      using Part = simd::Vector<Block, static_cast<int>(width)>;
      for (int64_t begin = 0, end = row - first % row; begin < run; begin = end, end += row, from += step) {
        const Part v = Part{} + simd::element<Arch>(from);
        for (int64_t j = begin; j < std::min(end, run); j += width) std::memcpy(out + j, &v, bytes);
      }
    };
    if (row <= most / 2 / static_cast<int64_t>(size)) fill(std::integral_constant<int64_t, most / 2>{});
    else fill(std::integral_constant<int64_t, most>{});
  });
}

// Gathers the elements of operand k for the results [at, at + count) into `to`: blocks of bytes, of any type.
// After the last one there is room for a register.
template <class Arch, std::size_t size>
TENON_NOINLINE void gather_blocks(const BroadcastPlan<2>& plan, int k, const void* x, void* to, int64_t at,
                                  int64_t count) {
  const auto step = plan.strides[k][plan.rank - 1] * static_cast<int64_t>(size);
  if (step == 0 && plan.rank > 1) return spread_blocks<Arch, size>(plan, k, x, to, at, count);
  for_each_run(plan, at, at + count, [&](int64_t i, const int64_t* offsets, int64_t run) {
    const char* from = static_cast<const char*>(x) + offsets[k] * static_cast<int64_t>(size);
    char* out = static_cast<char*>(to) + (i - at) * static_cast<int64_t>(size);
    for (int64_t j = 0; j < run; ++j)
      std::memcpy(out + j * static_cast<int64_t>(size), from + j * step, size);
  });
}
// The same, but returns the elements in place if they need no gathering.
template <class Arch, class T>
const T* gather(const BroadcastPlan<2>& plan, int k, bool dense, const T* x, T* to, int64_t at,
                int64_t count) {
  if (dense) return x + at;
  gather_blocks<Arch, sizeof(T)>(plan, k, x, to, at, count);
  return to;
}

// Calls run(at, a, b, count) for panels of the results, with the operands' elements contiguous.
template <class Arch, class T, class F>
void zip_panels(const T* a, const T* b, const BroadcastPlan<2>& plan, int64_t begin, int64_t end,
                const F& run) {
  const bool dense_a = plan.dense(0), dense_b = plan.dense(1);
  constexpr int64_t room = map_panel + Arch::register_bytes / static_cast<int64_t>(sizeof(T));
  T x[room], y[room];
  for (int64_t at = begin; at < end; at += map_panel) {
    const int64_t count = end - at < map_panel ? end - at : map_panel;
    const T* p = gather<Arch>(plan, 0, dense_a, a, x, at, count);
    run(at, p, gather<Arch>(plan, 1, dense_b, b, y, at, count), count);
  }
}

// The same with narrow floats converted to float.
template <class Arch, class T, class F>
void zip_narrow(const T* a, const T* b, const BroadcastPlan<2>& plan, int64_t begin, int64_t end,
                const F& run) {
  alignas(64) float x[map_panel], y[map_panel];
  zip_panels<Arch>(a, b, plan, begin, end, [&](int64_t at, const T* p, const T* q, int64_t count) {
    simd::widen<Arch>(p, x, count);
    simd::widen<Arch>(q, y, count);
    run(at, static_cast<const float*>(x), static_cast<const float*>(y), count);
  });
}

// The operand that repeats short innermost rows over the axis before them while the other one is dense; -1 if
// none does.
inline int repeated_operand(const BroadcastPlan<2>& plan) {
  const int last = plan.rank - 1;
  if (last < 1 || plan.inner() >= 32 || plan.strides[0][last] != 1 || plan.strides[1][last] != 1) return -1;
  for (int k : {0, 1})
    if (plan.strides[k][last - 1] == 0 && plan.strides[1 - k][last - 1] == plan.inner()) return k;
  return -1;
}

// zip_broadcast of a plan with a repeated operand: its rows are stored side by side in a panel, which serves
// the whole axis before them.
template <class Arch, class T, class R>
void zip_repeated(void (*zip)(const T*, bool, const T*, bool, R*, int64_t), const T* a, const T* b, R* c,
                  int repeated, BroadcastPlan<2> plan, int64_t begin, int64_t end) {
  constexpr int64_t most = 160;
  const int64_t row = plan.inner(), panel = most / row * row;
  plan.extents[--plan.rank - 1] *= row;
  plan.strides[1 - repeated][plan.rank - 1] = 1;
  T rows[most];
  for_each_run(plan, begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
    const T* from = (repeated == 0 ? a : b) + offsets[repeated];
    const int64_t length = std::min(count, panel), first = at % row;
    std::rotate_copy(from, from + first, from + row, rows);
    for (int64_t i = row; i < length; i += i) std::copy_n(rows, std::min(i, panel - i), rows + i);
    const T* other = (repeated == 0 ? b : a) + offsets[1 - repeated];
    for (int64_t i = 0; i < count; i += panel) {
      const int64_t n = std::min(panel, count - i);
      if (repeated == 0) zip(rows, true, other + i, true, c + at + i, n);
      else zip(other + i, true, rows, true, c + at + i, n);
    }
  });
}

// Runs `zip` over a broadcast with several loops. Long runs of an innermost row with steps of 0 and 1 (not
// both 0) are passed to `zip` whole; otherwise operands are gathered into panels first. `zip` is a pointer,
// so that the walk over the plan is compiled once per type and not for every operation.
template <class Arch, class T, class R>
TENON_NOINLINE void zip_rows(void (*zip)(const T*, bool, const T*, bool, R*, int64_t), const T* a, const T* b,
                             R* c, const BroadcastPlan<2>& plan, bool unit, int64_t begin, int64_t end) {
  const int64_t step_a = plan.strides[0][plan.rank - 1], step_b = plan.strides[1][plan.rank - 1];
  if (unit && plan.inner() >= 32) {
    for_each_run(plan, begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
      zip(a + offsets[0], step_a, b + offsets[1], step_b, c + at, count);
    });
  } else if (const int k = repeated_operand(plan); k >= 0) {
    zip_repeated<Arch>(zip, a, b, c, k, plan, begin, end);
  } else {
    zip_panels<Arch>(a, b, plan, begin, end, [&](int64_t at, const T* p, const T* q, int64_t count) {
      zip(p, true, q, true, c + at, count);
    });
  }
}

// Runs `zip` over a broadcast.
template <class Arch, class T, class R>
void zip_broadcast(void (*zip)(const T*, bool, const T*, bool, R*, int64_t), const T* a, const T* b, R* c,
                   const BroadcastPlan<2>& plan, int64_t begin, int64_t end) {
  const int64_t step_a = plan.strides[0][plan.rank - 1], step_b = plan.strides[1][plan.rank - 1];
  const bool unit = (step_a == 1 && (step_b == 0 || step_b == 1)) || (step_a == 0 && step_b == 1);
  if (unit && plan.rank == 1)
    zip(a + begin * step_a, step_a, b + begin * step_b, step_b, c + begin, end - begin);
  else zip_rows<Arch>(zip, a, b, c, plan, unit, begin, end);
}

}  // namespace tenon::TENON_ABI::kernels::detail
