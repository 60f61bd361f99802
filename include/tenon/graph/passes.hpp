// The passes that `load` applies.
#pragma once

#include "tenon/graph/passes/allow_winograd.hpp"
#include "tenon/graph/passes/block_channels.hpp"
#include "tenon/graph/passes/chain_convolutions.hpp"
#include "tenon/graph/passes/channels_last.hpp"
#include "tenon/graph/passes/drop_casts.hpp"
#include "tenon/graph/passes/fuse_attention.hpp"
#include "tenon/graph/passes/fuse_convolution.hpp"
#include "tenon/graph/passes/fuse_elementwise.hpp"
#include "tenon/graph/passes/fuse_gelu.hpp"
#include "tenon/graph/passes/fuse_layer_normalization.hpp"
#include "tenon/graph/passes/fuse_qdq.hpp"
#include "tenon/graph/passes/pack_convolution.hpp"
#include "tenon/graph/passes/pack_matmul.hpp"
#include "tenon/graph/passes/pack_narrow.hpp"
#include "tenon/graph/passes/pack_quantized.hpp"
#include "tenon/graph/passes/pack_recurrent.hpp"
#include "tenon/graph/passes/prepare_models.hpp"
#include "tenon/graph/passes/take_branches.hpp"
#include "tenon/graph/passes/widen_convolutions.hpp"

namespace tenon::TENON_ABI {

/// For SessionOptions::passes. A Session of a graph built in code applies only the passes that it is given,
/// so programs that use none need not compile them.
[[nodiscard]] inline std::vector<Pass> standard_passes() {
  return {passes::take_branches,    passes::drop_casts,         passes::fuse_qdq,
          passes::pack_narrow,      passes::fuse_gelu,          passes::fuse_layer_normalization,
          passes::fuse_attention,   passes::widen_convolutions, passes::fuse_convolution,
          passes::allow_winograd,   passes::block_channels,     passes::chain_convolutions,
          passes::pack_convolution, passes::pack_matmul,        passes::channels_last,
          passes::pack_quantized,   passes::pack_recurrent,     passes::prepare_models,
          passes::fuse_elementwise};
}

}  // namespace tenon::TENON_ABI
