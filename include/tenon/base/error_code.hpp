// The kinds of errors.
#pragma once

#include <string_view>

#include "tenon/base/version.hpp"

namespace tenon::TENON_ABI {

enum class TENON_PROCESS_WIDE ErrorCode {
  invalid_argument,  ///< a caller's value that the call does not accept
  invalid_type,      ///< an element type or kind of value that the operator or conversion does not accept
  invalid_shape,     ///< ranks or extents that do not fit each other, or whose product overflows
  invalid_model,     ///< a model, file or graph that breaks ONNX's rules
  not_supported,     ///< an operator, domain, opset or feature that is unknown here
  out_of_range,      ///< an index outside its list or axis
  out_of_memory,     ///< an allocation failed
  io,                ///< a file could not be opened, read or mapped
  limit,             ///< a limit that the caller set was reached
  cancelled,         ///< the caller asked a run to stop
};

/// Ends with a zero.
constexpr std::string_view name_of(ErrorCode code) {
  constexpr std::string_view names[] = {
      "invalid argument", "invalid type",  "invalid shape", "invalid model", "not supported",
      "out of range",     "out of memory", "input/output",  "limit",         "cancelled"};
  return names[static_cast<int>(code)];
}

}  // namespace tenon::TENON_ABI
