#include "tests/graph/gradients/check.hpp"

namespace tenon::test {

TEST_CASE("Convolutions") {
  for (int64_t group : {1, 2}) {
    const Given w = reals({4, 4 / group, 3});
    check_op(op::Conv{.group = group}, {reals({2, 4, 7}), w, reals({4})});
    check_op(op::Conv{.dilations = {2}, .group = group, .pads = {2, 1}, .strides = {3}},
             {reals({2, 4, 9}), w});
    check_op(op::Conv{.auto_pad = "SAME_UPPER", .group = group, .strides = {2}}, {reals({1, 4, 6}), w});
    check_op(op::Conv{.auto_pad = "SAME_LOWER", .group = group}, {reals({1, 4, 5}), w});
    const Given t = reals({4, 3, 3});
    check_op(op::ConvTranspose{.group = group}, {reals({2, 4, 3}), t, reals({3 * group})});
    check_op(
        op::ConvTranspose{
            .dilations = {2}, .group = group, .output_padding = {1}, .pads = {2, 1}, .strides = {2}},
        {reals({2, 4, 3}), t});
    check_op(op::ConvTranspose{.auto_pad = "SAME_UPPER", .group = group, .strides = {2}},
             {reals({1, 4, 3}), t});
    check_op(op::ConvTranspose{.group = group, .output_shape = {6}, .strides = {2}}, {reals({1, 4, 3}), t});
  }
  check_op(op::Conv{.pads = {1, 0, 1, 2}, .strides = {2, 1}}, {reals({1, 2, 4, 3}), reals({3, 2, 2, 2})});
}

TEST_CASE("Pools") {
  check_op(op::AveragePool{.kernel_shape = {2}}, {reals({1, 2, 5})});
  for (int64_t include : {0, 1}) {
    check_op(
        op::AveragePool{
            .count_include_pad = include, .kernel_shape = {3, 2}, .pads = {1, 1, 1, 0}, .strides = {2, 1}},
        {reals({1, 2, 4, 3})});
    check_op(op::AveragePool{.ceil_mode = 1,
                             .count_include_pad = include,
                             .kernel_shape = {3},
                             .pads = {1, 1},
                             .strides = {2}},
             {reals({2, 1, 6})});
    check_op(
        op::AveragePool{
            .auto_pad = "SAME_UPPER", .count_include_pad = include, .kernel_shape = {3}, .strides = {2}},
        {reals({1, 2, 6})});
  }
  check_op(op::MaxPool{.kernel_shape = {3, 2}, .pads = {1, 1, 1, 0}, .strides = {2, 1}},
           {reals({2, 2, 4, 3})});
  check_op(
      op::MaxPool{.ceil_mode = 1, .dilations = {2}, .kernel_shape = {2}, .storage_order = 1, .strides = {2}},
      {reals({1, 2, 6})}, 2);
  const Value x = Tensor<double>(Extents{1, 1, 2}, {3, 4});
  CHECK(slopes(any(op::MaxPool{.kernel_shape = {1}, .pads = {1, 0}}), {x}) == std::vector<double>{2, 3});
  check_op(op::GlobalAveragePool{}, {reals({2, 3, 2, 2})});
  check_op(op::GlobalMaxPool{}, {reals({2, 3, 2, 2})});
}

TEST_CASE("Pools of norms") {
  for (int64_t p : {1, 2, 3}) {
    check_op(op::LpPool{.kernel_shape = {3, 2}, .p = p, .pads = {1, 1, 1, 0}, .strides = {2, 1}},
             {reals({1, 2, 4, 3})});
    check_op(op::LpPool{.ceil_mode = 1, .dilations = {2}, .kernel_shape = {2}, .p = p, .strides = {2}},
             {reals({2, 1, 6})});
    check_op(op::GlobalLpPool{.p = p}, {reals({2, 3, 2, 2})});
  }
  check_operator(old("LpPool", 1, {{"kernel_shape", std::vector<int64_t>{2}}, {"p", 1.5f}}),
                 {reals({1, 2, 4}, 0.5, 2)});
  check_operator(old("GlobalLpPool", 1, {{"p", 1.5f}}), {reals({1, 2, 4}, 0.5, 2)});
  const Value zeros = Tensor<double>(Extents{1, 1, 2}, {0, 0});
  CHECK(slopes(any(op::LpPool{.kernel_shape = {2}}), {zeros}) == std::vector<double>{0, 0});
  CHECK(slopes(any(op::GlobalLpPool{}), {zeros}) == std::vector<double>{0, 0});
}

TEST_CASE("Convolutions of no samples") {
  check_op(op::Conv{.group = 2}, {reals({0, 2, 5}), reals({2, 1, 2}), reals({2})});
  check_op(op::Conv{.pads = {1, 1}}, {reals({0, 2, 5}), reals({3, 2, 2})});
  check_op(op::ConvTranspose{}, {reals({0, 2, 5}), reals({2, 3, 2}), reals({3})});
}

TEST_CASE("Second derivatives of convolutions and pools") {
  check_twice(op::Conv{.group = 2, .pads = {1, 0}, .strides = {2}},
              {reals({1, 2, 5}), reals({2, 1, 3}), reals({2})});
  check_twice(op::ConvTranspose{.pads = {1, 0}, .strides = {2}}, {reals({1, 2, 3}), reals({2, 2, 3})});
  check_twice(op::AveragePool{.kernel_shape = {3}, .pads = {1, 1}}, {reals({1, 2, 4})});
  check_twice(op::MaxPool{.kernel_shape = {2}}, {reals({1, 2, 4})});
}

}  // namespace tenon::test
