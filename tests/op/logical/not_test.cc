#include "tenon/op/logical/not.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Not: cases") {
  check(op::Not{}, {t<bool>({2, 2}, {true, true, false, false})},
        {t<bool>({2, 2}, {false, false, true, true})});
  check(op::Not{}, {t<bool>({}, {true})}, {t<bool>({}, {false})});
  check(op::Not{}, {t<bool>({0, 3}, {})}, {t<bool>({0, 3}, {})});
  check_in_place(op::Not{}, {t<bool>({2}, {true, false})}, 0);
  check_fails(op::Not{}, {t<uint8_t>({1}, {1})}, "input X cannot be tensor(uint8)");
}

TEST_CASE("Not: shape arithmetic and typed calls") {
  const auto out = infer(op::Not{}, {info(DType::bool_, {3}, {1, 0, Dim::unknown()})});
  CHECK(out[0].propagated[0].is(0));
  CHECK(out[0].propagated[1].is(1));
  CHECK_FALSE(out[0].propagated[2].known());
  const auto y = op::Not{}(Tensor<bool, Shape<2>>{true, false});
  static_assert(std::is_same_v<decltype(y), const Tensor<bool, Shape<2>>>);
  CHECK(y[1]);
}
}  // namespace tenon
