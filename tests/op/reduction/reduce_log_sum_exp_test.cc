#include "tenon/op/reduction/reduce_log_sum_exp.hpp"

#include "tests/op/reduction.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ReduceLogSumExp: cases") {
  const float a = 2.3132617f, b = 4.3132617f, c = 3.126928f, d = 4.126928f;  // 1 or 3 + log(1 + e^1), …
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  const float nan = std::nanf(""), inf = INFINITY, log2 = 0.69314718f;
  struct Row {
    op::ReduceLogSumExp op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, t<int64_t>({1}, {1})}, t<float>({2, 1}, {a, b})},
      {{.keepdims = 0}, {x, t<int64_t>({1}, {0})}, t<float>({2}, {c, d})},
      {{.keepdims = 0}, {x}, t<float>({}, {4.4401897f})},
      {{.noop_with_empty_axes = 1}, {x}, x},
      {{.noop_with_empty_axes = 1}, {t<float>({2}, {1000, -inf})}, t<float>({2}, {1000, -inf})},
      {{}, {t<float>({}, {3})}, t<float>({}, {3})},
      {{}, {t<float>({0}, {})}, t<float>({1}, {-inf})},
      {{}, {t<double>({2, 0}, {}), t<int64_t>({1}, {1})}, t<double>({2, 1}, {-INFINITY, -INFINITY})},
      {{}, {t<int32_t>({0}, {})}, t<int32_t>({1}, {INT32_MIN})},
      // stable
      {{}, {t<float>({2}, {1e30f, 1e30f})}, t<float>({1}, {1e30f})},
      {{}, {t<float>({2}, {1000, 1000})}, t<float>({1}, {1000 + log2})},
      {{}, {t<float>({2}, {-1000, -1000})}, t<float>({1}, {-1000 + log2})},
      {{}, {t<float>({2}, {3e38f, -3e38f})}, t<float>({1}, {3e38f})},
      {{}, {t<double>({2}, {1e4, 1e4})}, t<double>({1}, {1e4 + std::log(2)})},
      {{}, {t<float>({2}, {-inf, -inf})}, t<float>({1}, {-inf})},
      {{}, {t<float>({2}, {-inf, 3})}, t<float>({1}, {3})},
      {{}, {t<float>({3}, {inf, 3, inf})}, t<float>({1}, {inf})},
      {{}, {t<float>({2}, {-inf, inf})}, t<float>({1}, {inf})},
      {{}, {t<float>({2}, {nan, inf})}, t<float>({1}, {nan})},
      {{}, {t<float>({2}, {1, nan})}, t<float>({1}, {nan})},
      {{}, {t<int32_t>({2}, {1000, 1000})}, t<int32_t>({1}, {1000})},
      {{}, {t<uint32_t>({2}, {1, 2})}, t<uint32_t>({1}, {2})},
      {{}, {t<int64_t>({2}, {-1000, -1000})}, t<int64_t>({1}, {-999})},
      {{}, {t<uint64_t>({2}, {1, 2})}, t<uint64_t>({1}, {2})},
      {{}, {t<int64_t>({1}, {INT64_MAX})}, t<int64_t>({1}, {INT64_MAX})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
  check(op::ReduceLogSumExp{}, {cast<float16>({2}, {100, 100})}, {cast<float16>({1}, {100.6931})}, 1e-3);
  check(op::ReduceLogSumExp{}, {cast<bfloat16>({2}, {100, 100})}, {cast<bfloat16>({1}, {100.6931})}, 1e-2);
  check_long<op::ReduceLogSumExp>(-500.0f, -500 + std::log(300000.0));
}

TEST_CASE("ReduceLogSumExp: versions, refusals, typed") {
  const float log2 = 0.69314718f, h = 100 + log2;
  check_axes<op::ReduceLogSumExp>(t<float>({2, 2}, {0, 0, 100, 100}), t<float>({2, 1}, {log2, h}),
                                  t<float>({2}, {100, 100}), t<float>({1, 1}, {h}),
                                  t<float>({2, 2}, {0, 0, 100, 100}));
  check_refused_types<op::ReduceLogSumExp>();
  check_unknown_axes<op::ReduceLogSumExp>();
  Tensor<float, Shape<2, 2>> x{{1, 3}, {3, 3}};
  const auto y = apply<op::ReduceLogSumExp{.keepdims = 0}>(x, constant<int64_t, 0>);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2>>>);
  CHECK(y(1) == doctest::Approx(3 + std::log(2)));
}
}  // namespace tenon
