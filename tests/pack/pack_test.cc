// The library's functions on models of a pack's operators: one that has `compute`, one that `lower` defines.
#include <doctest/doctest.h>

#include "loader/compile/compile.hpp"
#include "loader/message.hpp"
#include "loader/onnx.pb.h"
#include "tenon/graph/program.hpp"
#include "tenon/loader.hpp"
#include "tenon/op/example.pack.hpp"
#include "tenon/op/families/movement.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/sub.hpp"
#include "tests/loader/folder.hpp"
#include "tests/loader/refusal.hpp"

namespace tenon::TENON_ABI {
namespace op::example_pack {

/// S = A + B, and on request D = A - B: two results, of nodes of their own.
struct SumAndDifference {
  static constexpr Spec spec{.name = "SumAndDifference",
                             .domain = "example.pack",
                             .since = {1},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"S", "T"}, {"D", "T", optional}},
                             .types = {{"T", types::floats}}};
  constexpr void infer(Infer& i) const {
    i.out(0, i.broadcast(i.dims(0), i.dims(1)));
    i.out(1, i.broadcast(i.dims(0), i.dims(1)));
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    return {to.add(Add{}, {to.input(0), to.input(1)}), to.add(Sub{}, {to.input(0), to.input(1)})};
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// Y = X^3, for an opset of ai.onnx that had no such operator before.
struct Cube {
  static constexpr Spec spec{.name = "Cube",
                             .since = {20},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats}}};
  constexpr void infer(Infer& i) const { i.out(0, i.dims(0)); }
  template <class L>
  int32_t lower(L& to) const {
    // Where the rank is not known, neither are the nodes: the run finds them.
    if (!to.dims(0).ranked()) return -1;
    return to.add(Mul{}, {to.input(0), to.add(Mul{}, {to.input(0), to.input(0)})});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// Y = Gate(Gate(X)): a function of functions.
struct GateTwice {
  static constexpr Spec spec{.name = "GateTwice",
                             .domain = "example.pack",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats}}};
  constexpr void infer(Infer& i) const { i.out(0, i.dims(0)); }
  template <class L>
  int32_t lower(L& to) const {
    return to.add(Gate{}, {to.add(Gate{}, {to.input(0)})});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// Y = X, as if a library said so that programs link.
struct Foreign {
  static constexpr Spec spec{.name = "Foreign",
                             .domain = "example.pack",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats}},
                             .linked = true};
  constexpr void infer(Infer& i) const { i.out(0, i.dims(0)); }
  void compute(AnyView x, AnyOut y) const { copy_elements(x, y); }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace op::example_pack

namespace {

using namespace op::example_pack;

const Registry& pack() {
  static const Registry registry = [] {
    Registry r = standard_registry();
    register_example_pack(r);
    register_operator<SumAndDifference>(r);
    register_operator<Cube>(r);
    register_operator<GateTwice>(r);
    register_operator<Foreign>(r, {"tenon::op::example_pack::Foreign", "tenon/op/example.pack/foreign.hpp"});
    return r;
  }();
  return registry;
}

constexpr std::string_view header = "<ir_version: 9, opset_import: [\"\" : 20, \"example.pack\" : 2]>\n";
constexpr std::string_view text =
    R"(main (float[2,N] x, float[N] g) => (float[2,N] y, float[2] z) <float[2] c = {1, -3}> {
  a = example.pack.Saturate <bias = 2.0> (x)
  y = example.pack.Gate <factor = 2.0> (a, g)
  s = example.pack.Saturate <scale = 8.0> (c)
  z = example.pack.Gate (s)
})";

Model model(std::string_view graph = text) { return parse_text(str_cat(header, graph)); }

Session session(const Model& m, const Registry* registry = &pack()) {
  return Session(m.graph({.registry = registry}));
}

Feeds feeds() {
  return {{"x", Tensor<float>({2, 3}, {0, 1, -2, 4, -6, 2})}, {"g", Tensor<float>({3}, {1, -1, 3})}};
}
/// What the model of `text` gives for these.
void check_results(Outputs out) {
  const auto values = [&](std::string_view name) {
    const AnyTensor t = out[name].tensor();
    const auto* p = static_cast<const float*>(t.data());
    return std::vector<float>(p, p + t.size());
  };
  // 2 * x / (2 + |x|) * g / (1 + |g|)
  const std::vector<float> y = values("y"), expected{0, -1.0f / 3, -0.75f, 2.0f / 3, 0.75f, 0.75f};
  REQUIRE(y.size() == expected.size());
  for (std::size_t k = 0; k < y.size(); ++k) CHECK(y[k] == doctest::Approx(expected[k]));
  const std::vector<float> z = values("z");  // s = {4, -6}
  REQUIRE(z.size() == 2);
  CHECK(z[0] == doctest::Approx(3.2f));
  CHECK(z[1] == doctest::Approx(36.0f / 7));
}

