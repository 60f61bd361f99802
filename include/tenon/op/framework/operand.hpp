// Operands of a call (tensors, views, numbers, `none`, `constant<…>`, Values), and how rules see them.
#pragma once

#include "tenon/op/framework/context.hpp"

namespace tenon::TENON_ABI {

/// Stands for an optional operand that is left out: op::Clip{}(x, none, 6.0f).
struct None {};
inline constexpr None none{};

/// An operand whose elements the compiler knows: op::Reshape{}(x, constant<int64_t, 2, -1>).
template <class T, T... V>
struct Constant {
  static constexpr T elements[sizeof...(V) + (sizeof...(V) == 0)] = {V...};
};
template <class T, T... V>
inline constexpr Constant<T, V...> constant{};

namespace op {

/// The static type and extents of an operand, and its conversion to a view.
template <class A>
struct Operand;  // not an operand: tensors, views, numbers, `none`, `constant<…>` and Values are

template <class T, class S>
constexpr Info info_of_type() {
  Info i;
  i.type = dtype_of<std::remove_const_t<T>>;
  if constexpr (S::rank >= 0) {
    i.dims = Dims::of_rank(0);
    for (int64_t e : S::extents) i.dims.push_back(e == dyn ? Dim() : Dim(e));
  }
  return i;
}
template <class T, class S>
struct Operand<TensorView<T, S>> {
  using element = std::remove_const_t<T>;
  static constexpr bool typed = true;
  static constexpr Info info() { return info_of_type<T, S>(); }
  static TensorView<const element> view(const TensorView<T, S>& v) { return v; }
};
template <class T, class S>
struct Operand<Tensor<T, S>> {
  using element = T;
  static constexpr bool typed = true;
  static constexpr Info info() { return info_of_type<T, S>(); }
  static TensorView<const T> view(const Tensor<T, S>& t) { return t; }
};
/// The element types whose values are operands of rank 0.
template <class T>
concept NumberElement =
    Element<T> && (std::is_arithmetic_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>);
template <NumberElement T>
struct Operand<T> {
  using element = T;
  static constexpr bool typed = true;
  static constexpr Info info() { return info_of_type<T, Shape<>>(); }
  static TensorView<const T> view(const T& x) { return {&x, {}}; }
};
template <class T, T... V>
struct Operand<Constant<T, V...>> {
  using element = T;
  static constexpr bool typed = true;
  static constexpr Info info() {
    Info i = info_of_type<T, Shape<static_cast<int64_t>(sizeof...(V))>>();
    i.propagated = {static_cast<int64_t>(V)...};
    return i;
  }
  static TensorView<const T> view(const Constant<T, V...>& c) { return {c.elements, {sizeof...(V)}}; }
};
template <>
struct Operand<None> {
  static constexpr bool typed = true;
  static constexpr Info info() { return {}; }
};
template <>
struct Operand<Value> {
  static constexpr bool typed = false;
};
template <>
struct Operand<AnyTensor> {
  static constexpr bool typed = false;
};
template <>
struct Operand<AnyView> {
  static constexpr bool typed = false;
};

template <class A>
concept IsOperand = Lazy<A> || requires { Operand<A>::typed; };

/// An operand as a call reads it: a Lazy one is computed first.
template <class A>
decltype(auto) ready(const A& a) {
  if constexpr (Lazy<A>) return a.eval();
  else return (a);
}

inline Info info_of(AnyView v) {
  Info i;
  if (!v) return i;
  i.type = v.dtype();
  i.dims = Dims(v.extents());
  i.data = v.data();
  return i;
}
inline Info info_of(const Value& v) {
  Info i;
  if (v.is_tensor()) {
    i = info_of(v.tensor().view());
    if (!v.tensor().aligned()) i.data = nullptr;
    return i;
  }
  i.type = v.type();
  if (v.is_sparse_tensor()) i.dims = Dims(v.sparse_tensor().extents);
  return i;
}

inline Value to_value(const None&) { return {}; }
inline Value to_value(const Value& v) { return v; }
inline Value to_value(const AnyTensor& t) { return t; }
inline Value to_value(AnyView v) {
  if (!v) return {};
  return AnyTensor(v.dtype(), Extents(v.extents()),
                   Storage::borrow(v.data(), static_cast<std::size_t>(v.bytes())));
}

/// The operands as text, for messages, with the names that a version of the operator gives them: "X:
/// tensor(float) (2,3)".
[[gnu::cold]] inline std::string describe_operands(const Spec& spec, std::span<const Info> in,
                                                   int version = always) {
  std::string text;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i].present()) continue;
    const bool stated = static_cast<int>(i) < spec.inputs.size() || spec.variadic_inputs();
    text += str_cat(text.empty() ? "" : ", ",
                    stated ? spec.input(static_cast<int>(i), version).name : std::string_view("?"), ": ",
                    to_string(in[i].type));
    if (in[i].dims.ranked()) {
      Message m;
      m.add(in[i].dims);
      text += str_cat(" ", m.view());
    }
  }
  return text;
}
[[noreturn, gnu::cold]] inline void raise_rule(const Spec& spec, std::span<const Info> in, const Message& m,
                                               int version = always) {
  raise(m.code(), spec.name, m.view(), " [", describe_operands(spec, in, version), "]");
}

template <class A>
using clean = std::remove_cvref_t<A>;

/// The bits of the element types of typed operands; all bits if one is erased or there is none.
template <class... A>
consteval uint32_t filter_of() {
  uint32_t mask = sizeof...(A) == 0 ? ~uint32_t{0} : 0;
  [[maybe_unused]] auto add = [&]<class X>() {
    if constexpr (!Operand<X>::typed) mask = ~uint32_t{0};
    else mask |= 1u << static_cast<int>(Operand<X>::info().type.element);
  };
  (add.template operator()<A>(), ...);
  return mask;
}

}  // namespace op
}  // namespace tenon::TENON_ABI
