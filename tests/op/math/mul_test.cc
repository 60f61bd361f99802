#include "tenon/op/math/mul.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Mul: cases") {
  const Value f = t<float>({2, 2}, {1, 2, 3, 4});
  const float inf = INFINITY;
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{f, t<float>({2}, {10, 20})}, t<float>({2, 2}, {10, 40, 30, 80})},
      {{t<float>({2, 1}, {10, 20}), f}, t<float>({2, 2}, {10, 20, 60, 80})},
      {{t<double>({}, {3}), t<double>({}, {2.5})}, t<double>({}, {7.5})},
      {{t<float>({0}, {}), t<float>({2, 1}, {1, 2})}, t<float>({2, 0}, {})},
      {{t<float>({2}, {inf, -2}), t<float>({2}, {0, inf})}, t<float>({2}, {NAN, -inf})},
      {{t<uint8_t>({2}, {128, 5}), t<uint8_t>({}, {2})}, t<uint8_t>({2}, {0, 10})},
      {{t<int8_t>({1}, {-128}), t<int8_t>({1}, {-1})}, t<int8_t>({1}, {-128})},
      {{t<int16_t>({1}, {300}), t<int16_t>({1}, {300})}, t<int16_t>({1}, {24464})},
      {{t<int64_t>({1}, {INT64_MAX}), t<int64_t>({1}, {2})}, t<int64_t>({1}, {-2})},
      {{cast<float16>({2}, {0.5, 300}), cast<float16>({}, {300})}, cast<float16>({2}, {150, inf})},
      {{cast<bfloat16>({2}, {0.5, 2}), cast<bfloat16>({}, {3})}, cast<bfloat16>({2}, {1.5, 6})},
  };
  for (const Row& row : rows) check(op::Mul{}, row.in, {row.out});
  check_in_place(op::Mul{}, {f, t<float>({2}, {10, 20})}, 0);
  check_in_place(op::Mul{}, {f, f}, 0);
}

TEST_CASE("Mul: versions 1 and 6 align B by axis") {
  check_legacy<float, float>(op::Mul_1{},
                             [](Opt<int64_t> axis) { return op::Mul_1{.axis = axis, .broadcast = 1}; },
                             {4, 4, 3, 8}, {1, 6, 3, 12}, {1, 2, 9, 12});
  check(op::Mul_1{}, {t<uint32_t>({1}, {5}), t<uint32_t>({1}, {3})}, {t<uint32_t>({1}, {15})});
  check_fails(op::Mul_1{}, {t<double>({1}, {1}), t<float>({1}, {3})},
              "input B is tensor(float), but T is tensor(double)");
}

TEST_CASE("Mul: errors, shape arithmetic, typed calls") {
  check_fails(op::Mul{}, {t<bool>({1}, {true}), t<bool>({1}, {true})}, "input A cannot be tensor(bool)");
  check_fails(op::Mul{}, {t<int8_t>({1}, {1}), t<int8_t>({1}, {1})}, "input A cannot be tensor(int8)", 1, 13);

  const auto n = Dim::symbol(1);
  const auto out = infer(op::Mul{}, {info(DType::int64, {3}, {7, n, n}), info(DType::int64, {3}, {9, 1, 2})});
  CHECK(out[0].propagated[0].is(63));
  CHECK(out[0].propagated[1].same(n));
  CHECK_FALSE(out[0].propagated[2].known());

  CHECK(op::Mul{}(Tensor<double>({2}, {1, 2}), 4.0)[1] == 8);
}
}  // namespace tenon
