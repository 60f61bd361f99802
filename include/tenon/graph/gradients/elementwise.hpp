// Derivatives of functions of elements.
#pragma once

#include <numbers>

#include "tenon/graph/gradients/step.hpp"
#include "tenon/op/generator/bernoulli.hpp"
#include "tenon/op/generator/eye_like.hpp"
#include "tenon/op/generator/random_normal_like.hpp"
#include "tenon/op/generator/random_uniform_like.hpp"
#include "tenon/op/math/abs.hpp"
#include "tenon/op/math/acos.hpp"
#include "tenon/op/math/acosh.hpp"
#include "tenon/op/math/affine.hpp"
#include "tenon/op/math/asin.hpp"
#include "tenon/op/math/asinh.hpp"
#include "tenon/op/math/atan.hpp"
#include "tenon/op/math/atanh.hpp"
#include "tenon/op/math/ceil.hpp"
#include "tenon/op/math/celu.hpp"
#include "tenon/op/math/clip.hpp"
#include "tenon/op/math/cos.hpp"
#include "tenon/op/math/cosh.hpp"
#include "tenon/op/math/elu.hpp"
#include "tenon/op/math/erf.hpp"
#include "tenon/op/math/exp.hpp"
#include "tenon/op/math/floor.hpp"
#include "tenon/op/math/gelu.hpp"
#include "tenon/op/math/hard_sigmoid.hpp"
#include "tenon/op/math/hard_swish.hpp"
#include "tenon/op/math/hardmax.hpp"
#include "tenon/op/math/leaky_relu.hpp"
#include "tenon/op/math/log.hpp"
#include "tenon/op/math/max.hpp"
#include "tenon/op/math/mean.hpp"
#include "tenon/op/math/min.hpp"
#include "tenon/op/math/mish.hpp"
#include "tenon/op/math/mod.hpp"
#include "tenon/op/math/p_relu.hpp"
#include "tenon/op/math/parametric_softplus.hpp"
#include "tenon/op/math/pow.hpp"
#include "tenon/op/math/reciprocal.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/round.hpp"
#include "tenon/op/math/scale.hpp"
#include "tenon/op/math/scaled_tanh.hpp"
#include "tenon/op/math/selu.hpp"
#include "tenon/op/math/sigmoid.hpp"
#include "tenon/op/math/sign.hpp"
#include "tenon/op/math/sin.hpp"
#include "tenon/op/math/sinh.hpp"
#include "tenon/op/math/softplus.hpp"
#include "tenon/op/math/softsign.hpp"
#include "tenon/op/math/sqrt.hpp"
#include "tenon/op/math/sum.hpp"
#include "tenon/op/math/swi_glu.hpp"
#include "tenon/op/math/swish.hpp"
#include "tenon/op/math/tan.hpp"
#include "tenon/op/math/tanh.hpp"
#include "tenon/op/math/thresholded_relu.hpp"
#include "tenon/op/nn/shrink.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/identity.hpp"

