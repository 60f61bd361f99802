#include "tenon/op/math/mat_mul.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("MatMul: cases") {
  const Value a = t<float>({2, 3}, {1, 2, 3, 4, 5, 6}), b = t<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Value row = t<float>({3}, {1, 2, 3});
  const Value stack = t<float>({2, 1, 2}, {1, 2, 3, 4}), stack_b = t<float>({2, 2, 1}, {1, 2, 3, 4});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{a, b}, t<float>({2, 2}, {22, 28, 49, 64})},
      {{row, b}, t<float>({2}, {22, 28})},
      {{a, row}, t<float>({2}, {14, 32})},
      {{row, row}, t<float>({}, {14})},
      // Batches: shared, paired, stretched.
      {{stack, t<float>({2, 1}, {10, 1})}, t<float>({2, 1, 1}, {12, 34})},
      {{stack, stack_b}, t<float>({2, 1, 1}, {5, 25})},
      {{t<float>({1, 2}, {1, 2}), stack_b}, t<float>({2, 1, 1}, {5, 11})},
      {{t<float>({2, 1, 1, 2}, {1, 2, 3, 4}), t<float>({1, 2, 2, 1}, {1, 2, 3, 4})},
       t<float>({2, 2, 1, 1}, {5, 11, 11, 25})},
      {{t<float>({2}, {1, 2}), stack_b}, t<float>({2, 1}, {5, 11})},
      {{stack, t<float>({2}, {10, 1})}, t<float>({2, 1}, {12, 34})},
      // Nothing to sum, nothing to compute.
      {{t<float>({2, 0}, {}), t<float>({0, 2}, {})}, t<float>({2, 2}, {0, 0, 0, 0})},
      {{t<float>({0}, {}), t<float>({0}, {})}, t<float>({}, {0})},
      {{t<float>({0, 2, 3}, {}), b}, t<float>({0, 2, 2}, {})},
      {{t<float>({0, 3}, {}), b}, t<float>({0, 2}, {})},
      {{t<int32_t>({1, 2}, {INT32_MAX, 1}), t<int32_t>({2, 1}, {1, 1})}, t<int32_t>({1, 1}, {INT32_MIN})},
      {{t<uint32_t>({1, 2}, {UINT32_MAX, 2}), t<uint32_t>({2, 1}, {1, 1})}, t<uint32_t>({1, 1}, {1})},
      {{t<int64_t>({1, 2}, {int64_t{1} << 40, -3}), t<int64_t>({2, 1}, {3, 1})},
       t<int64_t>({1, 1}, {3 * (int64_t{1} << 40) - 3})},
      {{t<uint64_t>({1, 1}, {UINT64_MAX}), t<uint64_t>({1, 1}, {2})}, t<uint64_t>({1, 1}, {UINT64_MAX - 1})},
      {{t<double>({1, 2}, {1e15, 1}), t<double>({2, 1}, {1, 1})}, t<double>({1, 1}, {1e15 + 1})},
      {{cast<float16>({1, 3}, {2048, 1, 1}), cast<float16>({3, 1}, {1, 1, 1})},
       cast<float16>({1, 1}, {2050})},
      {{cast<bfloat16>({2, 1, 2}, {256, 1, 1, 2}), cast<bfloat16>({2}, {1, 1})},
       cast<bfloat16>({2, 1}, {256, 3})},
  };
  for (const Row& r : rows) check(op::MatMul{}, r.in, {r.out}, 0, 0);
  check(op::MatMul{}, {a, b}, {t<float>({2, 2}, {22, 28, 49, 64})}, 0, 0, 1);
  const float nan = std::nanf("");
  check(op::MatMul{}, {t<float>({1, 2}, {nan, 1}), t<float>({2, 1}, {0, 1})}, {t<float>({1, 1}, {nan})});
}

