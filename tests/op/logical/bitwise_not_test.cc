#include "tenon/op/logical/bitwise_not.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("BitwiseNot: cases") {
  const auto check_type = [&]<class T>() {
    using L = std::numeric_limits<T>;
    const Value x = t<T>({2, 2}, {0, 5, L::max(), L::min()});
    check(op::BitwiseNot{}, {x}, {t<T>({2, 2}, {static_cast<T>(-1), static_cast<T>(-6), L::min(), L::max()})},
          0, 0);
    check(op::BitwiseNot{}, {t<T>({}, {1})}, {t<T>({}, {static_cast<T>(-2)})});
    check(op::BitwiseNot{}, {t<T>({0, 3}, {})}, {t<T>({0, 3}, {})});
    check_in_place(op::BitwiseNot{}, {x}, 0);
  };
  check_type.operator()<int8_t>();
  check_type.operator()<int16_t>();
  check_type.operator()<int32_t>();
  check_type.operator()<int64_t>();
  check_type.operator()<uint8_t>();
  check_type.operator()<uint16_t>();
  check_type.operator()<uint32_t>();
  check_type.operator()<uint64_t>();
  check_fails(op::BitwiseNot{}, {t<bool>({1}, {true})}, "input X cannot be tensor(bool)");
  check_fails(op::BitwiseNot{}, {t<float>({1}, {1})}, "input X cannot be tensor(float)");
}

TEST_CASE("BitwiseNot: shape arithmetic and typed calls") {
  const auto out = infer(op::BitwiseNot{}, {info(DType::int64, {2}, {5, Dim::symbol(1)})})[0];
  CHECK(out.propagated[0].is(-6));
  CHECK_FALSE(out.propagated[1].known());
  const auto y = op::BitwiseNot{}(Tensor<uint8_t, Shape<2>>{3, 0});
  static_assert(std::is_same_v<decltype(y), const Tensor<uint8_t, Shape<2>>>);
  CHECK(y[0] == 252);
}
}  // namespace tenon
