// Extents on a command line: --shape batch=1,image=1x3x224x224 states a symbol's extent and an input's
// extents.
#pragma once

#include <span>

#include "loader/compile/compile.hpp"
#include "loader/tool/values.hpp"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI::tool {

/// "batch=1,image=1x3x224x224". UsageError for other text.
ShapeSet parse_shapes(std::string_view text);

/// Appends the value of an option --shape to `shapes`.
inline void add_shapes(ShapeSet& shapes, std::string_view text) {
  for (auto& one : parse_shapes(text)) shapes.push_back(std::move(one));
}

/// Sets extents of inputs and symbols in the whole model, and infers the file's other extents again.
/// UsageError for a name that is neither an input nor a symbol of one, and for extents that contradict the
/// model.
void fix_shapes(Model& model, const ShapeSet& shapes, const Registry* registry);

/// The extents of an input, from `shapes`, else as declared. `used` receives the names that apply.
Dims shaped(const Graph& graph, const Graph::ValueEntry& input, const ShapeSet& shapes,
            std::set<std::string_view>& used);

/// The extents that generated inputs have only because none are stated: "batch, axis 2 of 'x'"; "" if none.
std::string open_extents(const Graph& graph, std::span<const InputSource> sources, const ShapeSet& shapes);

}  // namespace tenon::TENON_ABI::tool
