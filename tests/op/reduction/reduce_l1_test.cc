#include "tenon/op/reduction/reduce_l1.hpp"

#include "tests/op/reduction.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ReduceL1: cases") {
  const Value x = t<float>({2, 3}, {1, -2, 3, -1, 0.5, -4});
  const float nan = std::nanf(""), inf = INFINITY;
  struct Row {
    op::ReduceL1 op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, t<int64_t>({1}, {1})}, t<float>({2, 1}, {6, 5.5})},
      {{.keepdims = 0}, {x, t<int64_t>({1}, {0})}, t<float>({3}, {2, 2.5, 7})},
      {{.keepdims = 0}, {x}, t<float>({}, {11.5})},
      {{.noop_with_empty_axes = 1}, {x}, t<float>({2, 3}, {1, 2, 3, 1, 0.5, 4})},
      {{}, {t<float>({}, {-3})}, t<float>({}, {3})},
      {{}, {t<float>({0}, {})}, t<float>({1}, {0})},
      {{}, {t<int32_t>({2, 0}, {}), t<int64_t>({1}, {1})}, t<int32_t>({2, 1}, {0, 0})},
      {{}, {t<float>({2}, {1, nan})}, t<float>({1}, {nan})},
      {{}, {t<float>({2}, {-inf, inf})}, t<float>({1}, {inf})},
      {{}, {t<int32_t>({2}, {-3, 4})}, t<int32_t>({1}, {7})},
      {{}, {t<int32_t>({2}, {INT32_MIN, 1})}, t<int32_t>({1}, {INT32_MIN + 1})},
      {{}, {t<uint32_t>({2}, {UINT32_MAX, 2})}, t<uint32_t>({1}, {1})},
      {{}, {t<int64_t>({2}, {INT64_MIN, -1})}, t<int64_t>({1}, {INT64_MIN + 1})},
      {{}, {t<uint64_t>({2}, {UINT64_MAX, 2})}, t<uint64_t>({1}, {1})},
      {{}, {t<double>({2}, {1.5, -2})}, t<double>({1}, {3.5})},
      {{}, {cast<float16>({3}, {2048, -1, -1})}, cast<float16>({1}, {2050})},
      {{}, {cast<bfloat16>({3}, {-256, 1, 1})}, cast<bfloat16>({1}, {258})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
  check_long<op::ReduceL1>(-0.1f, 300000 * double{0.1f});
}

TEST_CASE("ReduceL1: versions, refusals, typed") {
  check_axes<op::ReduceL1>(t<float>({2, 2}, {1, 4, -3, 2}), t<float>({2, 1}, {5, 5}), t<float>({2}, {4, 6}),
                           t<float>({1, 1}, {10}), t<float>({2, 2}, {1, 4, 3, 2}));
  check_refused_types<op::ReduceL1>();
  check_unknown_axes<op::ReduceL1>();
  Tensor<float, Shape<2, 2>> x{{1, -2}, {3, -4}};
  const auto y = apply<op::ReduceL1{.keepdims = 0}>(x, constant<int64_t, 0>);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2>>>);
  CHECK(y(1) == 6);
}
}  // namespace tenon
