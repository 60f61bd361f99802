// Extents on a command line: --shape batch=1,image=1x3x224x224 states a symbol's extent and an input's
// extents.
#pragma once

#include <span>

#include "loader/compile/feeds.hpp"
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

/// The extents of a graph's inputs, as emission::InputExtents. UsageError for stated ones that do not fit.
emission::InputExtents input_extents(const Graph& graph, const ShapeSet& shapes,
                                     const std::map<ValueId, Extents>& given = {});

/// The extents that generated inputs have only because none are stated: "batch, axis 2 of 'x'"; "" if none.
std::string open_extents(const Graph& graph, std::span<const InputSource> sources, const ShapeSet& shapes,
                         const Feeds& feeds);

}  // namespace tenon::TENON_ABI::tool
