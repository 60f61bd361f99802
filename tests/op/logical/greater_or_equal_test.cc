#include "tenon/op/logical/greater_or_equal.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("GreaterOrEqual: cases") {
  constexpr bool less = false, greater = true;  // of the first operand
  const Value f = t<float>({2, 2}, {1, 2, 3, 4});
  const float inf = INFINITY;
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{f, t<float>({2}, {2, 2})}, t<bool>({2, 2}, {less, true, greater, greater})},
      {{t<float>({2, 1}, {2, 3}), f}, t<bool>({2, 2}, {greater, true, true, less})},
      {{t<double>({}, {1}), t<double>({}, {2})}, t<bool>({}, {less})},
      {{t<float>({0, 2}, {}), t<float>({1}, {1})}, t<bool>({0, 2}, {})},
      {{t<float>({5}, {NAN, 1, NAN, -inf, 0}), t<float>({5}, {1, NAN, NAN, inf, -0.0f})},
       t<bool>({5}, {false, false, false, less, true})},
      {{t<int8_t>({2}, {-1, 1}), t<int8_t>({2}, {1, -1})}, t<bool>({2}, {less, greater})},
      {{t<uint8_t>({2}, {200, 1}), t<uint8_t>({}, {100})}, t<bool>({2}, {greater, less})},
      {{t<int16_t>({1}, {-300}), t<int16_t>({}, {300})}, t<bool>({1}, {less})},
      {{t<uint16_t>({1}, {65535}), t<uint16_t>({}, {1})}, t<bool>({1}, {greater})},
      {{t<int32_t>({2}, {INT32_MIN, 7}), t<int32_t>({2}, {INT32_MAX, 7})}, t<bool>({2}, {less, true})},
      {{t<uint32_t>({1}, {UINT32_MAX}), t<uint32_t>({}, {1})}, t<bool>({1}, {greater})},
      {{t<int64_t>({1}, {INT64_MAX - 1}), t<int64_t>({}, {INT64_MAX})}, t<bool>({1}, {less})},
      {{t<uint64_t>({1}, {UINT64_MAX}), t<uint64_t>({}, {UINT64_MAX - 1})}, t<bool>({1}, {greater})},
      {{cast<float16>({3}, {0.5, 1, 2}), cast<float16>({}, {1})}, t<bool>({3}, {less, true, greater})},
      {{cast<bfloat16>({3}, {0.5, 1, 2}), cast<bfloat16>({}, {1})}, t<bool>({3}, {less, true, greater})},
  };
  for (const Row& row : rows) check(op::GreaterOrEqual{}, row.in, {row.out});
  for (int version : op::GreaterOrEqual::spec.since)
    check(stated<op::GreaterOrEqual>(version), {f, t<float>({2}, {2, 2})},
          {t<bool>({2, 2}, {less, true, greater, greater})});
}

TEST_CASE("GreaterOrEqual: what is refused, shape arithmetic, typed calls") {
  const Value b = t<bool>({1}, {true}), narrow = cast<bfloat16>({1}, {1});
  check_fails(op::GreaterOrEqual{}, {b, b}, "cannot be tensor(bool)");
  check_fails(op::GreaterOrEqual{}, {narrow, narrow}, "cannot be tensor(bfloat16)", 1, 12);
  check_fails(op::GreaterOrEqual{}, {t<float>({2}, {1, 2}), t<float>({3}, {1, 2, 3})},
              "extents (2) and (3) do not broadcast");
  check_fails(op::GreaterOrEqual{}, {t<float>({1}, {1}), t<double>({1}, {1})}, "but T is tensor(float)");

  const auto n = Dim::symbol(1);
  const auto out = infer(op::GreaterOrEqual{},
                         {info(DType::int64, {4}, {1, n, -1, n}), info(DType::int64, {4}, {2, -1, n, n})});
  CHECK(out[0].propagated[0].is(false));
  CHECK(out[0].propagated[1].is(true));
  CHECK(out[0].propagated[2].is(false));
  CHECK(out[0].propagated[3].is(true));

  const auto y = op::GreaterOrEqual{}(Tensor<float, Shape<2>>{4, 5}, 4.0f);
  static_assert(std::is_same_v<decltype(y), const Tensor<bool, Shape<2>>>);
  CHECK(y[0]);
  CHECK(y[1] == true);
}
}  // namespace tenon
