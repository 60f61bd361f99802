#include "tenon/op/logical/less.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Less: cases") {
  const Value f = t<float>({2, 2}, {1, 2, 3, 4});
  const float inf = INFINITY;
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{f, t<float>({2}, {2, 2})}, t<bool>({2, 2}, {true, false, false, false})},
      {{t<float>({2, 1}, {2, 3}), f}, t<bool>({2, 2}, {false, false, false, true})},
      {{t<double>({}, {1}), t<double>({}, {2})}, t<bool>({}, {true})},
      {{t<float>({0, 2}, {}), t<float>({1}, {1})}, t<bool>({0, 2}, {})},
      {{t<float>({4}, {NAN, 1, -inf, 0}), t<float>({4}, {1, NAN, inf, -0.0f})},
       t<bool>({4}, {false, false, true, false})},
      {{t<int8_t>({2}, {-1, 1}), t<int8_t>({2}, {1, -1})}, t<bool>({2}, {true, false})},
      {{t<uint8_t>({2}, {200, 1}), t<uint8_t>({}, {100})}, t<bool>({2}, {false, true})},
      {{t<int16_t>({1}, {-300}), t<int16_t>({}, {300})}, t<bool>({1}, {true})},
      {{t<uint16_t>({1}, {65535}), t<uint16_t>({}, {1})}, t<bool>({1}, {false})},
      {{t<int32_t>({1}, {INT32_MIN}), t<int32_t>({}, {INT32_MAX})}, t<bool>({1}, {true})},
      {{t<uint32_t>({1}, {UINT32_MAX}), t<uint32_t>({}, {1})}, t<bool>({1}, {false})},
      {{t<int64_t>({1}, {INT64_MAX - 1}), t<int64_t>({}, {INT64_MAX})}, t<bool>({1}, {true})},
      {{t<uint64_t>({1}, {UINT64_MAX}), t<uint64_t>({}, {UINT64_MAX - 1})}, t<bool>({1}, {false})},
      {{cast<float16>({2}, {0.5, 2}), cast<float16>({}, {1})}, t<bool>({2}, {true, false})},
      {{cast<bfloat16>({2}, {0.5, 2}), cast<bfloat16>({}, {1})}, t<bool>({2}, {true, false})},
  };
  for (const Row& row : rows) check(op::Less{}, row.in, {row.out});
}

TEST_CASE("Less: version 1 aligns B by axis") {
  check_legacy<float, bool>(
      op::Less_1{}, [](Opt<int64_t> axis) { return op::Less_1{.axis = axis, .broadcast = 1}; },
      {true, false, false, false}, {false, true, false, false}, {false, false, false, false});
  check_fails(op::Less_1{}, {t<int32_t>({1}, {1}), t<int32_t>({1}, {1})}, "cannot be tensor(int32)");
}

TEST_CASE("Less: what is refused, shape arithmetic, typed calls") {
  const Value b = t<bool>({1}, {true}), i = t<int32_t>({1}, {1});
  check_fails(op::Less{}, {b, b}, "cannot be tensor(bool)");
  check_fails(op::Less{}, {i, i}, "cannot be tensor(int32)", 1, 7);
  check_fails(op::Less{}, {t<float>({2}, {1, 2}), t<float>({3}, {1, 2, 3})},
              "extents (2) and (3) do not broadcast");

  const auto n = Dim::symbol(1);
  const auto out =
      infer(op::Less{}, {info(DType::int64, {4}, {1, n, -1, n}), info(DType::int64, {4}, {2, -1, n, 2})});
  CHECK(out[0].propagated[0].is(true));
  CHECK(out[0].propagated[1].is(false));
  CHECK(out[0].propagated[2].is(true));
  CHECK_FALSE(out[0].propagated[3].known());

  const auto y = op::Less{}(Tensor<float, Shape<2>>{3, 5}, 4.0f);
  static_assert(std::is_same_v<decltype(y), const Tensor<bool, Shape<2>>>);
  CHECK(y[0] == true);
  CHECK(y[1] == false);
}
}  // namespace tenon
