// Which operator struct an object is of, for callers that know no type.
#pragma once

#include "tenon/op/framework/spec.hpp"

namespace tenon::TENON_ABI::detail {

/// Tells the operator struct of a Spec from others. A domain, a name and a version do not: a program may have
/// a struct of its own for them. Addresses do not either: two libraries of a process may have a constant each
/// for one struct. So structs are compared by their C++ name, except those of unnamed namespaces, whose name
/// another unit may have for a struct of its own.
struct OperatorId {
  std::string_view text;  ///< a function's name with the struct's in it
  const char* mark;       ///< an address that no other struct has in this library

  bool operator==(const OperatorId& other) const {
    return mark == other.mark || (text == other.text && text.find("anonymous") == text.npos);
  }
};

// The Spec stands for the struct, so that structs which inherit it are one.
template <const op::Spec& spec>
constexpr std::string_view operator_text() {
  return __PRETTY_FUNCTION__;
}
// No constant: the linker folds equal ones (--icf=all). Hidden, since each library has its own, and a dynamic
// symbol costs more than its byte.
template <const op::Spec& spec>
[[gnu::visibility("hidden")]] inline char operator_mark = 0;
template <const op::Spec& spec>
[[gnu::visibility("hidden")]] inline constexpr OperatorId operator_of_spec{operator_text<spec>(),
                                                                           &operator_mark<spec>};

template <class Op>
inline constexpr const OperatorId& operator_id = operator_of_spec<Op::spec>;

}  // namespace tenon::TENON_ABI::detail
