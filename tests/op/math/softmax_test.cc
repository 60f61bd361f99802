#include "tenon/op/math/softmax.hpp"

#include "tests/op/softmax.hpp"

namespace tenon {

TEST_CASE("Softmax") {
  test::check_softmax<op::Softmax, op::Softmax_1>(false);
  test::check(op::Softmax{}, {test::t<float>({2}, {1e30f, -1e30f})}, {test::t<float>({2}, {1, 0})});
}

}  // namespace tenon
