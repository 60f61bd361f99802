// Calls of operators by name, on memory whose element types and extents are part of the source text: the
// calls that `tenon compile` writes.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <tuple>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/op/framework/bind.hpp"

namespace tenon::TENON_ABI::op {

/// An operand that is left out.
struct Absent {};

/// The tensor of elements T and extents E that begins at p: at<float, 1, 10>(p).
template <class T, int64_t... E>
TensorView<T, tenon::Shape<E...>> at(std::conditional_t<std::is_const_v<T>, const void*, void*> p) {
  return element_pointer<T>(p);
}
/// The n elements from element `first` of the array at p.
template <class T>
TensorView<T, tenon::Shape<dyn>> part(std::conditional_t<std::is_const_v<T>, const void*, void*> p,
                                      int64_t first, int64_t n) {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  const int64_t offset = packed_bytes(first, dtype_of<std::remove_const_t<T>>);
  return {element_pointer<T>(static_cast<Byte*>(p) + offset), std::array{n}};
}
/// The first byte of a view.
template <class T, class S>
auto bytes_of(const TensorView<T, S>& v) {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  if constexpr (std::is_pointer_v<decltype(v.data())>) return reinterpret_cast<Byte*>(v.data());
  else return reinterpret_cast<Byte*>(v.data().byte());
}

/// f() as a function of its own. A function of all nodes of a network would take compilers twice as long as
/// the nodes one by one.
template <class F>
TENON_NOINLINE void apart(const F& f) {
  f();
}

/// Operands, or results, in the order of the specification: operands(x, Absent{}, w).
template <class... V>
std::tuple<V...> operands(V... v) {
  return {v...};
}

/// The value of an attribute: set("group", int64_t{2}). A list's value is a span of constants.
template <class V>
struct Setting {
  std::string_view name;
  V value;
};
template <class V>
constexpr Setting<V> set(std::string_view name, V value) {
  return {name, value};
}

namespace compiled_detail {

template <class M, class V>
constexpr bool assign(M& member, const V& value) {
  if constexpr (std::is_same_v<M, V> || std::is_same_v<M, Opt<V>>) {
    member = M(value);
    return true;
  } else if constexpr (std::is_same_v<V, std::string_view> && std::is_same_v<M, Str>) {
    member = Str(value);
    return true;
  } else if constexpr (std::is_same_v<V, std::string_view> && std::is_same_v<M, Opt<Str>>) {
    member = M(Str(value));
    return true;
  } else if constexpr (std::is_same_v<V, std::string_view> && std::is_constructible_v<M, std::string>) {
    member = M(std::string(value));
    return true;
  } else if constexpr (std::is_same_v<V, std::span<const int64_t>> && std::is_constructible_v<M, Ints>) {
    member = M(Ints(value));
    return true;
  } else if constexpr (requires { M(std::vector<typename V::value_type>::listed(value)); }) {
    member = M(std::vector<typename V::value_type>::listed(value));
    return true;
  } else {
    return false;
  }
}

// Not constexpr, so that an attribute that does not fit ends the compilation.
inline void no_such_attribute() {}

template <class Op, class V>
constexpr void assign(Op& op, const Setting<V>& setting) {
  bool found = false;
  attributes_of_class<Op>().each([&]<class Row>(const Row& row) {
    if constexpr (requires { op.*row.member; } && !requires { row.value; })
      if (row.name == setting.name) found |= assign(op.*row.member, setting.value);
  });
  if (!found) no_such_attribute();
}

template <class V>
inline constexpr DType element_of = DType::undefined;
template <class T, class S>
inline constexpr DType element_of<TensorView<T, S>> = dtype_of<std::remove_const_t<T>>;

/// The element types of operands, undefined for operands left out.
template <class List>
struct Elements;
template <class... V>
struct Elements<std::tuple<V...>> {
  static constexpr int count = sizeof...(V);
  static constexpr DType of[count + 1] = {element_of<V>..., DType::undefined};
};

/// The element type of variable V, as run.hpp finds it.
template <class Op, int V, class In, class Out>
constexpr DType bound_type() {
  for (int k = 0; k < Elements<In>::count; ++k)
    if (Elements<In>::of[k] != DType::undefined && Op::spec.input(k).type == Op::spec.types[V].name)
      return Elements<In>::of[k];
  for (int k = 0; k < Elements<Out>::count; ++k)
    if (Elements<Out>::of[k] != DType::undefined && Op::spec.output(k).type == Op::spec.types[V].name)
      return Elements<Out>::of[k];
  return detail::sample<Op, V>();
}

template <class Slot, class V>
Slot slot(const V& v) {
  if constexpr (std::is_same_v<V, Absent>) return Slot{};
  else return Slot(v);
}

/// The argument for parameter K: the slots of all members if it is variadic.
template <class Slot, bool variadic, std::size_t K, class List>
auto argument(const List& list) {
  constexpr std::size_t count = std::tuple_size_v<List>;
  if constexpr (variadic) {
    return [&]<std::size_t... J>(std::index_sequence<J...>) {
      return std::array<Slot, sizeof...(J)>{slot<Slot>(std::get<K + J>(list))...};
    }(std::make_index_sequence<(count > K ? count - K : 0)>{});
  } else if constexpr (K < count) {
    return slot<Slot>(std::get<K>(list));
  } else {
    return Slot{};
  }
}

template <class Op, class B, class In, class Out, int... I, int... O>
void call(const Op& op, const In& in, const Out& out, std::integer_sequence<int, I...>,
          std::integer_sequence<int, O...>) {
  op.compute(static_cast<detail::argument_t<Op, I, false, B>>(argument < detail::slot_t<Op, I, false, B>,
                                                              Op::spec.inputs[I].arity == Arity::variadic,
                                                              std::size_t{I} > (in))...,
             static_cast<detail::argument_t<Op, O, true, B>>(argument < detail::slot_t<Op, O, true, B>,
                                                             Op::spec.outputs[O].arity == Arity::variadic,
                                                             std::size_t{O} > (out))...);
}

}  // namespace compiled_detail

/// An operator as a version states it: make(Conv{}, 11, set("group", int64_t{2})). A constant expression
/// unless there is no such attribute.
template <class Op, class... V>
constexpr Op make(Op op, int version, const Setting<V>&... settings) {
  attributes_of_class<Op>().each([&]<class Row>(const Row& row) {
    if constexpr (requires { op.*row.member = row.value; })
      if (row.in(version)) op.*row.member = row.value;
  });
  (compiled_detail::assign(op, settings), ...);
  return op;
}

/// Calls `compute` with the types of the operands, which the specification permits and whose extents `infer`
/// gave: compute(Relu{}, operands(at<const float, 3>(p)), operands(at<float, 3>(q))).
template <class Op, class... In, class... Out>
void compute(const Op& op, const std::tuple<In...>& in, const std::tuple<Out...>& out) {
  constexpr detail::Convention c = detail::convention<Op>;
  static_assert(c.form == detail::Form::planned && !c.context);
  using B = decltype([]<int... V>(std::integer_sequence<int, V...>) {
    return detail::Bound<
        cpp_type<compiled_detail::bound_type<Op, V, std::tuple<In...>, std::tuple<Out...>>()>...>{};
  }(std::make_integer_sequence<int, c.typed>{}));
  compiled_detail::call<Op, B>(op, in, out, detail::Inputs<Op>{}, detail::Outputs<Op>{});
}

}  // namespace tenon::TENON_ABI::op
