// Which operator struct an object is of, for callers that do not know its type.
#pragma once

#include "tenon/op/framework/spec.hpp"

namespace tenon::TENON_ABI::detail {

/// Distinguishes the operator struct of a Spec from others. A domain, a name and a version do not: a program
/// may have a struct of its own for them. Addresses do not either: two libraries of a process may each have a
/// constant for one struct. So structs are compared by their C++ name, except structs in unnamed namespaces,
/// because another unit may use the same name for a different struct.
struct OperatorId {
  std::string_view text;  ///< a function's name with the struct's in it
  const char* mark;       ///< an address that no other struct has in this library

  bool operator==(const OperatorId& other) const {
    return mark == other.mark || (text == other.text && text.find("anonymous") == text.npos);
  }
};

// The Spec identifies the struct, so structs that inherit it count as one.
template <const op::Spec& spec>
constexpr std::string_view operator_text() {
  return __PRETTY_FUNCTION__;
}
// Not a constant, because the linker folds equal ones (--icf=all). Hidden, because each library has its own,
// and a dynamic symbol costs more than its byte.
template <const op::Spec& spec>
[[gnu::visibility("hidden")]] inline char operator_mark = 0;
template <const op::Spec& spec>
[[gnu::visibility("hidden")]] inline constexpr OperatorId operator_of_spec{operator_text<spec>(),
                                                                           &operator_mark<spec>};

template <class Op>
inline constexpr const OperatorId& operator_id = operator_of_spec<Op::spec>;

}  // namespace tenon::TENON_ABI::detail
