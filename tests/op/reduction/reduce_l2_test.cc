#include "tenon/op/reduction/reduce_l2.hpp"

#include "tests/op/reduction.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ReduceL2: cases") {
  const Value x = t<float>({2, 2}, {3, -4, 6, 8});
  const float nan = std::nanf(""), inf = INFINITY;
  struct Row {
    op::ReduceL2 op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, t<int64_t>({1}, {1})}, t<float>({2, 1}, {5, 10})},
      {{.keepdims = 0}, {x, t<int64_t>({1}, {0})}, t<float>({2}, {std::sqrt(45.0f), std::sqrt(80.0f)})},
      {{.keepdims = 0}, {x}, t<float>({}, {std::sqrt(125.0f)})},
      {{.noop_with_empty_axes = 1}, {x}, t<float>({2, 2}, {3, 4, 6, 8})},
      {{}, {t<float>({}, {-3})}, t<float>({}, {3})},
      {{}, {t<float>({0}, {})}, t<float>({1}, {0})},
      {{}, {t<int32_t>({2, 0}, {}), t<int64_t>({1}, {1})}, t<int32_t>({2, 1}, {0, 0})},
      {{}, {t<float>({2}, {1, nan})}, t<float>({1}, {nan})},
      {{}, {t<float>({2}, {-inf, inf})}, t<float>({1}, {inf})},
      {{}, {t<int32_t>({2}, {-3, 5})}, t<int32_t>({1}, {5})},
      {{}, {t<int32_t>({2}, {-100000, 0})}, t<int32_t>({1}, {100000})},
      {{}, {t<uint32_t>({2}, {3, 4})}, t<uint32_t>({1}, {5})},
      {{}, {t<int64_t>({2}, {-3000000000, 4000000000})}, t<int64_t>({1}, {5000000000})},
      {{}, {t<uint64_t>({2}, {3, 4})}, t<uint64_t>({1}, {5})},
      {{}, {t<double>({2}, {1.5, -2})}, t<double>({1}, {2.5})},
      {{}, {cast<float16>({2}, {300, -400})}, cast<float16>({1}, {500})},
      {{}, {cast<bfloat16>({2}, {3, -4})}, cast<bfloat16>({1}, {5})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
  check_long<op::ReduceL2>(-0.1f, std::sqrt(300000.0) * double{0.1f});
}

TEST_CASE("ReduceL2: versions, refusals, typed") {
  check_axes<op::ReduceL2>(t<float>({2, 2}, {3, 4, 0, 12}), t<float>({2, 1}, {5, 12}),
                           t<float>({2}, {3, std::sqrt(160.0f)}), t<float>({1, 1}, {13}),
                           t<float>({2, 2}, {3, 4, 0, 12}));
  check_refused_types<op::ReduceL2>();
  check_unknown_axes<op::ReduceL2>();
  Tensor<float, Shape<2, 2>> x{{1, 3}, {3, -4}};
  const auto y = apply<op::ReduceL2{.keepdims = 0}>(x, constant<int64_t, 0>);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2>>>);
  CHECK(y(1) == 5);
}
}  // namespace tenon
