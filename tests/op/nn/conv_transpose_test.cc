#include "tenon/op/nn/conv_transpose.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

namespace {
Value ramp(const Extents& extents, int64_t period) {
  Tensor<float> x(extents);
  for (int64_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k % period - period / 2);
  return x;
}

/// Adds every input cell times the filter to the output, one product at a time; `pads` are those at the
/// start.
Value direct(const Value& x, const Value& w, const Value& b, const Extents& out, int64_t group,
             const Extents& strides, const Extents& dilations, const Extents& pads) {
  const auto xv = x.tensor().view().as<float>(), wv = w.tensor().view().as<float>();
  const int rank = xv.rank() - 2;
  const int64_t n = xv.extent(0), c = xv.extent(1), each = wv.extent(1), m = each * group;
  Extents extents{n, m};
  for (int64_t e : out) extents.push_back(e);
  Tensor<float> y(extents);
  const int64_t cells = extent_product(out), taps = extent_product(wv.extents().subspan(2)),
                inputs = extent_product(xv.extents().subspan(2));
  if (b)
    for (int64_t k = 0; k < y.size(); ++k) y[k] = b.tensor().view().as<float>()[k / cells % m];
  for (int64_t at = 0; at < xv.size(); ++at) {
    const int64_t channel = at / inputs % c, image = at / inputs / c, first = channel / (c / group) * each;
    for (int64_t q = 0; q < each; ++q)
      for (int64_t t = 0; t < taps; ++t) {
        int64_t i = at % inputs, k = t, cell = 0, step = 1;
        bool inside = true;
        for (int d = rank - 1; d >= 0; --d) {
          const int64_t in = xv.extent(d + 2), kernel = wv.extent(d + 2);
          const int64_t o = i % in * strides[d] + k % kernel * dilations[d] - pads[d];
          inside &= o >= 0 && o < out[d];
          cell += o * step;
          step *= out[d];
          i /= in;
          k /= kernel;
        }
        if (inside) y[(image * m + first + q) * cells + cell] += xv[at] * wv[(channel * each + q) * taps + t];
      }
  }
  return y;
}
}  // namespace

TEST_CASE("ConvTranspose: cases by hand") {
  const Value x = t<float>({1, 1, 3}, {1, 2, 3}), w = t<float>({1, 1, 3}, {1, 10, 100});
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  struct Row {
    op::ConvTranspose op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, w}, t<float>({1, 1, 5}, {1, 12, 123, 230, 300})},
      {{}, {x, w, t<float>({1}, {1000})}, t<float>({1, 1, 5}, {1001, 1012, 1123, 1230, 1300})},
      {{.pads = {1, 2}}, {x, w}, t<float>({1, 1, 2}, {12, 123})},
      {{.strides = {2}}, {x, w}, t<float>({1, 1, 7}, {1, 10, 102, 20, 203, 30, 300})},
      {{.output_padding = {1}, .strides = {2}},
       {x, w},
       t<float>({1, 1, 8}, {1, 10, 102, 20, 203, 30, 300, 0})},
      {{.dilations = {2}, .kernel_shape = {3}}, {x, w}, t<float>({1, 1, 7}, {1, 2, 13, 20, 130, 200, 300})},
      // One cell too many, cut off at the start or at the end.
      {{.auto_pad = "SAME_UPPER", .strides = {2}}, {x, w}, t<float>({1, 1, 6}, {1, 10, 102, 20, 203, 30})},
      {{.auto_pad = "SAME_LOWER", .strides = {2}}, {x, w}, t<float>({1, 1, 6}, {10, 102, 20, 203, 30, 300})},
      {{.output_shape = {6}, .strides = {2}}, {x, w}, t<float>({1, 1, 6}, {10, 102, 20, 203, 30, 300})},
      {{.output_shape = {5}, .pads = {2, 0}, .strides = {2}},
       {x, w},
       t<float>({1, 1, 5}, {10, 102, 20, 203, 30})},
      // Cells too few lie at the end.
      {{.output_shape = {8}, .strides = {2}}, {x, w}, t<float>({1, 1, 8}, {1, 10, 102, 20, 203, 30, 300, 0})},
      {{.auto_pad = "SAME_UPPER", .strides = {4}},
       {x, t<float>({1, 1, 2}, {1, 10})},
       t<float>({1, 1, 12}, {1, 10, 0, 0, 2, 20, 0, 0, 3, 30, 0, 0})},
      {{.auto_pad = "VALID", .pads = {0, 0}}, {x, w}, t<float>({1, 1, 5}, {1, 12, 123, 230, 300})},
      {{.group = 2},
       {t<float>({1, 2, 1}, {1, 2}), t<float>({2, 2, 1}, {1, 2, 3, 4})},
       t<float>({1, 4, 1}, {1, 2, 6, 8})},
      // Fewer cells than the stride or the dilation may be added.
      {{.dilations = {4}, .output_padding = {3}},
       {x, t<float>({1, 1, 2}, {1, 10})},
       t<float>({1, 1, 10}, {1, 2, 3, 0, 10, 20, 30, 0, 0, 0})},
      {{.dilations = {4}, .output_shape = {10}},
       {x, t<float>({1, 1, 2}, {1, 10})},
       t<float>({1, 1, 10}, {1, 2, 3, 0, 10, 20, 30, 0, 0, 0})},
      {{}, {t<float>({1, 1, 2}, {nan, 1}), t<float>({1, 1, 1}, {1})}, t<float>({1, 1, 2}, {nan, 1})},
      // Weights meet the input's cells alone, and no zeros around it.
      {{},
       {t<float>({1, 1, 2}, {1, 2}), t<float>({1, 1, 3}, {inf, 1, nan})},
       t<float>({1, 1, 4}, {inf, inf, nan, nan})},
      {{}, {t<float>({0, 1, 2}, {}), w}, t<float>({0, 1, 4}, {})},
      {{}, {x, t<float>({1, 0, 1}, {})}, t<float>({1, 0, 3}, {})},
      {{.auto_pad = "SAME_UPPER"}, {t<float>({1, 1, 0}, {}), w}, t<float>({1, 1, 0}, {})},
      {{},
       {t<double>({1, 1, 2}, {1, 2}), t<double>({1, 1, 2}, {0.5, 0.25})},
       t<double>({1, 1, 3}, {0.5, 1.25, 0.5})},
      {{},
       {cast<float16>({1, 1, 2}, {1, 2}), cast<float16>({1, 1, 2}, {0.5, 0.25}), cast<float16>({1}, {1})},
       cast<float16>({1, 1, 3}, {1.5, 2.25, 1.5})},
      {{},
       {cast<bfloat16>({1, 3, 1}, {256, 1, 1}), cast<bfloat16>({3, 1, 1}, {1, 1, 1})},
       cast<bfloat16>({1, 1, 1}, {258})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
  for (int version : {1, 11}) check(op::ConvTranspose{}, {x, w}, {rows[0].out}, 0, 0, version);
}

