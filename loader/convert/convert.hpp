// Conversion of models between operator sets of ai.onnx, and between IR versions.
#pragma once

#include <set>

#include "loader/edit/names.hpp"
#include "loader/opsets.hpp"

namespace tenon::TENON_ABI::loader {

/// Like tenon::convert_opset.
void convert_opset(onnx::ModelProto& model, int opset, const Registry& registry = standard_registry());

/// Rewrites the nodes of a part's main graph, a piece of a model, for another opset of ai.onnx. The graph's
/// inputs are the values that its nodes read from outside, with their types where known; constants among them
/// are initializers. Nodes that call `functions` stay. Added values get names that are not in `names`.
/// Error{not_supported} as for convert_opset; the part is then left in an unspecified state.
void convert_part(onnx::ModelProto& part, int opset, NameSet& names, const std::set<FunctionKey>& functions,
                  const Registry& registry);

/// The first node, bodies included, whose operator of `domain` differs between two opsets; null if there is
/// none. Calls of `functions` are ignored.
const onnx::NodeProto* find_changed(const NodeList& nodes, const std::string& domain, int opset, int other,
                                    const std::set<FunctionKey>& functions, const Registry& registry,
                                    int depth = 0);

/// The oldest IR version in which models import operator sets.
inline constexpr int64_t oldest_ir_version = 3;
/// Before this IR version an initializer is the value of an input.
inline constexpr int64_t ir_of_plain_initializers = 4;
/// Like tenon::convert_ir_version.
void convert_ir_version(onnx::ModelProto& model, int64_t ir_version);

}  // namespace tenon::TENON_ABI::loader
