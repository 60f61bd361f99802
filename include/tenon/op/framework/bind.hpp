// How `compute` is called: the C++ type of each parameter, for typed and for erased callers.
//
// `compute` takes the inputs in the order of the specification, then the outputs, each as a view:
//   TensorView<const T> / TensorView<T>   T is the operand's element type (a type variable, or its own)
//   AnyView / AnyOut                      the element type is known only at run time
//   const Value&                          the operand may be other than a tensor (sequence, optional, map, …)
//   std::span<const …>                    the members of a variadic operand, in any of these forms (Value: of
//                                         pointers)
// Operands that were left out arrive as absent views (false in a condition). A leading `Context&` is passed
// on request. Where `compute` is a template, its parameters are deduced: it is tried with no type variable
// typed, then the first, then the first two; the first form that fits is used. Without the outputs in its
// parameters (extents that depend on data, results that are not tensors) `compute` returns the results: a
// Tensor, a Value, a tuple of these, or a std::vector<Value>.
#pragma once

#include <array>

#include "tenon/op/framework/slot.hpp"

namespace tenon::TENON_ABI::op {

template <class T>
concept Operator = requires { T::spec.name; };

namespace detail {

enum class Form { none, planned, fresh };

/// Whether `compute` can be called, with leading arguments C (a Context or nothing): with outputs, or for
/// results.
template <class Op, class B, class Ins, class Outs, class... C>
struct Callable;
template <class Op, class B, int... I, int... O, class... C>
struct Callable<Op, B, std::integer_sequence<int, I...>, std::integer_sequence<int, O...>, C...> {
  static constexpr bool planned =
      requires(const Op& op, C&... c, argument_t<Op, I, false, B>... in, argument_t<Op, O, true, B>... out) {
        op.compute(c..., in..., out...);
      };
  static constexpr bool fresh = requires(const Op& op, C&... c, argument_t<Op, I, false, B>... in) {
    requires !std::is_void_v<decltype(op.compute(c..., in...))>;
  };
};

/// The calling convention of `compute`: the number of typed variables, the form, whether with a context.
struct Convention {
  int typed = 0;
  Form form = Form::none;
  bool context = false;
};

template <class Op, int K = 0>
constexpr Convention find_convention() {
  if constexpr (K > Op::spec.types.size() || K > max_variables) {
    return {};
  } else if constexpr (K > 0 && !Op::spec.types[K > 0 ? K - 1 : 0].any().tensors_only()) {
    return {};
  } else {
    using B = decltype(sample_bound<Op, K>());
    using Plain = Callable<Op, B, Inputs<Op>, Outputs<Op>>;
    using InContext = Callable<Op, B, Inputs<Op>, Outputs<Op>, Context>;
    if constexpr (Plain::planned) return {K, Form::planned, false};
    else if constexpr (InContext::planned) return {K, Form::planned, true};
    else if constexpr (Plain::fresh) return {K, Form::fresh, false};
    else if constexpr (InContext::fresh) return {K, Form::fresh, true};
    else return find_convention<Op, K + 1>();
  }
}

template <class Op>
inline constexpr Convention convention = find_convention<Op>();

/// The types of the specification's type variables.
using VariableTypes = std::array<Type, 5>;

/// Checks the inputs' element types. See resolve_types.
constexpr VariableTypes bind_inputs(const Spec& spec, int version, uint32_t from_attributes,
                                    std::span<const Info> in, Message& m) {
  VariableTypes bound{};
  const int given = static_cast<int>(in.size()), needed = spec.min_inputs(version);
  if (given > spec.inputs.size() && !spec.variadic_inputs())
    return m.add("takes at most ", spec.inputs.size(), " inputs, not ", given), bound;
  for (int i = 0; i < std::max(given, needed); ++i) {
    const Param& p = spec.input(i, version);
    const Type t = i < given ? in[static_cast<std::size_t>(i)].type : Type{};
    if (!t) {
      if (p.arity != Arity::optional && i < needed && p.in(version))
        return m.add("input ", p.name, " is missing"), bound;
      // A variadic operand has no gaps, unless its members have meanings of their own.
      if (p.arity == Arity::variadic && !p.heterogeneous) return m.add("input ", i, " is missing"), bound;
      continue;
    }
    if (t.kind == Kind::unknown || (from_attributes >> std::min(i, 31) & 1)) continue;
    if (!p.in(version) || !spec.permits(p, version).contains(t)) {
      m.add("input ", p.name, " cannot be ", t.kind == Kind::tensor ? "tensor(" : "a value of (", t.element,
            ")");
      m.code_ = ErrorCode::invalid_type;
      return bound;
    }
    const int v = spec.variable(p.type);
    if (v < 0 || p.heterogeneous) continue;
    Type& type = bound[static_cast<std::size_t>(v)];
    if (type && !(type == t)) {
      m.add("input ", p.name, " is tensor(", t.element, "), but ", p.type, " is tensor(", type.element, ")");
      m.code_ = ErrorCode::invalid_type;
      return bound;
    }
    type = t;
  }
  return bound;
}

}  // namespace detail

/// Checks element types against the specification at a version. Fills in the types of outputs that are fixed
/// or follow from the inputs. The message holds the error. `from_attributes` has a bit for each input that
/// the version states as an attribute.
constexpr void resolve_types(const Spec& spec, int version, uint32_t from_attributes,
                             std::span<const Info> in, std::span<Info> out, Message& m) {
  const detail::VariableTypes bound = detail::bind_inputs(spec, version, from_attributes, in, m);
  if (!m.empty()) return;
  for (int o = 0; o < static_cast<int>(out.size()); ++o) {
    if (o >= spec.outputs.size() && !spec.variadic_outputs())
      return m.add("has at most ", spec.outputs.size(), " outputs");
    const Param& p = spec.output(o, version);
    if (!p.in(version)) return m.add("has no output ", p.name, " at version ", version);
    Type& type = out[static_cast<std::size_t>(o)].type;
    if (type) continue;
    const int v = spec.variable(p.type);
    const TypeSet set = spec.permits(p, version);
    if (v >= 0 && !p.heterogeneous) type = bound[static_cast<std::size_t>(v)];
    if (!type && set.single()) type = set.single();
  }
}

/// Fails when a rule gave a result a type that the version does not permit.
constexpr void check_result_types(const Spec& spec, std::span<const Info> out, Infer& i) {
  for (int o = 0; o < static_cast<int>(out.size()); ++o) {
    const Param& p = spec.output(o, i.version());
    const Type t = out[static_cast<std::size_t>(o)].type;
    if (t && t.kind != Kind::unknown && !spec.permits(p, i.version()).contains(t))
      return i.fail_type("output ", p.name, " cannot be ",
                         t.kind == Kind::tensor ? "tensor(" : "a value of (", t.element, ")");
  }
}

/// Whether a row of attributes has a member of Op that is an integer.
template <class Op, class Row>
inline constexpr bool is_integer_row = requires(const Op& op, const Row& row) {
  { op.*row.member } -> std::same_as<const int64_t&>;
};

/// Refuses flags that are neither 0 nor 1. ONNX's inference checks few of them.
template <class Op>
constexpr void expect_flags(const Op& op, Infer& i) {
  attributes_of_class<Op>().each([&](const auto& a) {
    if constexpr (is_integer_row<Op, std::remove_cvref_t<decltype(a)>>)
      if (a.is_flag) i.for_runs([&] { i.expect_choice(a.name, op.*a.member, {0, 1}); });
  });
}

/// resolve_types, then the flags and the operator's own rule.
template <class Op>
constexpr Message infer(const Op& op, int version, std::span<const Info> in, std::span<Info> out) {
  Message m;
  resolve_types(Op::spec, version, inputs_from_attributes<Op>(version), in, out, m);
  if (!m.empty()) return m;
  bool asked_in_vain = false;
  Infer i(Op::spec, in, out, version, asked_in_vain);
  expect_flags(op, i);
  op.infer(i);
  i.for_runs([&] { check_result_types(Op::spec, out, i); });
  for (Info& o : out) {
    if (!o.present()) o.type = Type(Kind::unknown, DType::undefined);
    o.provisional = asked_in_vain;
  }
  return i.message();
}

}  // namespace tenon::TENON_ABI::op
