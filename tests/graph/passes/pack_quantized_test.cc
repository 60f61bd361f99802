#include "tenon/graph/passes/pack_quantized.hpp"

#include "tenon/op/tensor/cast.hpp"
#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

template <class T>
AnyTensor numbers(const Extents& extents, int seed) {
  Tensor<T> t{extents};
  const AnyTensor f = floats<float>(extents, seed);
  for (int64_t k = 0; k < t.size(); ++k)
    t[k] = static_cast<T>(static_cast<int>(f.view().as<float>()[k] * 127) + (std::is_signed_v<T> ? 0 : 128));
  return t;
}
template <class T>
ValueId constant(Graph& g, std::initializer_list<T> values, bool scalar = false) {
  return g.add_constant({},
                        Tensor<T>(scalar ? Extents{} : Extents{static_cast<int64_t>(values.size())}, values));
}
template <class T>
ValueId one(Graph& g, T x) {
  return constant<T>(g, {x}, true);
}
ValueId as_floats(Graph& g, ValueId v) { return node(g, op::Cast{.to = dtype<float>}, {v}); }

TEST_CASE("pack_quantized: MatMulInteger") {
  for (const Extents& a : {Extents{5, 12}, Extents{2, 3, 12}})
    for (const int zeros : {0, 1, 2}) {  // none, one, one for each row of a matrix
      CAPTURE(a);
      CAPTURE(zeros);
      const int64_t rows = a[a.size() - 2];
      const auto build = [&] {
        Graph g;
        std::vector<ValueId> in{g.add_input("a", DType::uint8, Dims(a)),
                                g.add_constant({}, numbers<int8_t>({12, 7}, 1))};
        const ValueId zero = g.add_input("zero", DType::uint8, zeros == 2 ? Dims{rows} : Dims{});
        if (zeros != 0) in.push_back(zero);
        g.add_output("y", as_floats(g, node(g, op::MatMulInteger{}, in)));
        return g;
      };
      test::check_pass(pack_quantized, build,
                       {{"a", numbers<uint8_t>(a, 2)},
                        {"zero", numbers<uint8_t>(zeros == 2 ? Extents{rows} : Extents{}, 3)}},
                       2, 0);
    }
}

TEST_CASE("pack_quantized: QLinearMatMul and QLinearConv") {
  const auto product = [] {
    Graph g;
    const ValueId a = g.add_input("x", DType::int8, Dims{2, 5, 12}),
                  b = g.add_constant({}, numbers<int8_t>({12, 3}, 1));
    g.add_output("y",
                 as_floats(g, node(g, op::QLinearMatMul{},
                                   {a, one(g, 0.5f), one<int8_t>(g, 3), b, constant(g, {0.1f, 0.2f, 0.3f}),
                                    constant<int8_t>(g, {0, 5, -7}), one(g, 30.0f), one<uint8_t>(g, 99)})));
    return g;
  };
  test::check_pass(pack_quantized, product, {{"x", numbers<int8_t>({2, 5, 12}, 2)}}, 2, 0);
  const auto convolution = [] {
    Graph g;
    op::QLinearConv conv;
    conv.pads = {1, 1, 1, 1};
    const ValueId x = g.add_input("x", DType::uint8, Dims{2, 4, 6, 9}),
                  w = g.add_constant({}, numbers<uint8_t>({3, 4, 3, 3}, 1));
    g.add_output("y",
                 as_floats(g, node(g, conv,
                                   {x, one(g, 0.5f), one<uint8_t>(g, 130), w, constant(g, {0.1f, 0.2f, 0.3f}),
                                    constant<uint8_t>(g, {128, 120, 140}), one(g, 60.0f), one<int8_t>(g, 9),
                                    constant<int32_t>(g, {100, -2000, 30000})})));
    return g;
  };
  test::check_pass(pack_quantized, convolution, {{"x", numbers<uint8_t>({2, 4, 6, 9}, 2)}}, 2, 0);
}

TEST_CASE("pack_quantized: what varies is left alone") {
  Graph g;
  const ValueId a = g.add_input("a", DType::uint8, Dims{5, 12}),
                b = g.add_input("b", DType::uint8, Dims{12, 4});
  g.add_output("y", node(g, op::MatMulInteger{}, {a, b}));
  const Session s(std::move(g),
                  {.passes = std::vector{pack_quantized, test::infos_are_true}, .explain = true});
  REQUIRE(s.reports().size() == 1);
  CHECK_FALSE(s.reports()[0].applied);
}

}  // namespace
}  // namespace tenon::passes
