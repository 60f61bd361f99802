#include "tenon/op/reduction/reduce_prod.hpp"

#include "tests/op/reduction.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ReduceProd: cases") {
  const Value x = t<float>({2, 3}, {1, 2, 3, -1, 0.5, 4});
  const float nan = std::nanf(""), inf = INFINITY;
  struct Row {
    op::ReduceProd op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, t<int64_t>({1}, {1})}, t<float>({2, 1}, {6, -2})},
      {{.keepdims = 0}, {x, t<int64_t>({1}, {0})}, t<float>({3}, {-1, 1, 12})},
      {{.keepdims = 0}, {x}, t<float>({}, {-12})},
      {{.noop_with_empty_axes = 1}, {x}, x},
      {{}, {t<float>({}, {3})}, t<float>({}, {3})},
      {{}, {t<float>({0}, {})}, t<float>({1}, {1})},
      {{}, {t<int64_t>({2, 0}, {}), t<int64_t>({1}, {1})}, t<int64_t>({2, 1}, {1, 1})},
      {{}, {t<float>({3}, {1, nan, 0})}, t<float>({1}, {nan})},
      {{}, {t<float>({2}, {inf, 0})}, t<float>({1}, {nan})},
      // no order of factors overflows
      {{}, {t<float>({4}, {1e30f, 1e30f, 1e-30f, 1e-30f})}, t<float>({1}, {1})},
      {{}, {t<int32_t>({2}, {INT32_MAX, 2})}, t<int32_t>({1}, {-2})},
      {{}, {t<uint32_t>({2}, {UINT32_MAX, 2})}, t<uint32_t>({1}, {UINT32_MAX - 1})},
      {{}, {t<int64_t>({2}, {INT64_MAX, 2})}, t<int64_t>({1}, {-2})},
      {{}, {t<uint64_t>({2}, {UINT64_MAX, 2})}, t<uint64_t>({1}, {UINT64_MAX - 1})},
      {{}, {t<double>({2}, {1.5, -2})}, t<double>({1}, {-3})},
      {{}, {cast<float16>({3}, {256, 512, 0.5})}, cast<float16>({1}, {INFINITY})},
      {{}, {cast<float16>({3}, {256, 512, 0.125})}, cast<float16>({1}, {16384})},
      {{}, {cast<bfloat16>({2}, {1.5, -2})}, cast<bfloat16>({1}, {-3})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
}

TEST_CASE("ReduceProd: versions, refusals, shape arithmetic, typed") {
  check_axes<op::ReduceProd>(t<float>({2, 2}, {1, 4, 3, 2}), t<float>({2, 1}, {4, 6}), t<float>({2}, {3, 8}),
                             t<float>({1, 1}, {24}), t<float>({2, 2}, {1, 4, 3, 2}));
  check_refused_types<op::ReduceProd>();
  check_unknown_axes<op::ReduceProd>();
  const auto product = infer(op::ReduceProd{.keepdims = 0}, {info(DType::int64, {3}, {2, 3, 4})});
  CHECK(product[0].dims == Dims::of_rank(0));
  CHECK(product[0].propagated[0].is(24));
  const auto n = Dim::symbol(1);
  CHECK(infer(op::ReduceProd{}, {info(DType::int64, {2}, {1, n})})[0].propagated[0].same(n));
  CHECK_FALSE(infer(op::ReduceProd{}, {info(DType::int64, {2}, {2, n})})[0].propagated[0].known());

  Tensor<float, Shape<2, 2>> x{{1, 2}, {3, 4}};
  const auto y = apply<op::ReduceProd{.keepdims = 0}>(x, constant<int64_t, 0>);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2>>>);
  CHECK(y(1) == 8);
}
}  // namespace tenon
