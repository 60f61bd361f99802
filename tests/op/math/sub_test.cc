#include "tenon/op/math/sub.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Sub: cases") {
  const Value f = t<float>({2, 2}, {1, 2, 3, 4});
  const float inf = INFINITY;
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{f, t<float>({2}, {10, 20})}, t<float>({2, 2}, {-9, -18, -7, -16})},
      {{t<float>({2, 1}, {10, 20}), f}, t<float>({2, 2}, {9, 8, 17, 16})},
      {{t<double>({}, {1}), t<double>({}, {2.5})}, t<double>({}, {-1.5})},
      {{t<float>({0, 2}, {}), t<float>({1}, {1})}, t<float>({0, 2}, {})},
      {{t<float>({2}, {inf, 0}), t<float>({2}, {inf, inf})}, t<float>({2}, {NAN, -inf})},
      {{t<uint8_t>({2}, {1, 5}), t<uint8_t>({}, {2})}, t<uint8_t>({2}, {255, 3})},
      {{t<int32_t>({1}, {INT32_MIN}), t<int32_t>({1}, {1})}, t<int32_t>({1}, {INT32_MAX})},
      {{t<uint64_t>({1}, {0}), t<uint64_t>({1}, {1})}, t<uint64_t>({1}, {UINT64_MAX})},
      {{cast<float16>({2}, {0.5, 2}), cast<float16>({2}, {1, -2046})}, cast<float16>({2}, {-0.5, 2048})},
      {{cast<bfloat16>({2}, {0.5, 2}), cast<bfloat16>({}, {1})}, cast<bfloat16>({2}, {-0.5, 1})},
  };
  for (const Row& row : rows) check(op::Sub{}, row.in, {row.out});
  check_in_place(op::Sub{}, {f, t<float>({2}, {10, 20})}, 0);
  check_in_place(op::Sub{}, {t<float>({}, {7}), f}, 1);
}

TEST_CASE("Sub: versions 1 and 6 align B by axis") {
  check_legacy<float, float>(op::Sub_1{},
                             [](Opt<int64_t> axis) { return op::Sub_1{.axis = axis, .broadcast = 1}; },
                             {-3, 0, 2, 2}, {0, -1, 2, 1}, {0, 1, 0, 1});
  check(op::Sub_1{}, {t<int64_t>({1}, {1}), t<int64_t>({1}, {3})}, {t<int64_t>({1}, {-2})});
  check_fails(op::Sub_1{}, {t<int64_t>({1}, {1}), t<int64_t>({1}, {3})}, "input A cannot be tensor(int64)", 1,
              1);
}

TEST_CASE("Sub: errors, shape arithmetic, typed calls") {
  check_fails(op::Sub{}, {t<float>({2}, {1, 2}), t<float>({3}, {1, 2, 3})},
              "extents (2) and (3) do not broadcast");
  check_fails(op::Sub{}, {cast<bfloat16>({1}, {1}), cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)",
              1, 7);

  const auto n = Dim::symbol(1);
  const auto out = infer(op::Sub{}, {info(DType::int64, {3}, {7, n, n}), info(DType::int64, {3}, {9, n, 0})});
  CHECK(out[0].propagated[0].is(-2));
  CHECK(out[0].propagated[1].is(0));
  CHECK(out[0].propagated[2].same(n));
  const auto wrapped = infer(op::Sub{}, {info(DType::int32, {}, {INT32_MIN}), info(DType::int32, {}, {1})});
  CHECK(wrapped[0].propagated[0].is(INT32_MAX));

  const auto c = op::Sub{}(Tensor<float, Shape<2, 2>>{{1, 2}, {3, 4}}, Tensor<float, Shape<2>>{10, 20});
  static_assert(std::is_same_v<decltype(c), const Tensor<float, Shape<2, 2>>>);
  CHECK(c(1, 1) == -16);
}
}  // namespace tenon
