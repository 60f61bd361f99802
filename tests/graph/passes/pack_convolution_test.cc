#include "tenon/graph/passes/pack_convolution.hpp"

#include "tenon/graph/passes/fuse_convolution.hpp"

#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

struct Case {
  const char* name;
  Extents x, w;
  op::ConvTranspose op{};
  bool bias = true;
};

const Case cases[] = {
    {"1-d", {2, 3, 20}, {3, 7, 16}, {.pads = {4, 4}, .strides = {8}}},
    {"1-d, stride 1", {2, 5, 9}, {5, 6, 3}, {.pads = {2, 1}}, false},
    {"4x4", {2, 6, 7, 9}, {6, 17, 4, 4}, {.pads = {1, 1, 1, 1}, .strides = {2, 2}}},
    {"4x4, no bias", {2, 6, 7, 9}, {6, 17, 4, 4}, {.pads = {1, 1, 1, 1}, .strides = {2, 2}}, false},
    {"kernel of the strides", {1, 40, 6, 5}, {40, 5, 2, 2}, {.strides = {2, 2}}},
    {"many outputs", {1, 4, 5, 7}, {4, 131, 3, 3}, {.pads = {1, 1, 0, 0}, .strides = {2, 2}}},
    {"groups",
     {1, 8, 7, 5},
     {8, 9, 3, 3},
     {.group = 2, .output_padding = {1, 1}, .pads = {1, 1, 1, 1}, .strides = {2, 2}}},
    {"depthwise", {1, 8, 7, 5}, {8, 1, 3, 3}, {.group = 8, .pads = {1, 1, 1, 1}, .strides = {2, 2}}},
    {"dilated", {1, 4, 9, 8}, {4, 6, 3, 2}, {.dilations = {2, 3}, .pads = {1, 2, 3, 0}}},
    {"3-d", {1, 4, 3, 4, 5}, {4, 6, 2, 3, 4}, {.strides = {2, 2, 1}}},
    {"an axis of one place", {2, 3, 20, 1}, {3, 7, 16, 1}, {.pads = {4, 0, 4, 0}, .strides = {8, 1}}},
    {"and of a stride", {2, 3, 20, 1}, {3, 7, 16, 1}, {.pads = {4, 0, 4, 0}, .strides = {8, 2}}},
    {"one of three axes", {1, 4, 5, 6, 1}, {4, 6, 3, 3, 1}},
    {"SAME_UPPER", {2, 3, 4, 5}, {3, 5, 5, 3}, {.auto_pad = "SAME_UPPER", .strides = {2, 3}}},
    {"SAME_LOWER", {2, 3, 4, 5}, {3, 5, 4, 4}, {.auto_pad = "SAME_LOWER", .strides = {2, 3}}},
    {"VALID", {2, 3, 4, 5}, {3, 5, 4, 4}, {.auto_pad = "VALID", .strides = {2, 2}}},
    {"output_shape", {2, 3, 4, 5}, {3, 5, 5, 3}, {.output_shape = {9, 12}, .strides = {2, 3}}},
    {"output_shape, cells too few", {1, 3, 4}, {3, 5, 3}, {.output_shape = {10}, .strides = {2}}},
};

template <class T>
Graph build(const Case& c, const Dims& extents) {
  Graph g;
  const ValueId x = g.add_input("x", dtype_of<T>, extents);
  std::vector<ValueId> in{x, g.add_constant({}, floats<T>(c.w, 1))};
  if (c.bias) in.push_back(g.add_constant({}, floats<T>({c.w[1] * c.op.group}, 2)));
  g.add_output("y", node(g, c.op, in));
  return g;
}

/// The operand that the packed node has in the place of W, or nothing.
std::optional<ValueId> packed_w(Graph g) {
  const Session s(std::move(g), {.passes = std::vector{pack_convolution}});
  const Graph::Node& n = s.program().nodes()[0];
  return n.op.as<PackedConvTranspose>() == nullptr ? std::nullopt : std::optional(n.inputs[1]);
}

void check_skipped(Graph g, std::string_view why) {
  const Session s(std::move(g), {.passes = std::vector{pack_convolution}, .explain = true});
  CHECK(s.program().nodes()[0].op.as<op::ConvTranspose>() != nullptr);
  REQUIRE(s.reports().size() == 1);
  CHECK(s.reports()[0].text.find(why) != std::string::npos);
}

