// What each device has of the values that a model's annotations place.
#pragma once

#include <string>

#include "loader/onnx.pb.h"
#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// The annotated values of graphs and functions as lines, for each of the model's device configurations, with
/// the extents that the model states or infer_functions has written:
///
///     configuration 'two': 2 devices
///     node 'p' (MatMul), stage 0
///       w float[8,6], axis 1 in 2 pieces
///         device 0: [8,3], axis 1 from 0
///         device 1: [8,3], axis 1 from 3
///     node 'a' (Neg) in then_branch of node 'y' (If)
///       x float[N,3], axis 0 in 2 pieces
///         device 0: [N/2,3], piece 0 of axis 0, whose bounds only the run knows
///         device 1: [N/2,3], piece 1 of axis 0, whose bounds only the run knows
///
/// Of a function, extents are those on which all calls agree. Errors of read_placement, but for annotations
/// of bodies and functions, which are shown.
std::string device_extents(const onnx::ModelProto& model);

}  // namespace tenon::TENON_ABI::loader
