// The passes that `load` applies.
#pragma once

#include "tenon/graph/passes/fuse_convolution.hpp"
#include "tenon/graph/passes/pack_matmul.hpp"

namespace tenon {

/// For SessionOptions::passes: a Session of a graph that is built in code applies those that it is given, so
/// that none but its users compile them.
inline std::vector<Pass> standard_passes() { return {passes::fuse_convolution, passes::pack_matmul}; }

}  // namespace tenon
