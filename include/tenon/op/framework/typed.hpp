// The static side of a typed call: the operator's rule as the compiler applies it, and the types of the
// results.
#pragma once

#include <array>

#include "tenon/op/framework/bind.hpp"
#include "tenon/op/framework/operand.hpp"
#include "tenon/op/framework/report.hpp"

namespace tenon::TENON_ABI::op {

/// A result, as far as the compiler knows it. Not an Info, because g++'s sanitizers refuse constants that own
/// memory.
struct StaticInfo {
  Type type;
  Dims dims;
  bool provisional;
};
template <int Count>
struct StaticResult {
  Message message;
  std::array<StaticInfo, Count> out;
};

/// How much the compiler knows of an operator object: all attributes (KnownAttributes), everything because
/// there are no attributes, or nothing.
template <auto Object>
struct KnownAttributes {
  static constexpr bool known = true;
  static constexpr const auto& object = Object;
};
template <class Op>
struct RunTimeAttributes {
  static constexpr bool known = false;
};
template <class Op>
  requires std::is_empty_v<Op>
struct RunTimeAttributes<Op> {
  static constexpr bool known = true;
  static constexpr Op object{};
};

/// The rule as the compiler applies it. Without the operator's attributes, it resolves types, and extents
/// that no attribute can change: an elementwise operator of one operand keeps its extents.
template <class Op, class Static, int Count, class... A>
consteval StaticResult<Count> infer_static() {
  const std::array<Info, sizeof...(A)> in{Operand<A>::info()...};
  std::array<Info, Count> out{};
  StaticResult<Count> r{};
  if constexpr (Static::known) {
    r.message = infer(Static::object, Op::spec.latest(), in, out);
  } else {
    resolve_types(Op::spec, Op::spec.latest(), 0, in, out, r.message);
    if constexpr (sizeof...(A) == 1 && Op::spec.memory == Memory::elementwise) out[0].dims = in[0].dims;
  }
  for (std::size_t o = 0; o < out.size(); ++o) r.out[o] = {out[o].type, out[o].dims, out[o].provisional};
  return r;
}

template <Dims D>
consteval auto shape_of_dims() {
  if constexpr (!D.ranked()) return AnyShape{};
  else
    return []<std::size_t... K>(std::index_sequence<K...>) {
      return Shape<(D[K].known() ? D[K].value() : dyn)...>{};
    }(std::make_index_sequence<D.rank()>{});
}

/// The static side of one typed call: whether it fits, and the results' types.
template <class Op, class Static, int Count, class... A>
struct TypedCall {
  static constexpr auto result = infer_static<Op, Static, Count, A...>();
  static constexpr bool valid = result.message.empty();
  static constexpr bool resolved = [] {
    for (const StaticInfo& i : result.out)
      if (i.type.kind != Kind::tensor) return false;
    return true;
  }();
  /// Run time adds nothing for the rule: attributes, extents and the elements that it asks for are known.
  static constexpr bool settled =
      Static::known && (Operand<A>::info().dims.known() && ...) &&
      std::ranges::all_of(result.out, [](const StaticInfo& i) { return i.dims.known() && !i.provisional; });
  template <int I>
  using tensor = Tensor<cpp_type<result.out[I].type.element>, decltype(shape_of_dims<result.out[I].dims>())>;
};

/// The C++ type bound to variable V by the operands of a typed call, or by the result when none names it.
template <class Op, int V, class... A>
consteval DType bound_dtype(std::span<const StaticInfo> out) {
  const std::array<Info, sizeof...(A)> in{Operand<A>::info()...};
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i].present() && Op::spec.input(static_cast<int>(i)).type == Op::spec.types[V].name)
      return in[i].type.element;
  for (std::size_t o = 0; o < out.size(); ++o)
    if (Op::spec.output(static_cast<int>(o)).type == Op::spec.types[V].name) return out[o].type.element;
  return detail::sample<Op, V>();
}

/// The result type of a call that does not compile. It prevents follow-up errors that would hide the message.
struct Invalid {
  template <class T>
  operator T() const;
};

}  // namespace tenon::TENON_ABI::op
