// One use of an operator on operands known only at run time: infers, allocates, runs.
#pragma once

#include "tenon/op/framework/operand.hpp"

namespace tenon::TENON_ABI::op {

/// The extents of a result when the values of all operands are known.
inline Extents known_extents(const Spec& spec, const Info& result) {
  if (result.type.kind != Kind::tensor || !result.dims.known())
    raise(ErrorCode::invalid_shape, spec.name, "the extents of a result cannot be told from the operands");
  return result.dims.extents();
}

/// Error{invalid_model} if the type or extents of result number `o` contradict the rule's.
inline void check_result(const Spec& spec, std::size_t o, const Info& said, const Value& v) {
  if ((said.type.kind != Kind::unknown && !(said.type == v.type())) ||
      (v.is_tensor() && !said.dims.fits(v.tensor().extents())))
    raise(ErrorCode::invalid_model, spec.name, "result ", o, " is ", to_string(v.type()),
          v.is_tensor() ? " " + to_string(v.tensor().extents()) : std::string(), ", not what its rule said");
}

/// One use of an operator on operands known only at run time: infers, allocates, runs. `op` is an
/// AnyOperator, or has its members. Null or empty values are operands left out; results that `compute` left
/// out are empty.
template <class Any>
std::vector<Value> evaluate(const Any& op, Context& context, std::span<const Value* const> in,
                            std::size_t count) {
  std::vector<Info> infos, said(count);
  for (const Value* v : in) infos.push_back(v ? info_of(*v) : Info{});
  if (const Message m = op.infer(infos, said); !m.empty()) raise_rule(op.spec(), infos, m);
  std::vector<Value> results(count);
  std::vector<Value*> out;
  for (std::size_t o = 0; o < count; ++o) {
    if (op.planned())
      results[o] = AnyTensor::uninitialized(said[o].type.element, known_extents(op.spec(), said[o]),
                                            context.allocator());
    out.push_back(&results[o]);
  }
  op.run(context, in, out);
  for (std::size_t o = 0; o < count; ++o)
    if (results[o]) check_result(op.spec(), o, said[o], results[o]);
  return results;
}

}  // namespace tenon::TENON_ABI::op
