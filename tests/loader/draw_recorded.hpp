// Uses of the operators of ONNX and of a pack at random. Chance finds few uses of the pack's, which are
// variations of those that tables state.
#pragma once

#include "tests/loader/draw.hpp"
#include "tests/op/recorded.hpp"

namespace tenon::TENON_ABI {
void register_com_microsoft(Registry& registry);  // generated
}

namespace tenon::test {

/// ONNX's operators and the pack's.
inline const Registry& every_operator() {
  static const Registry all = [] {
    Registry r = standard_registry();
    register_com_microsoft(r);
    return r;
  }();
  return all;
}

/// The uses that tables state of an operator; none of ONNX's.
inline const std::vector<RecordedUse>& uses_of(const OperatorClass& c) {
  static const std::map<const OperatorClass*, std::vector<RecordedUse>> all = [] {
    std::map<const OperatorClass*, std::vector<RecordedUse>> uses;
    for (RecordedUse& use : recorded_uses("com.microsoft"))
      uses[every_operator().find(use.domain, use.name, use.opset).op_class].push_back(std::move(use));
    return uses;
  }();
  static const std::vector<RecordedUse> none;
  const auto found = all.find(&c);
  return found == all.end() ? none : found->second;
}

/// An operator with operands, and the number of its results.
struct DrawnUse {
  AnyOperator op;
  std::vector<Value> in;
  int results;

  std::vector<Value> evaluate() const {
    static Moderate memory;
    std::vector<const Value*> operands;
    for (const Value& v : in) operands.push_back(&v);
    op::Context context(memory);
    return op::evaluate(op, context, operands, static_cast<std::size_t>(results));
  }
};

/// A variation of one of an operator's stated uses: numbers are drawn, and now and then a type, an attribute
/// or an operand. Error where attributes are refused.
inline DrawnUse draw_varied(Draw& draw, const OperatorClass& c, int version,
                            const std::vector<RecordedUse>& uses, WantedType& wanted) {
  const op::Spec& spec = *c.spec;
  const RecordedUse& use = uses[static_cast<std::size_t>(draw.below(static_cast<int64_t>(uses.size())))];
  auto attributes = use.attributes;
  for (auto& [name, value] : attributes)
    for (const op::AttributeInfo& a : c.attributes(c.create(version).get()))
      if (a.name == name && !draw.pair() && draw.one_in(16))
        value = draw.attribute(spec.name, a, wanted.type);
  const bool mixed = draw.pair().narrow == draw.pair().wide;  // no pair, or one type alone
  std::vector<DType> types(static_cast<std::size_t>(spec.types.size()), DType::undefined);
  for (int v = 0; v < spec.types.size(); ++v) {
    DType& type = types[static_cast<std::size_t>(v)];
    if (v == wanted.variable) type = wanted.type;
    else if (mixed && draw.one_in(2)) type = draw.type(spec.types[v].at(version).tensor);
  }
  std::vector<Value> in;
  for (std::size_t k = 0; k < use.in.size(); ++k) {
    const op::Param& p = spec.input(static_cast<int>(k), version);
    const int v = spec.variable(p.type);
    if (!use.in[k] || (p.arity == op::optional && draw.one_in(8))) {
      in.emplace_back();
      continue;
    }
    const AnyTensor& stated = use.in[k].tensor();
    DType type = v < 0 ? DType::undefined : types[static_cast<std::size_t>(v)];
    if (type == DType::undefined || p.heterogeneous) type = stated.dtype();
    const bool resized = !draw.pair() && draw.one_in(32);
    // Integers are places, lengths and masks, as long as their values are not what is compared.
    const bool drawn = resized || draw.pair().has(type) || draw.one_in(is_float(type) ? 2 : 16);
    const Extents extents = resized ? draw.extents() : Extents(stated.extents());
    in.push_back(drawn ? Value(draw.tensor(type, extents)) : converted(use.in[k], stated.dtype(), type));
    wanted.met |= v >= 0 && v == wanted.variable && in.back().type() == Type(wanted.type);
  }
  return {make_operator(c, version, std::move(attributes)), std::move(in),
          draw.one_in(2) ? use.results : draw_results(draw, spec)};
}

/// One use of an operator of ONNX or of the pack.
inline Used use_of_any(Draw& draw, const OperatorClass& c, int version, WantedType& wanted) {
  const std::vector<RecordedUse>& uses = uses_of(c);
  if (uses.empty()) return use(draw, c, version, wanted);
  DrawnUse drawn = draw_varied(draw, c, version, uses, wanted);
  std::vector<Value> results = drawn.evaluate();
  return {std::move(drawn.in), std::move(results)};
}

}  // namespace tenon::test
