// Compile-time messages as the names of types, which both g++ and clang++ print.
#pragma once

#include "tenon/op/framework/infer.hpp"

namespace tenon::TENON_ABI::op {
namespace detail {

/// A text that compilers print.
template <std::size_t N>
struct Text {
  char text[N]{};
};
/// The part of a message from its Begin-th character on. Compilers print long strings shortened, hence parts.
template <Message M, int Begin, int End>
consteval auto part() {
  Text<End - Begin + 1> t{};
  for (int i = Begin; i < End; ++i) t.text[i - Begin] = M.text_[i];
  t.text[End - Begin] = 0;  // clang prints numbers where nothing has set the end
  return t;
}
template <Message M>
consteval int part_end(int begin) {
  if (M.size_ - begin <= 24) return M.size_;
  for (int i = begin + 24; i > begin; --i)
    if (M.text_[i - 1] == ' ') return i;
  return begin + 24;
}
/// Never defined: its name is what the compiler prints.
template <auto... Says>
struct DoesNotFit;

}  // namespace detail

/// The operator's name, then its rule's message.
template <class Op>
consteval Message titled(const Message& m) {
  Message t;
  t.add(Op::spec.name);
  t.add(": ");
  t.add(m.view());
  return t;
}
/// A compile error with the text M.
template <Message M, int Begin = 0, auto... Said>
constexpr void report() {
#if defined(__clang__)
  constexpr int end = detail::part_end<M>(Begin);
#else
  constexpr int end = M.size_;
#endif
  if constexpr (Begin == M.size_) static_assert(sizeof(detail::DoesNotFit<Said...>) > 0);
  else report<M, end, Said..., detail::part<M, Begin, end>()>();
}

}  // namespace tenon::TENON_ABI::op
