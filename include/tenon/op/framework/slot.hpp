// The C++ type of `compute`'s parameter for each operand, once the operator's first type variables are bound.
#pragma once

#include <tuple>

#include "tenon/op/framework/context.hpp"

namespace tenon::TENON_ABI::op::detail {

inline constexpr int max_variables = 3;

/// The C++ types that stand for the first type variables of an operator.
template <class... Ts>
struct Bound {
  static constexpr int count = sizeof...(Ts);
  template <int I>
  using at = std::tuple_element_t<I, std::tuple<Ts...>>;
};

template <class Op, int I, bool Output, class B>
constexpr auto slot_type() {
  constexpr Param p = Output ? Op::spec.outputs[I] : Op::spec.inputs[I];
  constexpr TypeSet set = Output ? Op::spec.output_permits(I) : Op::spec.input_permits(I);
  constexpr int variable = Op::spec.variable(p.type);
  if constexpr (!set.tensors_only()) return std::type_identity<Value>{};
  else if constexpr (variable >= 0 && variable < B::count) {
    using T = typename B::template at<variable>;
    return std::type_identity<TensorView<std::conditional_t<Output, T, const T>>>{};
  } else if constexpr (set.single().element != DType::undefined) {
    using T = cpp_type<set.single().element>;
    return std::type_identity<TensorView<std::conditional_t<Output, T, const T>>>{};
  } else return std::type_identity<std::conditional_t<Output, AnyOut, AnyView>>{};
}

/// The view (or Value) for one member of input or output I.
template <class Op, int I, bool Output, class B>
using slot_t = typename decltype(slot_type<Op, I, Output, B>())::type;

template <class Slot>
using member_t = std::conditional_t<std::is_same_v<Slot, Value>, const Value*, Slot>;

template <class Op, int I, bool Output, class B>
using argument_t =
    std::conditional_t<(Output ? Op::spec.outputs[I] : Op::spec.inputs[I]).arity == Arity::variadic,
                       std::span<const member_t<slot_t<Op, I, Output, B>>>,
                       std::conditional_t<std::is_same_v<slot_t<Op, I, Output, B>, Value>, const Value&,
                                          slot_t<Op, I, Output, B>>>;

template <class Op>
using Inputs = std::make_integer_sequence<int, Op::spec.inputs.size()>;
template <class Op>
using Outputs = std::make_integer_sequence<int, Op::spec.outputs.size()>;

/// The first element type that variable V permits, to try `compute` with.
template <class Op, int V>
constexpr DType sample() {
  const uint32_t mask = Op::spec.types[V].any().tensor;
  for (int d = 1; d <= 26; ++d)
    if (mask >> d & 1) return static_cast<DType>(d);
  return DType::undefined;
}

template <class Op, int V>
using sample_t = cpp_type<sample<Op, V>()>;

template <class Op, int K>
constexpr auto sample_bound() {
  return []<int... V>(std::integer_sequence<int, V...>) {
    return Bound<sample_t<Op, V>...>{};
  }(std::make_integer_sequence<int, K>{});
}

}  // namespace tenon::TENON_ABI::op::detail
