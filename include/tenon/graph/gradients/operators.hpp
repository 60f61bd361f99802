// gradient_operators: the operators of derivatives, for programs that do not link the loader.
#pragma once

#include "tenon/graph/gradient.hpp"

namespace tenon::TENON_ABI {

namespace gradients {
/// Adds operators, compiled for the element types in Filter.
template <uint32_t Filter, class... Op>
void add_operators(Registry& registry) {
  (registry.add(tenon::detail::class_of<Op, Filter>()), ...);
}
}  // namespace gradients

/// The operators of the nodes that `add_gradient` adds to a graph over tensors of T: gradient(loss,
/// gradient_operators<float>(), x, w). The caller compiles them for T only, and for float if T is a half.
template <class T>
const Registry& gradient_operators() {
  static const Registry operators = [] {
    constexpr bool half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
    constexpr uint32_t filter = 1u << static_cast<int>(dtype_of<T>) | 1u << static_cast<int>(DType::int64) |
                                1u << static_cast<int>(DType::bool_) |
                                (half ? 1u << static_cast<int>(DType::float32) : 0u);
    Registry r;
    gradients::add_operators<
        filter, op::Abs, op::Add, op::AveragePool, op::Cast, op::CastLike, op::CenterCropPad, op::Compress,
        op::Concat, op::Conv, op::ConvTranspose, op::Cos, op::Cosh, op::CumProd, op::CumSum, op::DepthToSpace,
        op::Div, op::DynamicSlice, op::Einsum, op::Equal, op::Erf, op::Exp, op::Expand, op::Flatten,
        op::Floor, op::Gather, op::GatherElements, op::GatherND, op::Gemm, op::Greater, op::Identity, op::Log,
        op::LogSoftmax, op::MatMul, op::Max, op::MaxPool, op::Mul, op::Neg, op::Pad, op::Pow, op::PRelu,
        op::Range, op::ReduceL1, op::ReduceL2, op::ReduceMax, op::ReduceMean, op::ReduceProd, op::ReduceSum,
        op::Reshape, op::Resize, op::ReverseSequence, op::ScatterElements, op::ScatterND, op::Shape,
        op::Sigmoid, op::Sign, op::Sin, op::Sinh, op::Size, op::Slice, op::Softmax, op::Softplus,
        op::SpaceToDepth, op::Split, op::Sqrt, op::Squeeze, op::Sub, op::Tanh, op::TensorScatter, op::Tile,
        op::Transpose, op::Trilu, op::Unsqueeze, op::Where>(r);
    return r;
  }();
  return operators;
}

}  // namespace tenon::TENON_ABI
