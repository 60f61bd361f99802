// Stages of a pipeline with equal work.
#pragma once

#include "tenon/graph/graph.hpp"

namespace tenon::TENON_ABI::loader {

/// The nodes of each stage, by number, in the order of the graph. Stages begin where the most work of a stage
/// is least, or up to a twentieth more, and the fewest bytes pass. Work: the multiplications of products.
///
/// Nodes that depend on constants or cheaply on inputs alone (extents, masks, positions) belong to no stage:
/// each device computes what it reads of them. Error{not_supported}: fewer products than stages.
std::vector<std::vector<std::size_t>> divide_into_stages(const Graph& graph, int64_t stages);

}  // namespace tenon::TENON_ABI::loader
