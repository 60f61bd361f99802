// prepare_models: operators lay out their attributes (trees, tables of keys) and constant operands (weights
// of experts) once instead of in each run.
#pragma once

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/graph/passes/quantized.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

/// An operator, whose object no other can replace at its address, and what stands in its place.
struct PreparedNode {
  AnyOperator of;
  op::Prepared by;
};

/// What `op` prepares for operands. Constants that it lays out are shared by the programs of a session.
inline op::Prepared prepared(const Program& program, const AnyOperator& op, const op::KnownOperands& in) {
  bool constants = false, texts = false;
  for (const AnyTensor* t : in.constants)
    if (t != nullptr) (t->dtype() == DType::string ? texts : constants) = true;
  if (!constants || texts) return op.prepared(in);
  const auto add = [&](ConstantKey& key) {
    key.add(op.object());
    for (const op::Info& i : in.infos) {
      key.add(i.type.element, i.dims.ranked() ? i.dims.rank() : -1);
      for (int d = 0; i.dims.ranked() && d < i.dims.rank(); ++d)
        key.add(i.dims[d].known() ? i.dims[d].value() : int64_t{-1});
    }
    for (const AnyTensor* t : in.constants) add_tensor(key, t);
  };
  const auto held = shared_layout<PreparedNode>(program, "prepared", add, [&] {
    return std::make_shared<PreparedNode>(PreparedNode{op, op.prepared(in)});
  });
  if (!held->by.op) return {};
  return {held->by.op.kept_with(held), held->by.inputs};
}

}  // namespace detail

inline void apply_prepare_models(Program& program) {
  program.for_each_node([&](int number, const Graph::Node& n) {
    if (!n.op.prepares()) return;
    if (n.outputs.empty() || !program.info(n.outputs[0]).present() ||
        program.info(n.inputs[0]).type.element == DType::undefined)
      return program.skipped(number, "X is not known, or it does not fit");
    std::vector<op::Info> infos;
    std::vector<const AnyTensor*> constants;
    for (const ValueId v : n.inputs) {
      infos.push_back(v < 0 ? op::Info{} : program.info(v));
      constants.push_back(quantized_detail::constant_tensor(program, v));
    }
    op::Prepared prepared =
        tenon::detail::attempt<Error>([&] { return detail::prepared(program, n.op, {infos, constants}); },
                                      [&](const Error& e) {
                                        program.skipped(number, e.message());  // the run will report it
                                        return op::Prepared{};
                                      });
    if (!prepared.op) return;
    program.applied(number, "prepared");
    std::vector<ValueId> inputs;
    for (const int k : prepared.inputs)
      inputs.push_back(quantized_detail::input(n, static_cast<std::size_t>(k)));
    program.replace(number, std::move(prepared.op), std::move(inputs));
  });
}

inline constexpr Pass prepare_models{"prepare_models", apply_prepare_models};

}  // namespace tenon::TENON_ABI::passes
