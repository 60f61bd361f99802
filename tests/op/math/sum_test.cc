#include "tenon/op/math/sum.hpp"

#include "tenon/base/thread_pool.hpp"
#include "tests/op/fold.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Sum: cases") {
  const Value f = t<float>({2, 2}, {1, 2, 3, 4}), row = t<float>({2}, {10, 20}),
              column = t<float>({2, 1}, {100, 200});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{f}, f},
      {{f, row}, t<float>({2, 2}, {11, 22, 13, 24})},
      {{f, row, column}, t<float>({2, 2}, {111, 122, 213, 224})},
      {{row, column, row}, t<float>({2, 2}, {120, 140, 220, 240})},
      {{row, row, row, t<float>({}, {0.5})}, t<float>({2}, {30.5, 60.5})},
      {{t<float>({}, {1}), t<float>({}, {2}), t<float>({}, {4})}, t<float>({}, {7})},
      {{t<float>({0, 2}, {}), row, row}, t<float>({0, 2}, {})},
      {{t<float>({2}, {NAN, INFINITY}), row, row}, t<float>({2}, {NAN, INFINITY})},
      {{t<double>({1}, {1}), t<double>({1}, {2}), t<double>({1}, {4})}, t<double>({1}, {7})},
      {{cast<bfloat16>({2}, {1, 2}), cast<bfloat16>({2}, {3, 4}), cast<bfloat16>({}, {1})},
       cast<bfloat16>({2}, {5, 7})},
      // narrow floats are rounded once: 2048 + 1 alone would be 2048
      {{cast<float16>({1}, {2048}), cast<float16>({1}, {1}), cast<float16>({1}, {1})},
       cast<float16>({1}, {2050})},
  };
  for (const Row& r : rows) check(op::Sum{}, r.in, {r.out});
  for (std::size_t reused : {0, 1, 2, 3}) {
    check_in_place(op::Sum{}, {f, f, row, f}, reused == 2 ? 0 : reused);
    check_in_place(op::Sum{}, {f, t<float>({2, 2}, {5, 6, 7, 8}), t<float>({2, 2}, {4, 3, 2, 1}), f}, reused);
  }
}

TEST_CASE("Sum: more elements than a panel and a chunk hold") {
  const int64_t n = 40001;
  Tensor<float> a(Extents{n}), b(Extents{3, 1}), expected(Extents{3, n});
  for (int64_t k = 0; k < n; ++k) a[k] = static_cast<float>(k);
  for (int64_t k = 0; k < 3; ++k) b[k] = static_cast<float>(k) / 2;
  for (int64_t k = 0; k < 3 * n; ++k) expected[k] = 2 * a[k % n] + b[k / n];
  const Value x = a, y = b;
  ThreadPool pool(3);
  const ScopedPool scope(pool);
  check(op::Sum{}, {x, y, x}, {expected}, 0, 0);
}

TEST_CASE("Sum: versions, errors, symbols, typed calls") {
  const Value f = t<float>({2, 2}, {1, 2, 3, 4});
  check_fold_rules<op::Sum>();
  check(stated<op::Sum>(8), {f, f, t<float>({2}, {10, 20})}, {t<float>({2, 2}, {12, 24, 16, 28})});
  check_consumed_inputs<op::Sum>({f, f, f}, t<float>({2, 2}, {3, 6, 9, 12}));
  const auto y = op::Sum{}(Tensor<float, Shape<2, 1>>{{1}, {2}}, Tensor<float, Shape<2>>{10, 20}, 100.0f);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2, 2>>>);
  CHECK(y(1, 1) == 122);
}
}  // namespace tenon
