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
}  // namespace tenon
