// fuse_gelu: exported forms of Gelu, Swish and HardSwish become these operators. A form is recognised by its
// formula: a function of a polynomial of x, followed by a polynomial of x and of the function's result. So
// neither the order of factors and addends matters, nor how constants are distributed over them.
#pragma once

#include <array>

#include "tenon/graph/passes/packed.hpp"
#include "tenon/op/math/erf.hpp"
#include "tenon/op/math/gelu.hpp"
#include "tenon/op/math/hard_sigmoid.hpp"
#include "tenon/op/math/hard_swish.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/math/pow.hpp"
#include "tenon/op/math/sigmoid.hpp"
#include "tenon/op/math/sub.hpp"
#include "tenon/op/math/swish.hpp"
#include "tenon/op/math/tanh.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

/// The sum of c[i][j] x^i t^j.
struct Polynomial {
  std::array<std::array<double, 2>, 4> c{};
};

inline Polynomial sum(Polynomial a, const Polynomial& b, double factor = 1) {
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 2; ++j) a.c[i][j] += factor * b.c[i][j];
  return a;
}

/// Nothing if the degree is too high.
inline std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
  Polynomial p;
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t k = 0; k < 8; ++k) {
      const double term = a.c[i / 2][i % 2] * b.c[k / 2][k % 2];
      if (term == 0) continue;
      if (i / 2 + k / 2 > 3 || i % 2 + k % 2 > 1) return {};
      p.c[i / 2 + k / 2][i % 2 + k % 2] += term;
    }
  return p;
}

/// Writes values as polynomials of x and t.
class Expansion {
 public:
  Expansion(const Program& program, ValueId x, ValueId t) : p_(program), x_(x), t_(t) {}

  std::optional<Polynomial> of(ValueId v) {
    if (v < 0 || --steps_ < 0) return {};
    if (v == x_) return term(1, 0, 1);
    if (v == t_) return term(0, 1, 1);
    if (const auto c = number(p_, v, x_)) return term(0, 0, *c);
    if (p_.maker(v) < 0) return {};
    const Graph::Node& n = p_.node(p_.maker(v));
    if (n.op.as<op::Pow>()) return power(n);
    const bool neg = n.op.as<op::Neg>(), minus = n.op.as<op::Sub>(), mul = n.op.as<op::Mul>(),
               div = n.op.as<op::Div>();
    if (!neg && !minus && !mul && !div && !is_sum(n)) return {};
    const auto a = of(n.inputs[0]);
    if (!a || neg) return a ? std::optional(sum({}, *a, -1)) : a;
    const auto b = of(n.inputs[1]);
    if (!b) return {};
    if (mul) return product(*a, *b);
    if (!div) return sum(*a, *b, minus ? -1 : 1);
    const auto divisor = number(p_, n.inputs[1], x_);
    return divisor ? std::optional(sum({}, *a, 1 / *divisor)) : std::nullopt;
  }

 private:
  static Polynomial term(std::size_t i, std::size_t j, double c) {
    Polynomial p;
    p.c[i][j] = c;
    return p;
  }
  std::optional<Polynomial> power(const Graph::Node& n) {
    const auto exponent = number(p_, n.inputs[1], x_);
    const auto base = exponent == 2 || exponent == 3 ? of(n.inputs[0]) : std::nullopt;
    auto p = base;
    for (int k = 1; p && k < *exponent; ++k) p = product(*p, *base);
    return p;
  }

  const Program& p_;
  ValueId x_, t_;
  int steps_ = 40;
};

inline bool is_near(const Polynomial& a, const Polynomial& b, DType element) {
  for (std::size_t k = 0; k < 8; ++k)
    if (!passes::is_near(a.c[k / 2][k % 2], b.c[k / 2][k % 2], element)) return false;
  return true;
}

/// The value whose square or cube v contains, possibly with other factors and addends; -1 if none.
inline ValueId find_base(const Program& program, ValueId v, int depth = 5) {
  const int m = depth > 0 && v >= 0 ? program.maker(v) : -1;
  if (m < 0) return -1;
  const Graph::Node& n = program.node(m);
  if (n.op.as<op::Pow>()) return n.inputs[0];
  if (n.op.as<op::Mul>() && n.inputs[0] == n.inputs[1]) return n.inputs[0];
  if (!n.op.as<op::Mul>() && !n.op.as<op::Div>() && !is_sum(n)) return -1;
  const ValueId found = find_base(program, n.inputs[0], depth - 1);
  return found >= 0 ? found : find_base(program, n.inputs[1], depth - 1);
}

