// The lines along one axis of a dense tensor seen as (outer, axis, inner), outer * inner in number, as tasks.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/parallel.hpp"

namespace tenon::TENON_ABI::kernels::detail {

/// The maximum number of neighbouring lines with a stride that are walked at once.
inline constexpr int reduce_tile = 128;

/// Neighbouring lines that are walked at once: parts of `inner` of similar width.
constexpr int64_t lines_together(int64_t inner) {
  if (inner == 1) return 1;
  constexpr int64_t cache_line = 16;  // in floats
  const int64_t parts = (inner + reduce_tile - 1) / reduce_tile;
  return (inner + parts * cache_line - 1) / (parts * cache_line) * cache_line;
}

/// Calls f(first, last) for all lines, in tasks of about `elements` elements; a task ends at the end of a
/// part of `inner`.
template <class F>
void parallel_lines(int64_t outer, int64_t axis, int64_t inner, int64_t elements, const F& f) {
  if (inner == 0) return;
  const int64_t together = lines_together(inner), parts = (inner + together - 1) / together;
  const int64_t work = std::max<int64_t>(1, axis * std::min(together, inner));
  const auto line = [=](int64_t part) { return part / parts * inner + part % parts * together; };
  parallel_for(outer * parts, std::max<int64_t>(1, elements / work),
               [&](int64_t begin, int64_t end) { f(line(begin), line(end)); });
}

}  // namespace tenon::TENON_ABI::kernels::detail
