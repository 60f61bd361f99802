// How `compute` is called: the C++ type of each parameter, for typed and for erased callers.
//
// `compute` takes the inputs in the order of the specification, then the outputs, each as a view:
//   TensorView<const T> / TensorView<T>   T is the operand's element type (a type variable, or its own)
//   AnyView / AnyOut                      the element type is a matter of run time
//   const Value&                          the operand may be other than a tensor (sequence, optional, map, …)
//   std::span<const …>                    the members of a variadic operand, in any of these forms (Value: of
//                                         pointers)
// Operands that were left out arrive as absent views (false in a condition). A leading `Context&` is passed
// on request. Where `compute` is a template, its parameters are deduced: it is tried with no type variable
// typed, then the first, then the first two; the first form that fits is used. Without the outputs in its
// parameters (extents that depend on data, results that are not tensors) `compute` returns the results: a
// Tensor, a Value, a tuple of these, or a std::vector<Value>.
#pragma once

#include "tenon/op/framework/slot.hpp"

namespace tenon::op {

template <class T>
concept Operator = requires { T::spec.name; };

namespace detail {

enum class Form { none, planned, fresh };

template <class Op, class B, bool WithContext, class Ins, class Outs>
struct Callable;
template <class Op, class B, bool WithContext, int... I, int... O>
struct Callable<Op, B, WithContext, std::integer_sequence<int, I...>, std::integer_sequence<int, O...>> {
  static constexpr bool planned = [] {
    if constexpr (WithContext)
      return requires(const Op& op, Context& c, argument_t<Op, I, false, B>... in,
                      argument_t<Op, O, true, B>... out) { op.compute(c, in..., out...); };
    else
      return requires(const Op& op, argument_t<Op, I, false, B>... in, argument_t<Op, O, true, B>... out) {
        op.compute(in..., out...);
      };
  }();
  static constexpr bool fresh = [] {
    if constexpr (WithContext)
      return requires(const Op& op, Context& c, argument_t<Op, I, false, B>... in) {
        requires !std::is_void_v<decltype(op.compute(c, in...))>;
      };
    else
      return requires(const Op& op, argument_t<Op, I, false, B>... in) {
        requires !std::is_void_v<decltype(op.compute(in...))>;
      };
  }();
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
    if constexpr (Callable<Op, B, false, Inputs<Op>, Outputs<Op>>::planned) return {K, Form::planned, false};
    else if constexpr (Callable<Op, B, true, Inputs<Op>, Outputs<Op>>::planned)
      return {K, Form::planned, true};
    else if constexpr (Callable<Op, B, false, Inputs<Op>, Outputs<Op>>::fresh) return {K, Form::fresh, false};
    else if constexpr (Callable<Op, B, true, Inputs<Op>, Outputs<Op>>::fresh) return {K, Form::fresh, true};
    else return find_convention<Op, K + 1>();
  }
}

template <class Op>
inline constexpr Convention convention = find_convention<Op>();

}  // namespace detail

/// Checks element types against the specification at a version. Fills in the types of outputs that are fixed
/// or follow from the inputs. The message holds the error. `from_attributes` has a bit for each input that
/// the version states as an attribute.
constexpr void resolve_types(const Spec& spec, int version, uint32_t from_attributes,
                             std::span<const Info> in, std::span<Info> out, Message& m) {
  Type bound[5]{};
  const int given = static_cast<int>(in.size());
  if (given > spec.inputs.size() && !spec.variadic_inputs()) {
    m.add("takes at most "), m.add(spec.inputs.size()), m.add(" inputs, not "), m.add(given);
    return;
  }
  const int needed = spec.min_inputs(version);
  for (int i = 0; i < std::max(given, needed); ++i) {
    const Param& p = spec.input(i, version);
    const Type t = i < given ? in[static_cast<std::size_t>(i)].type : Type{};
    if (!t) {
      if (p.arity != Arity::optional && i < needed && p.in(version)) {
        m.add("input "), m.add(p.name), m.add(" is missing");
        return;
      }
      // A variadic operand has no gaps, but for those whose members have meanings of their own.
      if (p.arity == Arity::variadic && !p.heterogeneous) {
        m.add("input "), m.add(i), m.add(" is missing");
        return;
      }
      continue;
    }
    if (t.kind == Kind::unknown || (from_attributes >> std::min(i, 31) & 1)) continue;
    if (!p.in(version) || !spec.permits(p, version).contains(t)) {
      m.add("input "), m.add(p.name), m.add(" cannot be "),
          m.add(t.kind == Kind::tensor ? "tensor(" : "a value of (");
      m.add(t.element), m.add(")");
      return;
    }
    const int v = spec.variable(p.type);
    if (v < 0 || p.heterogeneous) continue;
    if (bound[v] && !(bound[v] == t)) {
      m.add("input "), m.add(p.name), m.add(" is tensor("), m.add(t.element), m.add("), but "), m.add(p.type);
      m.add(" is tensor("), m.add(bound[v].element), m.add(")");
      return;
    }
    bound[v] = t;
  }
  for (int o = 0; o < static_cast<int>(out.size()); ++o) {
    if (o >= spec.outputs.size() && !spec.variadic_outputs()) {
      m.add("has at most "), m.add(spec.outputs.size()), m.add(" outputs");
      return;
    }
    const Param& p = spec.output(o, version);
    if (!p.in(version)) {
      m.add("has no output "), m.add(p.name), m.add(" at version "), m.add(version);
      return;
    }
    const int v = spec.variable(p.type);
    Type& type = out[static_cast<std::size_t>(o)].type;
    if (type) continue;
    const TypeSet set = spec.permits(p, version);
    if (v >= 0 && bound[v] && !p.heterogeneous) type = bound[v];
    else if (set.single()) type = set.single();
  }
}

/// Fails when a rule gave a result a type that the version does not permit.
constexpr void check_result_types(const Spec& spec, std::span<const Info> out, Infer& i) {
  for (int o = 0; o < static_cast<int>(out.size()); ++o) {
    const Param& p = spec.output(o, i.version());
    const Type t = out[static_cast<std::size_t>(o)].type;
    if (t && t.kind != Kind::unknown && !spec.permits(p, i.version()).contains(t))
      return i.fail("output ", p.name, " cannot be ", t.kind == Kind::tensor ? "tensor(" : "a value of (",
                    t.element, ")");
  }
}

/// resolve_types, then the operator's own rule.
template <class Op>
constexpr Message infer(const Op& op, int version, std::span<const Info> in, std::span<Info> out) {
  Message m;
  resolve_types(Op::spec, version, inputs_from_attributes<Op>(version), in, out, m);
  if (!m.empty()) return m;
  bool asked_in_vain = false;
  Infer i(Op::spec, in, out, version, asked_in_vain);
  op.infer(i);
  i.for_runs([&] { check_result_types(Op::spec, out, i); });
  for (Info& o : out) {
    if (!o.present()) o.type = Type(Kind::unknown, DType::undefined);
    o.provisional = asked_in_vain;
  }
  return i.message();
}

}  // namespace tenon::op
