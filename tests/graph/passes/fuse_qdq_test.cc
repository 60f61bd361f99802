#include "tenon/graph/passes/fuse_qdq.hpp"
#include "tenon/graph/passes/channels_last.hpp"

#include <functional>

#include "tenon/op/math/div.hpp"
#include "tenon/op/math/max.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/sigmoid.hpp"
#include "tenon/op/nn/global_average_pool.hpp"
#include "tenon/op/nn/max_pool.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tests/graph/passes/check.hpp"
#include "tests/graph/passes/custom.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

// Whole numbers of T, or of as few bits.
template <class T>
AnyTensor numbers(const Extents& extents, int seed, int bits = 8) {
  Tensor<T> t{extents};
  const AnyTensor f = floats<float>(extents, seed);
  for (int64_t k = 0; k < t.size(); ++k)
    t[k] = static_cast<T>(static_cast<int>(f.view().as<float>()[k] * static_cast<float>(1 << (bits - 1))) +
                          (std::is_signed_v<T> ? 0 : 128));
  return t;
}
template <class T>
ValueId one(Graph& g, T x) {
  return g.add_constant({}, Tensor<T>(Extents{}, {x}));
}

/// A graph of quantised tensors: u8 or s8.
struct Net {
  Graph g{};
  bool is_signed = false;

  ValueId zero(int z) {
    return is_signed ? one<int8_t>(g, static_cast<int8_t>(z - 128))
                     : one<uint8_t>(g, static_cast<uint8_t>(z));
  }
  /// x rounded to steps of `scale`, with a zero point of the unsigned range.
  ValueId quantize(ValueId x, float scale, int z) {
    return node(g, op::QuantizeLinear{}, {x, one(g, scale), zero(z)});
  }
  ValueId restore(ValueId q, float scale, int z) {
    return node(g, op::DequantizeLinear{}, {q, one(g, scale), zero(z)});
  }
  ValueId input(std::string_view name, const Extents& extents, float scale, int z) {
    return restore(g.add_input(std::string(name), is_signed ? DType::int8 : DType::uint8, Dims(extents)),
                   scale, z);
  }
  /// Constant int8 weights with a scale for each index of an axis.
  ValueId weights(const Extents& extents, int axis, int seed, int bits = 8) {
    Tensor<float> scales{Extents{extents[axis]}};
    for (int64_t k = 0; k < scales.size(); ++k) scales[k] = 0.01f * static_cast<float>(k % 3 + 1);
    return node(
        g, op::DequantizeLinear{.axis = axis},
        {g.add_constant({}, numbers<int8_t>(extents, seed, bits)), g.add_constant({}, std::move(scales))});
  }
  Value feed(const Extents& extents, int seed) const {
    return is_signed ? numbers<int8_t>(extents, seed) : numbers<uint8_t>(extents, seed);
  }
};

int number(const AnyTensor& t, int64_t k) {
  return t.dtype() == DType::int8 ? int{t.view().as<int8_t>()[k]} : int{t.view().as<uint8_t>()[k]};
}

/// Results of 8 bits with and without the pass differ by `steps` at most; `nodes` are left with it.
void check(const std::function<Graph()>& build, const Feeds& feeds, std::size_t nodes, int steps) {
  const Session plain(build()),
      passed(build(), {.passes = std::vector{fuse_qdq, test::infos_are_true}, .explain = true});
  CHECK(passed.program().nodes().size() == nodes);
  CHECK_FALSE(passed.reports().empty());
  Outputs expected = plain.run(feeds), got = passed.run(feeds);
  const AnyTensor &a = expected[0].tensor(), &b = got[0].tensor();
  REQUIRE(a.dtype() == b.dtype());
  REQUIRE(a.extents() == b.extents());
  int most = 0, least_value = 255, greatest = -255;
  for (int64_t k = 0; k < a.size(); ++k) {
    most = std::max(most, std::abs(number(a, k) - number(b, k)));
    least_value = std::min(least_value, number(a, k)), greatest = std::max(greatest, number(a, k));
  }
  CHECK(most <= steps);
  CHECK(greatest > least_value);  // the case says something
}

