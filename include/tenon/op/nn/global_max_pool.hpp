// GlobalMaxPool: the greatest element of each channel.   onnx.ai/onnx/operators/onnx__GlobalMaxPool.html
#pragma once

#include "tenon/op/families/global_pool.hpp"

namespace tenon::TENON_ABI::op {

/// Y (N, C, 1...) from X (N, C, in...); NaN if any element is. op::GlobalMaxPool{}(x) of (1,3,8,8) gives
/// (1,3,1,1).
using GlobalMaxPool = GlobalPool<"GlobalMaxPool", kernels::ReduceOp::max>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::GlobalMaxPool)
