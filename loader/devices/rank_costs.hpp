// What the ranks of a placement hold and send.
#pragma once

#include "tenon/devices/placement.hpp"
#include "tenon/graph/graph.hpp"

namespace tenon::TENON_ABI::loader {

struct RankCost {
  int64_t held = 0;  ///< bytes of constants
  int64_t sent = 0;  ///< bytes in one run, by the collective calls of Transport itself
};

/// The costs of each device's rank. Extents that are not known count as 1. Errors of devices::partition.
std::vector<RankCost> rank_costs(const Graph& graph, const devices::Placement& placement);

}  // namespace tenon::TENON_ABI::loader
