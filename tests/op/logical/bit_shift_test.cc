#include "tenon/op/logical/bit_shift.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("BitShift: cases") {
  const op::BitShift left{.direction = {"LEFT"}}, right{.direction = {"RIGHT"}};
  const Value m = t<uint8_t>({2, 2}, {1, 2, 128, 255});
  struct Row {
    op::BitShift op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {left, {m, t<uint8_t>({2}, {1, 4})}, t<uint8_t>({2, 2}, {2, 32, 0, 240})},
      {right, {m, t<uint8_t>({2}, {1, 4})}, t<uint8_t>({2, 2}, {0, 0, 64, 15})},
      {right, {t<uint8_t>({2, 1}, {200, 7}), t<uint8_t>({2}, {0, 2})}, t<uint8_t>({2, 2}, {200, 50, 7, 1})},
      // by the width or more
      {left, {m, t<uint8_t>({2}, {8, 255})}, t<uint8_t>({2, 2}, {0, 0, 0, 0})},
      {right, {m, t<uint8_t>({2}, {7, 8})}, t<uint8_t>({2, 2}, {0, 0, 1, 0})},
      {left, {t<uint16_t>({2}, {1, 3}), t<uint16_t>({2}, {15, 16})}, t<uint16_t>({2}, {0x8000, 0})},
      {right, {t<uint32_t>({3}, {16, 4, 1}), t<uint32_t>({3}, {1, 2, 32})}, t<uint32_t>({3}, {8, 1, 0})},
      {left,
       {t<uint64_t>({2}, {1, 1}), t<uint64_t>({2}, {63, UINT64_MAX})},
       t<uint64_t>({2}, {uint64_t{1} << 63, 0})},
      {left, {t<uint64_t>({}, {5}), t<uint64_t>({}, {1})}, t<uint64_t>({}, {10})},
      {left, {t<uint8_t>({0, 2}, {}), t<uint8_t>({1}, {1})}, t<uint8_t>({0, 2}, {})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
  check(stated<op::BitShift>(11, {{"direction", std::string("LEFT")}}), {m, t<uint8_t>({}, {1})},
        {t<uint8_t>({2, 2}, {2, 4, 0, 254})});
  check_in_place(left, {m, t<uint8_t>({2}, {1, 4})}, 0);
  check_in_place(right, {t<uint8_t>({2}, {1, 4}), m}, 1);
}

TEST_CASE("BitShift: errors, symbols, typed calls") {
  const Value u = t<uint8_t>({1}, {1}), i = t<int32_t>({1}, {1});
  check_fails(op::BitShift{}, {u, u}, "attribute 'direction' is missing");
  check_fails(op::BitShift{.direction = {"left"}}, {u, u}, "direction: 'left', expected LEFT or RIGHT");
  check_fails(op::BitShift{.direction = {"LEFT"}}, {i, i}, "input X cannot be tensor(int32)");
  check_refused<op::BitShift>(11, {}, "attribute 'direction' is required");
  const auto n = Dim::symbol(1);
  const auto x = info(DType::uint8, {n}), y = info(DType::uint8, {2, 1});
  CHECK(infer(op::BitShift{.direction = {"LEFT"}}, {x, y})[0].dims == Dims{2, n});
  const auto z = apply<op::BitShift{.direction = {"LEFT"}}>(Tensor<uint32_t, Shape<2>>{1, 2}, 3u);
  static_assert(std::is_same_v<decltype(z), const Tensor<uint32_t, Shape<2>>>);
  CHECK(z[1] == 16);
}
}  // namespace tenon
