// The annotations of a model for several devices, as a placement of its main graph.
#pragma once

#include <optional>

#include "loader/onnx.pb.h"
#include "tenon/devices/placement.hpp"

namespace tenon::TENON_ABI::loader {

/// The placement of one of the model's configurations; "": of its only one. Groups of devices are expanded.
///
/// Error{invalid_argument}: the model does not have the configuration, or several if none is named.
/// Error{invalid_model}, with the node: annotations that break ONNX's rules as far as tensors' extents do not
/// matter. Error{not_supported}: annotated nodes of bodies and functions, and pieces that are no stretch of
/// an axis; with `gather`, as of PartitionOptions, these annotations are left out.
devices::Placement read_placement(const onnx::ModelProto& model, std::string_view configuration = "",
                                  bool gather = false);

/// One of the model's configurations; "": its only one. The same errors.
const onnx::DeviceConfigurationProto& find_configuration(const onnx::ModelProto& model,
                                                         std::string_view name);
/// A node's annotation for a configuration, also of a node of a body or a function. Nothing if it has none.
std::optional<devices::NodePlacement> read_annotation(const onnx::NodeProto& n,
                                                      const onnx::DeviceConfigurationProto& configuration,
                                                      bool gather = false);

}  // namespace tenon::TENON_ABI::loader
