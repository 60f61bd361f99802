// What the tables of the global pools share.
#pragma once

#include "tests/op/check.hpp"

namespace tenon::test {

/// `pair` is the pool's result for 1 and 2, `quads` (1,2,1,1) for 1, 2, 3, 6 and for -1, -1, -3, -3, `none`
/// for no numbers.
template <class Op>
void check_global_pool(double pair, const Value& quads, float none) {
  const float nan = std::nanf("");
  const Value x = t<float>({1, 2, 2, 2}, {1, 2, 3, 6, -1, -1, -3, -3});
  const auto one = [pair](DType d, const Extents& e) { return cast(d, e, {pair}); };
  struct Row {
    Value in, out;
  } rows[] = {
      {x, quads},
      {t<float>({2, 1, 2}, {1, 2, 1, 2}), cast<float>({2, 1, 1}, {pair, pair})},
      {t<float>({1, 1, 1, 2, 1}, {1, 2}), one(DType::float32, {1, 1, 1, 1, 1})},
      {t<float>({2, 2}, {1, 2, 3, 4}), t<float>({2, 2}, {1, 2, 3, 4})},
      {t<float>({1, 2, 2}, {nan, 1, -INFINITY, -INFINITY}), t<float>({1, 2, 1}, {nan, -INFINITY})},
      {t<float>({1, 2, 0}, {}), t<float>({1, 2, 1}, {none, none})},
      {t<float>({0, 2, 3}, {}), t<float>({0, 2, 1}, {})},
      {cast<double>({1, 1, 2}, {1, 2}), one(DType::float64, {1, 1, 1})},
      {cast<float16>({1, 1, 2}, {60000, 60000}), cast<float16>({1, 1, 1}, {60000})},
      {cast<bfloat16>({1, 1, 2}, {1, 2}), one(DType::bfloat16, {1, 1, 1})},
  };
  for (const Row& row : rows) {
    CAPTURE(&row - rows);
    check(Op{}, {row.in}, {row.out});
  }
  check(Op{}, {x}, {quads}, 0, 0, 1);
  check_fails(Op{}, {t<float>({2}, {1, 2})}, "X: rank 1, expected at least 2");
  check_fails(Op{}, {cast<bfloat16>({1, 1}, {1})}, "input X cannot be tensor(bfloat16)", 1, 1);
  const auto n = Dim::symbol(1), h = Dim::symbol(2);
  CHECK(infer(Op{}, {info(DType::float32, {n, 3, h, h})})[0].dims == Dims{n, 3, 1, 1});
  CHECK_FALSE(infer(Op{}, {info(DType::float32, Dims())})[0].dims.ranked());
  Tensor<float, Shape<1, 1, 2>> typed{{{1, 2}}};
  const auto y = Op{}(typed);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 1, 1>>>);
  CHECK(y.item() == static_cast<float>(pair));
}

}  // namespace tenon::test
