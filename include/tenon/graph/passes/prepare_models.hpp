// prepare_models: operators lay out their attributes (trees, tables of keys) once instead of in each run.
#pragma once

#include <optional>

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/graph/program.hpp"

namespace tenon::TENON_ABI::passes {

inline void apply_prepare_models(Program& program) {
  program.for_each_node([&](int number, const Graph::Node& n) {
    if (!n.op.prepares()) return;
    if (n.outputs.empty() || !program.info(n.outputs[0]).present() ||
        program.info(n.inputs[0]).type.element == DType::undefined)
      return program.skipped(number, "X is not known, or it does not fit");
    using Prepared = std::optional<AnyOperator>;
    Prepared prepared = tenon::detail::attempt<Error>(
        [&] { return Prepared(n.op.prepared(program.info(n.inputs[0]).type.element)); },
        [&](const Error& e) {
          program.skipped(number, e.message());  // the run will report it
          return Prepared();
        });
    if (!prepared) return;
    program.applied(number, "prepared");
    program.replace(number, std::move(*prepared), {n.inputs[0]});
  });
}

inline constexpr Pass prepare_models{"prepare_models", apply_prepare_models};

}  // namespace tenon::TENON_ABI::passes
