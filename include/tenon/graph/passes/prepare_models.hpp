// prepare_models: operators lay out their attributes (trees, tables of keys) once instead of in each run.
#pragma once

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/graph/program.hpp"

namespace tenon::TENON_ABI::passes {

inline void apply_prepare_models(Program& program) {
  program.for_each_node([&](int number, const Graph::Node& n) {
    if (!n.op.prepares()) return;
    if (n.outputs.empty() || !program.info(n.outputs[0]).present() ||
        program.info(n.inputs[0]).type.element == DType::undefined)
      return program.skipped(number, "X is not known, or it does not fit");
    const auto prepare = [&] {
      AnyOperator prepared = n.op.prepared(program.info(n.inputs[0]).type.element);
      program.applied(number, "prepared");
      program.replace(number, std::move(prepared), {n.inputs[0]});
    };
    const auto skip = [&](const Error& e) {
      program.skipped(number, e.message());
    };  // the run will report it
    tenon::detail::attempt<Error>(prepare, skip);
  });
}

inline constexpr Pass prepare_models{"prepare_models", apply_prepare_models};

}  // namespace tenon::TENON_ABI::passes
