#include "tenon/op/reduction/reduce_sum_square.hpp"

#include "tests/op/reduction.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ReduceSumSquare: cases") {
  const Value x = t<float>({2, 3}, {1, 2, 3, -1, 0.5, 4});
  const float nan = std::nanf(""), inf = INFINITY;
  struct Row {
    op::ReduceSumSquare op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, t<int64_t>({1}, {1})}, t<float>({2, 1}, {14, 17.25})},
      {{.keepdims = 0}, {x, t<int64_t>({1}, {0})}, t<float>({3}, {2, 4.25, 25})},
      {{.keepdims = 0}, {x}, t<float>({}, {31.25})},
      {{.noop_with_empty_axes = 1}, {x}, t<float>({2, 3}, {1, 4, 9, 1, 0.25, 16})},
      {{}, {t<float>({}, {-3})}, t<float>({}, {9})},
      {{}, {t<float>({0}, {})}, t<float>({1}, {0})},
      {{}, {t<float>({2, 0}, {}), t<int64_t>({1}, {1})}, t<float>({2, 1}, {0, 0})},
      {{}, {t<float>({2}, {1, nan})}, t<float>({1}, {nan})},
      {{}, {t<float>({2}, {-inf, 1})}, t<float>({1}, {inf})},
      {{}, {t<int32_t>({2}, {-3, 65536})}, t<int32_t>({1}, {9})},
      {{}, {t<uint32_t>({2}, {UINT32_MAX, 2})}, t<uint32_t>({1}, {5})},
      {{}, {t<int64_t>({2}, {INT64_MAX, 2})}, t<int64_t>({1}, {5})},
      {{}, {t<uint64_t>({2}, {UINT64_MAX, 2})}, t<uint64_t>({1}, {5})},
      {{}, {t<double>({2}, {1.5, -2})}, t<double>({1}, {6.25})},
      {{}, {cast<float16>({3}, {45, 1, 1})}, cast<float16>({1}, {2027})},
      {{}, {cast<bfloat16>({3}, {16, 1, 1})}, cast<bfloat16>({1}, {258})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
  check_long<op::ReduceSumSquare>(0.1f, 300000 * (double{0.1f} * double{0.1f}));
}

TEST_CASE("ReduceSumSquare: versions, refusals, typed") {
  check_axes<op::ReduceSumSquare>(t<float>({2, 2}, {1, 4, -3, 2}), t<float>({2, 1}, {17, 13}),
                                  t<float>({2}, {10, 20}), t<float>({1, 1}, {30}),
                                  t<float>({2, 2}, {1, 16, 9, 4}));
  check_refused_types<op::ReduceSumSquare>();
  check_unknown_axes<op::ReduceSumSquare>();
  Tensor<float, Shape<2, 2>> x{{1, 2}, {3, 4}};
  const auto y = apply<op::ReduceSumSquare{.keepdims = 0}>(x, constant<int64_t, 0>);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2>>>);
  CHECK(y(1) == 20);
}
}  // namespace tenon
