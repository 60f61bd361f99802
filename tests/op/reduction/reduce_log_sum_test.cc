#include "tenon/op/reduction/reduce_log_sum.hpp"

#include "tests/op/reduction.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ReduceLogSum: cases") {
  const auto log = [](double x) { return static_cast<float>(std::log(x)); };
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  const float nan = std::nanf(""), inf = INFINITY;
  struct Row {
    op::ReduceLogSum op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, t<int64_t>({1}, {1})}, t<float>({2, 1}, {log(3), log(7)})},
      {{.keepdims = 0}, {x, t<int64_t>({1}, {0})}, t<float>({2}, {log(4), log(6)})},
      {{.keepdims = 0}, {x}, t<float>({}, {log(10)})},
      {{.noop_with_empty_axes = 1}, {x}, t<float>({2, 2}, {0, log(2), log(3), log(4)})},
      {{}, {t<float>({}, {3})}, t<float>({}, {log(3)})},
      {{}, {t<float>({0}, {})}, t<float>({1}, {-inf})},
      {{}, {t<double>({2, 0}, {}), t<int64_t>({1}, {1})}, t<double>({2, 1}, {-INFINITY, -INFINITY})},
      {{}, {t<int32_t>({0}, {})}, t<int32_t>({1}, {INT32_MIN})},
      {{}, {t<uint64_t>({0}, {})}, t<uint64_t>({1}, {0})},
      {{}, {t<float>({2}, {1, nan})}, t<float>({1}, {nan})},
      {{}, {t<float>({2}, {1, -2})}, t<float>({1}, {nan})},
      {{}, {t<float>({2}, {1, -1})}, t<float>({1}, {-inf})},
      {{}, {t<float>({2}, {inf, 1})}, t<float>({1}, {inf})},
      {{}, {t<int32_t>({2}, {INT32_MAX, INT32_MAX})}, t<int32_t>({1}, {22})},
      {{}, {t<uint32_t>({2}, {50, 50})}, t<uint32_t>({1}, {4})},
      {{}, {t<int64_t>({2}, {INT64_MAX, INT64_MAX})}, t<int64_t>({1}, {44})},
      {{}, {t<uint64_t>({2}, {50, 50})}, t<uint64_t>({1}, {4})},
      {{}, {t<double>({2}, {1.5, 2})}, t<double>({1}, {std::log(3.5)})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
  check(op::ReduceLogSum{}, {cast<float16>({2}, {60000, 60000})}, {cast<float16>({1}, {std::log(120000)})},
        1e-3);
  check(op::ReduceLogSum{}, {cast<bfloat16>({2}, {3, 4})}, {cast<bfloat16>({1}, {std::log(7)})}, 1e-2);
  check_long<op::ReduceLogSum>(0.1f, std::log(300000 * double{0.1f}));
}

TEST_CASE("ReduceLogSum: versions, refusals, typed") {
  const auto log = [](double x) { return static_cast<float>(std::log(x)); };
  check_axes<op::ReduceLogSum>(t<float>({2, 2}, {3, 4, 1, 12}), t<float>({2, 1}, {log(7), log(13)}),
                               t<float>({2}, {log(4), log(16)}), t<float>({1, 1}, {log(20)}),
                               t<float>({2, 2}, {log(3), log(4), 0, log(12)}));
  check_refused_types<op::ReduceLogSum>();
  check_unknown_axes<op::ReduceLogSum>();
  Tensor<float, Shape<2, 2>> x{{1, 3}, {3, 4}};
  const auto y = apply<op::ReduceLogSum{.keepdims = 0}>(x, constant<int64_t, 0>);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2>>>);
  CHECK(y(1) == doctest::Approx(std::log(7)));
}
}  // namespace tenon