namespace tenon::TENON_ABI::gradients {

/// f of one operand: exp(x) is apply(op::Exp{}, x).
template <class Op>
Term apply(const Op& op, Term x) {
  return x.writer->add(op, {x});
}
inline Term square(Term x) { return x * x; }
inline Term sqrt(Term x) { return apply(op::Sqrt{}, x); }
inline Term sign(Term x) { return apply(op::Sign{}, x); }
/// a where the condition holds, 0 elsewhere. A product with 0 would turn infinities into NaN.
inline Term masked(Term condition, Term a) { return where(condition, a, 0.0); }

/// max (or min) of several operands: the first of equals takes the derivative.
inline void extremum_step(Step& s) {
  Term left = s.g();  // the part of g that no earlier operand has taken
  for (int k = 0; k < s.inputs(); ++k) {
    const Term here = equal(s.x(k), s.y());
    if (s.wants(k)) s.give_summed(k, masked(here, left));
    left = where(here, 0.0, left);
  }
}

/// alpha f(beta x).
template <class Scaled, class Op>
void scaled_step(Step& s) {
  const Scaled& scaled = s.op<Scaled>();
  s.through({apply(Op{}, s.x() * double{scaled.beta}) * double{scaled.alpha}});
}

inline constexpr Rule elementwise_rules[] = {
    {&operator_id<op::Identity>, [](Step& s) { s.give(0, s.g()); }},
    {&operator_id<op::Neg>, [](Step& s) { s.give(0, -s.g()); }},
    {&operator_id<op::Add>,
     [](Step& s) {
       s.give_summed(0, s.g());
       s.give_summed(1, s.g());
     }},
    {&operator_id<op::Sub>,
     [](Step& s) {
       s.give_summed(0, s.g());
       if (s.wants(1)) s.give_summed(1, -s.g());
     }},
    {&operator_id<op::Mul>,
     [](Step& s) {
       if (s.wants(0)) s.give_summed(0, s.g() * s.x(1));
       if (s.wants(1)) s.give_summed(1, s.g() * s.x(0));
     }},
    {&operator_id<op::Div>,
     [](Step& s) {
       const Term d = s.g() / s.x(1);
       s.give_summed(0, d);
       if (s.wants(1)) s.give_summed(1, -(d * s.y()));
     }},
    {&operator_id<op::Pow>,
     [](Step& s) {
       const Term x = s.x(0), e = cast_like(s.x(1), x);
       const auto pow = [](Term a, Term b) { return a.writer->add(op::Pow{}, {a, b}); };
       // x^0 has the derivative 0 x^0, where x^-1 may be infinite; 0^e has the derivative 0.
       if (s.wants(0)) s.give_summed(0, s.g() * e * pow(x, where(equal(e, 0.0), 1.0, e) - 1.0));
       if (s.wants(1))
         s.give_summed(1, cast_like(s.g() * s.y() * apply(op::Log{}, where(equal(x, 0.0), 1.0, x)), s.x(1)));
     }},
    {&operator_id<op::Mod>,
     [](Step& s) {
       s.give_summed(0, s.g());
       if (!s.wants(1)) return;
       // (a - y) / b is an integer except for rounding; a / b may round up to the next one.
       const Term quotient = apply(op::Floor{}, (s.x(0) - s.y()) / s.x(1) + 0.5);
       s.give_summed(1, -(s.g() * quotient));
     }},
    {&operator_id<op::Sum>,
     [](Step& s) {
       for (int k = 0; k < s.inputs(); ++k) s.give_summed(k, s.g());
     }},
    {&operator_id<op::Mean>,
     [](Step& s) {
       const Term d = s.g() / static_cast<double>(s.inputs());
       for (int k = 0; k < s.inputs(); ++k) s.give_summed(k, d);
     }},
    {&operator_id<op::Max>, extremum_step},
    {&operator_id<op::Min>, extremum_step},
    {&operator_id<op::Clip>,
     [](Step& s) {
       // min(max(x, lo), hi): hi takes precedence where both bounds apply.
       Term inside = s.g();
       Term above{}, below{};
       if (s.x(2)) above = s.x(0) > s.x(2);
       if (s.x(1)) below = s.x(0) < s.x(1);
       if (below && s.wants(1)) {
         Term d = masked(below, s.g());
         if (s.x(2)) d = where(s.x(1) > s.x(2), 0.0, d);
         s.give_summed(1, d);
       }
       if (s.x(2) && s.wants(2)) {
         Term d = masked(above, s.g());
         if (below) d = where(s.x(1) > s.x(2), s.g(), d);
         s.give_summed(2, d);
       }
       if (above) inside = where(above, 0.0, inside);
       if (below) inside = where(below, 0.0, inside);
       s.give_summed(0, inside);  // a bound of extents (1) broadcasts a scalar
     }},
    {&operator_id<op::Where>,
     [](Step& s) {
       if (s.wants(1)) s.give_summed(1, masked(s.x(0), s.g()));
       if (s.wants(2)) s.give_summed(2, where(s.x(0), 0.0, s.g()));
     }},
    {&operator_id<op::Cast>, [](Step& s) { s.give(0, cast_like(s.g(), s.x())); }},
    {&operator_id<op::CastLike>, [](Step& s) { s.give(0, cast_like(s.g(), s.x())); }},
    {&operator_id<op::Exp>, [](Step& s) { s.give(0, s.g() * s.y()); }},
    {&operator_id<op::Log>, [](Step& s) { s.give(0, s.g() / s.x()); }},
    {&operator_id<op::Sqrt>, [](Step& s) { s.give(0, s.g() / (s.y() * 2.0)); }},
    {&operator_id<op::Reciprocal>, [](Step& s) { s.give(0, -(s.g() * square(s.y()))); }},
    {&operator_id<op::Abs>, [](Step& s) { s.give(0, s.g() * sign(s.x())); }},
    {&operator_id<op::Sin>, [](Step& s) { s.give(0, s.g() * apply(op::Cos{}, s.x())); }},
    {&operator_id<op::Cos>, [](Step& s) { s.give(0, -(s.g() * apply(op::Sin{}, s.x()))); }},
    {&operator_id<op::Tan>, [](Step& s) { s.give(0, s.g() * (square(s.y()) + 1.0)); }},
    {&operator_id<op::Asin>, [](Step& s) { s.give(0, s.g() / sqrt(1.0 - square(s.x()))); }},
    {&operator_id<op::Acos>, [](Step& s) { s.give(0, -(s.g() / sqrt(1.0 - square(s.x())))); }},
    {&operator_id<op::Atan>, [](Step& s) { s.give(0, s.g() / (square(s.x()) + 1.0)); }},
    {&operator_id<op::Sinh>, [](Step& s) { s.give(0, s.g() * apply(op::Cosh{}, s.x())); }},
    {&operator_id<op::Cosh>, [](Step& s) { s.give(0, s.g() * apply(op::Sinh{}, s.x())); }},
    {&operator_id<op::Tanh>, [](Step& s) { s.give(0, s.g() * (1.0 - square(s.y()))); }},
    {&operator_id<op::Asinh>, [](Step& s) { s.give(0, s.g() / sqrt(square(s.x()) + 1.0)); }},
    {&operator_id<op::Acosh>, [](Step& s) { s.give(0, s.g() / sqrt(square(s.x()) - 1.0)); }},
    {&operator_id<op::Atanh>, [](Step& s) { s.give(0, s.g() / (1.0 - square(s.x()))); }},
    {&operator_id<op::Erf>,
     [](Step& s) { s.give(0, s.g() * apply(op::Exp{}, -square(s.x())) * (2.0 * std::numbers::inv_sqrtpi)); }},
    {&operator_id<op::Sigmoid>, [](Step& s) { s.give(0, s.g() * s.y() * (1.0 - s.y())); }},
    {&operator_id<op::Softplus>, [](Step& s) { s.give(0, s.g() * apply(op::Sigmoid{}, s.x())); }},
    {&operator_id<op::Softsign>, [](Step& s) { s.give(0, s.g() / square(apply(op::Abs{}, s.x()) + 1.0)); }},
    {&operator_id<op::Relu>, [](Step& s) { s.give(0, masked(s.x() > 0.0, s.g())); }},
    {&operator_id<op::LeakyRelu>,
     [](Step& s) { s.give(0, where(s.x() < 0.0, s.g() * double{s.op<op::LeakyRelu>().alpha}, s.g())); }},
    {&operator_id<op::ThresholdedRelu>,
     [](Step& s) { s.give(0, masked(s.x() > double{s.op<op::ThresholdedRelu>().alpha}, s.g())); }},
    {&operator_id<op::PRelu>,
     [](Step& s) {
       const Term negative = s.x() < 0.0;
       if (s.wants(0)) s.give(0, where(negative, s.g() * s.x(1), s.g()));
       if (s.wants(1)) s.give_summed(1, masked(negative, s.g() * s.x()));
     }},
    {&operator_id<op::Elu>,
     [](Step& s) { s.give(0, where(s.x() < 0.0, s.g() * (s.y() + double{s.op<op::Elu>().alpha}), s.g())); }},
    {&operator_id<op::Celu>,
     [](Step& s) {
       s.give(0, where(s.x() < 0.0, s.g() * (s.y() / double{s.op<op::Celu>().alpha} + 1.0), s.g()));
     }},
    {&operator_id<op::Selu>,
     [](Step& s) {
       const double alpha = s.op<op::Selu>().alpha, gamma = s.op<op::Selu>().gamma;
       s.give(0, where(s.x() > 0.0, s.g() * gamma, s.g() * (s.y() + alpha * gamma)));
     }},
    {&operator_id<op::HardSigmoid>,
     [](Step& s) {
       const Term d = s.g() * double{s.op<op::HardSigmoid>().alpha};
       s.give(0, masked(s.y() > 0.0, masked(s.y() < 1.0, d)));
     }},
    {&operator_id<op::HardSwish>,
     [](Step& s) {
       const Term d = s.g() * (s.x() / 3.0 + 0.5);
       s.give(0, where(s.x() > 3.0, s.g(), masked(s.x() > -3.0, d)));
     }},
    {&operator_id<op::Swish>,
     [](Step& s) { s.through({s.x() * apply(op::Sigmoid{}, s.x() * double{s.op<op::Swish>().alpha})}); }},
    {&operator_id<op::SwiGLU>,
     [](Step& s) {
       const Term a = s.x(0);
       s.through({a * apply(op::Sigmoid{}, a * double{s.op<op::SwiGLU>().alpha}) * s.x(1)});
     }},
    {&operator_id<op::Mish>,
     [](Step& s) { s.through({s.x() * apply(op::Tanh{}, apply(op::Softplus{}, s.x()))}); }},
    {&operator_id<op::Gelu>,
     [](Step& s) {
       const Term x = s.x();
       if (s.op<op::Gelu>().approximate == "tanh") {
         const Term inner = (x + x * square(x) * 0.044715) * std::sqrt(2.0 / std::numbers::pi);
         return s.through({x * 0.5 * (apply(op::Tanh{}, inner) + 1.0)});
       }
       s.through({x * 0.5 * (apply(op::Erf{}, x * (1.0 / std::numbers::sqrt2)) + 1.0)});
     }},
    {&operator_id<op::Affine>, [](Step& s) { s.give(0, s.g() * double{s.op<op::Affine>().alpha}); }},
    {&operator_id<op::Scale>, [](Step& s) { s.give(0, s.g() * double{s.op<op::Scale>().scale}); }},
    {&operator_id<op::ScaledTanh>, scaled_step<op::ScaledTanh, op::Tanh>},
    {&operator_id<op::ParametricSoftplus>, scaled_step<op::ParametricSoftplus, op::Softplus>},
    {&operator_id<op::Shrink>,
     [](Step& s) {
       const double lambd = s.op<op::Shrink>().lambd;
       s.give(0, masked(apply(op::Abs{}, s.x()) > lambd, s.g()));
     }},
};

/// Piecewise constant functions, and functions independent of their operands' elements.
inline void flat_step(Step&) {}
inline constexpr Rule flat_rules[] = {
    {&operator_id<op::Ceil>, flat_step},
    {&operator_id<op::Floor>, flat_step},
    {&operator_id<op::Round>, flat_step},
    {&operator_id<op::Sign>, flat_step},
    {&operator_id<op::Hardmax>, flat_step},
    {&operator_id<op::EyeLike>, flat_step},
    {&operator_id<op::Bernoulli>, flat_step},
    {&operator_id<op::RandomNormalLike>, flat_step},
    {&operator_id<op::RandomUniformLike>, flat_step},
};

}  // namespace tenon::TENON_ABI::gradients