/// "Gate Mul": the operators of a model's nodes, each once.
std::string operators_of(const Model& m) {
  std::set<std::string> names;
  for (const auto& n : m.proto().graph().node()) names.insert(n.op_type());
  std::string all;
  for (const std::string& n : names) all += str_cat(all.empty() ? "" : " ", n);
  return all;
}
std::string operators_of(const Session& s) {
  std::set<std::string> names;
  for (const auto& n : s.program().nodes()) names.insert(std::string(n.op.spec().name));
  std::string all;
  for (const std::string& n : names) all += str_cat(all.empty() ? "" : " ", n);
  return all;
}

TEST_CASE("a registry knows its domains, and how programs spell its operators") {
  CHECK(newest_opset("example.pack", &pack()) == 2);
  CHECK(newest_opset("example.pack") == 0);
  CHECK(newest_opset("", &pack()) == newest_opset());
  const Registry::Found gate = pack().find("example.pack", "Gate", 2);
  REQUIRE(gate.op_class != nullptr);
  CHECK(pack().source(*gate.op_class).type == "tenon::op::example_pack::Gate");
  CHECK(pack().source(*gate.op_class).header == "tenon/op/example.pack/gate.hpp");
  CHECK(pack().source(*pack().find("example.pack", "SumAndDifference", 1).op_class).header.empty());
  const auto header_of = [](std::string_view name) { return operator_header(pack(), name); };
  CHECK(header_of("Gate") == "tenon/op/example.pack/gate.hpp");
  CHECK(header_of("example.pack.Saturate") == "tenon/op/example.pack/saturate.hpp");
  CHECK(refusal([&] { header_of("Gates"); }) == "Gates: is no operator; near it: Gate");
  CHECK(holds(refusal([] { operator_header(standard_registry(), "Gate"); }), "is no operator"));
}

TEST_CASE("headers that stand alone have no operators of other libraries") {
  CHECK(refusal([] { operator_header(pack(), "Foreign"); }) ==
        "Foreign: this operator needs other libraries, which no header can hold");
  const auto compiled = [](std::string_view op) {
    return refusal([&] {
      compile_part(model(str_cat("main (float[2] x) => (float[2] y) { y = example.pack.", op, " (x) }")),
                   {.registry = &pack()});
    });
  };
  CHECK(compiled("Saturate").empty());
  CHECK(holds(compiled("Foreign"), "(Foreign-1): another library does its work"));
}

