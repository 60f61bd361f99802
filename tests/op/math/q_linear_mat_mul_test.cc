#include "tenon/op/math/q_linear_mat_mul.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("QLinearMatMul: cases") {
  const auto f = [](float v) { return t<float>({}, {v}); };
  const auto u = [](uint8_t v) { return t<uint8_t>({}, {v}); };
  const auto s = [](int8_t v) { return t<int8_t>({}, {v}); };
  const Value a = t<uint8_t>({2, 2}, {1, 2, 3, 4}), b = t<uint8_t>({2, 2}, {1, 2, 3, 4});  // {7, 10, 15, 22}
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      // Ties go to the even number, before the zero point is added.
      {{a, f(0.5f), u(0), b, f(1), u(0), f(1), u(1)}, t<uint8_t>({2, 2}, {5, 6, 9, 12})},
      {{a, f(1), u(0), b, f(4), u(0), f(0.25f), u(1)}, t<uint8_t>({2, 2}, {113, 161, 241, 255})},
      {{a, f(1), u(2), b, f(1), u(2), f(1), s(-3)}, t<int8_t>({2, 2}, {-2, -3, -2, 1})},
      {{a, f(1), u(4), b, f(100), u(0), f(1), s(0)}, t<int8_t>({2, 2}, {-128, -128, -100, -128})},
      // One for each row of a, column of b, row of y.
      {{a, t<float>({2}, {1, 2}), t<uint8_t>({2}, {0, 1}), b, f(1), u(0), f(1), u(0)},
       t<uint8_t>({2, 2}, {7, 10, 22, 32})},
      {{a, t<float>({2, 1}, {1, 2}), t<uint8_t>({2, 1}, {0, 1}), b, f(1), u(0), f(1), u(0)},
       t<uint8_t>({2, 2}, {7, 10, 22, 32})},
      {{a, f(1), u(0), b, t<float>({2}, {1, 2}), t<uint8_t>({2}, {0, 1}), f(1), u(0)},
       t<uint8_t>({2, 2}, {7, 14, 15, 30})},
      {{a, f(1), u(0), b, t<float>({2}, {1, 2}), t<uint8_t>({1, 2}, {0, 1}), f(1), u(0)},
       t<uint8_t>({2, 2}, {7, 14, 15, 30})},
      {{a, t<float>({2}, {1, 2}), u(0), b, t<float>({2}, {1, 2}), u(0), f(2), u(0)},
       t<uint8_t>({2, 2}, {4, 10, 15, 44})},
      {{a, f(1), u(0), b, f(1), u(0), t<float>({2}, {1, 2}), t<uint8_t>({2}, {3, 4})},
       t<uint8_t>({2, 2}, {10, 13, 12, 15})},
      // Batches: shared, and with scales of each matrix.
      {{t<uint8_t>({2, 1, 1}, {1, 2}), f(1), u(0), t<uint8_t>({1, 2}, {3, 4}), t<float>({2}, {1, 2}), u(0),
        f(1), u(0)},
       t<uint8_t>({2, 1, 2}, {3, 8, 6, 16})},
      {{t<uint8_t>({2, 1, 1}, {1, 2}), t<float>({2, 1, 1}, {1, 10}), t<uint8_t>({2, 1, 1}, {0, 1}),
        t<uint8_t>({1, 2}, {3, 4}), f(1), u(0), f(1), u(0)},
       t<uint8_t>({2, 1, 2}, {3, 4, 30, 40})},
      {{t<uint8_t>({1, 1}, {1}), f(1), u(0), t<uint8_t>({2, 1, 2}, {1, 2, 3, 4}),
        t<float>({2, 1, 2}, {1, 2, 3, 4}), t<uint8_t>({2, 1, 2}, {0, 1, 0, 1}), f(1),
        t<uint8_t>({2, 1, 1}, {0, 1})},
       t<uint8_t>({2, 1, 2}, {1, 2, 10, 13})},
      {{t<uint8_t>({2}, {1, 2}), f(1), u(0), t<int8_t>({2}, {3, -4}), f(1), s(0), f(1), s(0)},
       t<int8_t>({}, {-5})},
      {{t<uint8_t>({2, 0}, {}), f(1), u(0), t<int8_t>({0, 1}, {}), f(1), s(0), f(1), s(7)},
       t<int8_t>({2, 1}, {7, 7})},
      {{t<uint8_t>({0, 2}, {}), f(1), u(0), t<int8_t>({2, 1}, {1, 2}), f(1), s(0), f(1), s(0)},
       t<int8_t>({0, 1}, {})},
      // Scales of half precision.
      {{a, cast<float16>({}, {0.5}), u(0), b, cast<float16>({1}, {1}), u(0), cast<float16>({}, {1}), u(1)},
       t<uint8_t>({2, 2}, {5, 6, 9, 12})},
      {{a, cast<bfloat16>({}, {1}), u(0), b, cast<bfloat16>({}, {1}), u(0), cast<bfloat16>({}, {1}), s(0)},
       t<int8_t>({2, 2}, {7, 10, 15, 22})},
      // Narrow floats, alone and among integers.
      {{cast<float8e4m3fn>({1, 2}, {1, -2}), f(2), cast<float8e4m3fn>({}, {0}),
        cast<float8e5m2>({2, 1}, {3, 0.5}), f(1), cast<float8e5m2>({}, {0}), f(1),
        cast<float8e4m3fn>({}, {0})},
       cast<float8e4m3fn>({1, 1}, {4})},
      {{cast<float8e4m3fnuz>({1, 2}, {1, -2}), f(2), cast<float8e4m3fnuz>({}, {1}), t<int8_t>({2, 1}, {3, 5}),
        f(1), s(1), f(1), s(2)},
       t<int8_t>({1, 1}, {-22})},
      {{a, t<float>({2}, {1, 2}), u(0), b, t<float>({2}, {1, 2}), t<uint8_t>({2}, {0, 1}),
        t<float>({2, 1}, {1, 2}), cast<float8e5m2>({}, {0})},
       cast<float8e5m2>({2, 2}, {7, 14, 16, 32})},
      {{cast<float8e5m2fnuz>({1, 1}, {1}), f(1), cast<float8e5m2fnuz>({}, {0}),
        t<uint8_t>({2, 1, 2}, {1, 2, 3, 4}), t<float>({2, 1, 2}, {1, 2, 3, 4}),
        t<uint8_t>({2, 1, 2}, {0, 1, 0, 1}), f(1), u(1)},
       t<uint8_t>({2, 1, 2}, {2, 3, 10, 13})},
  };
  for (const Row& row : rows) {
    CAPTURE(&row - rows);
    check(op::QLinearMatMul{}, row.in, {row.out});
  }
  check(op::QLinearMatMul{}, rows[0].in, {rows[0].out}, 0, 0, 10);
}

