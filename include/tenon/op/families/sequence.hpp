// Positions in sequences.
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// The place that a scalar states in a sequence of n tensors; negative ones count from the end.
/// Error{out_of_range} outside of [-n, end).
inline std::size_t position_in(std::string_view name, AnyView position, int64_t n, int64_t end) {
  const int64_t p = int_at(position, 0);
  if (p < -n || p >= end)
    raise(ErrorCode::out_of_range, name, "position ", p, " in a sequence of ", n, " tensors");
  return static_cast<std::size_t>(p < 0 ? p + n : p);
}

}  // namespace tenon::TENON_ABI::op
