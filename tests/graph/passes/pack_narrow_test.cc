#include "tenon/graph/passes/pack_narrow.hpp"

#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

template <class T>
AnyTensor integers(const Extents& extents, int seed) {
  Tensor<T> t{extents};
  const AnyTensor f = floats<float>(extents, seed);
  for (int64_t k = 0; k < t.size(); ++k) t[k] = T(static_cast<int>(f.view().as<float>()[k] * 100));
  return t;
}

struct Case {
  const char* name;
  Extents scale;  // of a B (32, 9), or with `turned` of (9, 32)
  int64_t axis = 0, block = 0;
  bool turned = false, gemm = false, zeros = true, relu = false, packed = true;
  int64_t rows = 2;
};

const Case cases[] = {
    {.name = "one scale", .scale = {}},
    {.name = "one scale, many rows", .scale = {}, .rows = 20},
    {.name = "scales of columns", .scale = {9}, .axis = 1, .relu = true},
    {.name = "scales of columns, no zero points", .scale = {9}, .axis = -1, .zeros = false},
    {.name = "blocks", .scale = {2, 9}, .block = 16},
    {.name = "ragged blocks, many rows", .scale = {1, 9}, .block = 40, .rows = 20},
    {.name = "Transpose", .scale = {9, 2}, .axis = 1, .block = 16, .turned = true},
    {.name = "Gemm", .scale = {9, 2}, .axis = -1, .block = 16, .turned = true, .gemm = true, .relu = true},
    {.name = "Gemm, scales of columns", .scale = {9}, .axis = 0, .turned = true, .gemm = true, .rows = 20},
    {.name = "scales of rows", .scale = {32}, .axis = 0, .packed = false},
    {.name = "small blocks", .scale = {16, 9}, .block = 2, .packed = false},
    {.name = "blocks of columns", .scale = {32, 3}, .axis = 1, .block = 3, .packed = false},
};

template <class T, class W>
void check_all(double tolerance) {
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const auto build = [&] {
      Graph g;
      const ValueId a = g.add_input("a", dtype_of<T>, Dims{c.rows, 32}),
                    bias = g.add_constant({}, floats<T>({9}, 4));
      std::vector<ValueId> in{g.add_constant({}, integers<W>(c.turned ? Extents{9, 32} : Extents{32, 9}, 1)),
                              g.add_constant({}, floats<T>(c.scale, 2))};
      if (c.zeros) in.push_back(g.add_constant({}, integers<W>(c.scale, 3)));
      ValueId b = node(g, op::DequantizeLinear{.axis = c.axis, .block_size = c.block}, in);
      if (c.turned && !c.gemm) b = node(g, op::Transpose{}, {b});
      ValueId y = c.gemm ? node(g, op::Gemm{.alpha = 0.5f, .transB = c.turned}, {a, b, bias})
                         : node(g, op::Add{}, {node(g, op::MatMul{}, {a, b}), bias});
      if (c.relu) y = node(g, op::Relu{}, {y});
      g.add_output("y", y);
      return g;
    };
    const Session s(build(), {.passes = std::vector{pack_narrow}});
    CHECK((s.program().nodes()[0].op.template as<PackedMatMul>() != nullptr) == c.packed);
    const std::size_t left = c.packed || c.gemm ? 1 : 2;
    test::check_pass(pack_narrow, build, {{"a", floats<T>({c.rows, 32}, 5)}}, left, tolerance);
  }
}

TEST_CASE("products of restored integers give the results of the nodes that they replace") {
  check_all<float, int4>(1e-6);
  check_all<float, uint4>(1e-6);
  check_all<float, uint2>(1e-6);
  check_all<float, int8_t>(1e-6);
  check_all<float, uint8_t>(1e-6);
  check_all<float16, int4>(3e-3);
  check_all<bfloat16, uint8_t>(3e-2);
}

TEST_CASE("products of widened 16-bit floats keep these") {
  for (const bool gemm : {false, true})
    for (const bool turned : {false, true})
      for (const int64_t rows : {2, 20}) {
        CAPTURE(gemm);
        CAPTURE(turned);
        CAPTURE(rows);
        const auto build = [&] {
          Graph g;
          const ValueId a = g.add_input("a", DType::float32, Dims{rows, 32}),
                        stored =
                            g.add_constant({}, floats<float16>(turned ? Extents{9, 32} : Extents{32, 9}, 1)),
                        bias = g.add_constant({}, floats<float>({9}, 2));
          ValueId b = node(g, op::Cast{.to = dtype<float>}, {stored});
          if (turned && !gemm) b = node(g, op::Transpose{}, {b});
          g.add_output("y", gemm ? node(g, op::Gemm{.alpha = 0.5f, .transB = turned}, {a, b, bias})
                                 : node(g, op::Add{}, {node(g, op::MatMul{}, {a, b}), bias}));
          return g;
        };
        const Session s(build(), {.passes = std::vector{pack_narrow}});
        const auto* packed = s.program().nodes()[0].op.as<PackedMatMul>();
        REQUIRE(packed != nullptr);
        CHECK(packed->narrow.type == DType::float16);
        test::check_pass(pack_narrow, build, {{"a", floats<float>({rows, 32}, 3)}}, 1, 1e-6);
      }
}