struct ConvCase {
  const char* name;
  Extents x, w;
  int64_t group = 1, stride = 1;
  bool bias = false, relu = false, clip = false;
};
const ConvCase conv_cases[] = {
    {.name = "3x3", .x = {2, 5, 9, 11}, .w = {7, 5, 3, 3}},
    {.name = "bias, relu", .x = {1, 8, 8, 8}, .w = {16, 8, 3, 3}, .bias = true, .relu = true},
    {.name = "pointwise, clip", .x = {1, 12, 6, 7}, .w = {9, 12, 1, 1}, .clip = true},
    {.name = "groups, stride", .x = {1, 8, 9, 9}, .w = {8, 4, 3, 3}, .group = 2, .stride = 2, .bias = true},
    {.name = "depthwise", .x = {1, 6, 9, 9}, .w = {6, 1, 3, 3}, .group = 6, .relu = true},
    {.name = "1-d", .x = {2, 4, 30}, .w = {5, 4, 3}, .bias = true},
};

TEST_CASE("fuse_qdq: convolutions") {
  for (const ConvCase& c : conv_cases)
    for (const bool is_signed : {false, true}) {
      CAPTURE(c.name);
      CAPTURE(is_signed);
      Net shape{.is_signed = is_signed};
      const auto build = [&] {
        Net n{.is_signed = is_signed};
        std::vector<ValueId> in{n.input("x", c.x, 0.05f, 100), n.weights(c.w, 0, 3, 6)};
        if (c.bias) {
          Tensor<int32_t> b{Extents{c.w[0]}};
          Tensor<float> scales{Extents{c.w[0]}};
          for (int64_t k = 0; k < b.size(); ++k)
            b[k] = static_cast<int32_t>(k * 300 - 900),
            scales[k] = 0.05f * (0.01f * static_cast<float>(k % 3 + 1));
          in.push_back(node(n.g, op::DequantizeLinear{.axis = 0},
                            {n.g.add_constant({}, std::move(b)), n.g.add_constant({}, std::move(scales))}));
        }
        op::Conv conv;
        conv.group = c.group;
        for (int k = 2; k < c.x.size(); ++k) conv.strides.push_back(c.stride);
        for (int k = 4; c.w[2] == 3 && k < 2 * c.x.size(); ++k) conv.pads.push_back(1);
        ValueId y = node(n.g, conv, in);
        if (c.relu) y = node(n.g, op::Relu{}, {y});
        if (c.clip) y = node(n.g, op::Clip{}, {y, one(n.g, -1.0f), one(n.g, 1.5f)});
        n.g.add_output("y", n.quantize(y, 0.04f, 90));
        return std::move(n.g);
      };
      check(build, {{"x", shape.feed(c.x, 1)}}, 1, 1);
    }
}

TEST_CASE("fuse_qdq: products") {
  for (const bool is_signed : {false, true})
    for (const int form : {0, 1, 2, 3}) {  // MatMul, Gemm, MatMul of two results, MatMul with a bias
      CAPTURE(is_signed);
      CAPTURE(form);
      Net shape{.is_signed = is_signed};
      const auto build = [&] {
        Net n{.is_signed = is_signed};
        const ValueId a = n.input("a", form == 1 ? Extents{7, 30} : Extents{2, 7, 30}, 0.05f, 120);
        const ValueId other = n.input("b", {2, 30, 9}, 0.02f, 130);
        ValueId y = -1;
        if (form == 0) y = node(n.g, op::Relu{}, {node(n.g, op::MatMul{}, {a, n.weights({30, 9}, 1, 3)})});
        if (form == 1)
          y = node(n.g, op::Gemm{1, 1, 0, 1},
                   {a, n.weights({9, 30}, 0, 3), n.g.add_constant({}, floats<float>({9}, 4))});
        if (form == 2) y = node(n.g, op::MatMul{}, {a, other});
        if (form == 3)
          y = node(n.g, op::Relu{},
                   {node(n.g, op::Add{},
                         {n.g.add_constant({}, floats<float>({9}, 4)),
                          node(n.g, op::MatMul{}, {a, n.weights({30, 9}, 1, 3)})})});
        n.g.add_output("y", n.quantize(y, 0.5f, 90));
        return std::move(n.g);
      };
      check(build,
            {{"a", shape.feed(form == 1 ? Extents{7, 30} : Extents{2, 7, 30}, 1)},
             {"b", shape.feed({2, 30, 9}, 2)}},
            1, 1);
    }
}

