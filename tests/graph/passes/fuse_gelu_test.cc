#include "tenon/graph/passes/fuse_gelu.hpp"

#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

/// A formula in the making.
struct Formula {
  Graph g{};
  DType element = DType::float32;

  ValueId number(double d, const Extents& extents = {}) {
    Value v;
    visit_types(TypeList<float, double, float16, bfloat16>{}, element,
                [&]<class T>() { v = AnyTensor(Tensor<T>(extents, {convert<T>(d)})); });
    return g.add_constant({}, std::move(v));
  }
  ValueId add(ValueId a, ValueId b) { return node(g, op::Add{}, {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return node(g, op::Mul{}, {a, b}); }
  ValueId div(ValueId a, ValueId b) { return node(g, op::Div{}, {a, b}); }
  ValueId pow(ValueId a, double e) { return node(g, op::Pow{}, {a, number(e)}); }
  ValueId erf(ValueId a) { return node(g, op::Erf{}, {a}); }
  ValueId tanh(ValueId a) { return node(g, op::Tanh{}, {a}); }
  ValueId sigmoid(ValueId a) { return node(g, op::Sigmoid{}, {a}); }
  ValueId clip(ValueId a, double lo, double hi) { return node(g, op::Clip{}, {a, number(lo), number(hi)}); }
  void output(ValueId v) { g.add_output("extra", v); }
};

struct Case {
  const char* name;
  ValueId (*y)(Formula& f, ValueId x);
  const char* fused = nullptr;  ///< the only operator that is left; nullptr: all stay
};

constexpr double sqrt_2 = 1.4142135623730951, c = 0.7978845608028654, third = 0.044715;

const Case cases[] = {
    // Gelu
    {"x * 0.5 * (1 + erf)",
     [](Formula& f, ValueId x) {
       return f.mul(f.mul(x, f.number(0.5)), f.add(f.number(1), f.erf(f.div(x, f.number(sqrt_2)))));
     },
     "Gelu"},
    {"x * (erf + 1) * 0.5",
     [](Formula& f, ValueId x) {
       return f.mul(f.mul(x, f.add(f.erf(f.div(x, f.number(sqrt_2))), f.number(1))), f.number(0.5));
     },
     "Gelu"},
    {"0.5 * (x * (1 + erf)) of a product, constants of rank 1",
     [](Formula& f, ValueId x) {
       const ValueId e = f.erf(f.mul(f.number(1 / sqrt_2, {1}), x));
       return f.mul(f.number(0.5, {1}), f.mul(x, f.add(f.number(1, {1}), e)));
     },
     "Gelu"},
    {"x * (0.5 + 0.5 erf)",
     [](Formula& f, ValueId x) {
       const ValueId e = f.erf(f.div(x, f.number(sqrt_2)));
       return f.mul(f.add(f.number(0.5), f.mul(f.number(0.5), e)), x);
     },
     "Gelu"},
    {"x * (1 + erf) / 2 with Sum",
     [](Formula& f, ValueId x) {
       const ValueId e = f.erf(f.div(x, f.number(sqrt_2)));
       return f.div(f.mul(x, node(f.g, op::Sum{}, {f.number(1), e})), f.number(2));
     },
     "Gelu"},
    {"another factor within",
     [](Formula& f, ValueId x) {
       return f.mul(f.mul(x, f.number(0.5)), f.add(f.number(1), f.erf(f.div(x, f.number(1.3)))));
     }},
    {"another factor at the end",
     [](Formula& f, ValueId x) {
       return f.mul(f.mul(x, f.number(0.25)), f.add(f.number(1), f.erf(f.div(x, f.number(sqrt_2)))));
     }},
    {"another x at the end",
     [](Formula& f, ValueId x) {
       const ValueId other = node(f.g, op::Neg{}, {x});
       return f.mul(f.mul(other, f.number(0.5)), f.add(f.number(1), f.erf(f.div(x, f.number(sqrt_2)))));
     }},
    {"a constant that adds an axis",
     [](Formula& f, ValueId x) {
       const ValueId e = f.add(f.number(1, {1, 1, 1}), f.erf(f.div(x, f.number(sqrt_2))));
       return f.mul(f.mul(x, f.number(0.5)), e);
     }},
    {"a middle value that is an output",
     [](Formula& f, ValueId x) {
       const ValueId e = f.add(f.number(1), f.erf(f.div(x, f.number(sqrt_2))));
       f.output(e);
       return f.mul(f.mul(x, f.number(0.5)), e);
     }},
    {"a middle value that is read elsewhere",
     [](Formula& f, ValueId x) {
       const ValueId e = f.erf(f.div(x, f.number(sqrt_2)));
       f.output(node(f.g, op::Neg{}, {e}));
       return f.mul(f.mul(x, f.number(0.5)), f.add(f.number(1), e));
     }},
    // with tanh
    {"0.5 * x * (1 + tanh(c * (x + d * x^3)))",
     [](Formula& f, ValueId x) {
       const ValueId sum = f.add(x, f.mul(f.number(third), f.pow(x, 3)));
       return f.mul(f.mul(f.number(0.5), x), f.add(f.number(1), f.tanh(f.mul(f.number(c), sum))));
     },
     "Gelu"},
    {"0.5 * x * (1 + tanh(c * x * (1 + d * x * x)))",
     [](Formula& f, ValueId x) {
       const ValueId square = f.mul(f.mul(f.number(third), x), x);
       const ValueId t = f.tanh(f.mul(f.mul(x, f.number(c)), f.add(f.number(1), square)));
       return f.mul(f.mul(x, f.number(0.5)), f.add(t, f.number(1)));
     }},  // no square of x by itself tells x
    {"the same with x * x",
     [](Formula& f, ValueId x) {
       const ValueId square = f.mul(f.number(third), f.mul(x, x));
       const ValueId t = f.tanh(f.mul(f.mul(x, f.number(c)), f.add(f.number(1), square)));
       return f.mul(f.mul(x, f.number(0.5)), f.add(t, f.number(1)));
     },
     "Gelu"},
    {"another cube",
     [](Formula& f, ValueId x) {
       const ValueId sum = f.add(x, f.mul(f.number(0.05), f.pow(x, 3)));
       return f.mul(f.mul(f.number(0.5), x), f.add(f.number(1), f.tanh(f.mul(f.number(c), sum))));
     }},
    // Swish
    {"x * sigmoid(x)", [](Formula& f, ValueId x) { return f.mul(x, f.sigmoid(x)); }, "Swish"},
    {"sigmoid(1.7 x) * x", [](Formula& f, ValueId x) { return f.mul(f.sigmoid(f.mul(x, f.number(1.7))), x); },
     "Swish"},
    {"sigmoid(x + 1) * x", [](Formula& f, ValueId x) { return f.mul(f.sigmoid(f.add(x, f.number(1))), x); }},
    {"x * sigmoid(x) of two readers",
     [](Formula& f, ValueId x) {
       const ValueId s = f.sigmoid(x);
       f.output(s);
       return f.mul(x, s);
     }},
    // HardSwish
    {"x * hard sigmoid",
     [](Formula& f, ValueId x) { return f.mul(node(f.g, op::HardSigmoid{1.0f / 6, 0.5f}, {x}), x); },
     "HardSwish"},
    {"x * another hard sigmoid",
     [](Formula& f, ValueId x) { return f.mul(node(f.g, op::HardSigmoid{0.2f, 0.5f}, {x}), x); }},
    {"x * clip(x + 3, 0, 6) / 6",
     [](Formula& f, ValueId x) { return f.div(f.mul(x, f.clip(f.add(x, f.number(3)), 0, 6)), f.number(6)); },
     "HardSwish"},
    {"x * (clip(3 + x, 0, 6) / 6)",
     [](Formula& f, ValueId x) {
       return f.mul(x, f.mul(f.clip(f.add(f.number(3), x), 0, 6), f.number(1.0 / 6)));
     },
     "HardSwish"},
    {"another clip",
     [](Formula& f, ValueId x) { return f.div(f.mul(x, f.clip(f.add(x, f.number(3)), 0, 5)), f.number(6)); }},
};

template <class T>
void check_all(double tolerance) {
  for (const Case& test : cases) {
    CAPTURE(test.name);
    const auto build = [&] {
      Formula f{.element = dtype_of<T>};
      const ValueId x = f.g.add_input("x", dtype_of<T>, Dims{f.g.symbol("N"), 3});
      const ValueId y = test.y(f, x);
      Graph g = std::move(f.g);
      g.add_output("y", y);
      return g;
    };
    Tensor<T> x{Extents{41, 3}};
    for (int64_t k = 0; k < x.size(); ++k) x[k] = static_cast<T>(static_cast<float>(k - 60) / 12);
    const Session plain(build()), passed(build(), {.passes = std::vector{fuse_gelu, test::infos_are_true}});
    const auto& nodes = passed.program().nodes();
    const bool fused = test.fused != nullptr && dtype_of<T> != DType::float64;
    CHECK(nodes.size() == (fused ? 1 : plain.program().nodes().size()));
    if (fused) CHECK(nodes[0].op.spec().name == test.fused);
    CHECK(test::difference(plain.run({{"x", Value(x)}})["y"].tensor(),
                           passed.run({{"x", Value(x)}})["y"].tensor()) <= tolerance);
  }
}

TEST_CASE("activations give the results of the formulas in whose place they are") {
  check_all<float>(1e-6);
  check_all<double>(0);
  check_all<float16>(4e-3);
  check_all<bfloat16>(3e-2);
}

TEST_CASE("x may be a product itself, and the pass says what it did") {
  const auto build = [] {
    Formula f;
    const ValueId in = f.g.add_input("x", DType::float32, Dims{5});
    const ValueId x = f.mul(in, f.number(2));
    f.g.add_output("y", f.mul(x, f.sigmoid(x)));
    return std::move(f.g);
  };
  test::check_pass(fuse_gelu, build, {{"x", floats<float>({5}, 1)}}, 2, 1e-6);
  const Session s(build(), {.passes = std::vector{fuse_gelu}, .explain = true});
  REQUIRE(s.reports().size() == 1);
  CHECK(s.reports()[0].applied);
}

}  // namespace
}  // namespace tenon::passes
