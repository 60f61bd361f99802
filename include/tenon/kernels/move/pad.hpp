// A dense array with a border on each axis: of one value, or of the source's elements, repeated, mirrored or
// wrapped around.
#pragma once

#include "tenon/kernels/move/move.hpp"

namespace tenon::kernels {

enum class PadMode : uint8_t { constant, reflect, edge, wrap };

struct PadArgs {
  DType dtype;
  int rank = 0;
  const int64_t* before = nullptr;  ///< elements in front on each axis, at least 0
  const int64_t* extents =
      nullptr;  ///< extents taken from the source; above 0 on padded axes, except for PadMode::constant
  const int64_t* after = nullptr;  ///< elements behind, at least 0
  const void* from = nullptr;
  Strided from_at;              ///< the first element that is taken, and the steps
  const void* value = nullptr;  ///< one element, for PadMode::constant
  void* to = nullptr;           ///< dense, before + extents + after
};

namespace detail {

/// One side of one axis. Positions count from the source's outermost element on this side, inwards.
struct PadSide {
  int64_t first;   // offset in elements of the outermost element along the axis
  int64_t inward;  // step of one position
  int64_t count;   // elements of the border
};

// Border element p = 1, 2, … is at position -p. Calls f(to, to_step, from, from_step, n) for runs of them.
template <class F>
void for_border_runs(PadMode mode, const PadSide& side, int64_t extent, F&& f) {
  if (extent == 1 && mode == PadMode::reflect) mode = PadMode::edge;
  const int64_t period = mode == PadMode::reflect ? extent - 1 : mode == PadMode::wrap ? extent : side.count;
  bool inwards = true;  // direction of reflect, which turns at both ends
  for (int64_t p = 1; p <= side.count; p += period, inwards = !inwards) {
    const int64_t n = std::min(period, side.count - p + 1);
    int64_t from = 0, step = 0;  // edge
    if (mode == PadMode::wrap) from = extent - 1, step = -1;
    if (mode == PadMode::reflect) from = inwards ? 1 : extent - 2, step = inwards ? 1 : -1;
    // Starts at the far end if the steps of `to` then ascend.
    const bool turn = side.inward > 0;
    const int64_t first = turn ? p + n - 1 : p;
    if (turn) from += (n - 1) * step, step = -step;
    f(side.first - first * side.inward, turn ? side.inward : -side.inward, side.first + from * side.inward,
      step * side.inward, n);
  }
}

/// Pads dense rows of whole bytes with `value`: each row of the result is written once, borders and all.
/// False where elements are not whole bytes of one size, or rows so long that threads have to share them.
inline bool pad_rows(const PadArgs& a, const int64_t* whole) {
  if (a.rank == 0 || a.dtype == DType::string || is_packed(a.dtype)) return false;
  // Axes without a border are one with the axis before them.
  int row = a.rank - 1;
  const int64_t size = bits(a.dtype) / 8;
  int64_t step = 1, lines = 1;
  for (; row > 0 && a.before[row] == 0 && a.after[row] == 0 && a.from_at.strides[row] == step; --row)
    step *= whole[row];
  if (a.from_at.strides[row] != step || whole[row] * step * size > copy_bytes) return false;
  for (int d = 0; d < row; ++d) lines *= whole[d];
  const int64_t before = a.before[row] * step, inner = a.extents[row] * step, after = a.after[row] * step;
  const auto run = [&]<std::size_t bytes>(std::integral_constant<std::size_t, bytes>) {
    constexpr auto width = static_cast<int64_t>(bytes);
    const auto fill = [value = static_cast<const char*>(a.value)](char* to, int64_t n) {
      char element[bytes];
      std::memcpy(element, value, bytes);
      for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * width, element, bytes);
    };
    const int64_t elements = before + inner + after;
    parallel_for(lines, copy_bytes / (elements * width) + 1, [&](int64_t begin, int64_t end) {
      int64_t index[max_rank], from = a.from_at.offset;  // from counts on in borders, where nothing is read
      for (int64_t rest = begin, d = row; d-- > 0; rest /= whole[d]) {
        index[d] = rest % whole[d] - a.before[d];
        from += index[d] * a.from_at.strides[d];
      }
      char* to = static_cast<char*>(a.to) + begin * elements * width;
      for (int64_t line = begin; line < end; ++line, to += elements * width) {
        bool inside = inner > 0;
        for (int d = 0; d < row; ++d) inside &= index[d] >= 0 && index[d] < a.extents[d];
        if (inside) {
          fill(to, before);
          simd::copy(to + before * width, static_cast<const char*>(a.from) + from * width,
                     static_cast<std::size_t>(inner * width));
          fill(to + (before + inner) * width, after);
        } else {
          fill(to, elements);
        }
        for (int d = row - 1; d >= 0; --d) {
          from += a.from_at.strides[d];
          if (++index[d] < whole[d] - a.before[d]) break;
          from -= whole[d] * a.from_at.strides[d];
          index[d] = -a.before[d];
        }
      }
    });
  };
  switch (size) {
    case 1: run(std::integral_constant<std::size_t, 1>{}); break;
    case 2: run(std::integral_constant<std::size_t, 2>{}); break;
    case 4: run(std::integral_constant<std::size_t, 4>{}); break;
    case 8: run(std::integral_constant<std::size_t, 8>{}); break;
    default: run(std::integral_constant<std::size_t, 16>{});
  }
  return true;
}

}  // namespace detail

inline void pad(PadMode mode, const PadArgs& a) {
  int64_t whole[max_rank], strides[max_rank], zeros[max_rank] = {}, start = 0;
  for (int d = 0; d < a.rank; ++d)
    if ((whole[d] = a.before[d] + a.extents[d] + a.after[d]) == 0) return;
  for (int64_t d = a.rank, step = 1; d-- > 0; step *= whole[d]) {
    strides[d] = step;
    start += a.before[d] * step;
  }
  if (mode == PadMode::constant && detail::pad_rows(a, whole)) return;
  move(a.dtype, a.to, {start, strides}, a.from, a.from_at, {a.extents, static_cast<std::size_t>(a.rank)});

  // Borders are made axis by axis from the last to the first. A border covers the whole extents, borders
  // included, of the axes done before it.
  int64_t region[max_rank];
  std::copy_n(a.extents, a.rank, region);
  const std::span<const int64_t> extents(region, static_cast<std::size_t>(a.rank));
  for (int d = a.rank; d-- > 0; region[d] = whole[d]) {
    const int64_t interior = start, step = strides[d], extent = a.extents[d];
    start -= a.before[d] * step;
    if (mode == PadMode::constant) {
      region[d] = a.before[d];
      move(a.dtype, a.to, {start, strides}, a.value, {0, zeros}, extents);
      region[d] = a.after[d];
      move(a.dtype, a.to, {interior + extent * step, strides}, a.value, {0, zeros}, extents);
      continue;
    }
    const detail::PadSide sides[] = {{interior, step, a.before[d]},
                                     {interior + (extent - 1) * step, -step, a.after[d]}};
    for (const detail::PadSide& side : sides) {
      auto run = [&](int64_t to, int64_t to_step, int64_t from, int64_t from_step, int64_t n) {
        int64_t to_strides[max_rank], from_strides[max_rank];
        std::copy_n(strides, a.rank, to_strides);
        std::copy_n(strides, a.rank, from_strides);
        to_strides[d] = to_step;
        from_strides[d] = from_step;
        region[d] = n;
        move(a.dtype, a.to, {to, to_strides}, a.to, {from, from_strides}, extents);
      };
      detail::for_border_runs(mode, side, extent, run);
    }
  }
}

}  // namespace tenon::kernels
