// PartRows: where the elements of a part of a tensor lie, in memory or in a file.
#pragma once

#include <cstddef>
#include <cstring>

#include "tenon/base/element.hpp"
#include "tenon/tensor/shape.hpp"

namespace tenon::TENON_ABI {

/// The elements from `first` to before `end` along an axis, all of them if the axis is -1, of a tensor of
/// these extents: in each of `rows` rows of `row` bytes, `length` bytes from byte `begin` on.
struct PartRows {
  PartRows(const Extents& whole, DType type, int axis, int64_t first, int64_t end) : extents(whole) {
    const AxisSplit at = axis < 0 ? AxisSplit{.inner = element_count(whole)} : split_at(whole, axis);
    if (axis < 0) first = 0, end = 1;
    else extents[axis] = end - first;
    rows = at.outer;
    row = packed_bytes(at.extent * at.inner, type);
    begin = packed_bytes(first * at.inner, type);
    length = packed_bytes((end - first) * at.inner, type);
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
