// Messages to an operator's author that say why `compute` cannot be called: "Trilu: parameter 2 of compute is
// input k: expected TensorView<const int64_t>".
#pragma once

#include "tenon/op/framework/report.hpp"
#include "tenon/op/framework/slot.hpp"

namespace tenon::TENON_ABI::op::detail {

/// The C++ name of an element type.
constexpr void add_cpp_name(Message& m, DType d) {
  if (d == DType::string) m.add("std::");
  m.add(d);
  if (is_integer(d) && bits_of(d) >= 8) m.add("_t");
}

/// The parameter type that operand I requires, as text with the ONNX names of type variables.
template <class Op, int I, bool Output, class B>
constexpr void add_argument(Message& m) {
  using Slot = slot_t<Op, I, Output, B>;
  constexpr Param p = Output ? Op::spec.outputs[I] : Op::spec.inputs[I];
  const bool many = p.arity == Arity::variadic;
  if (many) m.add("std::span<const ");
  if constexpr (std::is_same_v<Slot, Value>) {
    m.add(many ? "Value* const" : "const Value&");
  } else if constexpr (std::is_same_v<Slot, AnyView> || std::is_same_v<Slot, AnyOut>) {
    m.add(Output ? "AnyOut" : "AnyView");
  } else {
    m.add(Output ? "TensorView<" : "TensorView<const ");
    if (Op::spec.variable(p.type) >= 0) m.add(p.type);
    else add_cpp_name(m, dtype_of<std::remove_const_t<typename Slot::element_type>>);
    m.add(">");
  }
  if (many) m.add(">");
}

/// The parameters of a member function.
template <class F>
struct Parameters {
  static constexpr bool is_const = false;
  using list = std::tuple<>;
};
template <class R, class Op, class... P>
struct Parameters<R (Op::*)(P...) const> {
  static constexpr bool is_const = true;
  using list = std::tuple<P...>;
};
template <class R, class Op, class... P>
struct Parameters<R (Op::*)(Context&, P...) const> : Parameters<R (Op::*)(P...) const> {};

/// The reason why a compute with the parameters List cannot take operand number K of `spec`; empty if it can.
template <class Op, class B, class List, int K>
constexpr bool takes(Message& m) {
  constexpr int inputs = Op::spec.inputs.size(), given = std::tuple_size_v<List>;
  constexpr bool output = K >= inputs;
  constexpr int i = output ? K - inputs : K;
  if constexpr (K < given)
    if (std::is_convertible_v<argument_t<Op, i, output, B>, std::tuple_element_t<K, List>>) return true;
  if (K < given) m.add("parameter "), m.add(K + 1), m.add(" of compute is ");
  else m.add("compute lacks ");
  m.add(output ? "output " : "input ");
  m.add(output ? Op::spec.outputs[i].name : Op::spec.inputs[i].name);
  m.add(": expected ");
  add_argument<Op, i, output, B>(m);
  return false;
}

/// Why a compute of type F cannot be called, its type variables bound as in B.
template <class Op, class F, class B>
constexpr void add_misfit(Message& m) {
  using P = Parameters<F>;
  constexpr int operands = Op::spec.inputs.size() + Op::spec.outputs.size();
  if (!P::is_const) return m.add("compute is not const");
  const bool all = []<int... K>(Message& to, std::integer_sequence<int, K...>) {
    return (takes<Op, B, typename P::list, K>(to) && ...);
  }(m, std::make_integer_sequence<int, operands>{});
  if (all) m.add("compute takes other parameters than its "), m.add(operands), m.add(" operands");
}

/// The same for a compute whose template has the first variables V for parameters; false when there is none.
template <class Op, int... V>
constexpr bool add_misfit_of(Message& m, std::integer_sequence<int, V...>) {
  if constexpr (sizeof...(V) == 0) {
    if constexpr (requires { &Op::compute; }) return add_misfit<Op, decltype(&Op::compute), Bound<>>(m), true;
  } else if constexpr (requires { &Op::template compute<sample_t<Op, V>...>; }) {
    using F = decltype(&Op::template compute<sample_t<Op, V>...>);
    return add_misfit<Op, F, Bound<sample_t<Op, V>...>>(m), true;
  }
  return false;
}

/// Why no convention fits `compute`.
template <class Op>
consteval Message misfit() {
  Message m;
  const bool found = []<int... V>(Message& to, std::integer_sequence<int, V...>) {
    return (add_misfit_of<Op>(to, std::make_integer_sequence<int, V>{}) || ...);
  }(m, std::make_integer_sequence<int, std::min(max_variables, Op::spec.types.size()) + 1>{});
  if (!found) m.add("has no compute whose template parameters are its first type variables");
  return m;
}

}  // namespace tenon::TENON_ABI::op::detail
