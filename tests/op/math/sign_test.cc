#include "tenon/op/math/sign.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Sign: cases") {
  const std::initializer_list<double> x = {2.5, 0, -3, 1e-7, -0.5, INFINITY, -INFINITY, NAN};
  const std::initializer_list<double> y = {1, 0, -1, 1, -1, 1, -1, NAN};
  check_unary<float, double, bfloat16>(op::Sign{}, x, y);
  check_unary<float, double, float16>(op::Sign{}, x, y, 9);
  const auto check_integers = [&]<class T>() {
    using L = std::numeric_limits<T>;
    const T low = std::is_signed_v<T> ? -1 : 1;
    for (int version : {9, 13})
      check(op::Sign{}, {t<T>({5}, {L::max(), 1, 0, L::min(), static_cast<T>(-1)})},
            {t<T>({5}, {1, 1, 0, std::is_signed_v<T> ? low : T(0), low})}, 0, 0, version);
  };
  check_integers.operator()<int8_t>();
  check_integers.operator()<int16_t>();
  check_integers.operator()<int32_t>();
  check_integers.operator()<int64_t>();
  check_integers.operator()<uint8_t>();
  check_integers.operator()<uint16_t>();
  check_integers.operator()<uint32_t>();
  check_integers.operator()<uint64_t>();
  check_fails(op::Sign{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 9);
  check_fails(op::Sign{}, {t<bool>({1}, {true})}, "cannot be tensor(bool)");
}

TEST_CASE("Sign: shape arithmetic and typed calls") {
  const auto out = infer(op::Sign{}, {info(DType::int64, {4}, {5, 0, -2, Dim::symbol(1)})})[0];
  CHECK((out.propagated[0].is(1) && out.propagated[1].is(0) && out.propagated[2].is(-1)));
  CHECK_FALSE(out.propagated[3].known());
  const auto y = op::Sign{}(Tensor<int8_t, Shape<2>>{3, -4});
  static_assert(std::is_same_v<decltype(y), const Tensor<int8_t, Shape<2>>>);
  CHECK(y[1] == -1);
}
}  // namespace tenon