TEST_CASE("QLinearMatMul: errors, symbols, and typed") {
  const Value m = t<uint8_t>({2, 2}, {1, 2, 3, 4}), f = t<float>({}, {1}), u = t<uint8_t>({}, {0}),
              three = t<float>({3}, {1, 2, 3});
  const op::QLinearMatMul op;
  check_fails(op, {m, f, u, t<uint8_t>({3, 1}, {1, 2, 3}), f, u, f, u}, "inner extents differ: 2 and 3");
  check_fails(op, {m, three, u, m, f, u, f, u}, "zero points (3) do not fit (2,2)");
  check_fails(op, {m, f, u, m, three, u, f, u}, "zero points (3) do not fit (2,2)");
  check_fails(op, {m, f, u, m, f, u, three, u}, "zero points (3) do not fit (2,2)");
  const Value stacked = t<uint8_t>({2, 2, 1}, {1, 2, 3, 4});
  check_fails(op,
              {stacked, t<float>({2}, {1, 2}), t<uint8_t>({2, 2, 1}, {1, 2, 3, 4}), t<uint8_t>({1, 1}, {1}),
               f, u, f, u},
              "2 scales and 4 zero points");
  check_fails(op, {m, f, t<int8_t>({}, {0}), m, f, u, f, u}, "input a_zero_point is tensor(int8), but T1 is");
  check_fails(op, {m, f, u, m, cast<float16>({}, {1}), u, f, u},
              "input b_scale is tensor(float16), but TS is");
  const Value h = cast<float16>({}, {1});
  check_fails(op, {m, h, u, m, h, u, h, u}, "input a_scale cannot be tensor(float16)", 1, 10);
  const auto n = Dim::symbol(1);
  const auto one = [](DType d) { return info(d, Dims::of_rank(0)); };
  const auto out = infer(
      op, {info(DType::uint8, {n, 4}), one(DType::float32), one(DType::uint8), info(DType::int8, {4, 2}),
           one(DType::float32), one(DType::int8), one(DType::float32), one(DType::int8)});
  CHECK(out[0].dims == Dims{n, 2});
  CHECK(out[0].type == Type(DType::int8));
  Tensor<int8_t, Shape<1, 2>> a{{1, 2}};
  Tensor<uint8_t, Shape<2, 1>> b{{3}, {4}};
  const auto y = op::QLinearMatMul{}(a, 1.0f, int8_t{0}, b, 1.0f, uint8_t{0}, 1.0f, int8_t{0});
  static_assert(std::is_same_v<decltype(y), const Tensor<int8_t, Shape<1, 1>>>);
  CHECK(y.item() == 11);
}
}  // namespace tenon
