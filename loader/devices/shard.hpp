// Annotations for several devices, written automatically.
#pragma once

#include "loader/devices/choose_placement.hpp"
#include "loader/devices/rank_costs.hpp"
#include "loader/onnx.pb.h"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI::loader {

/// Annotates a model for several devices, as the only device configuration, "devices", that it has then.
/// Calls of the model's functions become nodes, and the IR version 11 if it is older. Returns the costs of
/// the ranks.
///
/// Errors of Model::graph, inline_functions and choose_placement, Error{invalid_model} for declared extents
/// that the annotations contradict, and Error{not_supported} of partition: values that cannot pass from one
/// stage to another.
std::vector<RankCost> shard(Model& model, const PlacementChoice& choice, const LoadOptions& options = {});

/// Writes a placement of the main graph into the message, in place of all device configurations.
void write_placement(onnx::ModelProto& model, const devices::Placement& placement, std::string_view name);

}  // namespace tenon::TENON_ABI::loader