TEST_CASE("check") {
  const struct {
    std::string_view name, node, said;
  } cases[] = {
      {"is right", "y = example.pack.Gate (x)", ""},
      {"an attribute of version 2", "y = example.pack.Saturate <scale = 2.0> (x)", ""},
      {"an unknown attribute", "y = example.pack.Saturate <alpha = 2.0> (x)", "has no attribute 'alpha'"},
      {"an attribute of another type", "y = example.pack.Saturate <bias = 2> (x)",
       "is of type INT, not FLOAT"},
      {"too many operands", "y = example.pack.Saturate (x, x)", "2 inputs, but the operator has 1"},
      {"an operand left out", "y = example.pack.Gate ( , x)", "input 0 (X) is left out"},
      {"an unknown operator", "y = example.pack.Gates (x)", "there is no operator 'Gates' in opset 2"},
      {"a rule's", "y = example.pack.Saturate <bias = 0.0> (x)", "bias has to be above 0"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Model m = model(str_cat("main (float[2] x) => (float[2] y) { ", c.node, " }"));
    std::string found;
    for (const Diagnostic& d : check(m, {.registry = &pack(), .full = true})) found += to_string(d);
    if (c.said.empty()) CHECK(found.empty());
    else CHECK(holds(found, c.said));
    CHECK(!has_errors(check(m, {.full = true})));  // who lacks the pack knows nothing of its domain
  }
}

TEST_CASE("infer") {
  Model m = model();
  infer_shapes(m, {.registry = &pack(), .strict = true});
  CHECK(holds(print_text(m), "float[2,N] a"));
  CHECK(holds(print_text(m), "float[2,N] y"));
  Model unknown = model();
  infer_shapes(unknown);
  CHECK(!holds(print_text(unknown), "float[2,N] a"));
}

TEST_CASE("run") {
  check_results(session(model()).run(feeds()));
  const Folder folder;
  const auto file = folder / "model.onnx";
  save(model(), file);
  const Session s = load(file, {}, {.registry = &pack()});  // with the passes
  check_results(s.run(feeds()));
  CHECK(!holds(operators_of(s), "Gate"));
  CHECK(holds(refusal([&] { load(file); }), "operator example.pack.Gate at opset 2"));
  // A call in code runs the function as well.
  const Value y = Gate{.factor = 2}(Tensor<float>({2}, {1, -3}));
  CHECK(static_cast<const float*>(y.tensor().data())[1] == doctest::Approx(4.5f));
}

TEST_CASE("a function of two results, and one that only the run knows") {
  const Session s =
      session(model(R"(main (float[2] x, float[2] w, float[] r) => (float[2] a, float[2] b, float[] c) {
    a, b = example.pack.SumAndDifference (x, w)
    c = Cube (r)
  })"));
  CHECK(operators_of(s) == "Add Cube Sub");
  Outputs out = s.run({{"x", Tensor<float>({2}, {1, 2})},
                       {"w", Tensor<float>({2}, {3, 5})},
                       {"r", Tensor<float>({1, 1}, {-2})}});
  const auto at = [&](std::string_view name, int k) {
    return static_cast<const float*>(out[name].tensor().data())[k];
  };
  CHECK(at("a", 1) == 7);
  CHECK(at("b", 0) == -2);
  CHECK(at("c", 0) == -8);
}

TEST_CASE("functions in bodies, and of functions") {
  constexpr std::string_view graph = R"(main (float[2] x, bool c) => (float[2] y, float[2] z) {
    y = example.pack.GateTwice (x)
    z = If (c) <then_branch = t () => (float[2] a) { a = example.pack.Gate (x) },
                else_branch = e () => (float[2] b) { b = example.pack.GateTwice (x) }>
  })";
  const Tensor<float> x({2}, {1, -3});
  Tensor<bool> c(Extents{});
  const auto results = [&](const Session& s) {
    std::vector<float> all;
    for (const bool which : {false, true}) {
      c[0] = which;
      Outputs out = s.run({{"x", x}, {"c", c}});
      for (std::size_t k = 0; k < 2; ++k) all.push_back(static_cast<const float*>(out[k].tensor().data())[1]);
    }
    return all;
  };
  // Gate(-3) = -3 * -3 / 4 = 2.25; Gate of that: 2.25 * 2.25 / 3.25.
  const std::vector<float> ours = results(session(model(graph)));
  CHECK(ours[0] == doctest::Approx(5.0625 / 3.25));
  CHECK(ours[1] == ours[0]);
  CHECK(ours[2] == ours[0]);
  CHECK(ours[3] == 2.25f);
  Model m = model(graph);
  inline_functions(m, {.registry = &pack(), .schema_functions = true});
  CHECK(operators_of(m) == "If Mul Saturate");
  CHECK(!holds(print_text(m), "example.pack.Gate"));
  CHECK(results(session(m)) == ours);
  Graph g = model(graph).graph({.registry = &pack()});
  CHECK(results(session(to_model(g, {.registry = &pack(), .opset = 17}))) == ours);
}

TEST_CASE("simplify") {
  Model m = model();
  simplify(m, {.registry = &pack()});
  CHECK(operators_of(m) == "Constant Gate Saturate");
  CHECK(m.proto().graph().node_size() == 3);  // z is a Constant's
  check_results(session(m).run(feeds()));
  Model unknown = model();
  simplify(unknown);
  CHECK(unknown.proto().graph().node_size() == 4);
}

TEST_CASE("a graph as a model") {
  const Model m = to_model(model().graph({.registry = &pack()}), {.registry = &pack(), .opset = 13});
  CHECK(operators_of(m) == "Gate Saturate");
  CHECK(m.header().opset_imports.back() == std::pair<std::string, int64_t>("example.pack", 2));
  check_results(session(m).run(feeds()));

  // The nodes of its function express at opset 13 an operator that ONNX has since 20.
  Graph g;
  g.output("y", g.add(Cube{}, g.input<float, Shape<3>>("x")));
  CHECK(operators_of(to_model(g, {.registry = &pack(), .opset = 20})) == "Cube");
  const Model older = to_model(g, {.registry = &pack(), .opset = 13});
  CHECK(operators_of(older) == "Mul");
  CHECK(check(older).empty());
  Outputs out = Session(older.graph()).run({{"x", Tensor<float>({3}, {1, 2, -3})}});
  CHECK(static_cast<const float*>(out["y"].tensor().data())[2] == -27);
}

TEST_CASE("inline") {
  Model m = model();
  inline_functions(m, {.registry = &pack(), .schema_functions = true});
  CHECK(operators_of(m) == "Constant Mul Saturate");
  CHECK(!has_errors(check(m, {.registry = &pack(), .full = true})));
  check_results(session(m).run(feeds()));
  Model kept = model();
  inline_functions(kept,
                   {.registry = &pack(), .except = {{"example.pack", "Gate"}}, .schema_functions = true});
  CHECK(operators_of(kept) == "Gate Saturate");
}

}  // namespace
}  // namespace tenon::TENON_ABI
