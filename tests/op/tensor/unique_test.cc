#include "tenon/op/tensor/unique.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Unique: cases") {
  const float nan = std::nanf("");
  const Value x = t<float>({6}, {2, 1, 1, 3, 4, 3});
  const Value m = t<float>({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4});
  const Value cube = t<float>({2, 4, 2}, {1, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1});
  using i64 = int64_t;
  using U = op::Unique;
  struct Row {
    U op;
    Value x, y, indices, inverse, counts;
  } rows[] = {
      {{.sorted = 0},
       x,
       t<float>({4}, {2, 1, 3, 4}),
       t<i64>({4}, {0, 1, 3, 4}),
       t<i64>({6}, {0, 1, 1, 2, 3, 2}),
       t<i64>({4}, {1, 2, 2, 1})},
      {{},
       x,
       t<float>({4}, {1, 2, 3, 4}),
       t<i64>({4}, {1, 0, 3, 4}),
       t<i64>({6}, {1, 0, 0, 2, 3, 2}),
       t<i64>({4}, {2, 1, 2, 1})},
      {{.axis = 0},
       m,
       t<float>({2, 3}, {1, 0, 0, 2, 3, 4}),
       t<i64>({2}, {0, 2}),
       t<i64>({3}, {0, 0, 1}),
       t<i64>({2}, {2, 1})},
      {{.axis = 1},
       cube,
       t<float>({2, 3, 2}, {0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1}),
       t<i64>({3}, {1, 0, 2}),
       t<i64>({4}, {1, 0, 2, 0}),
       t<i64>({3}, {2, 1, 1})},
      {{.axis = -2, .sorted = 0},
       cube,
       t<float>({2, 3, 2}, {1, 1, 0, 1, 2, 1, 1, 1, 0, 1, 2, 1}),
       t<i64>({3}, {0, 1, 2}),
       t<i64>({4}, {0, 1, 2, 1}),
       t<i64>({3}, {1, 2, 1})},
      {{.axis = -1},
       t<i64>({2, 3}, {1, 0, 1, 2, 5, 2}),
       t<i64>({2, 2}, {0, 1, 5, 2}),
       t<i64>({2}, {1, 0}),
       t<i64>({3}, {1, 0, 1}),
       t<i64>({2}, {1, 2})},
      // Without an axis a tensor is a vector.
      {{},
       t<int8_t>({2, 2}, {1, -1, 1, -1}),
       t<int8_t>({2}, {-1, 1}),
       t<i64>({2}, {1, 0}),
       t<i64>({4}, {1, 0, 1, 0}),
       t<i64>({2}, {2, 2})},
      {{}, t<i64>({}, {7}), t<i64>({1}, {7}), t<i64>({1}, {0}), t<i64>({1}, {0}), t<i64>({1}, {1})},
      {{}, t<i64>({1}, {0}), t<i64>({1}, {0}), t<i64>({1}, {0}), t<i64>({1}, {0}), t<i64>({1}, {1})},
      // NaNs are one, and the last; so are zeros of both signs.
      {{},
       t<float>({5}, {nan, 1, -nan, -0.0f, 0}),
       t<float>({3}, {0, 1, nan}),
       t<i64>({3}, {3, 1, 0}),
       t<i64>({5}, {2, 1, 2, 0, 0}),
       t<i64>({3}, {2, 1, 2})},
      {{.axis = 0},
       t<double>({2, 2}, {nan, 1, nan, 1}),
       t<double>({1, 2}, {nan, 1}),
       t<i64>({1}, {0}),
       t<i64>({2}, {0, 0}),
       t<i64>({1}, {2})},
      {{},
       t<std::string>({4}, {"b", "a", "", "b"}),
       t<std::string>({3}, {"", "a", "b"}),
       t<i64>({3}, {2, 1, 0}),
       t<i64>({4}, {2, 1, 0, 2}),
       t<i64>({3}, {1, 1, 2})},
      {{.axis = 0, .sorted = 0},
       t<std::string>({2, 2}, {"b", "a", "a", "b"}),
       t<std::string>({2, 2}, {"b", "a", "a", "b"}),
       t<i64>({2}, {0, 1}),
       t<i64>({2}, {0, 1}),
       t<i64>({2}, {1, 1})},
      {{},
       t<bool>({3}, {true, false, true}),
       t<bool>({2}, {false, true}),
       t<i64>({2}, {1, 0}),
       t<i64>({3}, {1, 0, 1}),
       t<i64>({2}, {1, 2})},
      {{},
       cast<float16>({3}, {2, -1, 2}),
       cast<float16>({2}, {-1, 2}),
       t<i64>({2}, {1, 0}),
       t<i64>({3}, {1, 0, 1}),
       t<i64>({2}, {1, 2})},
      {{},
       t<uint64_t>({2}, {UINT64_MAX, 1}),
       t<uint64_t>({2}, {1, UINT64_MAX}),
       t<i64>({2}, {1, 0}),
       t<i64>({2}, {1, 0}),
       t<i64>({2}, {1, 1})},
      // Nothing, and slices of nothing.
      {{}, t<float>({0}, {}), t<float>({0}, {}), t<i64>({0}, {}), t<i64>({0}, {}), t<i64>({0}, {})},
      {{.axis = 0},
       t<float>({3, 0}, {}),
       t<float>({1, 0}, {}),
       t<i64>({1}, {0}),
       t<i64>({3}, {0, 0, 0}),
       t<i64>({1}, {3})},
      {{.axis = 1},
       t<float>({3, 0}, {}),
       t<float>({3, 0}, {}),
       t<i64>({0}, {}),
       t<i64>({0}, {}),
       t<i64>({0}, {})},
  };
  for (const Row& row : rows) check(row.op, {row.x}, {row.y, row.indices, row.inverse, row.counts}, 0, 0);
  check(op::Unique{}, {x}, {t<float>({4}, {1, 2, 3, 4})});
}

TEST_CASE("Unique: complex numbers by their real parts first") {
  const Value x = t<complex64>({4}, {{1, 2}, {1, -1}, {0, 5}, {1, 2}});
  const std::vector<Value> out = run(op::Unique{}, {x}, 2);
  const auto y = out[0].view<complex64>();
  REQUIRE(y.size() == 3);
  CHECK(y[0] == complex64(0, 5));
  CHECK(y[1] == complex64(1, -1));
  CHECK(y[2] == complex64(1, 2));
  check_equal(out[1], t<int64_t>({3}, {2, 1, 0}));
}

TEST_CASE("Unique: refused, symbols, typed") {
  check_fails(op::Unique{.axis = 1}, {t<float>({2}, {1, 2})}, "axis 1 outside of [-1, 0]");
  check_fails(op::Unique{.axis = 0}, {t<float>({}, {1})}, "axis 0 outside");
  check_fails(op::Unique{}, {cast<bfloat16>({1}, {1})}, "X cannot be tensor(bfloat16)");
  const auto n = Dim::symbol(1);
  const auto out = infer(op::Unique{.axis = 1}, {info(DType::float32, {3, n})}, 4);
  CHECK(out[0].dims == Dims{3, Dim::unknown()});
  CHECK(out[2].dims == Dims{n});
  CHECK(infer(op::Unique{}, {info(DType::float32, {3, 2})}, 3)[2].dims == Dims{6});
  const Value y = op::Unique{}(Tensor<int32_t, Shape<3>>{2, 1, 2});
  check_equal(y, t<int32_t>({2}, {1, 2}));
}
}  // namespace tenon