TEST_CASE("fuse_qdq: products whose results stay floats") {
  const Extents x{2, 7, 30};
  for (const bool is_signed : {false, true})
    for (const int form : {0, 1, 2, 3}) {  // MatMul alone, bias and residual, a bias out of reach, Gemm
      CAPTURE(is_signed);
      CAPTURE(form);
      Net shape{.is_signed = is_signed};
      const auto build = [&] {
        Net n{.is_signed = is_signed};
        const Extents rows = form == 3 ? Extents{7, 30} : x;
        const ValueId a = n.input("a", rows, 0.05f, 120);
        ValueId y = -1;
        if (form == 3)
          y = node(n.g, op::Gemm{1, 1, 0, 1},
                   {a, n.weights({9, 30}, 0, 3), n.g.add_constant({}, floats<float>({9}, 4))});
        else y = node(n.g, op::MatMul{}, {a, n.weights({30, 9}, 1, 3)});
        if (form == 1 || form == 2) {
          Tensor<float> row{Extents{9}};
          for (int64_t k = 0; k < 9; ++k) row[k] = (form == 2 ? 1e9f : 0.3f) * static_cast<float>(k - 4);
          y = node(n.g, op::Add{}, {y, n.g.add_constant({}, std::move(row))});
        }
        if (form == 1)
          y = node(n.g, op::Relu{},
                   {node(n.g, op::Add{}, {y, n.g.add_input("z", DType::float32, Dims{2, 7, 9})})});
        if (form == 2) y = n.restore(n.quantize(y, 0.5f, 90), 0.5f, 90);
        n.g.add_output("y", y);
        return std::move(n.g);
      };
      const Session plain(build()), passed(build(), {.passes = std::vector{fuse_qdq, test::infos_are_true}});
      CHECK(passed.program().nodes().size() == (form == 2 ? 3 : 1));
      CHECK(passed.program().nodes()[0].op.as<PackedMatMulInteger>() != nullptr);
      Feeds feeds{{"a", shape.feed(form == 3 ? Extents{7, 30} : x, 1)}};
      if (form == 1) feeds.emplace_back("z", floats<float>({2, 7, 9}, 5));
      Outputs expected = plain.run(feeds), got = passed.run(feeds);
      const AnyTensor &e = expected[0].tensor(), &b = got[0].tensor();
      REQUIRE(e.extents() == b.extents());
      float most = 0;
      for (int64_t k = 0; k < e.size(); ++k)
        most = std::max(most, std::abs(e.view().as<float>()[k] - b.view().as<float>()[k]));
      CHECK(most <= 1e-4f);
    }
}

