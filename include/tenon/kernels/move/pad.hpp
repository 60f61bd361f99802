// A dense array with a border on each axis: of one value, or of the source's elements, repeated, mirrored or
// wrapped around.
#pragma once

#include <cstring>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/move/move.hpp"

namespace tenon::TENON_ABI::kernels {

enum class PadMode : uint8_t { constant, reflect, edge, wrap };

struct PadArgs {
  DType dtype;
  int rank = 0;
  const int64_t* before = nullptr;  ///< leading border elements on each axis, at least 0
  const int64_t* extents =
      nullptr;  ///< extents taken from the source; above 0 on padded axes, except for PadMode::constant
  const int64_t* after = nullptr;  ///< trailing border elements, at least 0
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
    // Starts at the far end if `to` then ascends.
    const bool turn = side.inward > 0;
    const int64_t first = turn ? p + n - 1 : p;
    if (turn) from += (n - 1) * step, step = -step;
    f(side.first - first * side.inward, turn ? side.inward : -side.inward, side.first + from * side.inward,
      step * side.inward, n);
  }
}

/// The source place that appears at place p of an axis, counted from the source's first; -1 for none.
TENON_NOINLINE inline int64_t padded_place(PadMode mode, int64_t p, int64_t extent) {
  if (p >= 0 && p < extent) return p;
  if (mode == PadMode::constant) return -1;
  if (mode == PadMode::edge || extent == 1) return p < 0 ? 0 : extent - 1;
  const int64_t period = mode == PadMode::wrap ? extent : 2 * (extent - 1), rest = p % period,
                place = rest < 0 ? rest + period : rest;
  return place < extent ? place : period - place;
}

/// How rows are padded: blocks of `step` elements, `inner` of which come from the source; `places` gives the
/// source places of the border blocks.
struct PaddedRow {
  PadMode mode;
  const char* value;
  int64_t step, before, inner, after;
  const int64_t* places;
};

/// Writes n copies of the element at `value`. Returns the end of the output.
template <std::size_t bytes>
TENON_ALWAYS_INLINE inline char* repeat_element(char* to, const char* value, int64_t n) {
  char element[bytes];
  std::memcpy(element, value, bytes);
  for (; n > 0; --n, to += bytes) std::memcpy(to, element, bytes);
  return to;
}

/// The blocks [place, end) of a row, all in one of its borders. `from`: the source's part of the row.
template <std::size_t bytes>
TENON_ALWAYS_INLINE inline char* pad_border(const PaddedRow& row, char* to, const char* from, int64_t place,
                                            int64_t end) {
  if (row.mode == PadMode::constant) return repeat_element<bytes>(to, row.value, (end - place) * row.step);
  const int64_t block = row.step * static_cast<int64_t>(bytes);
  if (row.mode == PadMode::edge && row.step == 1)
    return repeat_element<bytes>(to, from + (place == 0 ? 0 : row.inner - 1) * block, end - place);
  const int64_t* const last = row.places + end;
  if (row.step == 1) {
    for (const int64_t* p = row.places + place; p < last; ++p, to += bytes)
      std::memcpy(to, from + *p * static_cast<int64_t>(bytes), bytes);
    return to;
  }
  for (const int64_t* p = row.places + place; p < last; ++p, to += block)
    simd::copy(to, from + *p * block, static_cast<std::size_t>(block));
  return to;
}

/// An axis: leading border elements, elements of the source, and their stride.
struct PaddedAxis {
  int64_t before, extent, stride;
};

/// Writes rows [first, last) of an axis whose first element is at `from`. `row` and `axis` are copies, so
/// that the compiler knows them to be unchanged.
template <std::size_t bytes>
char* pad_axis(const PaddedRow row, const PaddedAxis axis, char* to, const char* from, int64_t first,
               int64_t last) {
  constexpr auto width = static_cast<int64_t>(bytes);
  const int64_t border = row.before + row.inner, inner_bytes = row.inner * row.step * width;
  for (int64_t k = first; k < last; ++k) {
    int64_t place = k - axis.before;
    if (place < 0 || place >= axis.extent) place = padded_place(row.mode, place, axis.extent);
    if (place < 0) {
      to = repeat_element<bytes>(to, row.value, (border + row.after) * row.step);
      continue;
    }
    const char* const source = from + place * axis.stride * width;
    to = pad_border<bytes>(row, to, source, 0, row.before);
    simd::copy(to, source, static_cast<std::size_t>(inner_bytes));
    to = pad_border<bytes>(row, to + inner_bytes, source, border, border + row.after);
  }
  return to;
}

/// Pads dense rows of whole bytes: each row of the result is written once, including borders. False if
/// elements are not whole bytes of one size, or rows so long that threads have to share them.
inline bool pad_rows(PadMode mode, const PadArgs& a, const int64_t* whole) {
  if (a.rank == 0 || a.dtype == DType::string || is_packed(a.dtype)) return false;
  // Axes without a border are merged with the axis before them.
  int row = a.rank - 1;
  const int64_t size = bits_of(a.dtype) / 8;
  int64_t step = 1, lines = 1;
  for (; row > 0 && a.before[row] == 0 && a.after[row] == 0 && a.from_at.strides[row] == step; --row)
    step *= whole[row];
  if (a.from_at.strides[row] != step || whole[row] * step * size > copy_bytes) return false;
  for (int d = 0; d < row; ++d) lines *= whole[d];
  Scratch scratch;
  auto* const places = scratch.take<int64_t>(whole[row]);
  for (int64_t i = 0; i < whole[row]; ++i) places[i] = padded_place(mode, i - a.before[row], a.extents[row]);
  const PaddedRow padded{
      mode, static_cast<const char*>(a.value), step, a.before[row], a.extents[row], a.after[row], places};
  const int64_t line_bytes = whole[row] * step * size, together = row > 0 ? whole[row - 1] : 1;
  const auto run = [&]<std::size_t bytes>(std::integral_constant<std::size_t, bytes>) {
    parallel_for(lines, copy_bytes / line_bytes + 1, [&](int64_t begin, int64_t end) {
      char* to = static_cast<char*>(a.to) + begin * line_bytes;
      for (int64_t line = begin; line < end;) {
        bool inside = padded.inner > 0;
        int64_t at = a.from_at.offset;
        for (int64_t rest = line / together, d = row - 1; d-- > 0; rest /= whole[d]) {
          const int64_t place = padded_place(mode, rest % whole[d] - a.before[d], a.extents[d]);
          inside &= place >= 0;
          at += place * a.from_at.strides[d];
        }
        // Outside of the other axes, the last one has no source elements.
        PaddedAxis axis{0, inside ? 1 : 0, 0};
        if (row > 0 && inside) axis = {a.before[row - 1], a.extents[row - 1], a.from_at.strides[row - 1]};
        const int64_t first = line % together, last = std::min(together, first + end - line);
        to = pad_axis<bytes>(padded, axis, to, static_cast<const char*>(a.from) + at * size, first, last);
        line += last - first;
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
  if (detail::pad_rows(mode, a, whole)) return;
  move(a.dtype, a.to, {start, strides}, a.from, a.from_at, {a.extents, static_cast<std::size_t>(a.rank)});

  // Borders are written axis by axis from the last to the first. A border covers the whole extents, borders
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

}  // namespace tenon::TENON_ABI::kernels
