#include "tenon/op/com.microsoft/fused_mat_mul.hpp"

#include "tenon/op/com.microsoft/fused_conv.hpp"
#include "tenon/op/com.microsoft/fused_gemm.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.FusedMatMul, FusedConv, FusedGemm: results of ONNX Runtime") {
  check_recorded(
      "com.microsoft/fused.txt",
      {&operator_class<op::com_microsoft::FusedMatMul>, &operator_class<op::com_microsoft::TransposeMatMul>,
       &operator_class<op::com_microsoft::FusedConv>, &operator_class<op::com_microsoft::FusedGemm>});
}

TEST_CASE("com.microsoft.FusedMatMul, FusedConv, FusedGemm: what they refuse") {
  using namespace op::com_microsoft;
  const Value a = t<float>({2, 3}, {1, 2, 3, 4, 5, 6}), x = t<float>({1, 1, 1, 2}, {1, 2}),
              w = t<float>({1, 1, 1, 1}, {2});
  check_fails(FusedMatMul{}, {a, a}, "inner extents differ: 3 and 2");
  check_fails(FusedMatMul{.transA = 1, .transB = 1}, {a, a}, "inner extents differ: 2 and 3");
  check_fails(FusedConv{.activation = "Gelu"}, {x, w}, "activation: 'Gelu', expected ");
  check_fails(FusedConv{.activation = "LeakyRelu"}, {x, w}, "activation_params: 0 entries, expected 1");
  check_fails(FusedConv{}, {x, w, Value(), t<float>({1, 1, 1, 1}, {1})}, "extents of Y and Z differ");
  check_fails(FusedGemm{.activation = "Clip"}, {a, t<float>({3, 1}, {1, 2, 3})}, "activation: 'Clip'");
  check_fails(FusedGemm{.activation = "Relu"}, {t<int32_t>({1, 1}, {1}), t<int32_t>({1, 1}, {1})},
              "activation 'Relu' of integers");
  const auto y = infer(FusedMatMul{.transB = 1},
                       {info(DType::float32, {Dim::symbol(1), 2, 3}), info(DType::float32, {4, 3})});
  CHECK(y[0].dims == Dims{Dim::symbol(1), 2, 4});
  CHECK(!infer(FusedMatMul{.transA = 1}, {info(DType::float32, {}), info(DType::float32, {4, 3})})[0]
             .dims.ranked());
}

TEST_CASE("com.microsoft.FusedMatMul, FusedConv, FusedGemm: other types") {
  using namespace op::com_microsoft;
  const Value a = cast<float16>({2, 2}, {1, 2, 3, 4}), b = cast<float16>({2, 2}, {1, 0, 0, 1});
  check(FusedMatMul{.alpha = 0.5f, .transA = 1}, {a, b}, {cast<float16>({2, 2}, {0.5, 1.5, 1, 2})});
  check(FusedGemm{.activation = "Relu", .alpha = -1}, {a, b, cast<float16>({2}, {2, 2})},
        {cast<float16>({2, 2}, {1, 0, 0, 0})});
  check(FusedGemm{}, {t<int64_t>({1, 1}, {3}), t<int64_t>({1, 1}, {4})}, {t<int64_t>({1, 1}, {12})});
}
}  // namespace tenon
