#include "tenon/op/math/mean.hpp"

#include "tests/op/fold.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Mean: cases") {
  const Value f = t<float>({2, 2}, {1, 2, 3, 4}), row = t<float>({2}, {10, 20}),
              column = t<float>({2, 1}, {100, 200});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{f}, f},
      {{f, row}, t<float>({2, 2}, {5.5, 11, 6.5, 12})},
      {{f, row, column}, t<float>({2, 2}, {37, 122.0f / 3, 71, 224.0f / 3})},
      {{row, column}, t<float>({2, 2}, {55, 60, 105, 110})},
      {{t<float>({}, {1}), t<float>({}, {2}), t<float>({}, {6})}, t<float>({}, {3})},
      {{t<float>({0, 2}, {}), row, row}, t<float>({0, 2}, {})},
      {{t<float>({2}, {NAN, INFINITY}), row, row}, t<float>({2}, {NAN, INFINITY})},
      {{t<double>({1}, {1}), t<double>({1}, {2})}, t<double>({1}, {1.5})},
      {{cast<bfloat16>({2}, {1, 2}), cast<bfloat16>({2}, {3, 4})}, cast<bfloat16>({2}, {2, 3})},
      // narrow floats are rounded once, and their sum does not overflow
      {{cast<float16>({1}, {60000}), cast<float16>({1}, {60000})}, cast<float16>({1}, {60000})},
  };
  for (const Row& r : rows) check(op::Mean{}, r.in, {r.out});
  check_in_place(op::Mean{}, {f, row}, 0);
  check_in_place(op::Mean{}, {row, f}, 1);
}

TEST_CASE("Mean: versions, errors, symbols, typed calls") {
  const Value f = t<float>({2}, {1, 2}), g = t<float>({2}, {4, 0}), one = t<float>({1}, {1});
  check_fold_rules<op::Mean>();
  check(stated<op::Mean>(8), {f, one}, {t<float>({2}, {1, 1.5})});
  check_consumed_inputs<op::Mean>({f, g}, t<float>({2}, {2.5, 1}));
  check_fails(op::Mean{}, {t<int32_t>({1}, {1})}, "cannot be tensor(int32)");
  const auto y = op::Mean{}(Tensor<float, Shape<2, 1>>{{1}, {2}}, Tensor<float, Shape<2>>{10, 20}, 100.0f);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2, 2>>>);
  CHECK(y(0, 0) == 37);
}
}  // namespace tenon
