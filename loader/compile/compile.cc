#include "loader/compile/compile.hpp"

#include "loader/compile/emission.hpp"
#include "loader/compile/feeds.hpp"
#include "loader/compile/target.hpp"
#include "loader/graph/import.hpp"
#include "loader/opsets.hpp"
#include "tenon/base/parallel.hpp"

namespace tenon::TENON_ABI {

namespace {

// By the kernels in force.
ModelPart compile_here(const Model& model, const CompileOptions& options) {
  const Session session(model.graph({.registry = options.registry}), loader::with_standard_passes({}));
  emission::Emission program(loader::registry_of(options.registry), session, options);
  std::vector<ShapeSet> sets = options.shapes;
  if (sets.empty()) sets.emplace_back();
  for (const ShapeSet& set : sets)
    program.add(emission::feeds_for(session.graph(), set, 0), emission::feeds_for(session.graph(), set, 1));
  if (!program.refused().empty()) {
    const std::size_t count = program.refused().size();
    std::string text = str_cat(count, count == 1 ? " node has" : " nodes have", " no form in a header:");
    for (const std::string& line : program.refused()) text += str_cat("\n  ", line);
    throw Error(ErrorCode::not_supported, "compile", text);
  }
  return program.part(emission::namespace_name(options.name));
}

}  // namespace

ModelPart compile_part(const Model& model, const CompileOptions& options) {
  if (options.target.empty()) return compile_here(model, options);
  const Target target = target_of(options.target);
  const simd::ScopedLevel kernels(&target.kernels);
  const ScopedPool serial(nullptr);  // whose threads would have other kernels
  ModelPart part = compile_here(model, options);
  part.target = options.target;
  return part;
}

CompiledModel compile(std::span<const HeaderText> files, const Model& model, const CompileOptions& options) {
  ModelPart part = compile_part(model, options);
  return {assemble(files, std::span(&part, 1), part.name), std::move(part.weights)};
}

}  // namespace tenon::TENON_ABI