TEST_CASE("fuse_qdq: sums, averages, functions, moves") {
  for (const bool is_signed : {false, true}) {
    CAPTURE(is_signed);
    const Extents x{2, 6, 5, 8};
    Net shape{.is_signed = is_signed};
    const Feeds feeds{{"a", shape.feed(x, 1)}, {"b", shape.feed(x, 2)}};
    const auto graph = [&](auto make) {
      return [=] {
        Net n{.is_signed = is_signed};
        const ValueId a = n.input("a", x, 0.05f, 120), b = n.input("b", x, 0.03f, 10);
        n.g.add_output("y", make(n, a, b));
        return std::move(n.g);
      };
    };
    check(graph([](Net& n, ValueId a, ValueId b) {
            return n.quantize(node(n.g, op::Add{}, {a, b}), 0.06f, 100);
          }),
          feeds, 1, 1);
    check(graph([](Net& n, ValueId a, ValueId b) {
            return n.quantize(node(n.g, op::Relu{}, {node(n.g, op::Add{}, {a, b})}), 0.06f, 100);
          }),
          feeds, 1, 1);
    check(graph([](Net& n, ValueId a, ValueId) {
            return n.quantize(node(n.g, op::GlobalAveragePool{}, {a}), 0.01f, 100);
          }),
          feeds, 1, 1);
    check(graph([](Net& n, ValueId a, ValueId) {
            return n.quantize(node(n.g, op::Sigmoid{}, {node(n.g, op::Relu{}, {a})}), 1.0f / 256, 0);
          }),
          feeds, 1, 0);
    check(graph([](Net& n, ValueId a, ValueId) { return n.quantize(a, 0.07f, 3); }), feeds, 1, 0);
    // SiLU whose Sigmoid is quantised: two tables, one of which is unused.
    check(graph([](Net& n, ValueId a, ValueId) {
            const ValueId s =
                n.restore(n.quantize(node(n.g, op::Sigmoid{}, {a}), 1.0f / 255, 0), 1.0f / 255, 0);
            return n.quantize(node(n.g, op::Mul{}, {a, s}), 0.05f, 60);
          }),
          feeds, 1, 0);
    check(graph([](Net& n, ValueId a, ValueId) {
            const ValueId s = node(n.g, op::Sigmoid{}, {node(n.g, op::Mul{}, {one(n.g, 1.702f), a})});
            return n.quantize(node(n.g, op::Mul{}, {node(n.g, op::Add{}, {a, a}), s}), 0.05f, 60);
          }),
          feeds, 1, 0);
    check(graph([](Net& n, ValueId a, ValueId b) {
            return n.quantize(node(n.g, op::Relu{}, {node(n.g, op::Mul{}, {a, b})}), 0.03f, 60);
          }),
          feeds, 1, 1);
    // A number for each channel.
    for (const bool first : {false, true})
      check(graph([=](Net& n, ValueId a, ValueId b) {
              const ValueId mean =
                  n.restore(n.quantize(node(n.g, op::GlobalAveragePool{}, {b}), 0.02f, 3), 0.02f, 3);
              return n.quantize(node(n.g, op::Mul{}, first ? std::vector{mean, a} : std::vector{a, mean}),
                                0.03f, 60);
            }),
            feeds, 2, 1);
    // Of two tensors there is no table.
    check(graph([](Net& n, ValueId a, ValueId b) {
            return n.quantize(node(n.g, op::Max{}, {a, node(n.g, op::Sigmoid{}, {b})}), 0.05f, 60);
          }),
          feeds, 5, 0);
    check(graph([](Net& n, ValueId a, ValueId) {
            return n.quantize(node(n.g, op::MaxPool{.kernel_shape = {2, 2}}, {a}), 0.05f, 120);
          }),
          feeds, 1, 0);
    check(graph([](Net& n, ValueId a, ValueId b) {
            const ValueId t = n.quantize(node(n.g, op::Transpose{}, {a}), 0.05f, 120);
            const ValueId u = n.quantize(node(n.g, op::Transpose{}, {b}), 0.05f, 120);
            return n.quantize(node(n.g, op::Concat{1}, {n.restore(t, 0.05f, 120), n.restore(u, 0.05f, 120)}),
                              0.05f, 120);
          }),
          feeds, 4, 0);  // b has another scale, which a table changes
  }
}

TEST_CASE("fuse_qdq: a number of more axes than the bytes adds these to the result") {
  for (const Extents& extents : {Extents{}, Extents{1}, Extents{1, 1}, Extents{1, 1, 1}}) {
    CAPTURE(extents.size());
    const auto build = [&] {
      Net n;
      const ValueId two = n.g.add_constant({}, Tensor<float>(extents, {2}));
      n.g.add_output("y", n.quantize(node(n.g, op::Div{}, {n.input("x", {40}, 0.05f, 100), two}), 0.1f, 90));
      return std::move(n.g);
    };
    check(build, {{"x", Net{}.feed({40}, 1)}}, extents.size() > 1 ? 3 : 1, 0);
  }
}

