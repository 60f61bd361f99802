#include "loader/compile/compile.hpp"

#include "loader/compile/emission.hpp"
#include "loader/compile/feeds.hpp"
#include "loader/graph/import.hpp"
#include "loader/opsets.hpp"

namespace tenon::TENON_ABI {

ModelPart compile_part(const Model& model, const CompileOptions& options) {
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
  return program.take(emission::namespace_name(options.name));
}

CompiledModel compile(std::span<const HeaderText> files, const Model& model, const CompileOptions& options) {
  ModelPart part = compile_part(model, options);
  return {assemble(files, std::span(&part, 1), part.name), std::move(part.weights)};
}

}  // namespace tenon::TENON_ABI
