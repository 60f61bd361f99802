#include "tenon/op/com.microsoft/q_attention.hpp"

#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.QAttention: results of ONNX Runtime") {
  check_recorded("com.microsoft/q_attention.txt", {&operator_class<op::com_microsoft::QAttention>});
}

TEST_CASE("com.microsoft.QAttention: errors") {
  const op::com_microsoft::QAttention op{.num_heads = 1};
  const Value x = t<uint8_t>({1, 1, 1}, {2}), w = t<int8_t>({1, 3}, {1, 2, 3}), b = t<float>({3}, {0, 0, 0}),
              one = t<float>({}, {1});
  check(op, {x, w, b, one, one}, {t<float>({1, 1, 1}, {6})});
  check_fails(op, {x, t<int8_t>({3}, {1, 2, 3}), b, one, b}, "weight: rank 1, expected 2");
  check_fails(op, {x, w, b, one, t<float>({2}, {1, 1})}, "weight_scale: (2), expected (3)");
  check_fails(op, {x, w, b, b, one}, "input_scale: (3), expected one element");
  check_fails(op, {x, w, b, one, t<float>({1, 1, 1, 1}, {1})},
              "weight_scale: (1,1,1,1) has more axes than input");
}
}  // namespace tenon
