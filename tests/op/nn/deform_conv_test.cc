#include "tenon/op/nn/deform_conv.hpp"

#include "tenon/op/nn/conv.hpp"
#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("DeformConv: cases") {
  const Value x = t<float>({1, 1, 2, 2}, {1, 2, 3, 5}), one = t<float>({1, 1, 1, 1}, {1}), none_;
  const float nan = std::nanf("");
  // Offsets along the first axis for all cells, then along the second.
  const auto offset = [](std::initializer_list<float> v) { return t<float>({1, 2, 2, 2}, v); };
  struct Row {
    op::DeformConv op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, one, offset({0, 0, 0, 0, 0, 0, 0, 0})}, t<float>({1, 1, 2, 2}, {1, 2, 3, 5})},
      {{},
       {x, one, offset({0.5f, 1, 0, -1, 0.5f, 0, 0.25f, -1})},
       t<float>({1, 1, 2, 2}, {2.75f, 5, 3.5f, 1})},
      // Half outside, outside, no number.
      {{}, {x, one, offset({-0.5f, 0, 1, nan, 0, 0.5f, 0, 0})}, t<float>({1, 1, 2, 2}, {0.5f, 1, 0, 0})},
      {{}, {x, one, offset({-1, 1e30f, -INFINITY, 0, 0, 0, 0, 2})}, t<float>({1, 1, 2, 2}, {0, 0, 0, 0})},
      {{},
       {x, one, offset({0, 0, 0, 0, 0, 0, 0, 0}), t<float>({1}, {10}), t<float>({1, 1, 2, 2}, {1, 2, 0, -1})},
       t<float>({1, 1, 2, 2}, {11, 14, 10, 5})},
      {{.kernel_shape = {1, 2}},
       {x, t<float>({1, 1, 1, 2}, {1, 10}), t<float>({1, 4, 2, 1}, {0, 0, 0, 0, 1, 0, 0, -1})},
       t<float>({1, 1, 2, 1}, {1 + 50, 3 + 30})},
      // Groups of channels, and groups of offsets.
      {{.group = 2, .offset_group = 2},
       {t<float>({1, 2, 1, 2}, {1, 2, 3, 4}), t<float>({2, 1, 1, 1}, {1, 10}),
        t<float>({1, 4, 1, 2}, {0, 0, 1, 0, 0, 0, 0, -1})},
       t<float>({1, 2, 1, 2}, {2, 2, 30, 30})},
      {{.offset_group = 2},
       {t<float>({1, 2, 1, 1}, {1, 2}), t<float>({1, 2, 1, 1}, {1, 10}),
        t<float>({1, 4, 1, 1}, {0, 0, 0, 0.5f}), none_, t<float>({1, 2, 1, 1}, {1, 2})},
       t<float>({1, 1, 1, 1}, {1 + 20})},
      // Other numbers of axes.
      {{},
       {t<float>({1, 1, 3}, {1, 2, 4}), t<float>({1, 1, 1}, {1}), t<float>({1, 1, 3}, {0.5f, 0.5f, 0.5f})},
       t<float>({1, 1, 3}, {1.5f, 3, 2})},
      {{},
       {t<float>({1, 1, 1, 1, 2}, {1, 2}), t<float>({1, 1, 1, 1, 1}, {1}),
        t<float>({1, 3, 1, 1, 2}, {0, 0, 0, 0.5f, 0.5f, 0})},
       t<float>({1, 1, 1, 1, 2}, {1.5f, 1})},
      {{}, {t<float>({0, 1, 1, 1}, {}), one, t<float>({0, 2, 1, 1}, {})}, t<float>({0, 1, 1, 1}, {})},
      {{},
       {t<double>({1, 1, 1, 2}, {1, 2}), t<double>({1, 1, 1, 1}, {1}),
        t<double>({1, 2, 1, 2}, {0, 0, 0.5, 0})},
       t<double>({1, 1, 1, 2}, {1.5, 2})},
      {{},
       {cast<float16>({1, 1, 1, 2}, {1, 2}), cast<float16>({1, 1, 1, 1}, {1}),
        cast<float16>({1, 2, 1, 2}, {0, 0, 0.5, 0})},
       cast<float16>({1, 1, 1, 2}, {1.5, 2})},
      {{},
       {cast<bfloat16>({1, 1, 1, 2}, {1, 2}), cast<bfloat16>({1, 1, 1, 1}, {1}),
        cast<bfloat16>({1, 2, 1, 2}, {0, 0, 0.5, 0})},
       cast<bfloat16>({1, 1, 1, 2}, {1.5, 2})},
  };
  for (const Row& row : rows) {
    CAPTURE(&row - rows);
    check(row.op, row.in, {row.out});
  }
  check(op::DeformConv{}, rows[0].in, {rows[0].out}, 0, 0, 19);
}

