#include "tenon/op/math/log_softmax.hpp"

#include "tests/op/softmax.hpp"

namespace tenon {

TEST_CASE("LogSoftmax") {
  test::check_softmax<op::LogSoftmax, op::LogSoftmax_1>(true);
  test::check(op::LogSoftmax{}, {test::t<float>({2}, {1e30f, -1e30f})}, {test::t<float>({2}, {0, -2e30f})});
}

}  // namespace tenon
