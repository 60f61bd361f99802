// The size of a model in which functions stand for many nodes.
#pragma once

#include <cstdint>
#include <map>

#include "loader/edit/order.hpp"
#include "loader/opsets.hpp"

namespace tenon::TENON_ABI::loader {

using FunctionsByKey = std::map<FunctionKey, const onnx::FunctionProto*>;

/// Whether these nodes and the nodes of their bodies are more than `most`, if a function's nodes count once
/// for each call, and bodies and calls below max_depth count nothing. Takes time proportional to the model,
/// and must precede work that is proportional to the count.
bool are_more_than(int64_t most, const NodeList& nodes, const FunctionsByKey& functions, int max_depth);

}  // namespace tenon::TENON_ABI::loader