TEST_CASE("DeformConv: without offsets it is Conv") {
  const auto numbers = [](Extents e, int64_t from) {
    Tensor<float> v(e);
    for (int64_t k = 0; k < v.size(); ++k) v[k] = static_cast<float>((k + from) * 7919 % 101 - 50) / 8;
    return Value(std::move(v));
  };
  const Value x = numbers({2, 6, 29, 31}, 0), w = numbers({4, 3, 3, 2}, 3), b = numbers({4}, 9);
  const op::Conv conv{.dilations = {2, 1}, .group = 2, .pads = {1, 2, 3, 0}, .strides = {1, 2}};
  const op::DeformConv deform{
      .dilations = {2, 1}, .group = 2, .offset_group = 3, .pads = {1, 2, 3, 0}, .strides = {1, 2}};
  const auto expected = run(conv, {x, w, b});
  const Extents out(expected[0].view<float>().extents());
  Tensor<float> offset(Extents{2, 3 * 6 * 2, out[2], out[3]});
  std::fill_n(offset.data(), offset.size(), 0.0f);
  check(deform, {x, w, std::move(offset), b}, expected, 1e-5, 1e-4);
}

TEST_CASE("DeformConv: errors, symbols, and typed") {
  const op::DeformConv plain;
  const Value x = t<float>({1, 1, 1, 2}, {1, 2}), w = t<float>({1, 1, 1, 1}, {1}),
              o = t<float>({1, 2, 1, 2}, {0, 0, 0, 0});
  check_fails(plain, {x, w, t<float>({1, 1, 1, 2}, {0, 0})}, "offset (1,1,1,2) needs 2 channels");
  check_fails(plain, {x, w, t<float>({1, 2, 2, 1}, {0, 0, 0, 0})},
              "extents of Y and its offsets or mask differ: 1 and 2");
  check_fails(plain, {x, w, o, Value(), t<float>({1, 2, 1, 2}, {1, 2, 3, 4})},
              "mask (1,2,1,2) needs 1 channels");
  check_fails(plain, {x, w, o, t<float>({2}, {1, 2})}, "B's extent and the output channels differ: 2 and 1");
  check_fails(plain, {x, t<float>({1, 2, 1, 1}, {1, 2}), o}, "X has 1 channels, W 2 for each of 1 groups");
  check_fails(plain, {t<float>({1, 1}, {1}), w, o}, "X: rank 2, expected at least 3");
  check_fails(plain, {x, w}, "input offset is missing");
  check_fails(op::DeformConv{.offset_group = 2}, {x, w, o},
              "1 channels do not divide into 2 groups of offsets");
  check_fails(op::DeformConv{.offset_group = 0}, {x, w, o}, "offset_group: 0, expected at least 1");
  check_fails(op::DeformConv{.offset_group = INT64_MAX}, {x, w, o}, "groups of offsets");
  check_fails(plain,
              {cast<bfloat16>({1, 1, 1, 1}, {1}), cast<bfloat16>({1, 1, 1, 1}, {1}),
               cast<bfloat16>({1, 2, 1, 1}, {0, 0})},
              "input X cannot be tensor(bfloat16)", 1, 19);
  const auto n = Dim::symbol(1), h = Dim::symbol(2);
  CHECK(infer(plain, {info(DType::float32, {n, 3, h, 8}), info(DType::float32, {4, 3, 3, 3}),
                      info(DType::float32, {Dim(), 18, 5, Dim()})})[0]
            .dims == Dims{n, 4, 5, 6});
  Tensor<float, Shape<1, 1, 2>> a{{{1, 2}}};
  Tensor<float, Shape<1, 1, 1>> b{{{1}}};
  Tensor<float, Shape<1, 1, 2>> moved{{{0.5f, 0}}};
  const auto y = apply<op::DeformConv{}>(a, b, moved);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 1, 2>>>);
  CHECK(y(0, 0, 0) == 1.5f);
}
}  // namespace tenon
