// The fields of operators that passes insert: stated once, for comparing and writing them.
#pragma once

#include <type_traits>
#include <utility>

#include "tenon/op/framework/spec.hpp"

namespace tenon::TENON_ABI::passes {

/// A struct that lists its fields: static constexpr op::Attributes fields{op::attr("name", &Struct::name),
/// …}, in the order of their declaration; op::no_attributes if there are none.
template <class T>
concept Listed = requires { T::fields; };

namespace detail {

struct Anything {
  template <class T>
  constexpr operator T() const;
};
template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Anything{})...}; };
}

}  // namespace detail

/// Whether T lists each of its fields exactly once.
template <Listed T>
consteval bool lists_all_fields() {
  std::size_t count = 0, same = 0;
  T::fields.each([&]<class A>(const A& a) {
    ++count;
    T::fields.each([&]<class B>(const B& b) {
      if constexpr (std::is_same_v<A, B>) same += a.member == b.member;
    });
  });
  constexpr std::size_t most = 20;
  return same == count && [&]<std::size_t... N>(std::index_sequence<N...>) {
    return ((N == count && detail::takes<T>(std::make_index_sequence<N>()) &&
             !detail::takes<T>(std::make_index_sequence<N + 1>())) ||
            ...);
  }(std::make_index_sequence<most>());
}

/// Calls f(name, member) for each field of a struct, in order.
template <Listed T, class F>
constexpr void for_each_field(F f) {
  static_assert(lists_all_fields<T>(), "`fields` lacks a member, or has one twice");
  T::fields.each([&](const auto& field) { f(field.name, field.member); });
}

}  // namespace tenon::TENON_ABI::passes
