#include "tenon/op/nn/conv.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

namespace {
Value ramp(const Extents& extents, int64_t period) {
  Tensor<float> x(extents);
  for (int64_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k % period - period / 2);
  return x;
}

/// The sum over all cells that the window meets, one output at a time; `pads` are those at the start.
Value direct(const Value& x, const Value& w, const Value& b, const Extents& out, int64_t group,
             const Extents& strides, const Extents& dilations, const Extents& pads) {
  const auto xv = x.tensor().view().as<float>(), wv = w.tensor().view().as<float>();
  const int rank = xv.rank() - 2;
  const int64_t n = xv.extent(0), c = wv.extent(1), m = wv.extent(0);
  Extents extents{n, m};
  for (int64_t e : out) extents.push_back(e);
  Tensor<float> y(extents);
  const int64_t cells = extent_product(out), taps = extent_product(wv.extents().subspan(2));
  for (int64_t at = 0; at < y.size(); ++at) {
    const int64_t channel = at / cells % m, image = at / cells / m;
    float sum = b ? b.tensor().view().as<float>()[channel] : 0.0f;
    for (int64_t p = 0; p < c; ++p)
      for (int64_t t = 0; t < taps; ++t) {
        int64_t o = at % cells, k = t, cell = 0, step = 1;
        bool inside = true;
        for (int d = rank - 1; d >= 0; --d) {
          const int64_t in = xv.extent(d + 2), kernel = wv.extent(d + 2);
          const int64_t i = o % out[d] * strides[d] + k % kernel * dilations[d] - pads[d];
          inside &= i >= 0 && i < in;
          cell += i * step;
          step *= in;
          o /= out[d];
          k /= kernel;
        }
        if (inside)
          sum += xv[(image * c * group + channel / (m / group) * c + p) * step + cell] *
                 wv[(channel * c + p) * taps + t];
      }
    y[at] = sum;
  }
  return y;
}
}  // namespace

TEST_CASE("Conv: cases by hand") {
  const Value x = t<float>({1, 1, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}),
              ones = t<float>({1, 1, 2, 2}, {1, 1, 1, 1});
  const float nan = std::nanf("");
  struct Row {
    op::Conv op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, ones}, t<float>({1, 1, 2, 2}, {8, 12, 20, 24})},
      {{}, {x, ones, t<float>({1}, {100})}, t<float>({1, 1, 2, 2}, {108, 112, 120, 124})},
      {{.kernel_shape = {2, 2}, .strides = {2, 2}}, {x, ones}, t<float>({1, 1, 1, 1}, {8})},
      {{.pads = {1, 0, 0, 0}}, {x, ones}, t<float>({1, 1, 3, 2}, {1, 3, 8, 12, 20, 24})},
      {{.dilations = {2, 1}}, {x, ones}, t<float>({1, 1, 1, 2}, {14, 18})},
      {{.auto_pad = "SAME_UPPER"}, {x, ones}, t<float>({1, 1, 3, 3}, {8, 12, 7, 20, 24, 13, 13, 15, 8})},
      {{.auto_pad = "SAME_LOWER"}, {x, ones}, t<float>({1, 1, 3, 3}, {0, 1, 3, 3, 8, 12, 9, 20, 24})},
      {{.auto_pad = "SAME_UPPER", .strides = {2, 2}}, {x, ones}, t<float>({1, 1, 2, 2}, {8, 7, 13, 8})},
      {{.auto_pad = "SAME_LOWER", .strides = {2, 2}}, {x, ones}, t<float>({1, 1, 2, 2}, {0, 3, 9, 24})},
      {{.auto_pad = "VALID"}, {x, ones}, t<float>({1, 1, 2, 2}, {8, 12, 20, 24})},
      // Where auto_pad is set, pads are not read.
      {{.auto_pad = "VALID", .pads = {1, 1, 1, 1}}, {x, ones}, t<float>({1, 1, 2, 2}, {8, 12, 20, 24})},
      {{.group = 2},
       {t<float>({1, 2, 2}, {1, 2, 3, 4}), t<float>({2, 1, 1}, {10, 100})},
       t<float>({1, 2, 2}, {10, 20, 300, 400})},
      {{.group = 2},
       {t<float>({1, 2, 1}, {1, 2}), t<float>({4, 1, 1}, {1, 2, 3, 4})},
       t<float>({1, 4, 1}, {1, 2, 6, 8})},
      {{}, {t<float>({1, 1, 2}, {nan, 1}), t<float>({1, 1, 1}, {1})}, t<float>({1, 1, 2}, {nan, 1})},
      {{}, {t<float>({0, 1, 2}, {}), t<float>({1, 1, 1}, {1})}, t<float>({0, 1, 2}, {})},
      {{}, {t<float>({1, 1, 2}, {1, 2}), t<float>({0, 1, 1}, {})}, t<float>({1, 0, 2}, {})},
      {{}, {t<float>({1, 1, 0}, {}), t<float>({1, 1, 1}, {1})}, t<float>({1, 1, 0}, {})},
      {{.auto_pad = "SAME_UPPER"},
       {t<float>({1, 1, 0}, {}), t<float>({1, 1, 3}, {1, 1, 1})},
       t<float>({1, 1, 0}, {})},
      {{.pads = {1, 1}},
       {t<double>({1, 1, 2}, {1, 2}), t<double>({1, 1, 2}, {0.5, 0.25})},
       t<double>({1, 1, 3}, {0.25, 1, 1})},
      {{.pads = {1, 1}},
       {cast<float16>({1, 1, 2}, {1, 2}), cast<float16>({1, 1, 2}, {0.5, 0.25}), cast<float16>({1}, {1})},
       cast<float16>({1, 1, 3}, {1.25, 2, 2})},
      {{},
       {cast<bfloat16>({1, 3, 1}, {256, 1, 1}), cast<bfloat16>({1, 3, 1}, {1, 1, 1})},
       cast<bfloat16>({1, 1, 1}, {258})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
  for (int version : {1, 11}) check(op::Conv{}, {x, ones}, {rows[0].out}, 0, 0, version);
}

