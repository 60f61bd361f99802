// What each device has of the values that a model's annotations place.
#pragma once

#include <string>

#include "loader/onnx.pb.h"
#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// The annotated values of the main graph as lines, for each of the model's device configurations, with the
/// extents that the model states or infer_shapes has written:
///
///     configuration 'two': 2 devices
///     node 'p' (MatMul), stage 0
///       w float[8,6], axis 1 in 2 pieces
///         device 0: [8,3], axis 1 from 0
///         device 1: [8,3], axis 1 from 3
///
/// Errors of read_placement.
std::string device_extents(const onnx::ModelProto& model);

}  // namespace tenon::TENON_ABI::loader
