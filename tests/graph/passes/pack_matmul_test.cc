#include "tenon/graph/passes/pack_matmul.hpp"

#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/slice.hpp"
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
  bool packed = true, packed_if_wide = true;
};

const Case cases[] = {
    {.name = "matrices", .a = {7, 5}, .b = {5, 9}},
    {.name = "a batch", .a = {2, 3, 5}, .b = {5, 9}},
    {.name = "with relu", .a = {2, 3, 5}, .b = {5, 33}, .relu = true},
    {.name = "one column", .a = {7, 5}, .b = {5, 1}},
    {.name = "few rows", .a = {2, 2, 5}, .b = {5, 9}, .packed_if_wide = false},
    {.name = "few rows, relu", .a = {2, 2, 5}, .b = {5, 9}, .relu = true},
    {.name = "gemm of one row, C a row, relu",
     .a = {1, 5},
     .b = {9, 5},
     .gemm = true,
     .alpha = 2,
     .trans_b = true,
     .c_rank = 1,
     .relu = true},
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
    CHECK((s.program().nodes()[0].op.template as<PackedMatMul>() != nullptr) ==
          (c.packed && (c.packed_if_wide || !std::is_same_v<T, compute_t<T>>)));
    test::check_pass(pack_matmul, build, {{"a", a}, {"c", addend}}, 1, tolerance);
  }
}

TEST_CASE("products with packed matrices give the results of the nodes that they replace") {
  check_all<float>(1e-6);
  check_all<double>(1e-14);
  check_all<float16>(2e-3);
  check_all<bfloat16>(2e-2);
}

/// A (2, 3, 5) by a constant (5, 9), and the following nodes.
struct Epilogue {
  const char* name;
  Opt<Extents> bias{}, residual{};
  bool bias_first = true, bias_is_constant = true, relu = false, product_is_output = false;
  bool residual_is_product = false;
  std::size_t left = 1;
};

const Epilogue epilogues[] = {
    {.name = "a bias", .bias = Extents{9}},
    {.name = "a bias of rank 3, relu", .bias = Extents{1, 1, 9}, .relu = true},
    {.name = "a residual", .residual = Extents{2, 3, 9}},
    {.name = "a bias, a residual, relu", .bias = Extents{9}, .residual = Extents{2, 3, 9}, .relu = true},
    {.name = "a residual, a bias, relu",
     .bias = Extents{9},
     .residual = Extents{2, 3, 9},
     .bias_first = false,
     .relu = true},
    {.name = "a residual of fewer rows",
     .bias = Extents{9},
     .residual = Extents{3, 9},
     .relu = true,
     .left = 3},
    {.name = "a bias of rows", .bias = Extents{3, 1}, .left = 2},
    {.name = "a bias that widens", .bias = Extents{2, 1, 1, 9}, .left = 2},
    {.name = "a bias that is no constant", .bias = Extents{9}, .bias_is_constant = false, .left = 2},
    {.name = "a product that is an output", .bias = Extents{9}, .product_is_output = true, .left = 2},
    {.name = "the product itself", .residual_is_product = true, .left = 2},
};

template <class T>
void check_epilogues(double tolerance) {
  for (const Epilogue& c : epilogues) {
    CAPTURE(c.name);
    const Value a = floats<T>({2, 3, 5}, 2), bias = floats<T>(c.bias.value_or(Extents{}), 3),
                residual = floats<T>(c.residual.value_or(Extents{}), 4);
    const auto build = [&] {
      Graph g;
      const ValueId in = g.add_input("a", dtype_of<T>, Dims{g.symbol("N"), 3, 5});
      const ValueId bias_in = g.add_input("bias", dtype_of<T>, Dims(bias.tensor().extents()));
      Dims z(residual.tensor().extents());
      if (z.rank() == 3) z[0] = g.symbol("N");
      const ValueId residual_in = g.add_input("residual", dtype_of<T>, z);
      ValueId y = node(g, op::MatMul{}, {in, g.add_constant({}, floats<T>({5, 9}, 1))});
      const ValueId product = y;
      for (const bool turn : {true, false}) {
        if (c.bias && c.bias_first == turn)
          y = node(g, op::Add{}, {y, c.bias_is_constant ? g.add_constant({}, bias) : bias_in});
        if (c.residual && c.bias_first != turn) y = node(g, op::Add{}, {residual_in, y});
      }
      if (c.residual_is_product) y = node(g, op::Add{}, {y, y});
      if (c.relu) y = node(g, op::Relu{}, {y});
      g.add_output("y", y);
      if (c.product_is_output) g.add_output("product", product);
      return g;
    };
    test::check_pass(pack_matmul, build, {{"a", a}, {"bias", bias}, {"residual", residual}}, c.left,
                     tolerance);
  }
}