TEST_CASE("Conv: against direct sums") {
  struct Row {
    Extents x, w;
    op::Conv op;
    Extents out, strides, dilations, pads;  // as they come out
  } rows[] = {
      {{2, 3, 9}, {4, 3, 3}, {.pads = {2, 1}, .strides = {2}}, {5}, {2}, {1}, {2}},
      {{1, 4, 7, 8},
       {6, 2, 3, 2},
       {.dilations = {2, 3}, .group = 2, .pads = {1, 2, 3, 0}},
       {7, 7},
       {1, 1},
       {2, 3},
       {1, 2}},
      {{1, 8, 15, 17}, {8, 1, 3, 3}, {.group = 8, .pads = {1, 1, 1, 1}}, {15, 17}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 8, 15, 17}, {16, 8, 1, 1}, {.strides = {2, 3}}, {8, 6}, {2, 3}, {1, 1}, {0, 0}},
      {{2, 3, 12, 14},
       {5, 3, 3, 5},
       {.auto_pad = "SAME_LOWER", .strides = {3, 2}},
       {4, 7},
       {3, 2},
       {1, 1},
       {0, 2}},
      {{2, 3, 12, 14},
       {5, 3, 3, 5},
       {.auto_pad = "SAME_UPPER", .dilations = {1, 2}, .strides = {3, 2}},
       {4, 7},
       {3, 2},
       {1, 2},
       {0, 3}},
      {{1, 2, 5, 6, 7},
       {3, 2, 2, 3, 2},
       {.pads = {1, 0, 1, 0, 1, 0}, .strides = {2, 1, 2}},
       {3, 5, 4},
       {2, 1, 2},
       {1, 1, 1},
       {1, 0, 1}},
      {{1, 2, 3, 2, 3, 3}, {2, 2, 2, 1, 2, 2}, {}, {2, 2, 2, 2}, {1, 1, 1, 1}, {1, 1, 1, 1}, {0, 0, 0, 0}},
      // Axes of one place: the last, the middle one, all, and one that is padded.
      {{2, 3, 19, 1},
       {4, 3, 3, 1},
       {.dilations = {2, 1}, .pads = {1, 0, 2, 0}, .strides = {2, 3}},
       {9, 1},
       {2, 3},
       {2, 1},
       {1, 0}},
      {{1, 4, 5, 1, 6}, {4, 2, 3, 1, 2}, {.group = 2}, {3, 1, 5}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
      {{2, 3, 1, 1}, {4, 3, 1, 1}, {}, {1, 1}, {1, 1}, {1, 1}, {0, 0}},
      {{1, 2, 5, 1}, {3, 2, 2, 1}, {.pads = {0, 1, 0, 1}}, {4, 3}, {1, 1}, {1, 1}, {0, 1}},
  };
  for (const Row& row : rows) {
    const Value x = ramp(row.x, 11), w = ramp(row.w, 7), b = ramp({row.w[0]}, 5);
    check(row.op, {x, w, b}, {direct(x, w, b, row.out, row.op.group, row.strides, row.dilations, row.pads)});
    check(row.op, {x, w}, {direct(x, w, {}, row.out, row.op.group, row.strides, row.dilations, row.pads)});
  }
}

