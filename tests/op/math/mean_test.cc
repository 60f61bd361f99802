#include "tenon/op/math/mean.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

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

TEST_CASE("Mean: versions 1 and 6 do not broadcast") {
  const Value f = t<float>({2}, {1, 2}), g = t<float>({2}, {4, 0}), one = t<float>({1}, {1});
  for (int version : {1, 6}) {
    CAPTURE(version);
    check_fails(op::Mean{}, {f, f, one}, "extents differ: 2 and 1", 1, version);
    check_fails(stated<op::Mean>(version), {f, one}, "extents differ: 2 and 1");
  }
  check(stated<op::Mean>(8), {f, one}, {t<float>({2}, {1, 1.5})});
  check_consumed_inputs<op::Mean>({f, g}, t<float>({2}, {2.5, 1}));
  check_consumed_inputs<op::Mean>({f}, f);
  check_fails(op::Mean{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 8);
}

TEST_CASE("Mean: what is refused, symbols, typed calls") {
  check_fails(op::Mean{}, {}, "input data_0 is missing");
  check_fails(op::Mean{}, {t<int32_t>({1}, {1})}, "cannot be tensor(int32)");
  check_fails(op::Mean{}, {t<float>({2}, {1, 2}), t<float>({3}, {1, 2, 3})}, "do not broadcast");
  const auto n = Dim::symbol(1);
  const auto f = DType::float32;
  CHECK(infer(op::Mean{}, {info(f, {n}), info(f, {2, 1}), info(f, {1})})[0].dims == Dims{2, n});
  const auto y = op::Mean{}(Tensor<float, Shape<2, 1>>{{1}, {2}}, Tensor<float, Shape<2>>{10, 20}, 100.0f);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2, 2>>>);
  CHECK(y(0, 0) == 37);
}
}  // namespace tenon