TEST_CASE("MatMul: batches against single products") {
  struct Row {
    Extents a, b, y;
  } rows[] = {
      {{2, 3, 4, 5}, {5, 6}, {2, 3, 4, 6}},          {{2, 3, 4, 5}, {3, 5, 6}, {2, 3, 4, 6}},
      {{3, 4, 5}, {2, 1, 5, 6}, {2, 3, 4, 6}},       {{2, 1, 4, 5}, {3, 5, 6}, {2, 3, 4, 6}},
      {{4, 5}, {2, 3, 5, 6}, {2, 3, 4, 6}},          {{2, 1, 2, 4, 5}, {1, 3, 1, 5, 6}, {2, 3, 2, 4, 6}},
      {{1, 1, 33, 70}, {1, 70, 41}, {1, 1, 33, 41}},
  };
  for (const Row& row : rows) {
    Tensor<float> a(row.a), b(row.b);
    for (int64_t k = 0; k < a.size(); ++k) a[k] = static_cast<float>(k % 7 - 3);
    for (int64_t k = 0; k < b.size(); ++k) b[k] = static_cast<float>(k % 5 - 2);
    const auto y = op::MatMul{}(a, b);
    REQUIRE(std::equal(y.extents().begin(), y.extents().end(), row.y.begin(), row.y.end()));
    const int64_t m = row.a[row.a.size() - 2], k = row.a.back(), n = row.b.back();
    const auto plan = kernels::broadcast_plan(a.extents().first(a.extents().size() - 2),
                                              b.extents().first(b.extents().size() - 2));
    int64_t wrong = 0;
    kernels::for_each_run(plan, 0, plan.size, [&](int64_t at, const int64_t* offsets, int64_t count) {
      for (int64_t j = 0; j < count; ++j)
        for (int64_t r = 0; r < m; ++r)
          for (int64_t s = 0; s < n; ++s) {
            float sum = 0;
            for (int64_t p = 0; p < k; ++p)
              sum += a[((offsets[0] + j * plan.strides[0][plan.rank - 1]) * m + r) * k + p] *
                     b[((offsets[1] + j * plan.strides[1][plan.rank - 1]) * k + p) * n + s];
            wrong += y[((at + j) * m + r) * n + s] != sum;
          }
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("MatMul: errors") {
  const Value f = t<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  check_fails(op::MatMul{}, {f, f}, "inner extents differ: 3 and 2");
  check_fails(op::MatMul{}, {t<float>({}, {1}), f}, "a scalar is no matrix");
  check_fails(op::MatMul{}, {t<float>({2, 1, 1}, {1, 2}), t<float>({3, 1, 1}, {1, 2, 3})},
              "do not broadcast");
  check_fails(op::MatMul{}, {t<int32_t>({1}, {1}), t<int32_t>({1}, {1})}, "input A cannot be tensor(int32)",
              1, 1);
  check_fails(op::MatMul{}, {cast<bfloat16>({1}, {1}), cast<bfloat16>({1}, {1})},
              "input A cannot be tensor(bfloat16)", 1, 9);
  check_fails(op::MatMul{}, {t<int8_t>({1}, {1}), t<int8_t>({1}, {1})}, "input A cannot be tensor(int8)");
}

TEST_CASE("MatMul: extents that are not known yet, and typed") {
  const auto n = Dim::symbol(1), h = Dim::symbol(2);
  const auto f = [](const Dims& d) { return info(DType::float32, d); };
  CHECK(infer(op::MatMul{}, {f({n, h, 4}), f({4, 8})})[0].dims == Dims{n, h, 8});
  CHECK(infer(op::MatMul{}, {f({n, 1, h, 4}), f({n, 3, 4, Dim()})})[0].dims == Dims{n, 3, h, Dim()});
  CHECK_FALSE(infer(op::MatMul{}, {f({4, 4}), f(Dims())})[0].dims.ranked());
  Tensor<float, Shape<2, 2>> a{{1, 2}, {3, 4}};
  Tensor<float, Shape<2, 1>> b{{1}, {1}};
  const auto y = op::MatMul{}(a, b);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2, 1>>>);
  CHECK(y(1, 0) == 7);
}
}  // namespace tenon
