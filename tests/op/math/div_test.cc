#include "tenon/op/math/div.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Div: cases") {
  const Value f = t<float>({2, 2}, {1, 2, 3, 4});
  const float inf = INFINITY;
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{f, t<float>({2}, {2, 4})}, t<float>({2, 2}, {0.5, 0.5, 1.5, 1})},
      {{t<float>({2, 1}, {12, 24}), f}, t<float>({2, 2}, {12, 6, 8, 6})},
      {{t<double>({}, {1}), t<double>({}, {4})}, t<double>({}, {0.25})},
      {{t<float>({0, 2}, {}), t<float>({1}, {0})}, t<float>({0, 2}, {})},
      {{t<float>({3}, {1, -1, 0}), t<float>({}, {0})}, t<float>({3}, {inf, -inf, NAN})},
      {{t<int32_t>({4}, {7, -7, 7, -7}), t<int32_t>({4}, {2, 2, -2, -2})}, t<int32_t>({4}, {3, -3, -3, 3})},
      {{t<int64_t>({1}, {INT64_MIN}), t<int64_t>({1}, {-1})}, t<int64_t>({1}, {INT64_MIN})},
      {{t<int8_t>({1}, {-128}), t<int8_t>({1}, {-1})}, t<int8_t>({1}, {-128})},
      {{t<uint64_t>({1}, {UINT64_MAX}), t<uint64_t>({1}, {2})}, t<uint64_t>({1}, {UINT64_MAX / 2})},
      {{cast<float16>({2}, {0.5, 2}), cast<float16>({}, {4})}, cast<float16>({2}, {0.125, 0.5})},
      {{cast<bfloat16>({2}, {0.5, 2}), cast<bfloat16>({}, {4})}, cast<bfloat16>({2}, {0.125, 0.5})},
  };
  for (const Row& row : rows) check(op::Div{}, row.in, {row.out});
  check_in_place(op::Div{}, {f, t<float>({2}, {10, 20})}, 0);
  check_in_place(op::Div{}, {t<float>({2}, {10, 20}), f}, 1);
}

TEST_CASE("Div: integers by zero") {
  check_fails(op::Div{}, {t<int32_t>({2}, {1, 2}), t<int32_t>({2}, {1, 0})}, "an integer is divided by zero");
  check_fails(op::Div{}, {t<uint8_t>({}, {1}), t<uint8_t>({}, {0})}, "an integer is divided by zero");
  check_fails(op::Div_1{}, {t<int64_t>({1}, {1}), t<int64_t>({1}, {0})}, "an integer is divided by zero");
  check_fails(stated<op::Div_1>(6), {t<int64_t>({1}, {1}), t<int64_t>({1}, {0})},
              "an integer is divided by zero");
  check(op::Div{}, {t<int32_t>({0}, {}), t<int32_t>({}, {0})}, {t<int32_t>({0}, {})});
}

TEST_CASE("Div: versions 1 and 6 align B by axis") {
  check_legacy<float, float>(op::Div_1{},
                             [](Opt<int64_t> axis) { return op::Div_1{.axis = axis, .broadcast = 1}; },
                             {0.25, 1, 3, 2}, {1, 2.0f / 3, 3, 4.0f / 3}, {1, 2, 1, 4.0f / 3});
}

TEST_CASE("Div: shape arithmetic and typed calls") {
  const auto n = Dim::symbol(1);
  const auto out =
      infer(op::Div{}, {info(DType::int64, {4}, {-7, n, n, 1}), info(DType::int64, {4}, {2, n, 1, 0})});
  CHECK(out[0].propagated[0].is(-3));
  CHECK(out[0].propagated[1].is(1));
  CHECK(out[0].propagated[2].same(n));
  CHECK_FALSE(out[0].propagated[3].known());

  CHECK(op::Div{}(Tensor<float>({2}, {1, 2}), 4.0f)[1] == 0.5f);
  CHECK_THROWS_AS(op::Div{}(Tensor<int32_t>({1}, {1}), 0), Error);
}
}  // namespace tenon
