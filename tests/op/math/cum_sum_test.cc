#include "tenon/op/math/cum_sum.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("CumSum: cases") {
  const Value x = t<double>({5}, {1, 2, 3, 4, 5}), m = t<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Value first = t<int32_t>({}, {0}), second = t<int64_t>({}, {1}), last = t<int32_t>({1}, {-1});
  struct Row {
    op::CumSum op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, first}, t<double>({5}, {1, 3, 6, 10, 15})},
      {{.exclusive = 1}, {x, first}, t<double>({5}, {0, 1, 3, 6, 10})},
      {{.reverse = 1}, {x, first}, t<double>({5}, {15, 14, 12, 9, 5})},
      {{.exclusive = 1, .reverse = 1}, {x, first}, t<double>({5}, {14, 12, 9, 5, 0})},
      {{}, {m, first}, t<float>({2, 3}, {1, 2, 3, 5, 7, 9})},
      {{}, {m, second}, t<float>({2, 3}, {1, 3, 6, 4, 9, 15})},
      {{.reverse = 1}, {m, last}, t<float>({2, 3}, {6, 5, 3, 15, 11, 6})},
      {{}, {t<int32_t>({2}, {INT32_MAX, 1}), first}, t<int32_t>({2}, {INT32_MAX, INT32_MIN})},
      {{}, {t<int64_t>({2}, {INT64_MAX, 1}), first}, t<int64_t>({2}, {INT64_MAX, INT64_MIN})},
      {{}, {t<uint32_t>({2}, {UINT32_MAX, 2}), first}, t<uint32_t>({2}, {UINT32_MAX, 1})},
      {{}, {t<uint64_t>({2}, {UINT64_MAX, 2}), first}, t<uint64_t>({2}, {UINT64_MAX, 1})},
      {{},
       {t<float>({4}, {INFINITY, 1, -INFINITY, 1}), first},
       t<float>({4}, {INFINITY, INFINITY, NAN, NAN})},
      {{}, {cast<float16>({3}, {2048, 1, 1}), first}, cast<float16>({3}, {2048, 2048, 2050})},
      {{}, {cast<bfloat16>({3}, {256, 1, 1}), first}, cast<bfloat16>({3}, {256, 256, 258})},
      {{}, {t<float>({2, 0}, {}), first}, t<float>({2, 0}, {})},
      {{}, {t<float>({0, 2}, {}), second}, t<float>({0, 2}, {})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out}, 0, 0);
  check_in_place(op::CumSum{.exclusive = 1}, {m, second}, 0);
}

TEST_CASE("CumSum: long and wide") {
  Tensor<float> x(Extents{3, 1 << 12, 70});
  for (float& v : x) v = 0.1f;
  const auto y = op::CumSum{}(x, constant<int64_t, 1>);
  for (int64_t k : {0, 1000, (1 << 12) - 1})
    CHECK(y(2, k, 69) == doctest::Approx(0.1f * double(k + 1)).epsilon(1e-7));
}

TEST_CASE("CumSum: what is refused, shapes, typed calls") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  check_fails(op::CumSum{}, {x, t<int64_t>({}, {2})}, "axis 2 outside of [-2, 1]");
  check_fails(op::CumSum{}, {x, t<int64_t>({}, {-3})}, "axis -3 outside of");
  check_fails(op::CumSum{}, {x, t<int64_t>({}, {INT64_MIN})}, "input 1 holds a number out of range");
  check_fails(op::CumSum{}, {x, t<int64_t>({2}, {0, 1})}, "axis: (2), expected one element");
  check_fails(op::CumSum{}, {t<float>({}, {1}), t<int64_t>({}, {0})}, "axis 0 outside of");
  check_fails(op::CumSum{}, {cast<float16>({1}, {1}), t<int64_t>({}, {0})}, "cannot be tensor(float16)", 1,
              11);
  check_fails(op::CumSum{}, {t<int8_t>({1}, {1}), t<int64_t>({}, {0})}, "cannot be tensor(int8)");
  const Dim n = Dim::symbol(1);
  CHECK(infer(op::CumSum{}, {info(DType::float32, {n, 3}), info(DType::int64, {1})})[0].dims == Dims{n, 3});

  const auto y = apply<op::CumSum{}>(Tensor<int64_t, Shape<3>>{1, 2, 3}, constant<int64_t, 0>);
  static_assert(std::is_same_v<decltype(y), const Tensor<int64_t, Shape<3>>>);
  CHECK(y[2] == 6);
}
}  // namespace tenon
