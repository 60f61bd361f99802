#include "tenon/op/nn/max_pool.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("MaxPool: cases by hand") {
  const Value x = t<float>({1, 1, 5}, {1, 5, 2, 4, 3}), m = t<float>({1, 1, 2, 3}, {1, 2, 6, 4, 5, 3});
  const float nan = std::nanf(""), inf = INFINITY;
  const auto at = [](std::initializer_list<int64_t> v) {
    return t<int64_t>({1, 1, static_cast<int64_t>(v.size())}, v);
  };
  struct Row {
    op::MaxPool op;
    Value in;
    std::vector<Value> out;
  } rows[] = {
      {{.kernel_shape = {2}}, x, {t<float>({1, 1, 4}, {5, 5, 4, 4}), at({1, 1, 3, 3})}},
      {{.kernel_shape = {2}, .strides = {2}}, x, {t<float>({1, 1, 2}, {5, 4}), at({1, 3})}},
      {{.ceil_mode = 1, .kernel_shape = {2}, .strides = {2}},
       x,
       {t<float>({1, 1, 3}, {5, 4, 3}), at({1, 3, 4})}},
      {{.kernel_shape = {3}, .pads = {1, 1}, .strides = {2}},
       x,
       {t<float>({1, 1, 3}, {5, 5, 4}), at({1, 1, 3})}},
      {{.dilations = {2}, .kernel_shape = {2}}, x, {t<float>({1, 1, 3}, {2, 5, 3}), at({2, 1, 4})}},
      // A window that would start in the padding at the end is not there.
      {{.ceil_mode = 1, .kernel_shape = {1}, .pads = {0, 1}, .strides = {2}},
       t<float>({1, 1, 4}, {1, 2, 3, 4}),
       {t<float>({1, 1, 2}, {1, 3})}},
      {{.ceil_mode = 1, .kernel_shape = {3}, .strides = {4}},
       t<float>({1, 1, 4}, {1, 2, 3, 4}),
       {t<float>({1, 1, 1}, {3})}},
      {{.ceil_mode = 1, .kernel_shape = {2}, .strides = {2}},
       t<float>({1, 1, 1}, {7}),
       {t<float>({1, 1, 1}, {7}), at({0})}},
      {{.auto_pad = "SAME_UPPER", .kernel_shape = {2}},
       x,
       {t<float>({1, 1, 5}, {5, 5, 4, 4, 3}), at({1, 1, 3, 3, 4})}},
      {{.auto_pad = "SAME_LOWER", .kernel_shape = {2}},
       x,
       {t<float>({1, 1, 5}, {1, 5, 5, 4, 4}), at({0, 1, 1, 3, 3})}},
      {{.auto_pad = "SAME_LOWER", .kernel_shape = {2}, .strides = {2}}, x, {t<float>({1, 1, 3}, {1, 5, 4})}},
      {{.auto_pad = "VALID", .kernel_shape = {2}, .strides = {2}}, x, {t<float>({1, 1, 2}, {5, 4})}},
      {{.auto_pad = "VALID", .ceil_mode = 1, .kernel_shape = {2}, .strides = {2}},
       x,
       {t<float>({1, 1, 2}, {5, 4})}},
      // Indices count the whole tensor; with storage_order 1 each plane has its first axis fastest.
      {{.kernel_shape = {2, 2}}, m, {t<float>({1, 1, 1, 2}, {5, 6}), t<int64_t>({1, 1, 1, 2}, {4, 2})}},
      {{.kernel_shape = {2, 2}, .storage_order = 1},
       m,
       {t<float>({1, 1, 1, 2}, {5, 6}), t<int64_t>({1, 1, 1, 2}, {3, 4})}},
      {{.kernel_shape = {2}},
       t<float>({2, 2, 2}, {1, 2, 4, 3, 5, 6, 8, 7}),
       {t<float>({2, 2, 1}, {2, 4, 6, 8}), t<int64_t>({2, 2, 1}, {1, 2, 5, 6})}},
      {{.kernel_shape = {1, 2, 2}, .storage_order = 1},
       t<float>({1, 1, 2, 2, 2}, {1, 2, 3, 4, 8, 7, 6, 5}),
       {t<float>({1, 1, 2, 1, 1}, {4, 8}), t<int64_t>({1, 1, 2, 1, 1}, {6, 1})}},
      // The first of equals; NaN loses; infinities count.
      {{.kernel_shape = {3}}, t<float>({1, 1, 3}, {2, 2, 2}), {t<float>({1, 1, 1}, {2}), at({0})}},
      {{.kernel_shape = {2}}, t<float>({1, 1, 3}, {nan, 1, -inf}), {t<float>({1, 1, 2}, {1, 1}), at({1, 1})}},
      {{.kernel_shape = {1}},
       t<float>({1, 1, 2}, {-inf, inf}),
       {t<float>({1, 1, 2}, {-inf, inf}), at({0, 1})}},
      {{.kernel_shape = {2}, .pads = {1, 1}},
       t<float>({1, 1, 2}, {-3, -2}),
       {t<float>({1, 1, 3}, {-3, -2, -2})}},
      {{.kernel_shape = {2}}, t<float>({0, 1, 3}, {}), {t<float>({0, 1, 2}, {}), t<int64_t>({0, 1, 2}, {})}},
      {{.kernel_shape = {1}}, t<float>({1, 1, 0}, {}), {t<float>({1, 1, 0}, {})}},
      {{.kernel_shape = {2}},
       t<int8_t>({1, 1, 3}, {-128, -3, 2}),
       {t<int8_t>({1, 1, 2}, {-3, 2}), at({1, 2})}},
      {{.kernel_shape = {2}, .pads = {1, 0}},
       t<uint8_t>({1, 1, 2}, {0, 200}),
       {t<uint8_t>({1, 1, 2}, {0, 200}), at({0, 1})}},
      {{.kernel_shape = {2}}, t<double>({1, 1, 2}, {1, 2}), {t<double>({1, 1, 1}, {2}), at({1})}},
      {{.kernel_shape = {2}}, cast<float16>({1, 1, 2}, {1, 2}), {cast<float16>({1, 1, 1}, {2}), at({1})}},
      {{.kernel_shape = {2}}, cast<bfloat16>({1, 1, 2}, {1, -2}), {cast<bfloat16>({1, 1, 1}, {1}), at({0})}},
      {{.kernel_shape = {2}},
       cast<float16>({1, 1, 3}, {nan, -0.0f, -inf}),
       {cast<float16>({1, 1, 2}, {-0.0f, -0.0f})}},
  };
  for (const Row& row : rows) check(row.op, {row.in}, row.out, 0, 0);
  for (int version : {1, 8, 10, 11, 12})
    check(op::MaxPool{.kernel_shape = {2}}, {x}, {rows[0].out[0]}, 0, 0, version);
}

