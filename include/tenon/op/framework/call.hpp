// Calling an operator: `op(x, y)` and `apply<op>(x, y)`.
#pragma once

#include "tenon/op/framework/evaluate.hpp"
#include "tenon/op/framework/run.hpp"
#include "tenon/op/framework/typed.hpp"

namespace tenon::TENON_ABI {
namespace op {
namespace detail {

/// An operator as `evaluate` takes it.
template <class Op, uint32_t Filter>
struct Evaluated {
  const Op& op;
  static constexpr const Spec& spec() { return Op::spec; }
  static constexpr bool planned() { return is_planned<Op>; }
  Message infer(std::span<const Info> in, std::span<Info> out) const {
    return tenon::op::infer(op, Op::spec.latest(), in, out);
  }
  void run(Context& context, std::span<const Value* const> in, std::span<Value* const> out) const {
    tenon::op::run<Op, Filter>(op, context, in, out);
  }
};

template <class Op, int Count, class... A>
auto call_values(const Op& op, const A&... a) {
  const std::array<Value, sizeof...(A)> values{[&] {
    if constexpr (std::is_same_v<A, None>) return Value();
    // Results may share an operand's elements, and then outlive it.
    else if constexpr (requires { Value(a), a.storage(); }) return a.storage() ? Value(a) : Value();
    else if constexpr (Operand<A>::typed) return to_value(AnyView(Operand<A>::view(a)));
    else return to_value(a);
  }()...};
  std::array<const Value*, sizeof...(A)> in{};
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = &values[i];
  Context context;
  std::vector<Value> out = evaluate(Evaluated<Op, filter_of<A...>()>{op}, context, in, Count);
  if constexpr (Count == 1) return std::move(out[0]);
  else
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return std::tuple{std::move(out[K])...};
    }(std::make_index_sequence<Count>{});
}

template <class Slot, class A>
auto typed_argument(const A& a) {
  if constexpr (std::is_same_v<A, None>) return Slot{};
  else return Slot(Operand<A>::view(a));
}

/// A typed call; the compiler knows the element types of all results.
template <class Op, class Types, class... A, int... I, int... O, class... Out>
void compute_typed(const Op& op, std::integer_sequence<int, I...>, std::integer_sequence<int, O...>, Types,
                   std::tuple<Out...>& out, const A&... a) {
  using B = Types;
  const auto args = std::forward_as_tuple(a...);
  auto input = [&]<int K>() {
    using Slot = slot_t<Op, K, false, B>;
    if constexpr (Op::spec.inputs[K].arity == Arity::variadic) {
      return [&]<std::size_t... J>(std::index_sequence<J...>) {
        return std::array<Slot, sizeof...(A) - K>{typed_argument<Slot>(std::get<K + J>(args))...};
      }(std::make_index_sequence<sizeof...(A) - K>{});
    } else if constexpr (K < sizeof...(A)) {
      return typed_argument<Slot>(std::get<K>(args));
    } else return Slot{};
  };
  auto output = [&]<int K>() {
    using Slot = slot_t<Op, K, true, B>;
    if constexpr (Op::spec.outputs[K].arity == Arity::variadic) {
      return [&]<std::size_t... J>(std::index_sequence<J...>) {
        return std::array<Slot, sizeof...(Out) - K>{Slot(std::get<K + J>(out).view())...};
      }(std::make_index_sequence<sizeof...(Out) - K>{});
    } else if constexpr (K < sizeof...(Out)) {
      return Slot(std::get<K>(out).view());
    } else return Slot{};
  };
  if constexpr (convention<Op>.context) {
    Context context;
    op.compute(context, static_cast<argument_t<Op, I, false, B>>(input.template operator()<I>())...,
               static_cast<argument_t<Op, O, true, B>>(output.template operator()<O>())...);
  } else {
    op.compute(static_cast<argument_t<Op, I, false, B>>(input.template operator()<I>())...,
               static_cast<argument_t<Op, O, true, B>>(output.template operator()<O>())...);
  }
}

[[noreturn, gnu::cold]] inline void raise_missing(const Spec& spec, int input) {
  raise(ErrorCode::invalid_shape, spec.name, "input ", spec.input(input).name, " is missing");
}

/// The results of a typed call, in memory of their own. If the compiler has applied the rule with everything
/// known, the run does not apply it again.
template <class Op, class T, int Count, class... A, std::size_t... R>
auto allocate_typed([[maybe_unused]] const Op& op, std::index_sequence<R...>, const A&... a) {
  if constexpr (T::settled) {
    int k = 0;
    ((Operand<A>::view(a) ? void(++k) : raise_missing(Op::spec, k)), ...);
    return std::tuple{T::template tensor<R>::uninitialized(T::result.out[R].dims.extents())...};
  } else {
    const std::array<Info, sizeof...(A)> in{[&] {
      Info i = Operand<A>::info();
      if constexpr (!std::is_same_v<A, None>) {
        const auto v = Operand<A>::view(a);
        if (!v) return Info{};
        i.dims = Dims(v.extents());
        if constexpr (std::is_pointer_v<decltype(v.data())>) i.data = v.data();
      }
      return i;
    }()...};
    std::array<Info, Count> results{};
    const Message m = infer(op, Op::spec.latest(), in, results);
    if (!m.empty()) raise_rule(Op::spec, in, m);
    return std::tuple{T::template tensor<R>::uninitialized(known_extents(Op::spec, results[R]))...};
  }
}

template <class Op, class T, int Count, class... A, std::size_t... R>
auto call_typed(const Op& op, std::index_sequence<R...> results, const A&... a) {
  auto out = allocate_typed<Op, T, Count>(op, results, a...);
  using B = decltype([]<int... V>(std::integer_sequence<int, V...>) {
    return Bound<cpp_type<bound_dtype<Op, V, A...>(T::result.out)>...>{};
  }(std::make_integer_sequence<int, convention<Op>.typed>{}));
  compute_typed(op, Inputs<Op>{}, Outputs<Op>{}, B{}, out, a...);
  if constexpr (Count == 1) return std::get<0>(std::move(out));
  else return out;
}

template <int Count, class Op, class Static, class... A>
auto call(const Op& op, const A&... a) {
  constexpr int count = Count > 0 ? Count : std::max(1, Op::spec.min_outputs());
  if constexpr ((std::is_same_v<A, Invalid> || ...)) {
    return Invalid{};
  } else if constexpr (!(IsOperand<A> && ...)) {
    static_assert(
        (IsOperand<A> && ...),
        "an operand is a tensor, a view, a slice, an expression, a number of an element type, none, "
        "constant<...> or a Value");
    return Invalid{};
  } else if constexpr ((Lazy<A> || ...)) {
    return call<Count, Op, Static, clean<decltype(ready(a))>...>(op, ready(a)...);
  } else if constexpr (convention<Op>.form == Form::none && !is_function<Op>) {
    report<titled<Op>(misfit<Op>())>();
    return Invalid{};
  } else if constexpr (!(Operand<A>::typed && ...)) {
    return call_values<Op, count>(op, a...);
  } else {
    using T = TypedCall<Op, Static, count, A...>;
    if constexpr (!T::valid) {
      report<titled<Op>(T::result.message)>();
      return Invalid{};
    } else if constexpr (T::resolved && is_planned<Op>) {
      return call_typed<Op, T, count>(op, std::make_index_sequence<count>{}, a...);
    } else {
      return call_values<Op, count>(op, a...);
    }
  }
}

}  // namespace detail

/// The body of every operator's `operator()`: infers, allocates, computes. Operands are tensors, views,
/// expressions, numbers (rank 0), `none`, `constant<…>`, or Values; with a Value among them, or if the
/// results' element types are known only at run time, the results are Values. Several results come as a
/// tuple; Count requests more than the operator's obligatory ones. Error{invalid_shape, invalid_type, …} if
/// ONNX forbids the operands.
template <int Count = 0, Operator Op, class... A>
auto call(const Op& op, const A&... a) {
  return detail::call<Count, Op, RunTimeAttributes<Op>, clean<A>...>(op, a...);
}

}  // namespace op

/// Calls an operator whose attributes the compiler knows: the results' extents are part of their types, and
/// operands that do not fit are a compile error. apply<op::Conv{.strides = {2, 2}}>(x, w)
template <auto Op, int Count = 0, class... A>
auto apply(const A&... a) {
  return op::detail::call<Count, std::remove_cv_t<decltype(Op)>, op::KnownAttributes<Op>, op::clean<A>...>(
      Op, a...);
}

}  // namespace tenon::TENON_ABI
