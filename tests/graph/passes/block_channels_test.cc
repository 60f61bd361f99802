#include "tenon/graph/passes/block_channels.hpp"

#include "tenon/graph/passes/allow_winograd.hpp"
#include "tenon/graph/passes/pack_convolution.hpp"
#include "tenon/op/tensor/resize.hpp"
#include "tests/graph/passes/custom.hpp"
#include "tests/graph/passes/network.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::Network;
using test::node;

/// Compares all results with and without the passes, and counts the nodes of an operator that are left.
void check(const auto& build, const Feeds& feeds, std::string_view op, std::size_t count,
           double tolerance = 1e-5) {
  const Session plain(build());
  const Session passed(build(), {.passes = std::vector{fuse_convolution, allow_winograd, block_channels,
                                                       test::infos_are_true, pack_convolution}});
  std::size_t found = 0;
  for (const Graph::Node& n : passed.program().nodes()) found += n.op.spec().name == op;
  CHECK(found == count);
  Outputs expected = plain.run(feeds), got = passed.run(feeds);
  for (std::size_t k = 0; k < expected.size(); ++k)
    CHECK(test::difference(expected[k].tensor(), got[k].tensor()) <= tolerance);
}

}  // namespace

TEST_CASE("a network stays in blocks from its first convolution to its last pool") {
  const auto build = [] {
    Network b;
    const Dim n = b.g.symbol("N");
    const ValueId x = b.g.add_input("x", DType::float32, Dims{n, 3, 37, 41});
    ValueId y = node(b.g, op::Relu{}, {b.conv(x, 3, 24, {7, 7}, {.pads = {3, 3, 3, 3}, .strides = {2, 2}})});
    y = node(b.g, op::MaxPool{.kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}, .strides = {2, 2}}, {y});
    const ValueId z = b.conv(y, 24, 32, {1, 1});
    y = b.conv(node(b.g, op::Relu{}, {b.conv(y, 24, 20, {3, 3}, {.pads = {1, 1, 1, 1}})}), 20, 32, {1, 1});
    y = node(b.g, op::Relu{}, {node(b.g, op::Add{}, {y, z})});
    y = node(b.g, op::Concat{.axis = 1},
             {y, b.conv(y, 32, 10, {3, 3}, {.dilations = {2, 2}, .pads = {2, 2, 2, 2}})});
    y = node(b.g, op::Mul{}, {y, b.constant({42, 1, 1})});
    y = node(b.g, op::Relu{}, {node(b.g, op::Add{}, {y, b.constant({1, 42, 1, 1})})});
    y = b.conv(y, 42, 42, {3, 3}, {.group = 42, .pads = {1, 1, 1, 1}});
    y = node(b.g, op::AveragePool{.count_include_pad = 0, .kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}}, {y});
    const ValueId squeezed = b.conv(node(b.g, op::GlobalAveragePool{}, {y}), 42, 42, {1, 1});
    y = node(b.g, op::Mul{}, {y, node(b.g, op::Sigmoid{}, {squeezed})});
    b.g.add_output("y", node(b.g, op::GlobalAveragePool{}, {y}));
    return std::move(b.g);
  };
  for (int64_t n : {1, 3}) {
    const Value x = floats<float>({n, 3, 37, 41}, 99);
    check(build, {{"x", x}}, "ToBlocks", 0);
    check(build, {{"x", x}}, "FromBlocks", 1);
    check(build, {{"x", x}}, "BlockedConv", 8);
  }
}

TEST_CASE("one spatial axis") {
  const auto build = [] {
    Network b;
    const ValueId x = b.g.add_input("x", DType::float32, {2, 20, 50});
    const ValueId y = b.conv(x, 20, 33, {5}, {.dilations = {2}, .pads = {4, 4}, .strides = {2}});
    b.g.add_output("y", b.conv(node(b.g, op::Relu{}, {y}), 33, 33, {3}, {.group = 33, .pads = {2, 0}}));
    return std::move(b.g);
  };
  check(build, {{"x", Value(floats<float>({2, 20, 50}, 9))}}, "BlockedConv", 2);
}

