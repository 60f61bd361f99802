#include "tenon/op/nn/q_linear_conv.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("QLinearConv: cases") {
  const auto f = [](float v) { return t<float>({}, {v}); };
  const auto u = [](uint8_t v) { return t<uint8_t>({}, {v}); };
  const auto s = [](int8_t v) { return t<int8_t>({}, {v}); };
  const Value x = t<uint8_t>({1, 1, 4}, {10, 11, 12, 20}), w = t<uint8_t>({1, 1, 1}, {1});
  struct Row {
    op::QLinearConv op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      // Ties go to the even number, before the zero point is added.
      {{}, {x, f(0.5f), u(10), w, f(1), u(0), f(1), u(1)}, t<uint8_t>({1, 1, 4}, {1, 1, 2, 6})},
      {{}, {x, f(1.5f), u(10), w, f(1), u(0), f(1), u(1)}, t<uint8_t>({1, 1, 4}, {1, 3, 4, 16})},
      // Saturation at both ends.
      {{}, {x, f(100), u(11), w, f(1), u(0), f(1), u(100)}, t<uint8_t>({1, 1, 4}, {0, 100, 200, 255})},
      {{}, {x, f(100), u(11), w, f(1), u(0), f(1), s(0)}, t<int8_t>({1, 1, 4}, {-100, 0, 100, 127})},
      {{}, {x, f(1e30f), u(11), w, f(1e30f), u(0), f(1), s(3)}, t<int8_t>({1, 1, 4}, {-128, -128, 127, 127})},
      // A scale and a zero point for each output channel, and a bias.
      {{},
       {t<int8_t>({1, 1, 2}, {-3, 4}), f(2), s(1), t<int8_t>({2, 1, 1}, {5, 6}), t<float>({2}, {0.5f, 1}),
        t<int8_t>({2}, {1, 2}), f(4), u(128), t<int32_t>({2}, {8, -2})},
       t<uint8_t>({1, 2, 2}, {126, 133, 119, 133})},
      {{.pads = {1, 1}},
       {t<int8_t>({1, 1, 1}, {5}), f(1), s(3), t<uint8_t>({1, 1, 2}, {1, 2}), f(1), u(0), f(1), s(-1)},
       t<int8_t>({1, 1, 2}, {3, 1})},
      {{.group = 2},
       {t<int8_t>({1, 2, 1}, {1, 2}), f(1), s(0), t<int8_t>({2, 1, 1}, {3, 4}), t<float>({1}, {1}), s(0),
        f(1), s(0), t<int32_t>({2}, {1, 2})},
       t<int8_t>({1, 2, 1}, {4, 10})},
      {{},
       {t<int8_t>({0, 1, 2}, {}), f(1), s(0), t<int8_t>({2, 1, 1}, {3, 4}), f(1), s(0), f(1), u(0)},
       t<uint8_t>({0, 2, 2}, {})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
}

TEST_CASE("QLinearConv: errors, symbols, and typed") {
  const Value x = t<uint8_t>({1, 1, 1}, {1}), w = t<int8_t>({2, 1, 1}, {1, 2}), f = t<float>({}, {1}),
              u = t<uint8_t>({}, {1}), s = t<int8_t>({}, {1}), two = t<float>({2}, {1, 2});
  const op::QLinearConv plain;
  check_fails(plain, {x, two, u, w, f, s, f, u}, "x_scale: (2), expected one element");
  check_fails(plain, {x, f, t<uint8_t>({0}, {}), w, f, s, f, u}, "x_zero_point: (0), expected one element");
  check_fails(plain, {x, f, u, w, f, s, two, u}, "y_scale: (2), expected one element");
  check_fails(plain, {x, f, u, w, t<float>({3}, {1, 2, 3}), s, f, u},
              "w_scale: (3) does not fit 2 output channels");
  check_fails(plain, {x, f, u, w, t<float>({2, 1}, {1, 2}), s, f, u}, "w_scale: rank 2, expected 1");
  check_fails(plain, {x, f, u, w, two, t<int8_t>({3}, {1, 2, 3}), f, u}, "w_zero_point: (3) does not fit");
  check_fails(plain, {x, f, u, w, f, u, f, u}, "input w_zero_point is tensor(uint8), but T2 is tensor(int8)");
  check_fails(plain, {x, f, u, w, f, s, f, u, t<int32_t>({1}, {1})},
              "B's extent and the output channels differ");
  check_fails(plain, {x, f, u, w, f, s, f}, "input y_zero_point is missing");
  const auto n = Dim::symbol(1);
  const auto one = [](DType d) { return info(d, Dims::of_rank(0)); };
  const auto out = infer(plain, {info(DType::uint8, {n, 3, 8}), one(DType::float32), one(DType::uint8),
                                 info(DType::int8, {4, 3, 3}), info(DType::float32, {Dim()}),
                                 one(DType::int8), one(DType::float32), one(DType::int8)});
  CHECK(out[0].dims == Dims{n, 4, 6});
  CHECK(out[0].type == Type(DType::int8));
  Tensor<uint8_t, Shape<1, 1, 2>> a{{{1, 2}}};
  Tensor<int8_t, Shape<1, 1, 2>> b{{{3, 4}}};
  const auto y = apply<op::QLinearConv{}>(a, 1.0f, uint8_t{0}, b, 1.0f, int8_t{0}, 1.0f, uint8_t{1});
  static_assert(std::is_same_v<decltype(y), const Tensor<uint8_t, Shape<1, 1, 1>>>);
  CHECK(y.item() == 12);
}
}  // namespace tenon
