// The order in which a graph's nodes are read.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "loader/onnx.pb.h"
#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Whether a node's attributes name values of its graph, as Gradient's do.
bool names_values(const onnx::NodeProto& n);

/// The names that a node reads, itself or in its bodies; includes "" if an operand is left out.
std::set<std::string_view> names_read(const onnx::NodeProto& n);

/// The nodes, ordered so that each follows all nodes whose outputs it or its bodies read; otherwise in the
/// file's order. ONNX requires this order in files, but files in the wild do not keep it. Nodes of a cycle
/// come last.
std::vector<const onnx::NodeProto*> in_order(const NodeList& nodes);

/// Puts the nodes of all graphs, bodies and functions into the order of in_order. Lists that have a cycle
/// stay as they are.
void sort_nodes(onnx::ModelProto& model);

}  // namespace tenon::TENON_ABI::loader
