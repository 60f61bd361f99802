// Tensors that are cut among devices so that each holds its part of the weights.
#pragma once

#include "tenon/devices/placement.hpp"
#include "tenon/graph/graph.hpp"

namespace tenon::TENON_ABI::loader {

/// Annotates operands of these nodes of a graph so that their weights are cut among the devices.
///
/// Axes that one loop of an operator runs over are cut alike: a product's columns, the elements of what
/// follows, and the rows of the product that sums them. So an MLP is cut by columns, then by rows, attention
/// by heads, and a table by rows. Where one product computes queries, keys and values, a device has its heads
/// of the three. Of the groups of axes that cannot be cut at once, those come first that keep the most bytes
/// of weights for each byte that is sent; what they leave of others is cut by itself if it keeps more than it
/// sends. Groups with less than a thousandth of the graph's constants, with fewer whole blocks than devices,
/// and with unknown extents stay whole.
void cut_tensors(const Graph& graph, const std::vector<std::size_t>& nodes, const devices::Ranks& devices,
                 devices::Placement& placement);

}  // namespace tenon::TENON_ABI::loader
