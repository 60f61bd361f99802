#include "tenon/op/math/cum_prod.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("CumProd: cases") {
  const Value x = t<double>({5}, {1, 2, 3, 4, 5}), m = t<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Value first = t<int32_t>({}, {0}), second = t<int64_t>({}, {1}), last = t<int32_t>({1}, {-1});
  struct Row {
    op::CumProd op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, first}, t<double>({5}, {1, 2, 6, 24, 120})},
      {{.exclusive = 1}, {x, first}, t<double>({5}, {1, 1, 2, 6, 24})},
      {{.reverse = 1}, {x, first}, t<double>({5}, {120, 120, 60, 20, 5})},
      {{.exclusive = 1, .reverse = 1}, {x, first}, t<double>({5}, {120, 60, 20, 5, 1})},
      {{}, {m, first}, t<float>({2, 3}, {1, 2, 3, 4, 10, 18})},
      {{}, {m, second}, t<float>({2, 3}, {1, 2, 6, 4, 20, 120})},
      {{.reverse = 1}, {m, last}, t<float>({2, 3}, {6, 6, 3, 120, 30, 6})},
      {{}, {t<int32_t>({2}, {INT32_MAX, 2}), first}, t<int32_t>({2}, {INT32_MAX, -2})},
      {{}, {t<int64_t>({2}, {INT64_MIN, -1}), first}, t<int64_t>({2}, {INT64_MIN, INT64_MIN})},
      {{}, {t<uint32_t>({2}, {UINT32_MAX, 2}), first}, t<uint32_t>({2}, {UINT32_MAX, UINT32_MAX - 1})},
      {{}, {t<uint64_t>({2}, {UINT64_MAX, 2}), first}, t<uint64_t>({2}, {UINT64_MAX, UINT64_MAX - 1})},
      {{}, {t<float>({4}, {INFINITY, 1, 0, 1}), first}, t<float>({4}, {INFINITY, INFINITY, NAN, NAN})},
      {{}, {cast<float16>({3}, {-2, 3, 0.5}), first}, cast<float16>({3}, {-2, -6, -3})},
      {{}, {cast<bfloat16>({3}, {-2, 3, 0.5}), first}, cast<bfloat16>({3}, {-2, -6, -3})},
      {{}, {t<float>({2, 0}, {}), first}, t<float>({2, 0}, {})},
      {{}, {t<float>({0, 2}, {}), second}, t<float>({0, 2}, {})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out}, 0, 0);
  check_in_place(op::CumProd{.exclusive = 1}, {m, second}, 0);
}

TEST_CASE("CumProd: what is refused, shapes, typed calls") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  check_fails(op::CumProd{}, {x, t<int64_t>({}, {2})}, "axis 2 outside of [-2, 1]");
  check_fails(op::CumProd{}, {x, t<int64_t>({}, {INT64_MIN})}, "input 1 holds a number out of range");
  check_fails(op::CumProd{}, {x, t<int64_t>({2}, {0, 1})}, "axis: (2), expected one element");
  check_fails(op::CumProd{}, {t<float>({}, {1}), t<int64_t>({}, {0})}, "axis 0 outside of");
  check_fails(op::CumProd{}, {t<int8_t>({1}, {1}), t<int64_t>({}, {0})}, "cannot be tensor(int8)");
  const Dim n = Dim::symbol(1);
  CHECK(infer(op::CumProd{}, {info(DType::float32, {n, 3}), info(DType::int64, {1})})[0].dims == Dims{n, 3});

  const auto y = apply<op::CumProd{}>(Tensor<int64_t, Shape<3>>{1, 2, 3}, constant<int64_t, 0>);
  static_assert(std::is_same_v<decltype(y), const Tensor<int64_t, Shape<3>>>);
  CHECK(y[2] == 6);
}
}  // namespace tenon
