// AxisPart, PartRows: a part of a tensor, and where its elements lie, in memory or in a file.
#pragma once

#include <cstddef>
#include <cstring>

#include "tenon/base/element.hpp"
#include "tenon/tensor/shape.hpp"

namespace tenon::TENON_ABI {

/// The elements from `first` to before `end` along an axis, or all of them if the axis is -1. An axis may
/// consist of several stretches of equal length: the part has these elements of each, one after the other.
struct AxisPart {
  int axis = -1;
  int64_t first = 0, end = 0, stretches = 1;

  int64_t extent() const { return stretches * (end - first); }
  bool operator==(const AxisPart&) const = default;
};

/// The part of a tensor of these extents: in each of `rows` rows of `row` bytes, `length` bytes from byte
/// `begin` on.
struct PartRows {
  PartRows(const Extents& whole, DType type, const AxisPart& part) : extents(whole) {
    const bool all = part.axis < 0;
    const AxisSplit at = all ? AxisSplit{.inner = element_count(whole)} : split_at(whole, part.axis);
    if (!all) extents[part.axis] = part.extent();
    rows = at.outer * part.stretches;
    row = packed_bytes(at.extent / part.stretches * at.inner, type);
    begin = packed_bytes(part.first * at.inner, type);
    length = all ? row : packed_bytes((part.end - part.first) * at.inner, type);
  }
  int64_t bytes() const { return rows * length; }

  /// Copies what `count` rows have of the part to dense memory. `part` is where the first of them has it.
  void take(const void* part, int64_t count, void* to) const { copy(part, row, to, length, count); }
  /// Copies the part from dense memory to its places. `part` is where the first row has it.
  void put(const void* from, void* part) const { copy(from, length, part, row, rows); }

  Extents extents;  ///< of the part
  int64_t rows = 1, row = 0, begin = 0, length = 0;

 private:
  void copy(const void* from, int64_t from_step, void* to, int64_t to_step, int64_t count) const {
    for (int64_t r = 0; r < count && length > 0; ++r)
      std::memcpy(static_cast<std::byte*>(to) + r * to_step,
                  static_cast<const std::byte*>(from) + r * from_step, static_cast<std::size_t>(length));
  }
};

}  // namespace tenon::TENON_ABI
