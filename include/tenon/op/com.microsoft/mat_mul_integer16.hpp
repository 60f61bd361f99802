// MatMulInteger16: matrix product of 16-bit integers, in 32 bits.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MatMulInteger16
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/math/mat_mul.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = A B with the extents of MatMul, in int32, which wraps.
/// op::com_microsoft::MatMulInteger16{}(a, b) of (2,3) and (3,4) gives (2,4).
struct MatMulInteger16 {
  static constexpr Spec spec{.name = "MatMulInteger16",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"A", "T1"}, {"B", "T2"}},
                             .outputs = {{"Y", "T3"}},
                             .types = {{"T1", types::int16}, {"T2", types::int16}, {"T3", types::int32}}};
  static constexpr Attributes<> attributes{};

  constexpr void infer(Infer& i) const { i.out(0, infer_matmul(i, i.dims(0), i.dims(1))); }
  template <class L>
  int32_t lower(L& to) const {
    const auto wide = [&](int input) {
      return function_body::converted(to, to.input(input), DType::int16, DType::int32);
    };
    return to.add(MatMul{}, {wide(0), wide(1)});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::MatMulInteger16)