TEST_CASE("fuse_qdq: a Gemm whose C has a number for each row has no bias of columns") {
  for (const bool restored : {false, true})
    for (const bool column : {false, true}) {
      CAPTURE(restored);
      CAPTURE(column);
      const auto build = [&] {
        Net n;
        const Extents extents = column ? Extents{8, 1} : Extents{1, 8};
        ValueId c = -1;
        if (restored) {
          Tensor<int32_t> whole{extents};
          for (int k = 0; k < 8; ++k) whole[k] = 1000 * k;
          c = node(n.g, op::DequantizeLinear{}, {n.g.add_constant({}, std::move(whole)), one(n.g, 0.0002f)});
        } else {
          c = n.g.add_constant({}, floats<float>(extents, 4));
        }
        const ValueId y =
            node(n.g, op::Gemm{}, {n.input("x", {8, 16}, 0.02f, 128), n.weights({16, 8}, 1, 3), c});
        n.g.add_output("y", n.quantize(y, 0.02f, 128));
        return std::move(n.g);
      };
      check(build, {{"x", Net{}.feed({8, 16}, 1)}}, column ? 3 : 1, 1);
    }
}

TEST_CASE("fuse_qdq: bytes are ordered in place of floats") {
  for (const bool is_signed : {false, true}) {
    CAPTURE(is_signed);
    Net shape{.is_signed = is_signed};
    const auto build = [&] {
      Net n{.is_signed = is_signed};
      const ValueId a =
          node(n.g, op::Transpose{.perm = {0, 2, 1, 3}}, {n.input("a", {2, 5, 3, 8}, 0.05f, 120)});
      const ValueId b =
          node(n.g, op::Transpose{.perm = {0, 2, 3, 1}}, {n.input("b", {2, 6, 3, 8}, 0.03f, 10)});
      const ValueId y = node(n.g, op::Transpose{.perm = {0, 2, 1, 3}}, {node(n.g, op::MatMul{}, {a, b})});
      n.g.add_output("y", n.quantize(y, 0.2f, 100));
      return std::move(n.g);
    };
    // Three orders and a product of integers.
    check(build, {{"a", shape.feed({2, 5, 3, 8}, 1)}, {"b", shape.feed({2, 6, 3, 8}, 2)}}, 4, 1);
  }
}

TEST_CASE("fuse_qdq: operators of a domain of their own") {
  using test::custom::Backwards;
  constexpr TypeSet bytes = types::int8 | types::uint8;
  for (const bool is_signed : {false, true}) {
    CAPTURE(is_signed);
    Net shape{.is_signed = is_signed};
    const auto graph = [&](auto op, float scale) {
      return [=] {
        Net n{.is_signed = is_signed};
        n.g.add_output("y", n.quantize(node(n.g, op, {n.input("x", {90}, 0.05f, 120)}), scale, 120));
        return std::move(n.g);
      };
    };
    const Feeds feeds{{"x", shape.feed({90}, 1)}};
    check(graph(test::custom::Abs{}, 0.04f), feeds, 1, 0);
    check(graph(Backwards < true, types::float32 | bytes > {}, 0.04f), feeds, 2, 0);  // of bytes, and a table
    check(graph(Backwards < false, types::float32 | bytes > {}, 0.05f), feeds, 1, 0);
    // No bytes go where only floats are taken.
    for (const auto& build : {std::function<Graph()>(graph(Backwards<true, types::float32>{}, 0.05f)),
                              std::function<Graph()>(graph(Backwards<false, types::float32>{}, 0.05f))}) {
      const Session plain(build()), passed(build(), {.passes = std::vector{fuse_qdq, test::infos_are_true}});
      CHECK(passed.program().nodes().size() == 3);
      CHECK(tenon::test::same(plain.run(feeds)[0].tensor(), passed.run(feeds)[0].tensor()));
    }
  }
}