TEST_CASE("two spatial axes, one of them of one place") {
  const auto build = [] {
    Network b;
    const ValueId x = b.g.add_input("x", DType::float32, {2, 20, 50, 1});
    ValueId y = b.conv(x, 20, 33, {5, 1}, {.dilations = {2, 1}, .pads = {4, 0, 4, 0}, .strides = {2, 1}});
    y = b.conv(node(b.g, op::Relu{}, {y}), 33, 33, {3, 1}, {.group = 33, .pads = {2, 0, 0, 0}});
    b.g.add_output("y", b.conv(y, 33, 8, {2, 1}, {.pads = {0, 1, 0, 1}}));
    return std::move(b.g);
  };
  check(build, {{"x", Value(floats<float>({2, 20, 50, 1}, 9))}}, "BlockedConv", 3);
}

TEST_CASE("values that others read are plain as well") {
  const auto build = [] {
    Network b;
    const ValueId x = b.g.add_input("x", DType::float32, {1, 16, 9, 9});
    const ValueId y = b.conv(x, 16, 16, {2, 2}), z = node(b.g, op::Relu{}, {b.conv(y, 16, 16, {2, 2})});
    b.g.add_output("y", y);
    b.g.add_output("z", z);
    b.g.add_output("mixed", node(b.g, op::Add{}, {z, b.constant({7, 7})}));
    return std::move(b.g);
  };
  const Value x = floats<float>({1, 16, 9, 9}, 5);
  check(build, {{"x", x}}, "FromBlocks", 1);
  check(build, {{"x", x}}, "ToBlocks", 1);
}

TEST_CASE("a convolution whose result is read plain gives it plain") {
  const auto build_with = [](int64_t in, int64_t out, int64_t side, int64_t kernel, const op::Conv& conv,
                             bool activated) {
    return [=] {
      Network b;
      const ValueId x = b.g.add_input("x", DType::float32, {2, in, side, side});
      const ValueId y = node(b.g, op::Relu{}, {b.conv(x, in, out, {kernel, kernel}, conv)});
      b.g.add_output("y", activated ? node(b.g, op::Tanh{}, {y}) : y);
      return std::move(b.g);
    };
  };
  const auto check_with = [&](const auto& build, int64_t in, int64_t side, std::size_t to, std::size_t from,
                              std::size_t products) {
    const Value x = floats<float>({2, in, side, side}, 8);
    check(build, {{"x", x}}, "ToBlocks", to, 3e-5);
    check(build, {{"x", x}}, "FromBlocks", from, 3e-5);
    check(build, {{"x", x}}, "FusedConv", products, 3e-5);
  };
  check_with(build_with(3, 40, 33, 7, {.pads = {3, 3, 3, 3}, .strides = {3, 3}}, false), 3, 33, 0, 0, 0);
  check_with(build_with(3, 40, 33, 7, {.pads = {3, 3, 3, 3}, .strides = {2, 2}}, false), 3, 33, 0, 1, 0);
  check_with(build_with(18, 20, 9, 3, {.dilations = {2, 2}}, true), 18, 9, 1, 0, 0);
  check_with(build_with(64, 32, 9, 3, {.group = 2, .strides = {2, 2}}, false), 64, 9, 1, 0, 0);
  // Groups of four channels are narrower than most blocks.
  const std::size_t narrow = kernels::channel_block<float>() > 4 ? 1 : 0;
  check_with(build_with(48, 48, 9, 3, {.group = 12}, false), 48, 9, 1, narrow, 0);
  check_with(build_with(36, 40, 14, 3, {}, false), 36, 14, 1, 1, 0);  // by Winograd
  check_with(build_with(36, 40, 22, 3, {}, false), 36, 22, 1, 1, 0);
  check_with(build_with(36, 40, 22, 5, {}, false), 36, 22, 1, 1, 0);  // of 5 x 5 cells
  for (bool activated : {false, true})                                // group after group
    check_with(build_with(128, 256, 14, 3, {.group = 8}, activated), 128, 14, 0, 0, 0);
  // A product of matrices takes large images as they are.
  check_with(build_with(18, 20, 16, 1, {}, false), 18, 16, 0, 0, 1);
  check_with(build_with(18, 20, 16, 1, {}, true), 18, 16, 1, 0, 0);
  check_with(build_with(18, 20, 15, 1, {}, false), 18, 15, 1, 0, 0);
  check_with(build_with(3, 20, 16, 1, {}, false), 3, 16, 0, 0, 0);
  check_with(build_with(18, 20, 33, 1, {.strides = {2, 2}}, false), 18, 33, 1, 0, 0);
}