TEST_CASE("Conv: errors") {
  const Value x = t<float>({1, 1, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}),
              w = t<float>({1, 1, 2, 2}, {1, 1, 1, 1});
  constexpr int64_t big = int64_t{1} << 32;
  struct Row {
    op::Conv op;
    std::vector<Value> in;
    const char* text;
  } rows[] = {
      {{.auto_pad = "SAME"}, {x, w}, "auto_pad: 'SAME', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID"},
      {{.dilations = {1}}, {x, w}, "dilations: 1 entries, expected 2"},
      {{.dilations = {0, 1}}, {x, w}, "dilations holds 0"},
      {{.strides = {1, 1, 1}}, {x, w}, "strides: 3 entries, expected 2"},
      {{.strides = {1, -1}}, {x, w}, "strides holds -1"},
      {{.strides = {INT64_MAX, 1}}, {x, w}, "strides holds 9223372036854775807"},
      {{.pads = {1, 1}}, {x, w}, "pads: 2 entries, expected 4"},
      {{.pads = {0, -1, 0, 0}}, {x, w}, "pads holds -1"},
      {{.pads = {0, big, 0, 0}}, {x, w}, "pads holds 4294967296"},
      {{.kernel_shape = {2, 3}}, {x, w}, "W's extents and kernel_shape differ: 2 and 3"},
      {{.kernel_shape = {2}}, {x, w}, "kernel_shape: 1 entries, expected 2"},
      {{.kernel_shape = {INT64_MIN, 2}}, {x, w}, "kernel_shape holds"},
      {{.dilations = {3, 1}}, {x, w}, "does not fit into (1,1,3,3) along axis 2"},
      {{.group = 0}, {x, w}, "group: 0, expected at least 1"},
      {{.group = 2}, {x, w}, "X has 1 channels, W 1 for each of 2 groups"},
      {{.group = INT64_MAX}, {t<float>({1, 2, 1}, {1, 2}), t<float>({0, 2, 1}, {})}, "X has 2 channels"},
      {{.group = 2},
       {t<float>({1, 2, 1}, {1, 2}), t<float>({1, 1, 1}, {1})},
       "1 output channels do not divide into 2"},
      {{}, {x, w, t<float>({2}, {1, 2})}, "output channels differ: 2 and 1"},
      {{}, {x, w, t<float>({1, 1}, {1})}, "B: rank 2, expected 1"},
      {{}, {x, t<float>({1, 1, 1}, {1})}, "X (1,1,3,3) and W (1,1,1) need equal ranks"},
      {{}, {t<float>({1}, {1}), t<float>({1}, {1})}, "need equal ranks of at least 2"},
      {{}, {t<float>({1, 2}, {1, 2}), t<float>({3, 2}, {1, 2, 3, 4, 5, 6})}, "there are no spatial axes"},
      {{}, {x, t<float>({1, 1, 0, 2}, {})}, "kernel (0,2) is empty"},
      {{}, {t<float>({1, 0, 1}, {}), t<float>({1, 0, 1}, {})}, "has no channels"},
      {{.pads = {1, 1}}, {t<float>({1, 1, 0}, {}), t<float>({1, 1, 1}, {1})}, "does not fit"},
      {{},
       {t<float>({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {1}), t<float>({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {1})},
       "9 spatial axes are more than 8"},
      {{}, {x, t<double>({1, 1, 1, 1}, {1})}, "input W is tensor(double), but T is tensor(float)"},
  };
  for (const Row& row : rows) check_fails(row.op, row.in, row.text);
  check_fails(op::Conv{}, {cast<bfloat16>({1, 1, 1}, {1}), cast<bfloat16>({1, 1, 1}, {1})},
              "input X cannot be tensor(bfloat16)", 1, 11);
}

TEST_CASE("Conv: extents that are not known yet") {
  const auto n = Dim::symbol(1), h = Dim::symbol(2);
  const auto f = [](const Dims& d) { return info(DType::float32, d); };
  const Dim u;
  CHECK(infer(op::Conv{.pads = {1, 1, 1, 1}}, {f({n, 3, h, 8}), f({16, 3, 3, 3})})[0].dims ==
        Dims{n, 16, h, 8});
  CHECK(infer(op::Conv{.strides = {2, 1}}, {f({n, 3, h, 8}), f({16, 3, 3, 3})})[0].dims == Dims{n, 16, u, 6});
  CHECK(infer(op::Conv{.auto_pad = "SAME_UPPER", .strides = {1, 2}}, {f({n, u, h, 7}), f({16, 3, u, u})})[0]
            .dims == Dims{n, 16, h, 4});
  CHECK(infer(op::Conv{.auto_pad = "VALID"}, {f({n, 3, h}), f({u, 3, 1})})[0].dims == Dims{n, u, h});
  CHECK(infer(op::Conv{}, {f(Dims()), f({16, 3, 3, 3})})[0].dims == Dims{u, 16, u, u});
  CHECK(infer(op::Conv{.kernel_shape = {3}}, {f({n, 3, 9}), f(Dims())})[0].dims == Dims{n, u, 7});
  CHECK(infer(op::Conv{.kernel_shape = {3}}, {f(Dims()), f(Dims())})[0].dims == Dims{u, u, u});
  CHECK_FALSE(infer(op::Conv{}, {f(Dims()), f(Dims())})[0].dims.ranked());
}

TEST_CASE("Conv: typed") {
  Tensor<float, Shape<1, 1, 3, 3>> x{{{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}}}};
  Tensor<float, Shape<1, 1, 2, 2>> w{{{{1, 1}, {1, 1}}}};
  const auto y = apply<op::Conv{.strides = {2, 2}}>(x, w);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 1, 1, 1>>>);
  CHECK(y.item() == 8);
  CHECK(op::Conv{}(x, w)[3] == 24);
}
}  // namespace tenon
