#include "tenon/op/nn/global_lp_pool.hpp"

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("GlobalLpPool: cases") {
  const float nan = std::nanf("");
  struct Row {
    op::GlobalLpPool op;
    Value in, out;
  } rows[] = {
      {{}, t<float>({1, 2, 2, 1}, {3, -4, 5, 12}), t<float>({1, 2, 1, 1}, {5, 13})},
      {{.p = 1}, t<float>({2, 1, 3}, {1, -2, 3, 4, 5, 3}), t<float>({2, 1, 1}, {6, 12})},
      {{.p = 3}, t<float>({1, 1, 3}, {3, -4, 5}), t<float>({1, 1, 1}, {6})},
      {{}, t<float>({2, 2}, {1, -2, 3, 4}), t<float>({2, 2}, {1, 2, 3, 4})},
      {{.p = 3}, t<float>({1, 2}, {-2, 3}), t<float>({1, 2}, {2, 3})},
      {{.p = 3}, t<float>({1, 2, 1}, {nan, -2}), t<float>({1, 2, 1}, {nan, 2})},
      {{.p = 4}, t<float>({0, 2, 2}, {}), t<float>({0, 2, 1}, {})},
      {{.p = 4}, t<float>({1, 1, 0}, {}), t<float>({1, 1, 1}, {0})},
      {{.p = 3}, t<double>({1, 1, 3}, {3, -4, 5}), t<double>({1, 1, 1}, {6})},
      {{.p = 3}, cast<float16>({1, 1, 3}, {3, -4, 5}), cast<float16>({1, 1, 1}, {6})},
      {{}, cast<bfloat16>({1, 1, 2}, {3, -4}), cast<bfloat16>({1, 1, 1}, {5})},
      {{.p = 3}, cast<bfloat16>({1, 1, 3}, {3, -4, 5}), cast<bfloat16>({1, 1, 1}, {6})},
  };
  for (const Row& row : rows) check(row.op, {row.in}, {row.out}, 2e-6);
  check(stated<op::GlobalLpPool>(2, {{"p", int64_t{3}}}), {rows[2].in}, {rows[2].out}, 2e-6);
}

TEST_CASE("GlobalLpPool: version 1 takes any p above 0") {
  const Value x = t<float>({1, 1, 2}, {4, -9});
  check(stated<op::GlobalLpPool_1>(1), {t<float>({1, 1, 2}, {3, -4})}, {t<float>({1, 1, 1}, {5})});
  check(stated<op::GlobalLpPool_1>(1, {{"p", 0.5f}}), {x}, {t<float>({1, 1, 1}, {25})}, 2e-6);
  for (float p : {0.0f, -1.0f, INFINITY, std::nanf("")})
    check_fails(op::GlobalLpPool_1{.p = p}, {x}, "p is not above 0, or infinite");
}

TEST_CASE("GlobalLpPool: errors, symbols, and typed") {
  check_fails(op::GlobalLpPool{}, {t<float>({2}, {1, 2})}, "X: rank 1, expected at least 2");
  check_fails(op::GlobalLpPool{.p = 0}, {t<float>({1, 1}, {1})}, "p: 0, expected at least 1");
  check_fails(op::GlobalLpPool{}, {cast<bfloat16>({1, 1}, {1})}, "input X cannot be tensor(bfloat16)", 1, 2);
  const auto n = Dim::symbol(1), h = Dim::symbol(2);
  CHECK(infer(op::GlobalLpPool{}, {info(DType::float32, {n, 3, h, h})})[0].dims == Dims{n, 3, 1, 1});
  Tensor<float, Shape<1, 1, 2>> x{{{3, 4}}};
  const auto y = apply<op::GlobalLpPool{}>(x);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 1, 1>>>);
  CHECK(y.item() == 5);
}
}  // namespace tenon