TEST_CASE("MaxPool: against one window at a time") {
  struct Row {
    op::MaxPool op;
    int64_t oh, ow, ph, pw;  // as they come out
  } rows[] = {
      {{.kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}, .strides = {2, 2}}, 10, 12, 1, 1},
      {{.kernel_shape = {2, 2}, .strides = {2, 2}}, 9, 11, 0, 0},
      {{.ceil_mode = 1, .kernel_shape = {3, 2}, .pads = {0, 1, 1, 0}, .strides = {2, 3}}, 10, 8, 0, 1},
      {{.dilations = {2, 3}, .kernel_shape = {3, 2}, .pads = {2, 0, 1, 3}}, 18, 23, 2, 0},
      {{.auto_pad = "SAME_LOWER", .kernel_shape = {4, 3}, .strides = {3, 1}}, 7, 23, 2, 1},
      {{.kernel_shape = {1, 5}, .strides = {1, 1}}, 19, 19, 0, 0},
  };
  constexpr int64_t planes = 6, h = 19, w = 23;
  Tensor<float> x(Extents{2, 3, h, w});
  for (int64_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k * 7919 % 1009) - 500;
  for (const Row& row : rows) {
    const auto pick = [](const Ints& list, int k) { return list.empty() ? 1 : list[k]; };
    Tensor<float> y(Extents{2, 3, row.oh, row.ow});
    Tensor<int64_t> indices(Extents{2, 3, row.oh, row.ow});
    for (int64_t p = 0, at = 0; p < planes; ++p)
      for (int64_t r = 0; r < row.oh; ++r)
        for (int64_t c = 0; c < row.ow; ++c, ++at) {
          int64_t best = -1;
          for (int64_t i = 0; i < row.op.kernel_shape[0]; ++i)
            for (int64_t j = 0; j < row.op.kernel_shape[1]; ++j) {
              const int64_t a = r * pick(row.op.strides, 0) + i * pick(row.op.dilations, 0) - row.ph;
              const int64_t b = c * pick(row.op.strides, 1) + j * pick(row.op.dilations, 1) - row.pw;
              if (a < 0 || a >= h || b < 0 || b >= w) continue;
              const int64_t cell = (p * h + a) * w + b;
              if (best < 0 || x[cell] > x[best]) best = cell;
            }
          indices[at] = best;
          y[at] = x[best];
        }
    check(row.op, {x.clone()}, {y.clone(), std::move(indices)}, 0, 0);
    check(row.op, {x.clone()}, {std::move(y)}, 0, 0);
  }
}

