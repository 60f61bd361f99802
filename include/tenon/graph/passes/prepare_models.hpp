// prepare_models: operators lay out their attributes (trees, tables of keys) and constant operands (weights
// of experts) once instead of in each run.
#pragma once

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/graph/passes/quantized.hpp"

namespace tenon::TENON_ABI::passes {

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
        tenon::detail::attempt<Error>([&] { return n.op.prepared({infos, constants}); },
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
