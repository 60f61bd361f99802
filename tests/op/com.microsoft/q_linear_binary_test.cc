#include "tenon/op/com.microsoft/q_linear_add.hpp"

#include "tenon/op/com.microsoft/q_linear_concat.hpp"
#include "tenon/op/com.microsoft/q_linear_where.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.QLinearAdd, QLinearMul, QLinearWhere, QLinearConcat: results of ONNX Runtime") {
  check_recorded(
      "com.microsoft/q_linear_binary.txt",
      {&operator_class<op::com_microsoft::QLinearAdd>, &operator_class<op::com_microsoft::QLinearMul>,
       &operator_class<op::com_microsoft::QLinearWhere>, &operator_class<op::com_microsoft::QLinearConcat>});
}

TEST_CASE("com.microsoft.QLinearAdd, QLinearConcat: zero points left out, and what they refuse") {
  using namespace op::com_microsoft;
  const Value a = t<int8_t>({2}, {1, -2}), s = t<float>({}, {1}), none_, many = t<float>({2}, {1, 1});
  check(QLinearAdd{}, {a, s, none_, a, s, none_, s}, {t<int8_t>({2}, {2, -4})});
  check(QLinearMul{}, {a, s, none_, a, s, none_, s, none_}, {t<int8_t>({2}, {1, 4})});
  check_fails(QLinearAdd{}, {a, many, none_, a, s, none_, s}, "A_scale: (2), expected one element");
  check_fails(QLinearAdd{}, {a, s, none_, t<int8_t>({3}, {1, 2, 3}), s, none_, s}, "do not broadcast");
  const Value z = t<int8_t>({}, {0});
  check_fails(QLinearConcat{}, {s, z, a, s, z}, "axis is missing");
  check_fails(QLinearConcat{.axis = 0}, {s, z, a, s, z, a}, "inputs are not threes");
  check_fails(QLinearConcat{.axis = 0}, {s, z, a, s, t<uint8_t>({}, {0})},
              "expected bytes, float and the bytes' type");
  check_fails(QLinearConcat{.axis = 1}, {s, z, a, s, z}, "axis 1 outside of [-1, 0]");
}
}  // namespace tenon