template <class T>
void check_all() {
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const Feeds feeds{{"x", Value(floats<T>(c.x, 3))}};
    CHECK(packed_w(build<T>(c, c.x)) == -1);
    test::check_pass(pack_convolution, [&] { return build<T>(c, c.x); }, feeds, 1, 0);
    // W stays an operand where X may have extents that want it so.
    if (!c.op.output_shape.empty() || c.x.size() == 2) continue;
    CHECK(packed_w(build<T>(c, Dims())).value_or(-1) >= 0);
    test::check_pass(pack_convolution, [&] { return build<T>(c, Dims()); }, feeds, 1, 0);
  }
}

}  // namespace

TEST_CASE("transposed convolutions of packed weights give the bits of the nodes that they replace") {
  check_all<float>();
  check_all<double>();
  check_all<float16>();
  check_all<bfloat16>();
}

TEST_CASE("convolutions of packed weights along the axis that has more than one place") {
  struct Row {
    Extents x, w;
    op::Conv op{};
  } rows[] = {{{2, 8, 30, 1}, {8, 1, 5, 1}, {.group = 8, .pads = {2, 0, 2, 0}}},
              {{2, 8, 1, 30}, {8, 1, 1, 5}, {.group = 8, .strides = {3, 2}}},
              {{2, 6, 20, 1}, {8, 3, 3, 1}, {.dilations = {2, 1}, .group = 2}},
              {{2, 4, 7, 7, 1}, {4, 1, 3, 3, 1}, {.group = 4}}};
  for (const Row& row : rows) {
    const auto build = [&] {
      Graph g;
      const ValueId x = g.add_input("x", DType::float32, row.x),
                    w = g.add_constant({}, floats<float>(row.w, 1));
      g.add_output("y", node(g, row.op, {x, w}));
      return g;
    };
    const Session plain(build()),
        packed(build(), {.passes = std::vector{fuse_convolution, pack_convolution}});
    CHECK(packed.program().nodes()[0].op.as<PackedConv>() != nullptr);
    const Feeds feeds{{"x", Value(floats<float>(row.x, 3))}};
    CHECK(tenon::test::same(plain.run(feeds)[0], packed.run(feeds)[0]));
  }
}

TEST_CASE("extents for which the weights are read as they are come to packed ones") {
  const Case c{"", {2, 5, 1, 1}, {5, 6, 4, 4}};
  CHECK(packed_w(build<float>(c, Dims())).has_value());
  test::check_pass(
      pack_convolution, [&] { return build<float>(c, Dims()); }, {{"x", Value(floats<float>(c.x, 3))}}, 1, 0);
  check_skipped(build<float>(c, c.x), "read as they are");
}

TEST_CASE("transposed convolutions whose weights are not packed") {
  check_skipped(build<float>({"", {1, 64, 5, 5}, {64, 3, 4, 4}, {.strides = {2, 2}}}, Dims()),
                "read as they are");
  check_skipped(build<float>({"", {1, 2, 5}, {2, 3, 3}, {.output_shape = {10}, .strides = {2}}}, Dims()),
                "extents that are not known");
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {1, 2, 4});
  g.add_output("y", node(g, op::ConvTranspose{}, {x, g.add_input("w", DType::float32, {2, 3, 3})}));
  check_skipped(std::move(g), "not constant");
  for (const float odd : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    Tensor<float> w{Extents{1, 1, 3}, {1, odd, 2}};
    Graph h;
    const ValueId in = h.add_input("x", DType::float32, {1, 1, 4});
    h.add_output("y", node(h, op::ConvTranspose{}, {in, h.add_constant({}, w)}));
    check_skipped(std::move(h), "not finite");
  }
}

TEST_CASE("packed weights serve the extents alone for which W is left out") {
  const Case c{"", {1, 3, 4}, {3, 5, 3}};
  const PackedConvTranspose packed{.element = DType::float32, .extents = c.w, .in = {4}};
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {1, 3, 5});
  CHECK_THROWS_AS(g.add_node({}, AnyOperator::make(packed), {x, -1}, std::vector<std::string>(1)), Error);
}

}  // namespace tenon::passes