TEST_CASE("a large matrix that is turned before it is widened keeps its 16-bit floats") {
  const auto build = [] {
    Graph g;
    const ValueId a = g.add_input("a", DType::float32, Dims{2, 410}),
                  stored = g.add_constant({}, floats<float16>({320, 410}, 1));
    const ValueId b = node(g, op::Cast{.to = dtype<float>}, {node(g, op::Transpose{}, {stored})});
    g.add_output("y", node(g, op::MatMul{}, {a, b}));
    return g;
  };
  const Session plain(build()), passed(build(), {.passes = std::vector{pack_narrow, pack_matmul}});
  REQUIRE(passed.program().nodes().size() == 1);
  CHECK(passed.program().nodes()[0].op.as<PackedMatMul>()->narrow.type == DType::float16);
  const Value a = floats<float>({2, 410}, 2);
  CHECK(test::difference(plain.run({{"a", a}})[0].tensor(), passed.run({{"a", a}})[0].tensor()) <= 1e-5);
}

TEST_CASE("widened floats of a stack of matrices, and of a vector's product, are folded") {
  Graph g;
  const ValueId a = g.add_input("a", DType::float32, Dims{16}),
                m = g.add_input("m", DType::float32, Dims{2, 16});
  const auto widened = [&](const Extents& extents) {
    return node(g, op::Cast{.to = dtype<float>}, {g.add_constant({}, floats<float16>(extents, 1))});
  };
  g.add_output("y", node(g, op::MatMul{}, {a, widened({16, 9})}));
  g.add_output("z", node(g, op::MatMul{}, {m, widened({2, 16, 9})}));
  const Session s(std::move(g), {.passes = std::vector{pack_narrow, test::infos_are_true}});
  CHECK(s.program().nodes().size() == 2);
}

TEST_CASE("restored integers that somebody else reads stay") {
  const auto build = [] {
    Graph g;
    const ValueId a = g.add_input("a", DType::float32, Dims{2, 16});
    const ValueId b =
        node(g, op::DequantizeLinear{},
             {g.add_constant({}, integers<int4>({16, 9}, 1)), g.add_constant({}, floats<float>({}, 2))});
    g.add_output("y", node(g, op::MatMul{}, {a, b}));
    g.add_output("b", b);
    return g;
  };
  const Value a = floats<float>({2, 16}, 3);
  test::check_pass(pack_narrow, build, {{"a", a}}, 1, 1e-6);
  const Session plain(build()), passed(build(), {.passes = std::vector{pack_narrow}});
  CHECK(test::difference(plain.run({{"a", a}})[1].tensor(), passed.run({{"a", a}})[1].tensor()) == 0);
}

TEST_CASE("a restored bias is taken in; infinities do not meet zero points") {
  const auto build = [] {
    Graph g;
    const ValueId a = g.add_input("a", DType::float32, Dims{2, 16}),
                  scale = g.add_constant({}, Tensor<float>(Extents{}, {0.5f}));
    const ValueId b =
        node(g, op::DequantizeLinear{}, {g.add_constant({}, integers<uint8_t>({16, 9}, 1)), scale});
    const ValueId bias =
        node(g, op::DequantizeLinear{}, {g.add_constant({}, integers<int32_t>({9}, 2)), scale});
    g.add_output("y", node(g, op::Add{}, {node(g, op::MatMul{}, {a, b}), bias}));
    return g;
  };
  Tensor<float> a(Extents{2, 16});
  std::fill_n(a.data(), a.size(), 0.25f);
  test::check_pass(pack_narrow, build, {{"a", a}}, 1, 1e-6);
  a[3] = std::numeric_limits<float>::infinity();
  const Session plain(build()), passed(build(), {.passes = std::vector{pack_narrow}});
  Outputs want = plain.run({{"a", a}}), got = passed.run({{"a", a}});
  for (int64_t k = 0; k < 18; ++k) {
    const float x = got[0].view<float>()[k], y = want[0].view<float>()[k];
    CHECK((std::isfinite(y) ? std::isfinite(x) : x == y || (std::isnan(x) && std::isnan(y))));
  }
}

TEST_CASE("what varies, and scales that are not finite, are left alone") {
  Graph g;
  const ValueId a = g.add_input("a", DType::float32, Dims{2, 16}),
                scale = g.add_input("scale", DType::float32, Dims{});
  const ValueId codes = g.add_constant({}, integers<int8_t>({16, 9}, 1));
  const ValueId endless =
      g.add_constant({}, Tensor<float>(Extents{}, {std::numeric_limits<float>::infinity()}));
  for (const ValueId s : {scale, endless})
    g.add_output(s == scale ? "y" : "z",
                 node(g, op::MatMul{}, {a, node(g, op::DequantizeLinear{}, {codes, s})}));
  const Session s(std::move(g), {.passes = std::vector{pack_narrow, test::infos_are_true}, .explain = true});
  REQUIRE(s.reports().size() == 2);
  for (const PassReport& r : s.reports()) CHECK_FALSE(r.applied);
}

}  // namespace
}  // namespace tenon::passes