TEST_CASE("a convolution applies the following function of one number") {
  const auto check_with = [](const auto& op) {
    CAPTURE(op.spec.name);
    const auto build = [&] {
      Network b;
      const ValueId x = b.g.add_input("x", DType::float32, {1, 36, 24, 13});
      const op::Conv same{.pads = {1, 1, 1, 1}};
      ValueId y = node(b.g, op, {b.conv(x, 36, 20, {3, 3}, same)});  // by Winograd
      y = node(b.g, op, {b.conv(y, 20, 20, {3, 3}, {.group = 20, .pads = {1, 1, 1, 1}})});
      y = node(b.g, op, {node(b.g, op::Add{}, {b.conv(y, 20, 20, {1, 1}), y})});
      b.g.add_output("y", y);
      return std::move(b.g);
    };
    const Value x = floats<float>({1, 36, 24, 13}, 7);
    check(build, {{"x", x}}, "BlockedConv", 3, 3e-5);  // bounded results are smaller than the sums
    check(build, {{"x", x}}, op.spec.name, 0, 3e-5);
  };
  check_with(op::Elu{.alpha = 0.5f});
  check_with(op::Gelu{});
  check_with(op::Gelu{.approximate = "tanh"});
  check_with(op::HardSigmoid{.alpha = 0.3f, .beta = 0.4f});
  check_with(op::HardSwish{});
  check_with(op::LeakyRelu{.alpha = 0.1f});
  check_with(op::Mish{});
  check_with(op::Sigmoid{});
  check_with(op::Swish{.alpha = 1.5f});
  check_with(op::Tanh{});
}

TEST_CASE("Resize of spatial axes stays in blocks") {
  const auto check_with = [](const op::Resize& resize, const AnyTensor& factors, std::size_t left) {
    const auto build = [&] {
      Network b;
      const ValueId x = b.g.add_input("x", DType::float32, {2, 18, 7, 5});
      const ValueId by = b.g.add_constant({}, factors);
      std::vector<ValueId> in{b.conv(x, 18, 20, {1, 1}), -1, by};
      if (factors.dtype() == DType::int64) in = {in[0], -1, -1, by};
      b.g.add_output("y", b.conv(node(b.g, resize, in), 20, 16, {1, 1}));
      return std::move(b.g);
    };
    check(build, {{"x", Value(floats<float>({2, 18, 7, 5}, 7))}}, "ToBlocks", left);
  };
  const op::Resize nearest{.coordinate_transformation_mode = "asymmetric", .nearest_mode = "floor"};
  check_with(nearest, Tensor<float>({4}, {1, 1, 2, 2}), 1);
  check_with({.mode = "linear"}, Tensor<float>({4}, {1, 1, 1.5f, 0.7f}), 1);
  check_with({.mode = "cubic"}, Tensor<int64_t>({4}, {2, 20, 9, 11}), 1);
  check_with({.axes = {3, -2}}, Tensor<float>({2}, {2, 3}), 1);
  check_with({.axes = {2, 3}, .keep_aspect_ratio_policy = "not_larger"}, Tensor<int64_t>({2}, {20, 20}), 1);
}

TEST_CASE("a Split into whole blocks stays in blocks") {
  const auto build_with = [](int64_t first, int64_t axis) {
    return [=] {
      Network b;
      const ValueId x = b.g.add_input("x", DType::float32, {2, 18, 7, 5});
      const ValueId lengths = b.g.add_constant({}, Tensor<int64_t>({2}, {first, 52 - first}));
      const std::vector<ValueId> parts =
          b.g.add_node({}, AnyOperator::make(op::Split{.axis = axis}), {b.conv(x, 18, 52, {1, 1}), lengths},
                       std::vector<std::string>(2));
      b.g.add_output("y", b.conv(parts[0], first, 16, {1, 1}));
      b.g.add_output("z", b.conv(parts[1], 52 - first, 16, {1, 1}));
      return std::move(b.g);
    };
  };
  const Value x = floats<float>({2, 18, 7, 5}, 7);
  check(build_with(32, 1), {{"x", x}}, "ToBlocks", 1);
  check(build_with(16, -3), {{"x", x}}, "ToBlocks", 1);
  check(build_with(21, 1), {{"x", x}}, "ToBlocks", 3);
}

