// The table of cases that BitwiseAnd, BitwiseOr and BitwiseXor share.
#pragma once

#include "tests/op/elementwise.hpp"

namespace tenon::test {

/// F is the function of two integers.
template <class Op, class F>
void check_bitwise(F) {
  constexpr F f{};
  const Value m = t<int32_t>({2, 2}, {12, 10, -1, 0});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{m, t<int32_t>({2}, {10, 6})}, t<int32_t>({2, 2}, {f(12, 10), f(10, 6), f(-1, 10), f(0, 6)})},
      {{t<int32_t>({2, 1}, {5, -8}), m}, t<int32_t>({2, 2}, {f(5, 12), f(5, 10), f(-8, -1), f(-8, 0)})},
      {{t<uint8_t>({}, {0xf0}), t<uint8_t>({}, {0x3c})}, t<uint8_t>({}, {f(0xf0, 0x3c)})},
      {{t<int8_t>({2}, {-128, 127}), t<int8_t>({}, {-1})}, t<int8_t>({2}, {f(-128, -1), f(127, -1)})},
      {{t<int16_t>({1}, {-2}), t<int16_t>({1}, {0x0ff0})}, t<int16_t>({1}, {f(-2, 0x0ff0)})},
      {{t<uint16_t>({1}, {0xff00}), t<uint16_t>({1}, {0x0ff0})}, t<uint16_t>({1}, {f(0xff00, 0x0ff0)})},
      {{t<uint32_t>({1}, {UINT32_MAX}), t<uint32_t>({1}, {7})}, t<uint32_t>({1}, {f(UINT32_MAX, 7u)})},
      {{t<int64_t>({1}, {INT64_MIN}), t<int64_t>({1}, {-2})}, t<int64_t>({1}, {f(INT64_MIN, -2)})},
      {{t<uint64_t>({1}, {UINT64_MAX}), t<uint64_t>({1}, {7})}, t<uint64_t>({1}, {f(UINT64_MAX, 7u)})},
      {{t<int32_t>({0, 2}, {}), t<int32_t>({1}, {1})}, t<int32_t>({0, 2}, {})},
  };
  for (const Row& row : rows) check(Op{}, row.in, {row.out});
  check_in_place(Op{}, {m, t<int32_t>({2}, {10, 6})}, 0);
  check_in_place(Op{}, {t<int32_t>({2}, {10, 6}), m}, 1);

  const Value real = t<float>({1}, {1}), b = t<bool>({1}, {true}), i = t<int32_t>({2}, {1, 2});
  check_fails(Op{}, {real, real}, "input A cannot be tensor(float)");
  check_fails(Op{}, {b, b}, "input A cannot be tensor(bool)");
  check_fails(Op{}, {i, t<int64_t>({1}, {1})}, "but T is tensor(int32)");
  check_fails(Op{}, {i, t<int32_t>({3}, {1, 2, 3})}, "extents (2) and (3) do not broadcast");
  const auto n = Dim::symbol(1);
  CHECK(infer(Op{}, {info(DType::int32, {n}), info(DType::int32, {2, 1})})[0].dims == Dims{2, n});
  const auto y = Op{}(Tensor<int32_t, Shape<2>>{12, 10}, 6);
  static_assert(std::is_same_v<decltype(y), const Tensor<int32_t, Shape<2>>>);
  CHECK(y[0] == f(12, 6));
}

}  // namespace tenon::test
