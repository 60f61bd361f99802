#include "tenon/op/nn/lp_pool.hpp"

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("LpPool: cases") {
  const Value x = t<float>({1, 1, 4}, {3, -4, 0, 5});
  const float nan = std::nanf("");
  struct Row {
    op::LpPool op;
    Value in, out;
  } rows[] = {
      {{.kernel_shape = {2}}, x, t<float>({1, 1, 3}, {5, 4, 5})},
      {{.kernel_shape = {2}, .p = 1}, x, t<float>({1, 1, 3}, {7, 4, 5})},
      {{.kernel_shape = {4}, .p = 3}, x, t<float>({1, 1, 1}, {6})},
      {{.kernel_shape = {2}, .strides = {2}}, x, t<float>({1, 1, 2}, {5, 5})},
      {{.kernel_shape = {2}, .pads = {1, 1}}, x, t<float>({1, 1, 5}, {3, 5, 4, 5, 5})},
      {{.dilations = {2}, .kernel_shape = {2}}, x, t<float>({1, 1, 2}, {3, std::sqrt(41.0f)})},
      {{.ceil_mode = 1, .kernel_shape = {3}, .p = 1, .strides = {2}}, x, t<float>({1, 1, 2}, {7, 5})},
      {{.auto_pad = "SAME_UPPER", .kernel_shape = {2}}, x, t<float>({1, 1, 4}, {5, 4, 5, 5})},
      {{.auto_pad = "SAME_LOWER", .kernel_shape = {2}}, x, t<float>({1, 1, 4}, {3, 5, 4, 5})},
      {{.auto_pad = "VALID", .kernel_shape = {2}}, x, t<float>({1, 1, 3}, {5, 4, 5})},
      {{.kernel_shape = {2, 2}, .p = 1},
       t<float>({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}),
       t<float>({1, 1, 1, 2}, {12, 16})},
      {{.kernel_shape = {1}}, t<float>({1, 1, 2}, {nan, -1}), t<float>({1, 1, 2}, {nan, 1})},
      {{.kernel_shape = {2}}, t<float>({0, 1, 3}, {}), t<float>({0, 1, 2}, {})},
      {{.kernel_shape = {1}}, t<float>({1, 1, 0}, {}), t<float>({1, 1, 0}, {})},
      {{.kernel_shape = {2}, .p = 3}, t<double>({1, 1, 2}, {0, -2}), t<double>({1, 1, 1}, {2})},
      {{.kernel_shape = {2}}, cast<float16>({1, 1, 2}, {3, 4}), cast<float16>({1, 1, 1}, {5})},
      {{.kernel_shape = {2}}, cast<bfloat16>({1, 1, 2}, {3, 4}), cast<bfloat16>({1, 1, 1}, {5})},
  };
  for (const Row& row : rows) check(row.op, {row.in}, {row.out}, 2e-6);
  for (int version : {2, 11, 18})
    check(op::LpPool{.kernel_shape = {2}}, {x}, {rows[0].out}, 2e-6, 0, version);
}

TEST_CASE("LpPool: a window that reaches far beyond the input") {
  constexpr int64_t reach = 20000;
  Tensor<float> y(Extents{1, 2, reach + 1});
  std::fill_n(y.data(), y.size(), 0.0f);
  y[0] = y[reach] = 3;
  y[reach + 1] = y[2 * reach + 1] = 4;
  check(op::LpPool{.dilations = {reach}, .kernel_shape = {2}, .pads = {reach, reach}},
        {t<float>({1, 2, 1}, {-3, 4})}, {std::move(y)});
}

TEST_CASE("LpPool: version 1 takes any p above 0") {
  const Value x = t<float>({1, 1, 2}, {4, -9});
  check(stated<op::LpPool_1>(1, {{"kernel_shape", ints{2}}, {"p", 0.5f}}), {x}, {t<float>({1, 1, 1}, {25})},
        2e-6);
  check(stated<op::LpPool_1>(1, {{"kernel_shape", ints{2}}, {"auto_pad", std::string("SAME_LOWER")}}),
        {t<float>({1, 1, 2}, {-4, 3})}, {t<float>({1, 1, 2}, {4, 5})});
  check_fails(op::LpPool_1{.kernel_shape = {2}, .p = 0}, {x}, "p is not above 0, or infinite");
  check_fails(op::LpPool_1{}, {x}, "kernel_shape: 0 entries, expected 1");
}

TEST_CASE("LpPool: errors, symbols, and typed") {
  const Value x = t<float>({1, 1, 2}, {1, 2});
  check_fails(op::LpPool{.kernel_shape = {2}, .p = 0}, {x}, "p: 0, expected at least 1");
  check_fails(op::LpPool{.kernel_shape = {3}}, {x}, "a window of (3) does not fit into (1,1,2) along axis 2");
  check_fails(op::LpPool{.kernel_shape = {2}, .strides = {0}}, {x}, "strides holds 0");
  check_refused<op::LpPool>(2, {}, "kernel_shape");
  check_refused<op::LpPool>(11, {{"kernel_shape", ints{2}}, {"ceil_mode", int64_t{1}}},
                            "has no attribute 'ceil_mode'");
  check_fails(op::LpPool{.kernel_shape = {1}}, {cast<bfloat16>({1, 1, 1}, {1})},
              "input X cannot be tensor(bfloat16)", 1, 18);
  const auto n = Dim::symbol(1), h = Dim::symbol(2);
  CHECK(infer(op::LpPool{.kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}, .strides = {1, 2}},
              {info(DType::float32, {n, 3, h, 8})})[0]
            .dims == Dims{n, 3, h, 4});
  Tensor<float, Shape<1, 1, 2>> typed{{{3, 4}}};
  const auto y = apply<op::LpPool{.kernel_shape = {2}}>(typed);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 1, 1>>>);
  CHECK(y.item() == 5);
}
}  // namespace tenon