TEST_CASE("a Concat of one value again and again") {
  for (int64_t channels : {32, 20}) {  // whole blocks, and part of one
    const auto build = [&] {
      Network b;
      const ValueId x = b.g.add_input("x", DType::float32, {1, 3, 8, 7});
      const ValueId y = b.conv(x, 3, channels, {3, 3});
      b.g.add_output("y", node(b.g, op::Concat{.axis = 1}, {y, y, y}));
      return std::move(b.g);
    };
    check(build, {{"x", Value(floats<float>({1, 3, 8, 7}, 3))}}, "BlockedConv", 1);
  }
}

TEST_CASE("without allow_winograd convolutions are computed directly") {
  for (const bool allowed : {false, true}) {
    Network b;
    const ValueId x = b.g.add_input("x", DType::float32, {1, 64, 56, 56});
    b.g.add_output("y", b.conv(x, 64, 64, {3, 3}));
    std::vector<Pass> passes{fuse_convolution, block_channels};
    if (allowed) passes.insert(passes.begin() + 1, allow_winograd);
    const Session session(std::move(b.g), {.passes = passes});
    int outputs = -1;
    for (const Graph::Node& n : session.program().nodes())
      if (const auto* conv = n.op.as<BlockedConv>()) outputs = conv->winograd;
    CHECK(outputs == (allowed ? 4 : 0));
  }
}

TEST_CASE("convolutions that do not go into blocks") {
  const auto build = [] {
    Network b;
    const ValueId x = b.g.add_input("x", DType::float32, {1, 18, 5, 5, 5});
    const ValueId flat = b.g.add_input("flat", DType::float32, {1, 18, 5, 5});
    b.g.add_output("volume", b.conv(x, 18, 18, {3, 3, 3}));
    b.g.add_output("groups", b.conv(flat, 18, 18, {3, 3}, {.group = 3}));
    b.g.add_output("one channel", b.conv(flat, 18, 1, {3, 3}));
    b.g.add_output("depthwise", b.conv(flat, 18, 18, {3, 3}, {.group = 18}));
    return std::move(b.g);
  };
  const Value x = floats<float>({1, 18, 5, 5, 5}, 5), flat = floats<float>({1, 18, 5, 5}, 6);
  check(build, {{"x", x}, {"flat", flat}}, "FusedConv", 4);
}

TEST_CASE("a NaN stays in its channel's windows") {
  const auto build = [] {
    Network b;
    const ValueId x = b.g.add_input("x", DType::float32, {1, 17, 6, 6});
    const ValueId z = b.conv(b.g.add_input("z", DType::float32, {1, 17, 6, 6}), 17, 17, {1, 1});
    const ValueId sum = node(b.g, op::Add{}, {z, x});
    const ValueId y = b.conv(sum, 17, 17, {3, 3}, {.group = 17});
    b.g.add_output("y", node(b.g, op::Relu{}, {b.conv(y, 17, 17, {1, 1}, {.group = 17})}));
    return std::move(b.g);
  };
  Tensor<float> x{Extents{1, 17, 6, 6}};
  for (int64_t k = 0; k < x.size(); ++k) x[k] = k == 40 ? std::numeric_limits<float>::quiet_NaN() : 0.5f;
  check(build, {{"x", Value(x)}, {"z", Value(floats<float>({1, 17, 6, 6}, 3))}}, "BlockedConv", 3);
}

TEST_CASE("operators of a domain of their own that work element by element stay in blocks") {
  const auto build = [] {
    Network b;
    const ValueId x = b.g.add_input("x", DType::float32, {1, 17, 6, 6});
    ValueId y = node(b.g, test::custom::Abs{}, {b.conv(x, 17, 17, {3, 3})});
    y = node(b.g, test::custom::Distance{}, {y, b.constant({17, 1, 1})});
    b.g.add_output("y", b.conv(y, 17, 20, {1, 1}));
    return std::move(b.g);
  };
  const Value x = floats<float>({1, 17, 6, 6}, 5);
  check(build, {{"x", x}}, "BlockedConv", 2);
  check(build, {{"x", x}}, "FromBlocks", 0);
  check(build, {{"x", x}}, "Abs", 1);
}

}  // namespace tenon::passes