TEST_CASE("sums after a product") {
  check_epilogues<float>(1e-6);
  check_epilogues<double>(1e-14);
  check_epilogues<float16>(2e-3);
  check_epilogues<bfloat16>(2e-2);
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

TEST_CASE("a residual that has the rows of A, whatever their number") {
  const auto build = [] {
    Graph g;
    const ValueId in = g.add_input("a", DType::float32, Dims{g.symbol("N"), 5});
    const auto list = [&](int64_t n) { return g.add_constant({}, AnyTensor(Tensor<int64_t>({1}, {n}))); };
    const ValueId end = g.add_input("end", DType::int64, Dims{1});
    const ValueId some = node(g, op::Slice{}, {in, list(0), end});
    const ValueId b = g.add_constant({}, floats<float>({5, 5}, 1));
    g.add_output("y", node(g, op::Add{}, {node(g, op::MatMul{}, {some, b}), some}));
    return g;
  };
  for (int64_t rows : {0, 1, 6})
    test::check_pass(pack_matmul, build,
                     {{"a", floats<float>({9, 5}, 2)}, {"end", Tensor<int64_t>({1}, {rows})}}, 2, 1e-6);
}

TEST_CASE("pack_matmul: a large matrix that products read transposed stays as it is") {
  const AnyTensor w = floats<float>({280, 300}, 1);
  const auto bytes = static_cast<std::size_t>(w.bytes());
  struct Case {
    const char* name;
    decltype(op::Transpose::perm) perm;
    bool in_file = false, gemm = false, other_reader = false;
  };
  for (const Case& c : {Case{"a product", {1, 0}}, Case{"a Gemm", {}, false, true},
                        Case{"in a file", {1, 0}, true}, Case{"a Gemm, in a file", {1, 0}, true, true},
                        Case{"another reader", {1, 0}, true, false, true}, Case{"as it is", {0, 1}, true}}) {
    CAPTURE(c.name);
    const bool turned = c.perm.empty() || c.perm[0] == 1;
    const auto build = [&] {
      Graph g;
      const ValueId x = g.add_input("x", DType::float32, Dims{g.symbol("N"), turned ? 300 : 280});
      const AnyTensor b(
          DType::float32, w.extents(),
          c.in_file ? Storage::keep(w.data(), bytes, FilePart(nullptr, w.data(), bytes)) : w.storage());
      const ValueId t = node(g, op::Transpose{.perm = c.perm}, {g.add_constant({}, b)});
      g.add_output("y", c.gemm ? node(g, op::Gemm{}, {x, t}) : node(g, op::MatMul{}, {x, t}));
      if (c.other_reader) g.add_output("z", node(g, op::Relu{}, {t}));
      return g;
    };
    for (const int64_t rows : {1, 7})
      test::check_pass(pack_matmul, build, {{"x", floats<float>({rows, turned ? 300 : 280}, 2)}}, 1, 1e-4);
    const Session s(build(), {.passes = std::vector<Pass>{pack_matmul}});
    const auto* file = s.program().nodes()[0].op.as<FileMatMul>();
    CHECK((file != nullptr) == (c.in_file && turned));
    if (file == nullptr) continue;
    CHECK(file->product.b.data() == w.data());
    CHECK((file->product.b_row == 1 && file->product.b_col == 300));
  }
}

TEST_CASE("pack_matmul: a matrix is packed part by part as it is as a whole") {
  kernels::GemmArgs<float> args;
  args.k = 900, args.n = 1000;
  const AnyTensor b = floats<float>({args.k, args.n}, 1);
  args.b = static_cast<const float*>(b.data());
  for (const bool transposed : {false, true}) {
    CAPTURE(transposed);
    args.b_row = transposed ? 1 : args.n, args.b_col = transposed ? args.k : 1;
    const int64_t size = kernels::packed_b_size<float>(args.k, args.n);
    std::vector<float> want(static_cast<std::size_t>(size));
    kernels::pack_b(args, want.data());
    const Storage packed = detail::packed_b(args, b.storage());
    CHECK(std::equal(want.begin(), want.end(), packed.as<const float>()));
  }
}

}  // namespace
}  // namespace tenon::passes