/// The last node of a chain of only readers from t that computes `formula`, or -1.
inline int find_formula(const Program& program, ValueId x, ValueId t, const Polynomial& formula) {
  const DType element = program.info(x).type.element;
  ValueId v = t;
  for (int n = program.only_reader(v); n >= 0; n = program.only_reader(v)) {
    if (program.node(n).outputs.size() != 1) return -1;
    v = program.node(n).outputs[0];
    const auto p = Expansion(program, x, t).of(v);
    if (!p) return -1;
    if (is_near(*p, formula, element)) return n;
  }
  return -1;
}

/// Replaces the formula `after`, of x and of the result of node n, with `op`. Returns whether the operand of
/// n is the formula `within`.
template <class Op>
bool fuse_formula(Program& program, int n, ValueId x, const Polynomial& within, const Polynomial& after,
                  const Op& op) {
  if (x < 0 || !is_fused_type(program, x)) return false;
  const auto operand = Expansion(program, x, -1).of(program.node(n).inputs[0]);
  if (!operand || !is_near(*operand, within, program.info(x).type.element)) return false;
  const int last = find_formula(program, x, program.node(n).outputs[0], after);
  if (last < 0) {
    program.skipped(n, "its result does not go to the rest of ", Op::spec.name, " alone");
  } else {
    program.applied(n, "fused with ", program.label(last), " into ", Op::spec.name);
    program.replace(last, AnyOperator::make<Op, fused_types.tensor>(op), {x});
  }
  return true;
}

/// The other operand if v's maker has a number as one of two operands, or -1.
inline ValueId other_operand(const Program& program, ValueId v) {
  const int m = program.maker(v);
  if (m < 0 || program.node(m).inputs.size() != 2) return -1;
  const std::vector<ValueId>& in = program.node(m).inputs;
  return number(program, in[1], in[0]) ? in[0] : number(program, in[0], in[1]) ? in[1] : -1;
}

}  // namespace detail

inline void apply_fuse_gelu(Program& program) {
  using detail::Polynomial;
  constexpr double sqrt_half = 0.70710678118654752, sqrt_2_pi = 0.79788456080286536, sixth = 1.0 / 6;
  constexpr Polynomial x{{{{}, {1}}}}, half_x_and_tx{{{{}, {0.5, 0.5}}}}, tx{{{{}, {0, 1}}}},
      sixth_of_tx{{{{}, {0, sixth}}}};
  const auto operand = [&](int n) { return program.node(n).inputs[0]; };

  program.for_each<op::Erf>([&](int n, const op::Erf&) {
    if (!detail::fuse_formula(program, n, detail::other_operand(program, operand(n)), {{{{}, {sqrt_half}}}},
                              half_x_and_tx, op::Gelu{}))
      program.skipped(n, "its operand is no float divided by the square root of 2");
  });
  program.for_each<op::Tanh>([&](int n, const op::Tanh&) {
    detail::fuse_formula(program, n, detail::find_base(program, operand(n)),
                         {{{{}, {sqrt_2_pi}, {}, {sqrt_2_pi * 0.044715}}}}, half_x_and_tx,
                         op::Gelu{.approximate = "tanh"});
  });
  program.for_each<op::Sigmoid>([&](int n, const op::Sigmoid&) {
    // x sigmoid(alpha x), where the product alpha x may also be the x of alpha 1.
    const ValueId scaled = operand(n), t = program.node(n).outputs[0];
    const ValueId unscaled = detail::other_operand(program, scaled);
    if (unscaled >= 0 && detail::find_formula(program, scaled, t, tx) < 0)
      if (const auto p = detail::Expansion(program, unscaled, -1).of(scaled); p && p->c[0][0] == 0) {
        const auto alpha = static_cast<float>(p->c[1][0]);
        if (alpha != 0 && detail::fuse_formula(program, n, unscaled, *p, tx, op::Swish{.alpha = alpha}))
          return;
      }
    detail::fuse_formula(program, n, scaled, x, tx, op::Swish{});
  });
  program.for_each<op::HardSigmoid>([&](int n, const op::HardSigmoid& h) {
    if (is_near(h.alpha, sixth, DType::float32) && h.beta == 0.5f)
      detail::fuse_formula(program, n, operand(n), x, tx, op::HardSwish{});
  });
  program.for_each<op::Clip>([&](int n, const op::Clip&) {
    const auto bounds = bounds_of(program, program.node(n), operand(n));
    const ValueId base = detail::other_operand(program, operand(n));
    if (!bounds || bounds->lo != 0) return;
    if (bounds->hi == 6) detail::fuse_formula(program, n, base, {{{{3}, {1}}}}, sixth_of_tx, op::HardSwish{});
  });
}

inline constexpr Pass fuse_gelu{"fuse_gelu", apply_fuse_gelu};

}  // namespace tenon::TENON_ABI::passes
