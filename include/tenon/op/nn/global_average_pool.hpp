// GlobalAveragePool: the mean of each channel.   onnx.ai/onnx/operators/onnx__GlobalAveragePool.html
#pragma once

#include "tenon/op/families/global_pool.hpp"

namespace tenon::TENON_ABI::op {

/// Y (N, C, 1...) from X (N, C, in...). op::GlobalAveragePool{}(x) of (1,3,8,8) gives (1,3,1,1).
using GlobalAveragePool = GlobalPool<"GlobalAveragePool", kernels::ReduceOp::mean>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::GlobalAveragePool)
