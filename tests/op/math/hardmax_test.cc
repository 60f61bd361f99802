#include "tenon/op/math/hardmax.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Hardmax: cases") {
  const float nan = std::nanf(""), inf = INFINITY;
  const Value x = t<float>({2, 3}, {0, 3, 2, 10, 11, 11});
  struct Row {
    op::Hardmax op;
    Value in, out;
  } rows[] = {
      {{}, x, t<float>({2, 3}, {0, 1, 0, 0, 1, 0})},
      {{.axis = 1}, x, t<float>({2, 3}, {0, 1, 0, 0, 1, 0})},
      {{.axis = 0}, x, t<float>({2, 3}, {0, 0, 0, 1, 1, 1})},
      {{.axis = -2}, t<float>({1, 2, 2}, {0, 5, 1, 5}), t<float>({1, 2, 2}, {0, 1, 1, 0})},
      {{.axis = 0}, t<float>({2, 1, 2}, {0, 5, 1, 4}), t<float>({2, 1, 2}, {0, 1, 1, 0})},
      {{}, t<float>({0, 3}, {}), t<float>({0, 3}, {})},
      {{}, t<float>({3, 0}, {}), t<float>({3, 0}, {})},
      {{},
       t<float>({0, int64_t{1} << 40, int64_t{1} << 40}, {}),
       t<float>({0, int64_t{1} << 40, int64_t{1} << 40}, {})},
      {{}, t<float>({3}, {-inf, -inf, -inf}), t<float>({3}, {1, 0, 0})},
      {{}, t<float>({3}, {inf, nan, nan}), t<float>({3}, {0, 1, 0})},
      {{}, t<double>({2}, {0, 1}), t<double>({2}, {0, 1})},
      {{}, cast<float16>({3}, {0, 2, 1}), cast<float16>({3}, {0, 1, 0})},
      {{}, cast<bfloat16>({3}, {0, 2, 1}), cast<bfloat16>({3}, {0, 1, 0})},
  };
  for (const Row& row : rows) check(row.op, {row.in}, {row.out}, 0, 0);
  check_in_place(op::Hardmax{}, {x}, 0);
  check_in_place(op::Hardmax{.axis = 0}, {x}, 0);
}

TEST_CASE("Hardmax: versions 1 and 11 take all axes from `axis` on together") {
  const Value x = t<float>({2, 1, 2}, {0, 1, 3, 1});
  for (int version : {1, 11}) {
    CAPTURE(version);
    const auto hardmax = [&](int64_t axis) { return stated<op::Hardmax_1>(version, {{"axis", axis}}); };
    const Value along = t<float>({2, 1, 2}, {0, 1, 1, 0});
    check(stated<op::Hardmax_1>(version), {x}, {along});
    for (int64_t axis : {1, 2, -1, -2}) check(hardmax(axis), {x}, {along});
    for (int64_t axis : {0, -3}) check(hardmax(axis), {x}, {t<float>({2, 1, 2}, {0, 0, 1, 0})});
    check(hardmax(3), {x}, {t<float>({2, 1, 2}, {1, 1, 1, 1})});
    check(stated<op::Hardmax_1>(version), {t<float>({2}, {5, 6})}, {t<float>({2}, {1, 1})});
    check(hardmax(1), {t<double>({1, 2}, {0, 1})}, {t<double>({1, 2}, {0, 1})});
    check(hardmax(1), {cast<float16>({1, 2}, {3, 2})}, {cast<float16>({1, 2}, {1, 0})});
    check(hardmax(1), {t<float>({2, 0, 3}, {})}, {t<float>({2, 0, 3}, {})});
    check_fails(hardmax(4), {x}, "axis 4 outside of [-3, 2]");
    check_fails(hardmax(1), {cast<bfloat16>({1, 1}, {0})}, "input input cannot be tensor(bfloat16)");
  }
}

TEST_CASE("Hardmax: errors, symbols, typed") {
  check_fails(op::Hardmax{}, {t<float>({}, {1})}, "input: rank 0, expected at least 1");
  check_fails(op::Hardmax{.axis = 2}, {t<float>({1, 1}, {1})}, "axis 2 outside of [-2, 1]");
  check_fails(op::Hardmax{}, {t<int32_t>({1}, {1})}, "input input cannot be tensor(int32)");
  const auto n = Dim::symbol(1);
  CHECK(infer(op::Hardmax{}, {info(DType::float32, {n, 3})})[0].dims == Dims{n, 3});
  const auto y = apply<op::Hardmax{.axis = 1}>(Tensor<float, Shape<1, 2>>{{1, 2}});
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 2>>>);
  CHECK(y[1] == 1);
}
}  // namespace tenon
