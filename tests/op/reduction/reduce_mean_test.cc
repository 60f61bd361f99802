#include "tenon/op/reduction/reduce_mean.hpp"

#include "tests/op/reduction.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ReduceMean: cases") {
  const Value x = t<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const float nan = std::nanf("");
  struct Row {
    op::ReduceMean op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, t<int64_t>({1}, {1})}, t<float>({2, 1, 2}, {2, 3, 6, 7})},
      {{.keepdims = 0}, {x, t<int64_t>({2}, {-1, 0})}, t<float>({2}, {3.5f, 5.5f})},
      {{.keepdims = 0}, {x}, t<float>({}, {4.5f})},
      {{.noop_with_empty_axes = 1}, {x}, x},
      {{}, {t<float>({}, {3})}, t<float>({}, {3})},
      {{}, {t<float>({2, 0}, {}), t<int64_t>({1}, {1})}, t<float>({2, 1}, {nan, nan})},
      {{}, {t<int32_t>({0}, {})}, t<int32_t>({1}, {0})},
      {{}, {t<float>({0, 2}, {}), t<int64_t>({1}, {1})}, t<float>({0, 1}, {})},
      {{}, {t<float>({2}, {nan, 1})}, t<float>({1}, {nan})},
      {{}, {t<int32_t>({2}, {-3, 0})}, t<int32_t>({1}, {-1})},
      {{}, {t<uint64_t>({2}, {5, 2})}, t<uint64_t>({1}, {3})},
      {{}, {t<double>({2}, {1, 2})}, t<double>({1}, {1.5})},
      {{}, {cast<float16>({2}, {60000, 60002})}, cast<float16>({1}, {60000})},
      {{}, {cast<bfloat16>({4}, {1, 2, 3, 4})}, cast<bfloat16>({1}, {2.5})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
}

TEST_CASE("ReduceMean: sums of integers do not overflow") {
  constexpr int64_t low = INT64_MIN, high = INT64_MAX;
  struct Row {
    Value in, out;
  } rows[] = {
      {t<int32_t>({2}, {INT32_MAX, INT32_MAX}), t<int32_t>({1}, {INT32_MAX})},
      {t<int64_t>({2}, {high, high}), t<int64_t>({1}, {high})},
      {t<int64_t>({3}, {low, low, low}), t<int64_t>({1}, {low})},
      {t<int64_t>({3}, {low, high, high}), t<int64_t>({1}, {high / 3})},
      {t<int64_t>({3}, {high, low, low}), t<int64_t>({1}, {low / 3 - 1})},
      {t<int64_t>({2}, {low, low + 1}), t<int64_t>({1}, {low + 1})},
      {t<int64_t>({2}, {high, high - 1}), t<int64_t>({1}, {high - 1})},
      {t<int64_t>({2}, {low, high}), t<int64_t>({1}, {0})},
      {t<int64_t>({3}, {low, 0, -5}), t<int64_t>({1}, {low / 3 - 2})},
      {t<uint64_t>({3}, {UINT64_MAX, UINT64_MAX, UINT64_MAX - 3}), t<uint64_t>({1}, {UINT64_MAX - 1})},
      {t<uint64_t>({2}, {UINT64_MAX, 0}), t<uint64_t>({1}, {UINT64_MAX / 2})},
      {t<int64_t>({1}, {low}), t<int64_t>({1}, {low})},
  };
  for (const Row& row : rows) check(op::ReduceMean{}, {row.in}, {row.out});
  const Value m = t<int64_t>({2, 2}, {high, low, high - 2, 1});
  check(op::ReduceMean{}, {m, t<int64_t>({1}, {0})}, {t<int64_t>({1, 2}, {high - 1, low / 2 + 1})});
  check(op::ReduceMean{}, {m, t<int64_t>({1}, {1})}, {t<int64_t>({2, 1}, {0, (high - 1) / 2})});
}

TEST_CASE("ReduceMean: versions, refusals") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  check_axes<op::ReduceMean>(x, t<float>({2, 1}, {1.5f, 3.5f}), t<float>({2}, {2, 3}),
                             t<float>({1, 1}, {2.5f}), x);
  check(stated<op::ReduceMean>(13), {cast<bfloat16>({2}, {1, 2})}, {cast<bfloat16>({1}, {1.5})});
  check_refused_types<op::ReduceMean>();
  check_unknown_axes<op::ReduceMean>();
}

TEST_CASE("ReduceMean: typed, and extents that are not known yet") {
  Tensor<float, Shape<2, 4>> x{{1, 2, 3, 4}, {5, 6, 7, 8}};
  const auto y = apply<op::ReduceMean{}>(x, constant<int64_t, 1>);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2, 1>>>);
  CHECK(y(1, 0) == 6.5f);
  const auto n = Dim::symbol(3);
  CHECK(infer(stated<op::ReduceMean>(13, {{"axes", ints{-1}}}), {info(DType::float32, {n, 3})}).dims ==
        Dims{n, 1});
}
}  // namespace tenon
