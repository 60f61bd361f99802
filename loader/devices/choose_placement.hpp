// Placements of graphs on devices, chosen from their products and weights.
#pragma once

#include <optional>

#include "tenon/devices/placement.hpp"
#include "tenon/graph/graph.hpp"

namespace tenon::TENON_ABI::loader {

inline constexpr int most_devices = 1024;  // each rank's costs take time that grows with their number

struct PlacementChoice {
  int devices = 1;
  /// Stages of a pipeline: devices / stages of them for each, among which its tensors are cut. 1: tensors are
  /// cut, without a pipeline. Absent: one stage for each device if convolutions do most of the
  /// multiplications or no tensor can be cut, else 1.
  std::optional<int> stages{};
};

/// Error{invalid_argument}: devices below 1, above most_devices, or that do not divide into stages.
/// Error{not_supported}: too few products for the stages, and several devices without stages where no tensor
/// can be cut.
devices::Placement choose_placement(const Graph& graph, const PlacementChoice& choice);

}  // namespace tenon::TENON_ABI::loader
