// Models put together from models, and cut out of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "loader/onnx.pb.h"

namespace tenon::loader {

/// Puts a prefix before the names of all values, nodes and functions, in bodies too. Symbols of extents stay.
/// Error{not_supported} for models with training information.
void add_prefix(onnx::ModelProto& model, const std::string& prefix);

struct MergeOptions {
  /// Outputs of the first model, and the inputs of the second that they become. Each input once.
  std::vector<std::pair<std::string, std::string>> connect{};
  /// Put before all names of a model, but not in `connect`.
  std::string prefix_a{}, prefix_b{};
};

/// One model of two: the inputs and outputs of both, without those that are connected. A symbol of an extent
/// that both have is one symbol of the result.
///
///     merge(encoder, decoder, {.connect = {{"features", "input"}}, .prefix_b = "decoder/"});
///
/// Error{invalid_argument}: models whose IR versions, opsets or metadata differ, names or functions that both
/// have, and connections of what is not there or of other types. Error{not_supported} for models with
/// training information.
onnx::ModelProto merge(const onnx::ModelProto& a, const onnx::ModelProto& b,
                       const MergeOptions& options = {});

/// The part of a main graph that makes the outputs of the inputs, any values by name, in the order given;
/// with the initializers and functions in use. Types that the model does not state are inferred. Initializers
/// with an input stay its default values if the input is named, else constants.
///
/// Error{invalid_argument}: names that are there twice or are no values, values whose types are not known,
/// and outputs that need other inputs.
onnx::ModelProto extract(const onnx::ModelProto& model, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs);

}  // namespace tenon::loader