TEST_CASE("ConvTranspose: against direct sums") {
  struct Row {
    Extents x, w;
    op::ConvTranspose op;
    Extents out, strides, dilations, pads;  // as they come out
  } rows[] = {
      {{2, 3, 9}, {3, 4, 3}, {.pads = {2, 1}, .strides = {2}}, {16}, {2}, {1}, {2}},
      {{1, 4, 5, 6},
       {4, 3, 3, 2},
       {.dilations = {2, 3}, .group = 2, .pads = {1, 2, 3, 0}},
       {5, 7},
       {1, 1},
       {2, 3},
       {1, 2}},
      {{1, 8, 7, 5},
       {8, 1, 3, 3},
       {.group = 8, .output_padding = {1, 1}, .pads = {1, 1, 1, 1}, .strides = {2, 2}},
       {14, 10},
       {2, 2},
       {1, 1},
       {1, 1}},
      {{2, 3, 4, 5},
       {3, 5, 4, 4},
       {.pads = {1, 1, 1, 1}, .strides = {2, 2}},
       {8, 10},
       {2, 2},
       {1, 1},
       {1, 1}},
      {{2, 3, 4, 5},
       {3, 5, 5, 3},
       {.output_shape = {9, 12}, .strides = {2, 3}},
       {9, 12},
       {2, 3},
       {1, 1},
       {1, 2}},
      {{2, 3, 4, 5},
       {3, 5, 5, 3},
       {.auto_pad = "SAME_UPPER", .output_shape = {8, 13}, .strides = {2, 3}},
       {8, 13},
       {2, 3},
       {1, 1},
       {1, 1}},
      // Axes of one place: the last, the first, one that gets cells, and one of three.
      {{2, 3, 9, 1},
       {3, 4, 3, 1},
       {.pads = {2, 0, 1, 0}, .strides = {2, 3}},
       {16, 1},
       {2, 3},
       {1, 1},
       {2, 0}},
      {{1, 2, 1, 5}, {2, 3, 1, 2}, {}, {1, 6}, {1, 1}, {1, 1}, {0, 0}},
      {{1, 2, 5, 1},
       {2, 3, 2, 1},
       {.output_padding = {0, 1}, .strides = {1, 2}},
       {6, 2},
       {1, 2},
       {1, 1},
       {0, 0}},
      {{1, 2, 4, 4, 1}, {2, 3, 3, 3, 1}, {}, {6, 6, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
      {{1, 2, 3, 2, 4},
       {2, 3, 2, 3, 2},
       {.pads = {1, 0, 1, 0, 1, 0}, .strides = {2, 1, 2}},
       {5, 3, 7},
       {2, 1, 2},
       {1, 1, 1},
       {1, 0, 1}},
  };
  for (const Row& row : rows) {
    const Value x = ramp(row.x, 11), w = ramp(row.w, 7), b = ramp({row.w[1] * row.op.group}, 5);
    check(row.op, {x, w, b}, {direct(x, w, b, row.out, row.op.group, row.strides, row.dilations, row.pads)});
    check(row.op, {x, w}, {direct(x, w, {}, row.out, row.op.group, row.strides, row.dilations, row.pads)});
  }
}

TEST_CASE("ConvTranspose: errors") {
  const Value x = t<float>({1, 1, 3}, {1, 2, 3}), w = t<float>({1, 1, 3}, {1, 10, 100});
  struct Row {
    op::ConvTranspose op;
    std::vector<Value> in;
    const char* text;
  } rows[] = {
      {{.auto_pad = "SAME"}, {x, w}, "auto_pad: 'SAME', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID"},
      {{.auto_pad = "VALID", .pads = {1, 1}}, {x, w}, "pads exclude auto_pad 'VALID'"},
      {{.strides = {0}}, {x, w}, "strides holds 0"},
      {{.output_padding = {0, 0}}, {x, w}, "output_padding: 2 entries, expected 1"},
      {{.output_padding = {-1}}, {x, w}, "output_padding holds -1"},
      {{.output_padding = {2}, .strides = {2}}, {x, w}, "output_padding 2 is not below"},
      {{.dilations = {4}, .output_padding = {4}}, {x, w}, "output_padding 4 is not below"},
      {{.output_shape = {9}, .strides = {2}}, {x, w}, "output_shape 9 along axis 2: filters end at 7"},
      {{.output_padding = {1}, .output_shape = {9}, .strides = {2}}, {x, w}, "filters end at 7"},
      {{.output_shape = {6}}, {x, w}, "output_shape 6 along axis 2: filters end at 5"},
      {{}, {t<float>({1, 2}, {1, 2}), t<float>({2, 3}, {1, 2, 3, 4, 5, 6})}, "there are no spatial axes"},
      {{.output_shape = {4, 4}}, {x, w}, "output_shape: 2 entries, expected 1"},
      {{.output_shape = {0}}, {x, w}, "would become 0"},
      {{.pads = {3, 3}}, {x, w}, "would become -1"},
      {{.strides = {int64_t{1} << 31}}, {x, w}, "too large"},
      {{.kernel_shape = {2}}, {x, w}, "W's extents and kernel_shape differ: 3 and 2"},
      {{.group = 2}, {x, w}, "1 channels do not divide into 2 groups"},
      {{.group = -1}, {x, w}, "group: -1, expected at least 1"},
      {{}, {x, t<float>({2, 1, 1}, {1, 2})}, "X's channels and W's first extent differ: 1 and 2"},
      {{}, {x, w, t<float>({2}, {1, 2})}, "output channels differ: 2 and 1"},
      {{}, {x, t<float>({1, 1}, {1})}, "need equal ranks"},
      {{}, {t<float>({1, 1, 0}, {}), w}, "extent 0 along axis 2 would become 2"},
      {{}, {t<float>({1, 0, 1}, {}), t<float>({0, 1, 1}, {})}, "has no channels"},
      {{.auto_pad = "SAME_UPPER", .strides = {1 << 30}}, {t<float>({0, 1, 1 << 30}, {}), w}, "too large"},
  };
  for (const Row& row : rows) check_fails(row.op, row.in, row.text);
  check_fails(op::ConvTranspose{}, {cast<bfloat16>({1, 1, 1}, {1}), cast<bfloat16>({1, 1, 1}, {1})},
              "input X cannot be tensor(bfloat16)", 1, 11);
}

TEST_CASE("ConvTranspose: extents that are not known yet") {
  const auto n = Dim::symbol(1), h = Dim::symbol(2);
  const auto f = [](const Dims& d) { return info(DType::float32, d); };
  const Dim u;
  CHECK(infer(op::ConvTranspose{.pads = {1, 1, 1, 1}}, {f({n, 3, h, 8}), f({3, 16, 3, 3})})[0].dims ==
        Dims{n, 16, h, 8});
  CHECK(infer(op::ConvTranspose{.strides = {2, 1}}, {f({n, 3, h, 8}), f({3, 16, 3, 3})})[0].dims ==
        Dims{n, 16, u, 10});
  CHECK(infer(op::ConvTranspose{.auto_pad = "SAME_UPPER", .group = 2, .strides = {1, 2}},
              {f({n, u, h, 7}), f({u, 16, u, u})})[0]
            .dims == Dims{n, 32, h, 14});
  CHECK(infer(op::ConvTranspose{.output_shape = {20}}, {f({n, 3, h}), f({3, u, u})})[0].dims ==
        Dims{n, u, 20});
  CHECK(infer(op::ConvTranspose{}, {f(Dims()), f({3, 16, 3, 3})})[0].dims == Dims{u, 16, u, u});
  CHECK_FALSE(infer(op::ConvTranspose{}, {f(Dims()), f(Dims())})[0].dims.ranked());
}

TEST_CASE("ConvTranspose: typed") {
  Tensor<float, Shape<1, 1, 2>> x{{{1, 2}}};
  Tensor<float, Shape<1, 1, 2>> w{{{1, 10}}};
  const auto y = apply<op::ConvTranspose{.strides = {2}}>(x, w);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 1, 4>>>);
  CHECK(y(0, 0, 3) == 20);
}
}  // namespace tenon
