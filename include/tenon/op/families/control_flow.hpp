// Shared by operators that pass values on (If, Loop, Scan, Optional): values that outlive the operands, and
// tensors stacked from the results of a body's runs.
#pragma once

#include "tenon/kernels/move/move.hpp"
#include "tenon/op/framework/attribute.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// The value itself, or a copy if it may not outlive the operator: a tensor in borrowed memory (operands
/// often are), and strings, whose memory a session reuses.
inline Value kept(const Value& v, Context& c) {
  if (!v.is_tensor()) return v;
  const AnyTensor& t = v.tensor();
  return t.storage().use_count() == 0 || t.dtype() == DType::string ? Value(t.clone(c.allocator())) : v;
}
/// A view as a value that is valid for as long as the view.
inline Value lent(AnyView v) { return to_value(v); }

/// V of If and Loop: tensors, then sequences, then optionals, of more and more element types.
inline constexpr TypeVar control_flow_types = [] {
  constexpr auto with = [](TypeSet tensors, TypeSet held) {
    return tensors | seq(tensors) | optional_of(tensors | seq(held));
  };
  return TypeVar("V", {{1, types::all},
                       {13, types::all | seq(types::all)},
                       {16, with(types::all_ir4, types::all_ir4)},
                       {19, with(types::all_ir9, types::all_ir4)},
                       {21, with(types::all_ir10, types::all_ir4)},
                       {23, with(types::all_ir11, types::all_ir4)},
                       {24, with(types::all_ir12, types::all_ir4)},
                       {25, with(types::all_ir13, types::all_ir4)}});
}();

/// Tensors of equal types and extents, at least one, stacked along a new axis in their order or the reverse.
/// Error{invalid_shape} if they differ.
inline AnyTensor stacked(std::string_view name, std::span<const Value> items, int64_t axis, bool reverse,
                         Allocator& allocator) {
  const AnyTensor& first = items[0].tensor();
  const int64_t n = static_cast<int64_t>(items.size()), at = resolve_axis(axis, first.rank() + 1);
  if (at < 0 || at > first.rank())
    raise(ErrorCode::invalid_shape, name, "axis ", axis, " of rank ", first.rank() + 1);
  Extents extents = first.extents();
  extents.insert(static_cast<int>(at), n);
  AnyTensor result = AnyTensor::uninitialized(first.dtype(), extents, allocator);
  const auto cut = static_cast<std::size_t>(at);
  const std::span<const int64_t> one = first.extents();
  const int64_t outer = extent_product(one.first(cut)),
                inner = first.size() == 0 ? 0 : extent_product(one.subspan(cut));
  const int64_t rows[] = {outer, inner}, to[] = {n * inner, 1}, from[] = {inner, 1};
  for (int64_t k = 0; k < n; ++k) {
    const AnyTensor& t = items[static_cast<std::size_t>(reverse ? n - 1 - k : k)].tensor();
    if (t.dtype() != first.dtype() || !(t.extents() == first.extents()))
      raise(ErrorCode::invalid_shape, name, "one iteration returns tensor(", tenon::name_of(t.dtype()), ") ",
            to_string(t.extents()), ", the first tensor(", tenon::name_of(first.dtype()), ") ",
            to_string(one));
    kernels::move(t.dtype(), result.out().data(), {k * inner, to}, t.data(), {0, from}, rows);
  }
  return result;
}

/// A tensor of zeros (strings: empty) in place of the result of a body that never ran. Unknown extents become
/// 0. Error{invalid_type} if not even the element type is known.
inline AnyTensor zeros_of(std::string_view name, const Info& result, Allocator& allocator) {
  if (result.type.kind != Kind::tensor)
    raise(ErrorCode::invalid_type, name, "the body did not run, and does not tell the types of its results");
  Extents extents;
  for (Dim d : result.dims) extents.push_back(d.known() ? d.value() : 0);
  AnyTensor t = AnyTensor::uninitialized(result.type.element, extents, allocator);
  if (t.dtype() != DType::string && t.size() > 0)
    std::memset(t.out().data(), 0, static_cast<std::size_t>(t.bytes()));
  return t;
}
/// `stacked` for no tensors at all.
inline AnyTensor stacked_none(std::string_view name, Info result, int64_t axis, Allocator& allocator) {
  const int rank = result.dims.rank() + 1;
  const int at = resolve_axis(axis, rank);
  if (at < 0 || at >= rank) raise(ErrorCode::invalid_shape, name, "axis ", axis, " of rank ", rank);
  result.dims.insert(static_cast<int>(at), 0);
  return zeros_of(name, result, allocator);
}

/// Whether a value of type `held` may stand where an optional that holds one is expected.
constexpr bool is_held_by(Type holder, Type held) {
  const Kind kind = holder.kind == Kind::optional            ? Kind::tensor
                    : holder.kind == Kind::optional_sequence ? Kind::sequence
                                                             : Kind::none;
  return held.kind == kind && held.element == holder.element;
}

/// Infers a body that runs repeatedly: its first results, after `skip` others, are its states in the next
/// run. A state that is an optional stays one for the body, which may return what the optional holds.
/// `states` has the states before the first run, and then what holds before and after every run: each round
/// knows less, until nothing changes. `infer(states)` infers one run.
template <class F>
std::vector<Info> infer_states(Infer& i, std::vector<Info>& states, std::size_t skip, F infer) {
  for (;;) {
    std::vector<Info> out = infer(std::as_const(states));
    bool changed = false;
    for (std::size_t k = 0; k < states.size(); ++k) {
      const Info& after = out[k + skip];
      Type& type = states[k].type;
      const bool known = after.type && after.type.kind != Kind::unknown && !is_held_by(type, after.type);
      if (known && type && type.kind != Kind::unknown && !(type == after.type)) {
        i.fail_type("state ", k, " changes its type in the body");
        return out;
      }
      const Dims both = common(states[k].dims, after.dims);
      changed |= !(both == states[k].dims) || (known && !(type == after.type));
      if (known) type = after.type;
      states[k].dims = both;
    }
    if (!changed) return out;
  }
}

/// The infos of a body's results; at run time, in the scope that the operator was given.
inline std::vector<Info> infer_body(const BodyRef& body, std::span<const Info> in,
                                    const Context* scope = nullptr) {
  std::vector<Info> out = scope != nullptr ? body->infer_in(*scope, in) : body->infer(in);
  out.resize(static_cast<std::size_t>(body->outputs()));
  return out;
}
/// An operand's info without its elements.
inline Info shape_of(Info i) {
  i.data = nullptr;
  i.propagated = {};
  return i;
}

/// The results of one run of a body. Error{invalid_model} unless there are `count`.
inline std::vector<Value> run_body(std::string_view name, const BodyRef& body, Context& c,
                                   std::span<const Value> in, std::size_t count) {
  std::vector<Value> out = body->run(c, in);
  if (out.size() != count)
    raise(ErrorCode::invalid_model, name, "the body returns ", out.size(), " values, not ", count);
  for (Value& v : out) v = kept(v, c);
  return out;
}

}  // namespace tenon::TENON_ABI::op
