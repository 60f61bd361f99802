// The table of cases that the comparisons of order share.
#pragma once

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon::test {

/// What Op gives where A is less than B, equal to it, greater.
template <class Op>
void check_order(bool less, bool same, bool greater) {
  const Value f = t<float>({2, 2}, {1, 2, 3, 4}), twos = t<float>({2}, {2, 2}),
              by_twos = t<bool>({2, 2}, {less, same, greater, greater});
  const float inf = INFINITY;
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{f, twos}, by_twos},
      {{t<float>({2, 1}, {2, 3}), f}, t<bool>({2, 2}, {greater, same, same, less})},
      {{t<double>({}, {1}), t<double>({}, {2})}, t<bool>({}, {less})},
      {{t<float>({0, 2}, {}), t<float>({1}, {1})}, t<bool>({0, 2}, {})},
      {{t<float>({5}, {NAN, 1, NAN, -inf, 0}), t<float>({5}, {1, NAN, NAN, inf, -0.0f})},
       t<bool>({5}, {false, false, false, less, same})},
      {{t<int8_t>({2}, {-1, 1}), t<int8_t>({2}, {1, -1})}, t<bool>({2}, {less, greater})},
      {{t<uint8_t>({2}, {200, 1}), t<uint8_t>({}, {100})}, t<bool>({2}, {greater, less})},
      {{t<int16_t>({1}, {-300}), t<int16_t>({}, {300})}, t<bool>({1}, {less})},
      {{t<uint16_t>({1}, {65535}), t<uint16_t>({}, {1})}, t<bool>({1}, {greater})},
      {{t<int32_t>({2}, {INT32_MIN, 7}), t<int32_t>({2}, {INT32_MAX, 7})}, t<bool>({2}, {less, same})},
      {{t<uint32_t>({1}, {UINT32_MAX}), t<uint32_t>({}, {1})}, t<bool>({1}, {greater})},
      {{t<int64_t>({1}, {INT64_MAX - 1}), t<int64_t>({}, {INT64_MAX})}, t<bool>({1}, {less})},
      {{t<uint64_t>({1}, {UINT64_MAX}), t<uint64_t>({}, {UINT64_MAX - 1})}, t<bool>({1}, {greater})},
      {{cast<float16>({3}, {0.5, 1, 2}), cast<float16>({}, {1})}, t<bool>({3}, {less, same, greater})},
      {{cast<bfloat16>({3}, {0.5, 1, 2}), cast<bfloat16>({}, {1})}, t<bool>({3}, {less, same, greater})},
  };
  for (const Row& row : rows) check(Op{}, row.in, {row.out});
  const Value b = t<bool>({1}, {true}), i = t<int32_t>({1}, {1}), narrow = cast<bfloat16>({1}, {1});
  for (int version : Op::spec.since) {
    CAPTURE(version);
    check(stated<Op>(version), {f, twos}, {by_twos});
    if (version < 9) check_fails(Op{}, {i, i}, "cannot be tensor(int32)", 1, version);
    if (version < 13) check_fails(Op{}, {narrow, narrow}, "cannot be tensor(bfloat16)", 1, version);
  }
  check_fails(Op{}, {b, b}, "cannot be tensor(bool)");
  check_fails(Op{}, {t<float>({2}, {1, 2}), t<float>({3}, {1, 2, 3})},
              "extents (2) and (3) do not broadcast");
  check_fails(Op{}, {t<float>({1}, {1}), t<double>({1}, {1})}, "but T is tensor(float)");

  const auto n = Dim::symbol(1);
  const auto values =
      infer(Op{}, {info(DType::int64, {5}, {1, n, -1, n, n}), info(DType::int64, {5}, {2, -1, n, n, 2})})[0]
          .propagated;
  CHECK((values[0].is(less) && values[1].is(greater) && values[2].is(less) && values[3].is(same)));
  CHECK_FALSE(values[4].known());

  const auto y = Op{}(Tensor<float, Shape<3>>{3, 4, 5}, 4.0f);
  static_assert(std::is_same_v<decltype(y), const Tensor<bool, Shape<3>>>);
  CHECK((y[0] == less && y[1] == same && y[2] == greater));
}

}  // namespace tenon::test
