#include "tenon/op/com.microsoft/q_gemm.hpp"

#include "tenon/op/com.microsoft/dynamic_quantize_mat_mul.hpp"
#include "tenon/op/com.microsoft/mat_mul_integer_to_float.hpp"
#include "tenon/op/com.microsoft/q_linear_conv.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.QGemm, products of integers: scales with axes of their own") {
  using namespace op::com_microsoft;
  const Value a = t<uint8_t>({1, 2}, {1, 2}), b = t<uint8_t>({2, 1}, {3, 4}), zero = t<uint8_t>({}, {0}),
              x = t<float>({1, 2}, {0, 255}), half = t<float>({1, 1}, {0.5}),
              much = t<float>({1, 1, 1}, {0.5});
  check(MatMulIntegerToFloat{}, {a, b, half, half}, {t<float>({1, 1}, {2.75})});
  check_fails(MatMulIntegerToFloat{}, {a, b, much, half}, "a_scale: (1,1,1) has more axes than (1,1)");
  check_fails(MatMulIntegerToFloat{}, {a, b, half, much}, "b_scale: (1,1,1) has more axes than (1,1)");
  check(QGemm{}, {a, half, zero, b, half, zero}, {t<float>({1, 1}, {2.75})});
  check_fails(QGemm{}, {a, much, zero, b, half, zero}, "a_scale: (1,1,1) has more axes than Y");
  check(DynamicQuantizeMatMul{}, {x, b, half}, {t<float>({1, 1}, {510})});
  check_fails(DynamicQuantizeMatMul{}, {x, b, much}, "b_scale: (1,1,1) has more axes than (1,1)");
}

TEST_CASE("com.microsoft.QGemm, QLinearConv, products of integers: results of ONNX Runtime") {
  check_recorded(
      "com.microsoft/q_linear_product.txt",
      {&operator_class<op::com_microsoft::QGemm>, &operator_class<op::com_microsoft::DynamicQuantizeMatMul>,
       &operator_class<op::com_microsoft::MatMulIntegerToFloat>,
       &operator_class<op::com_microsoft::QLinearConv>});
}
}  // namespace tenon
