#include "tenon/op/nn/average_pool.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("AveragePool: cases by hand") {
  const Value x = t<float>({1, 1, 5}, {1, 3, 5, 7, 9});
  const float nan = std::nanf("");
  struct Row {
    op::AveragePool op;
    Value in, out;
  } rows[] = {
      {{.kernel_shape = {2}}, x, t<float>({1, 1, 4}, {2, 4, 6, 8})},
      {{.kernel_shape = {2}, .strides = {2}}, x, t<float>({1, 1, 2}, {2, 6})},
      {{.dilations = {3}, .kernel_shape = {2}}, x, t<float>({1, 1, 2}, {4, 6})},
      {{.kernel_shape = {2}, .pads = {1, 1}}, x, t<float>({1, 1, 6}, {1, 2, 4, 6, 8, 9})},
      // An axis of one place, without and with padding.
      {{.kernel_shape = {2, 1}, .pads = {1, 0, 1, 0}},
       t<float>({1, 1, 5, 1}, {1, 3, 5, 7, 9}),
       t<float>({1, 1, 6, 1}, {1, 2, 4, 6, 8, 9})},
      {{.count_include_pad = 1, .kernel_shape = {2, 1}, .pads = {0, 1, 0, 1}},
       t<float>({1, 1, 5, 1}, {1, 3, 5, 7, 9}),
       t<float>({1, 1, 4, 3}, {0, 2, 0, 0, 4, 0, 0, 6, 0, 0, 8, 0})},
      {{.count_include_pad = 1, .kernel_shape = {2}, .pads = {1, 1}},
       x,
       t<float>({1, 1, 6}, {0.5f, 2, 4, 6, 8, 4.5f})},
      // Cells that ceil_mode adds after the padding never count; the padding does.
      {{.ceil_mode = 1, .kernel_shape = {2}, .strides = {2}}, x, t<float>({1, 1, 3}, {2, 6, 9})},
      {{.ceil_mode = 1, .count_include_pad = 1, .kernel_shape = {2}, .strides = {2}},
       x,
       t<float>({1, 1, 3}, {2, 6, 9})},
      {{.ceil_mode = 1, .count_include_pad = 1, .kernel_shape = {4}, .pads = {0, 1}, .strides = {3}},
       x,
       t<float>({1, 1, 2}, {4, 16 / 3.0f})},
      {{.ceil_mode = 1, .kernel_shape = {4}, .pads = {0, 1}, .strides = {3}}, x, t<float>({1, 1, 2}, {4, 8})},
      {{.auto_pad = "SAME_UPPER", .kernel_shape = {2}}, x, t<float>({1, 1, 5}, {2, 4, 6, 8, 9})},
      {{.auto_pad = "SAME_LOWER", .kernel_shape = {2}}, x, t<float>({1, 1, 5}, {1, 2, 4, 6, 8})},
      {{.auto_pad = "SAME_UPPER", .count_include_pad = 1, .kernel_shape = {2}},
       x,
       t<float>({1, 1, 5}, {2, 4, 6, 8, 4.5f})},
      {{.auto_pad = "VALID", .ceil_mode = 1, .kernel_shape = {2}, .strides = {2}},
       x,
       t<float>({1, 1, 2}, {2, 6})},
      {{.kernel_shape = {2, 2}},
       t<float>({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
       t<float>({1, 2, 1, 1}, {2.5f, 6.5f})},
      {{.kernel_shape = {2, 1, 2}},
       t<float>({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
       t<float>({1, 1, 1, 2, 1}, {3.5f, 5.5f})},
      {{.kernel_shape = {2}}, t<float>({1, 1, 2}, {nan, 1}), t<float>({1, 1, 1}, {nan})},
      // A window in the padding alone has nothing to count.
      {{.kernel_shape = {1}, .pads = {1, 0}}, t<float>({1, 1, 1}, {3}), t<float>({1, 1, 2}, {nan, 3})},
      {{.kernel_shape = {2}}, t<float>({0, 1, 3}, {}), t<float>({0, 1, 2}, {})},
      {{.kernel_shape = {1}}, t<float>({1, 1, 0}, {}), t<float>({1, 1, 0}, {})},
      {{.kernel_shape = {2}}, t<double>({1, 1, 2}, {1, 2}), t<double>({1, 1, 1}, {1.5})},
      {{.kernel_shape = {2}}, cast<float16>({1, 1, 2}, {60000, 60000}), cast<float16>({1, 1, 1}, {60000})},
      {{.kernel_shape = {2}}, cast<bfloat16>({1, 1, 2}, {1, 2}), cast<bfloat16>({1, 1, 1}, {1.5})},
  };
  for (const Row& row : rows) check(row.op, {row.in}, {row.out});
  for (int version : {1, 7, 10, 11, 19})
    check(op::AveragePool{.kernel_shape = {2}}, {x}, {rows[0].out}, 0, 0, version);
}

TEST_CASE("AveragePool: against one window at a time") {
  struct Row {
    op::AveragePool op;
    int64_t oh, ow, ph, pw;  // as they come out
  } rows[] = {
      {{.kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}, .strides = {2, 2}}, 10, 12, 1, 1},
      {{.count_include_pad = 1, .kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}}, 19, 23, 1, 1},
      {{.ceil_mode = 1,
        .count_include_pad = 1,
        .kernel_shape = {3, 2},
        .pads = {0, 1, 1, 0},
        .strides = {2, 3}},
       10,
       8,
       0,
       1},
      {{.dilations = {2, 3}, .kernel_shape = {3, 2}, .pads = {2, 0, 1, 2}}, 18, 22, 2, 0},
      {{.kernel_shape = {2, 5}, .strides = {2, 1}}, 9, 19, 0, 0},
  };
  constexpr int64_t planes = 6, h = 19, w = 23;
  Tensor<float> x(Extents{2, 3, h, w});
  for (int64_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k * 7919 % 1009) - 500;
  for (const Row& row : rows) {
    const auto pick = [](const Ints& list, int k) { return list.empty() ? 1 : list[k]; };
    const int64_t end_h = row.op.pads.empty() ? 0 : row.op.pads[2],
                  end_w = row.op.pads.empty() ? 0 : row.op.pads[3];
    Tensor<float> y(Extents{2, 3, row.oh, row.ow});
    for (int64_t p = 0, at = 0; p < planes; ++p)
      for (int64_t r = 0; r < row.oh; ++r)
        for (int64_t c = 0; c < row.ow; ++c, ++at) {
          double sum = 0, count = 0;
          for (int64_t i = 0; i < row.op.kernel_shape[0]; ++i)
            for (int64_t j = 0; j < row.op.kernel_shape[1]; ++j) {
              const int64_t a = r * pick(row.op.strides, 0) + i * pick(row.op.dilations, 0) - row.ph;
              const int64_t b = c * pick(row.op.strides, 1) + j * pick(row.op.dilations, 1) - row.pw;
              const bool inside = a >= 0 && a < h && b >= 0 && b < w;
              if (inside) sum += x[(p * h + a) * w + b];
              count += inside || (row.op.count_include_pad && a < h + end_h && b < w + end_w);
            }
          y[at] = static_cast<float>(sum / count);
        }
    check(row.op, {x.clone()}, {std::move(y)}, 1e-5, 1e-4);
  }
}

TEST_CASE("AveragePool: errors") {
  const Value x = t<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  check_fails(op::AveragePool{.kernel_shape = {2}}, {x}, "kernel_shape: 1 entries, expected 2");
  check_fails(op::AveragePool{.kernel_shape = {3, 1}}, {x}, "does not fit into (1,1,2,2) along axis 2");
  check_fails(op::AveragePool{.dilations = {1}, .kernel_shape = {1, 1}}, {x},
              "dilations: 1 entries, expected 2");
  check_fails(op::AveragePool{.auto_pad = "FULL", .kernel_shape = {1, 1}}, {x},
              "auto_pad: 'FULL', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  check_fails(op::AveragePool{.kernel_shape = {1}}, {cast<bfloat16>({1, 1, 1}, {1})},
              "input X cannot be tensor(bfloat16)", 1, 19);
  check_fails(op::AveragePool{.kernel_shape = {1}}, {t<int8_t>({1, 1, 1}, {1})},
              "input X cannot be tensor(int8)");
}

TEST_CASE("AveragePool: extents that are not known yet, and typed") {
  const auto n = Dim::symbol(1), h = Dim::symbol(2);
  CHECK(infer(op::AveragePool{.kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}, .strides = {1, 2}},
              {info(DType::float32, {n, 3, h, 8})})[0]
            .dims == Dims{n, 3, h, 4});
  Tensor<float, Shape<1, 1, 2, 2>> x{{{{1, 2}, {4, 3}}}};
  const auto y = apply<op::AveragePool{.kernel_shape = {2, 2}}>(x);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 1, 1, 1>>>);
  CHECK(y.item() == 2.5f);
}
}  // namespace tenon