TEST_CASE("MaxPool: errors") {
  const Value x = t<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  constexpr int64_t big = int64_t{1} << 30;
  struct Row {
    op::MaxPool op;
    const char* text;
  } rows[] = {
      {{}, "kernel_shape: 0 entries, expected 2"},
      {{.kernel_shape = {2}}, "kernel_shape: 1 entries, expected 2"},
      {{.kernel_shape = {2, 2}, .storage_order = 7}, "storage_order: 7, expected 0 or 1"},
      {{.ceil_mode = -1, .kernel_shape = {2, 2}}, "ceil_mode: -1, expected 0 or 1"},
      {{.kernel_shape = {0, 1}}, "kernel_shape holds 0"},
      {{.kernel_shape = {INT64_MIN, 1}}, "kernel_shape holds"},
      {{.kernel_shape = {3, 1}}, "a window of (3,1) does not fit into (1,1,2,2) along axis 2"},
      {{.dilations = {2, 1}, .kernel_shape = {2, 1}}, "does not fit"},
      {{.dilations = {big, big}, .kernel_shape = {big, big}}, "kernel (1073741824,1073741824) is too large"},
      {{.auto_pad = "FULL", .kernel_shape = {1, 1}},
       "auto_pad: 'FULL', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID"},
      {{.kernel_shape = {1, 1}, .pads = {1, 1}}, "pads: 2 entries, expected 4"},
      {{.kernel_shape = {1, 1}, .strides = {0, 1}}, "strides holds 0"},
  };
  for (const Row& row : rows) check_fails(row.op, {x}, row.text);
  const op::MaxPool one{.kernel_shape = {1}};
  check_fails(one, {t<float>({1}, {1})}, "X: rank 1, expected at least 2");
  check_fails(one, {t<float>({1, 1, 1}, {1})}, "has no output Indices at version 1", 2, 1);
  check_fails(one, {t<int8_t>({1, 1, 1}, {1})}, "input X cannot be tensor(int8)", 1, 11);
  check_fails(one, {cast<bfloat16>({1, 1, 1}, {1})}, "input X cannot be tensor(bfloat16)", 1, 12);
}

TEST_CASE("MaxPool: extents that are not known yet, and typed") {
  const auto n = Dim::symbol(1), h = Dim::symbol(2);
  const Dim u;
  const auto out = infer(op::MaxPool{.kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}, .strides = {1, 2}},
                         {info(DType::float32, {n, 3, h, 8})}, 2);
  CHECK(out[0].dims == Dims{n, 3, h, 4});
  CHECK(out[1].dims == out[0].dims);
  CHECK(out[1].type == Type(DType::int64));
  CHECK(infer(op::MaxPool{.kernel_shape = {3}}, {info(DType::float32, Dims())})[0].dims == Dims{u, u, u});
  Tensor<float, Shape<1, 1, 2, 2>> x{{{{1, 2}, {4, 3}}}};
  const auto y = apply<op::MaxPool{.kernel_shape = {2, 2}}, 2>(x);
  static_assert(std::is_same_v<std::tuple_element_t<0, std::remove_const_t<decltype(y)>>,
                               Tensor<float, Shape<1, 1, 1, 1>>>);
  CHECK(std::get<0>(y).item() == 4);
  CHECK(std::get<1>(y).item() == 2);
}
}  // namespace tenon
