#include "tenon/graph/passes/pack_matmul.hpp"

#include "tenon/op/tensor/reshape.hpp"
#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

struct Case {
  const char* name;
  Extents a;  // of A
  Extents b;  // of B
  bool gemm = false;
  float alpha = 1, beta = 1;
  bool trans_a = false, trans_b = false;
  Opt<int64_t> c_rank{};
  bool relu = false;
  bool packed = true;
};

const Case cases[] = {
    {.name = "matrices", .a = {7, 5}, .b = {5, 9}},
    {.name = "a batch", .a = {2, 3, 5}, .b = {5, 9}},
    {.name = "with relu", .a = {2, 3, 5}, .b = {5, 33}, .relu = true},
    {.name = "one column", .a = {7, 5}, .b = {5, 1}},
    {.name = "few rows", .a = {2, 2, 5}, .b = {5, 9}, .packed = false},
    {.name = "a batch of B", .a = {2, 7, 5}, .b = {2, 5, 9}, .packed = false},
    {.name = "a vector B", .a = {7, 5}, .b = {5}, .packed = false},
    {.name = "a vector A", .a = {5}, .b = {5, 9}, .packed = false},
    {.name = "gemm", .a = {7, 5}, .b = {5, 9}, .gemm = true},
    {.name = "gemm of transposes",
     .a = {5, 7},
     .b = {9, 5},
     .gemm = true,
     .alpha = 0.5f,
     .trans_a = true,
     .trans_b = true},
    {.name = "gemm, C a scalar",
     .a = {7, 5},
     .b = {9, 5},
     .gemm = true,
     .beta = 2,
     .trans_b = true,
     .c_rank = 0},
    {.name = "gemm, C a row, relu", .a = {7, 5}, .b = {5, 9}, .gemm = true, .c_rank = 1, .relu = true},
    {.name = "gemm, C a matrix",
     .a = {7, 5},
     .b = {5, 9},
     .gemm = true,
     .alpha = 2,
     .beta = -1,
     .c_rank = 2,
     .relu = true},
    {.name = "gemm, C without weight", .a = {7, 5}, .b = {5, 9}, .gemm = true, .beta = 0, .c_rank = 2},
};

template <class T>
void check_all(double tolerance) {
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const Value a = floats<T>(c.a, 2), addend = floats<T>(c.c_rank.value_or(0) == 2   ? Extents{7, 9}
                                                          : c.c_rank.value_or(0) == 1 ? Extents{9}
                                                                                      : Extents{},
                                                          3);
    const auto build = [&] {
      Graph g;
      std::vector<ValueId> in{g.add_input("a", dtype_of<T>, Dims(c.a)),
                              g.add_constant({}, floats<T>(c.b, 1))};
      const ValueId addend_id = g.add_input("c", dtype_of<T>, Dims(addend.tensor().extents()));
      if (c.c_rank) in.push_back(addend_id);
      ValueId y =
          c.gemm ? node(g, op::Gemm{c.alpha, c.beta, c.trans_a, c.trans_b}, in) : node(g, op::MatMul{}, in);
      if (c.relu) y = node(g, op::Relu{}, {y});
      g.add_output("y", y);
      return g;
    };
    const Session s(build(), {.passes = std::vector{pack_matmul}});
    CHECK((s.program().nodes()[0].op.template as<PackedMatMul>() != nullptr) == c.packed);
    test::check_pass(pack_matmul, build, {{"a", a}, {"c", addend}}, 1, tolerance);
  }
}

TEST_CASE("products with packed matrices give the results of the nodes that they replace") {
  check_all<float>(1e-6);
  check_all<double>(1e-14);
  check_all<float16>(2e-3);
  check_all<bfloat16>(2e-2);
}

TEST_CASE("rows that only a run knows") {
  for (int64_t n : {1, 2, 40}) {
    const Value a = floats<float>({n, 5}, 2);
    test::check_pass(
        pack_matmul,
        [] {
          Graph g;
          const ValueId in = g.add_input("a", DType::float32, Dims{g.symbol("N"), 5});
          g.add_output("y", node(g, op::MatMul{}, {in, g.add_constant({}, floats<float>({5, 70}, 1))}));
          return g;
        },
        {{"a", a}}, 1, 1e-6);
  }
}

TEST_CASE("rows that follow from an input's value of its own") {
  for (int64_t rows : {1, 6}) {
    Tensor<int64_t> extents({2}, {rows, -1});
    const auto build = [&] {
      Graph g;
      const ValueId in = g.add_input("a", DType::float32, Dims{30});
      const ValueId shape = g.add_input("shape", DType::int64, Dims{2}, extents);
      const ValueId a = node(g, op::Reshape{}, {in, shape});
      g.add_output("y", node(g, op::MatMul{}, {a, g.add_constant({}, floats<float>({30 / rows, 7}, 1))}));
      return g;
    };
    const Session s(build(), {.passes = std::vector{pack_matmul}});
    CHECK((s.program().nodes()[1].op.as<PackedMatMul>() != nullptr) == (rows > 4));
    test::check_pass(pack_matmul, build, {{"a", floats<float>({30}, 2)}}, 2, 1e-6);
  }
}

}  // namespace
}  // namespace tenon::passes