TEST_CASE("fuse_qdq: a version that takes no bytes keeps its floats") {
  const auto build = [] {
    Net n;
    const ValueId x = n.input("x", {1, 1, 6, 6}, 0.05f, 120);
    const AnyOperator pool =
        make_operator(operator_class<op::MaxPool>, 11, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
    n.g.add_output("y", n.quantize(n.g.add_node({}, pool, {x}, std::vector<std::string>(1))[0], 0.05f, 120));
    return std::move(n.g);
  };
  const Session plain(build()), passed(build(), {.passes = std::vector{fuse_qdq, test::infos_are_true}});
  const Feeds feeds{{"x", Net{}.feed({1, 1, 6, 6}, 1)}};
  CHECK(tenon::test::same(plain.run(feeds)[0].tensor(), passed.run(feeds)[0].tensor()));
}

TEST_CASE("fuse_qdq: a residual block in integers throughout") {
  const Extents x{1, 8, 10, 10};
  Net shape;
  const auto build = [&] {
    Net n;
    const ValueId a = n.input("x", x, 0.05f, 0);
    op::Conv conv;
    conv.pads = {1, 1, 1, 1};
    const ValueId y = n.restore(
        n.quantize(node(n.g, op::Relu{}, {node(n.g, conv, {a, n.weights({8, 8, 3, 3}, 0, 3, 5)})}), 0.04f, 0),
        0.04f, 0);
    const ValueId z =
        n.restore(n.quantize(node(n.g, conv, {y, n.weights({8, 8, 3, 3}, 0, 4, 5)}), 0.05f, 128), 0.05f, 128);
    n.g.add_output("y", n.quantize(node(n.g, op::Relu{}, {node(n.g, op::Add{}, {z, a})}), 0.06f, 0));
    return std::move(n.g);
  };
  // One step of an inner result is worth up to 3 of the last.
  check(build, {{"x", shape.feed(x, 1)}}, 3, 4);
}

TEST_CASE("channels_last: bytes stay so between convolutions") {
  const Extents x{2, 3, 27, 30};
  for (const bool is_signed : {false, true}) {
    CAPTURE(is_signed);
    Net shape{.is_signed = is_signed};
    const auto build = [&] {
      Net n{.is_signed = is_signed};
      const auto conv = [&](ValueId in, Extents w, int64_t stride, float scale, int z, bool relu,
                            int64_t group = 1) {
        op::Conv c;
        c.group = group;
        const int64_t pad = w[2] / 2;
        c.strides = {stride, stride}, c.pads = {pad, pad, pad, pad};
        ValueId y = node(n.g, c, {in, n.weights(w, 0, static_cast<int>(w[0]), 5)});
        if (relu) y = node(n.g, op::Relu{}, {y});
        return n.restore(n.quantize(y, scale, z), scale, z);
      };
      const auto add = [&](ValueId a, ValueId b) {
        return n.restore(n.quantize(node(n.g, op::Relu{}, {node(n.g, op::Add{}, {a, b})}), 0.06f, 0), 0.06f,
                         0);
      };
      ValueId y = conv(n.input("x", x, 0.05f, 100), {32, 3, 7, 7}, 2, 0.04f, 0, true);
      y = n.restore(
          n.quantize(
              node(n.g, op::MaxPool{.kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}, .strides = {2, 2}}, {y}),
              0.04f, 0),
          0.04f, 0);
      const ValueId shortcut = conv(y, {64, 32, 1, 1}, 1, 0.05f, 128, false);
      ValueId z = conv(y, {16, 32, 1, 1}, 1, 0.03f, 0, true);
      z = conv(z, {16, 16, 3, 3}, 1, 0.03f, 0, true);
      y = add(conv(z, {64, 16, 1, 1}, 1, 0.05f, 128, false), shortcut);
      const ValueId inner = conv(y, {64, 64, 3, 3}, 1, 0.05f, 120, false);
      y = add(y, inner);  // neither is free to take the sum
      y = add(conv(inner, {64, 64, 1, 1}, 1, 0.05f, 120, false), y);
      y = n.restore(n.quantize(node(n.g, op::Sigmoid{}, {y}), 1.0f / 256, 0), 1.0f / 256, 0);
      y = n.restore(n.quantize(node(n.g, op::Concat{1}, {y, y}), 1.0f / 256, 0), 1.0f / 256, 0);
      y = conv(y, {128, 1, 5, 5}, 1, 0.05f, 128, false, 128);
      const auto mul = [&](ValueId a, ValueId b) {
        return n.restore(n.quantize(node(n.g, op::Mul{}, {a, b}), 0.03f, 128), 0.03f, 128);
      };
      ValueId gate = n.restore(n.quantize(node(n.g, op::GlobalAveragePool{}, {y}), 0.02f, 128), 0.02f, 128);
      gate = node(n.g, op::Sigmoid{}, {conv(gate, {128, 128, 1, 1}, 1, 0.05f, 128, false)});
      y = mul(n.restore(n.quantize(gate, 1.0f / 256, 0), 1.0f / 256, 0), y);
      y = mul(y, conv(y, {128, 128, 1, 1}, 1, 0.05f, 128, false));
      y = conv(y, {32, 128, 3, 3}, 2, 0.05f, 128, false);
      n.g.add_output("plain", n.quantize(y, 0.05f, 100));
      n.g.add_output("mean", n.quantize(node(n.g, op::GlobalAveragePool{}, {y}), 0.01f, 100));
      return std::move(n.g);
    };
    const Session planar(build(), {.passes = std::vector{fuse_qdq}}),
        last(build(), {.passes = std::vector{fuse_qdq, channels_last, test::infos_are_true}});
    const Feeds feeds{{"x", shape.feed(x, 1)}};
    Outputs expected = planar.run(feeds), got = last.run(feeds);
    for (std::size_t k = 0; k < 2; ++k) {
      const AnyTensor &a = expected[k].tensor(), &b = got[k].tensor();
      REQUIRE(a.dtype() == b.dtype());
      REQUIRE(a.extents() == b.extents());
      int64_t wrong = 0, changes = 0;
      for (int64_t i = 0; i < a.size(); ++i)
        wrong += number(a, i) != number(b, i), changes += number(a, i) != number(a, 0);
      CHECK(wrong == 0);
      CHECK(changes > 0);
    }
    int moves = 0, sums = 0;
    for (const Graph::Node& n : last.program().nodes())
      moves += n.op.as<MoveChannels>() != nullptr, sums += n.op.as<QuantizedAdd>() != nullptr;
    // The last result has a reader in its own form and one that is an output; and a mean is moved for the
    // gate.
    CHECK(moves == (kernels::fast_conv_last() ? 2 : 0));
    CHECK(sums == (kernels::fast_conv_last() ? 1 : 3));
  }
}

