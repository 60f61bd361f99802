#include "tenon/graph/passes/chain_convolutions.hpp"

#include "tenon/graph/passes/block_channels.hpp"
#include "tests/graph/passes/network.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::Network;
using test::node;

/// A block of a MobileNet, whose widened image has 64 channels.
ValueId bottleneck(Network& n, ValueId x, Ints strides, bool residual) {
  ValueId y = node(n.g, op::HardSwish{}, {n.conv(x, 16, 64, {1, 1})});
  y = n.conv(y, 64, 64, {3, 3}, {.auto_pad = "SAME_UPPER", .group = 64, .strides = strides});
  y = n.conv(node(n.g, op::Relu{}, {y}), 64, 16, {1, 1});
  return residual ? node(n.g, op::Add{}, {y, x}) : y;
}

/// Runs a network without passes and with them, and counts the chains and the other convolutions.
void check(const auto& build, const Value& x, std::size_t chains, std::size_t alone) {
  const Session plain(build());
  const Session blocked(build(), {.passes = std::vector{fuse_convolution, block_channels}});
  const Session chained(build(), {.passes = std::vector{fuse_convolution, block_channels, chain_convolutions,
                                                        test::infos_are_true}});
  const auto count = [&](std::string_view op) {
    std::size_t found = 0;
    for (const Graph::Node& n : chained.program().nodes()) found += n.op.spec().name == op;
    return found;
  };
  CHECK(count("ConvChain") == chains);
  CHECK(count("BlockedConv") == alone);
  Outputs whole = plain.run({{"x", x}}), expected = blocked.run({{"x", x}}), got = chained.run({{"x", x}});
  for (std::size_t k = 0; k < got.size(); ++k) {
    CHECK(test::difference(expected[k].tensor(), got[k].tensor()) == 0);
    CHECK(test::difference(whole[k].tensor(), got[k].tensor()) <= 1e-5);
  }
}

}  // namespace

TEST_CASE("blocks of large images are computed by bands, with the bits of whole images") {
  const auto build = [] {
    Network n;
    ValueId x = n.g.add_input("x", DType::float32, Dims{n.g.symbol("N"), 3, 200, 180});
    x = n.conv(x, 3, 16, {3, 3}, {.pads = {1, 1, 1, 1}, .strides = {2, 2}});
    x = bottleneck(n, x, {}, true);
    x = bottleneck(n, x, {2, 2}, false);
    x = bottleneck(n, x, {}, true);  // 50 x 45: small
    n.g.add_output("y", x);
    return std::move(n.g);
  };
  for (int64_t n : {1, 2}) check(build, floats<float>({n, 3, 200, 180}, 7), 2, 5);
}

TEST_CASE("values that others read as well stay whole") {
  const auto build = [](int kind) {
    return [kind] {
      Network n;
      const Dims dims = kind == 0 ? Dims{1, 16, n.g.symbol("H"), 70} : Dims{1, 16, 80, 70};
      const ValueId x = n.g.add_input("x", DType::float32, dims);
      const ValueId wide = n.conv(x, 16, 64, {1, 1});
      const ValueId y = n.conv(wide, 64, 64, {3, 3}, {.group = 64});
      if (kind == 1) n.g.add_output("wide", wide);
      n.g.add_output("y",
                     kind == 2 ? node(n.g, op::Mul{}, {y, node(n.g, op::GlobalAveragePool{}, {wide})}) : y);
      return std::move(n.g);
    };
  };
  const Value x = floats<float>({1, 16, 80, 70}, 3);
  check(build(0), x, 0, 2);  // its size is unknown
  check(build(1), x, 0, 2);
  check(build(2), x, 0, 2);
  check(build(3), x, 1, 0);
}

}  // namespace tenon::passes
