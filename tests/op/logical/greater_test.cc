#include "tenon/op/logical/greater.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Greater: cases") {
  const Value f = t<float>({2, 2}, {1, 2, 3, 4});
  const float inf = INFINITY;
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{f, t<float>({2}, {2, 2})}, t<bool>({2, 2}, {false, false, true, true})},
      {{t<float>({2, 1}, {2, 3}), f}, t<bool>({2, 2}, {true, false, false, false})},
      {{t<double>({}, {1}), t<double>({}, {2})}, t<bool>({}, {false})},
      {{t<float>({0, 2}, {}), t<float>({1}, {1})}, t<bool>({0, 2}, {})},
      {{t<float>({4}, {NAN, 1, -inf, 0}), t<float>({4}, {1, NAN, inf, -0.0f})},
       t<bool>({4}, {false, false, false, false})},
      {{t<int8_t>({2}, {-1, 1}), t<int8_t>({2}, {1, -1})}, t<bool>({2}, {false, true})},
      {{t<uint8_t>({2}, {200, 1}), t<uint8_t>({}, {100})}, t<bool>({2}, {true, false})},
      {{t<int16_t>({1}, {-300}), t<int16_t>({}, {300})}, t<bool>({1}, {false})},
      {{t<uint16_t>({1}, {65535}), t<uint16_t>({}, {1})}, t<bool>({1}, {true})},
      {{t<int32_t>({1}, {INT32_MIN}), t<int32_t>({}, {INT32_MAX})}, t<bool>({1}, {false})},
      {{t<uint32_t>({1}, {UINT32_MAX}), t<uint32_t>({}, {1})}, t<bool>({1}, {true})},
      {{t<int64_t>({1}, {INT64_MAX - 1}), t<int64_t>({}, {INT64_MAX})}, t<bool>({1}, {false})},
      {{t<uint64_t>({1}, {UINT64_MAX}), t<uint64_t>({}, {UINT64_MAX - 1})}, t<bool>({1}, {true})},
      {{cast<float16>({2}, {0.5, 2}), cast<float16>({}, {1})}, t<bool>({2}, {false, true})},
      {{cast<bfloat16>({2}, {0.5, 2}), cast<bfloat16>({}, {1})}, t<bool>({2}, {false, true})},
  };
  for (const Row& row : rows) check(op::Greater{}, row.in, {row.out});
}

TEST_CASE("Greater: version 1 aligns B by axis") {
  check_legacy<float, bool>(
      op::Greater_1{}, [](Opt<int64_t> axis) { return op::Greater_1{.axis = axis, .broadcast = 1}; },
      {false, false, true, true}, {false, false, true, true}, {false, true, false, true});
  check_fails(op::Greater_1{}, {t<int32_t>({1}, {1}), t<int32_t>({1}, {1})}, "cannot be tensor(int32)");
}

TEST_CASE("Greater: what is refused, shape arithmetic, typed calls") {
  const Value b = t<bool>({1}, {true}), i = t<int32_t>({1}, {1});
  check_fails(op::Greater{}, {b, b}, "cannot be tensor(bool)");
  check_fails(op::Greater{}, {i, i}, "cannot be tensor(int32)", 1, 7);
  check_fails(op::Greater{}, {t<float>({2}, {1, 2}), t<float>({3}, {1, 2, 3})},
              "extents (2) and (3) do not broadcast");

  const auto n = Dim::symbol(1);
  const auto out =
      infer(op::Greater{}, {info(DType::int64, {4}, {1, n, -1, n}), info(DType::int64, {4}, {2, -1, n, 2})});
  CHECK(out[0].propagated[0].is(false));
  CHECK(out[0].propagated[1].is(true));
  CHECK(out[0].propagated[2].is(false));
  CHECK_FALSE(out[0].propagated[3].known());

  const auto y = op::Greater{}(Tensor<float, Shape<2>>{3, 5}, 4.0f);
  static_assert(std::is_same_v<decltype(y), const Tensor<bool, Shape<2>>>);
  CHECK(y[0] == false);
  CHECK(y[1] == true);
}
}  // namespace tenon