TEST_CASE("fuse_qdq: nodes that stay, and the reasons") {
  const auto reports = [](const std::function<Graph()>& build, std::size_t nodes) {
    const Session s(build(), {.passes = std::vector{fuse_qdq, test::infos_are_true}, .explain = true});
    CHECK(s.program().nodes().size() == nodes);
    std::string all;
    for (const PassReport& r : s.reports()) all += (r.applied ? "+" : "-") + r.text + ";";
    return all;
  };
  // The restored weights are a constant again after the pass.
  CHECK(reports(
            [] {
              Net n;
              n.g.add_output("y", node(n.g, op::Conv{},
                                       {n.input("x", {1, 4, 5, 5}, 1, 0), n.weights({3, 4, 3, 3}, 0, 1)}));
              return std::move(n.g);
            },
            2) == "-the result is not quantised to 8 bits;");
  CHECK(reports(
            [] {
              Net n;
              const ValueId x = n.g.add_input("x", DType::float32, Dims{1, 4, 5, 5});
              n.g.add_output("y",
                             n.quantize(node(n.g, op::Conv{}, {x, n.weights({3, 4, 3, 3}, 0, 1)}), 1, 0));
              return std::move(n.g);
            },
            2) == "-X is not of 8 bits with one scale;");
  CHECK(reports(
            [] {
              Net n;
              const ValueId x = n.input("x", {4, 5}, 1, 0);
              n.g.add_output("y", n.quantize(node(n.g, op::Add{}, {x, n.input("z", {5}, 1, 0)}), 1, 0));
              return std::move(n.g);
            },
            4) == "-the operands' extents differ, or are not known;");
  CHECK(reports(
            [] {
              Net n;
              const ValueId x = n.input("x", {1, 1, 4, 5}, 1, 0);
              n.g.add_output("y", n.quantize(node(n.g, op::MaxPool{.kernel_shape = {2, 2}}, {x}), 2, 0));
              return std::move(n.g);
            },
            3) == "-the scale before it is not the one after it;");
  CHECK(reports(
            [] {
              Net n;
              const ValueId x = n.input("x", {1, 70000}, 1, 0);
              n.g.add_output("y", node(n.g, op::MatMul{}, {x, n.weights({70000, 1}, 1, 1)}));
              return std::move(n.g);
            },
            2) == "-sums may leave the reach of 32 bits;");
}

}  // namespace
}  // namespace tenon::passes
