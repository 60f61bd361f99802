// Functions by which passes recognise nodes and constants.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "tenon/base/convert.hpp"
#include "tenon/graph/program.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/div.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/sum.hpp"
#include "tenon/op/tensor/transpose.hpp"

namespace tenon::TENON_ABI::passes {

/// The element types for which passes replace patterns with operators. Graphs of doubles need the rounding of
/// each node, and users of passes compile the operators for few types.
inline constexpr TypeSet fused_types = types::float32 | types::float16 | types::bfloat16;

/// The value's tensor if it is a constant of floats, else null. It is not necessarily AnyTensor::aligned.
inline const AnyTensor* stored_floats(const Program& program, ValueId v) {
  if (v < 0 || !program.stored(v).is_tensor()) return nullptr;
  const AnyTensor& t = program.stored(v).tensor();
  return visit_types(float_types{}, t.dtype(), []<class T>() {}) ? &t : nullptr;
}
/// The same, for callers that read the elements.
inline const AnyTensor* constant_floats(const Program& program, ValueId v) {
  return stored_floats(program, v) == nullptr ? nullptr : &program.constant(v).tensor();
}

/// Whether a node's rule takes its operands, as far as they are known.
inline bool fits(const Program& program, int n) {
  const Graph::Node& node = program.node(n);
  return !node.outputs.empty() && program.info(node.outputs[0]).present();
}

/// Whether a node is a Transpose of this permutation.
inline bool is_transpose(const Graph::Node& n, std::initializer_list<int64_t> perm) {
  const auto* const transpose = n.op ? n.op.as<op::Transpose>() : nullptr;
  return transpose != nullptr && std::ranges::equal(transpose->perm, perm);
}

/// Whether a node adds two operands.
inline bool is_sum(const Graph::Node& n) {
  return n.op.as<op::Add>() || (n.inputs.size() == 2 && n.op.as<op::Sum>());
}

/// Whether a node computes each element of its one result from its operands' elements at that place, and from
/// numbers.
inline bool is_elementwise(const Graph::Node& n) {
  const op::Elements e = n.op.elements();
  return (e == op::Elements::function || e == op::Elements::arithmetic) && n.outputs.size() == 1;
}

/// Whether a node's first operand, and all members of a variadic one, may have another element type.
inline bool takes(const Graph::Node& n, DType type) {
  const op::Spec& spec = n.op.spec();
  return n.op.computes(type) &&
         spec.permits(spec.input(0, n.op.version()), n.op.version()).contains(Type(type));
}

/// The node that makes a value, if its operator is an Op, else null.
template <class Op>
const Graph::Node* made_by(const Program& program, ValueId v) {
  const int n = v < 0 ? -1 : program.maker(v);
  return n >= 0 && program.node(n).op.as<Op>() ? &program.node(n) : nullptr;
}

/// Whether the element type of a value is one of fused_types.
inline bool is_fused_type(const Program& program, ValueId v) {
  const Type& t = program.info(v).type;
  return t.kind == Kind::tensor && (fused_types.tensor >> static_cast<int>(t.element) & 1) != 0;
}

/// The number of a single-element constant with no more axes than x.
inline std::optional<double> number(const Program& program, ValueId v, ValueId x) {
  if (v < 0 || !program.stored(v).is_tensor()) return {};
  const AnyTensor& t = program.stored(v).tensor();  // a single number is aligned
  const Dims& dims = program.info(x).dims;
  if (t.size() != 1 || (t.rank() > 0 && (!dims.ranked() || t.rank() > dims.rank()))) return {};
  std::optional<double> found;
  visit_types(TypeList<float, double, float16, bfloat16, int32_t, int64_t>{}, t.dtype(),
              [&]<class T>() { found = convert<double>(*static_cast<const T*>(t.data())); });
  return found;
}

/// Whether a equals b up to a few roundings to an element type.
inline bool is_near(double a, double b, DType element) {
  const double rounding = element == DType::float16 ? 0x1p-10 : element == DType::bfloat16 ? 0x1p-7 : 0x1p-21;
  return std::abs(a - b) <= rounding * std::abs(b);
}

/// Whether only these nodes and `last` read the nodes' results.
inline bool is_private(const Program& program, const std::vector<int>& nodes, int last) {
  return std::ranges::all_of(nodes, [&](int n) {
    return std::ranges::all_of(program.node(n).outputs, [&](ValueId v) {
      return !program.is_output(v) && std::ranges::all_of(program.readers(v), [&](int reader) {
        return reader == last || std::ranges::find(nodes, reader) != nodes.end();
      });
    });
  });
}

}  // namespace tenon::TENON_ABI::passes
