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
#include "tenon/op/math/pow.hpp"
#include "tenon/op/math/reciprocal.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/round.hpp"
#include "tenon/op/math/selu.hpp"
#include "tenon/op/math/sigmoid.hpp"
#include "tenon/op/math/sign.hpp"
#include "tenon/op/math/sin.hpp"
#include "tenon/op/math/sinh.hpp"
#include "tenon/op/math/softplus.hpp"
#include "tenon/op/math/softsign.hpp"
#include "tenon/op/math/sqrt.hpp"
#include "tenon/op/math/sum.hpp"
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

inline constexpr Rule elementwise_rules[] = {
    {&op::Identity::spec, [](Step& s) { s.give(0, s.g()); }},
    {&op::Neg::spec, [](Step& s) { s.give(0, -s.g()); }},
    {&op::Add::spec,
     [](Step& s) {
       s.give_summed(0, s.g());
       s.give_summed(1, s.g());
     }},
    {&op::Sub::spec,
     [](Step& s) {
       s.give_summed(0, s.g());
       if (s.wants(1)) s.give_summed(1, -s.g());
     }},
    {&op::Mul::spec,
     [](Step& s) {
       if (s.wants(0)) s.give_summed(0, s.g() * s.x(1));
       if (s.wants(1)) s.give_summed(1, s.g() * s.x(0));
     }},
    {&op::Div::spec,
     [](Step& s) {
       const Term d = s.g() / s.x(1);
       s.give_summed(0, d);
       if (s.wants(1)) s.give_summed(1, -(d * s.y()));
     }},
    {&op::Pow::spec,
     [](Step& s) {
       const Term x = s.x(0), e = cast_like(s.x(1), x);
       const auto pow = [](Term a, Term b) { return a.writer->add(op::Pow{}, {a, b}); };
       // x^0 has the derivative 0 x^0, where x^-1 may be infinite; 0^e has the derivative 0.
       if (s.wants(0)) s.give_summed(0, s.g() * e * pow(x, where(equal(e, 0.0), 1.0, e) - 1.0));
       if (s.wants(1))
         s.give_summed(1, cast_like(s.g() * s.y() * apply(op::Log{}, where(equal(x, 0.0), 1.0, x)), s.x(1)));
     }},
    {&op::Mod::spec,
     [](Step& s) {
       s.give_summed(0, s.g());
       if (!s.wants(1)) return;
       // (a - y) / b is whole but for its rounding; a / b may round up to the next whole number.
       const Term quotient = apply(op::Floor{}, (s.x(0) - s.y()) / s.x(1) + 0.5);
       s.give_summed(1, -(s.g() * quotient));
     }},
    {&op::Sum::spec,
     [](Step& s) {
       for (int k = 0; k < s.inputs(); ++k) s.give_summed(k, s.g());
     }},
    {&op::Mean::spec,
     [](Step& s) {
       const Term d = s.g() / static_cast<double>(s.inputs());
       for (int k = 0; k < s.inputs(); ++k) s.give_summed(k, d);
     }},
    {&op::Max::spec, extremum_step},
    {&op::Min::spec, extremum_step},
    {&op::Clip::spec,
     [](Step& s) {
       // min(max(x, lo), hi): hi counts where both bounds do.
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
       s.give_summed(0, inside);  // a bound of extents (1) stretches a scalar
     }},
    {&op::Where::spec,
     [](Step& s) {
       if (s.wants(1)) s.give_summed(1, masked(s.x(0), s.g()));
       if (s.wants(2)) s.give_summed(2, where(s.x(0), 0.0, s.g()));
     }},
    {&op::Cast::spec, [](Step& s) { s.give(0, cast_like(s.g(), s.x())); }},
    {&op::CastLike::spec, [](Step& s) { s.give(0, cast_like(s.g(), s.x())); }},
    {&op::Exp::spec, [](Step& s) { s.give(0, s.g() * s.y()); }},
    {&op::Log::spec, [](Step& s) { s.give(0, s.g() / s.x()); }},
    {&op::Sqrt::spec, [](Step& s) { s.give(0, s.g() / (s.y() * 2.0)); }},
    {&op::Reciprocal::spec, [](Step& s) { s.give(0, -(s.g() * square(s.y()))); }},
    {&op::Abs::spec, [](Step& s) { s.give(0, s.g() * sign(s.x())); }},
    {&op::Sin::spec, [](Step& s) { s.give(0, s.g() * apply(op::Cos{}, s.x())); }},
    {&op::Cos::spec, [](Step& s) { s.give(0, -(s.g() * apply(op::Sin{}, s.x()))); }},
    {&op::Tan::spec, [](Step& s) { s.give(0, s.g() * (square(s.y()) + 1.0)); }},
    {&op::Asin::spec, [](Step& s) { s.give(0, s.g() / sqrt(1.0 - square(s.x()))); }},
    {&op::Acos::spec, [](Step& s) { s.give(0, -(s.g() / sqrt(1.0 - square(s.x())))); }},
    {&op::Atan::spec, [](Step& s) { s.give(0, s.g() / (square(s.x()) + 1.0)); }},
    {&op::Sinh::spec, [](Step& s) { s.give(0, s.g() * apply(op::Cosh{}, s.x())); }},
    {&op::Cosh::spec, [](Step& s) { s.give(0, s.g() * apply(op::Sinh{}, s.x())); }},
    {&op::Tanh::spec, [](Step& s) { s.give(0, s.g() * (1.0 - square(s.y()))); }},
    {&op::Asinh::spec, [](Step& s) { s.give(0, s.g() / sqrt(square(s.x()) + 1.0)); }},
    {&op::Acosh::spec, [](Step& s) { s.give(0, s.g() / sqrt(square(s.x()) - 1.0)); }},
    {&op::Atanh::spec, [](Step& s) { s.give(0, s.g() / (1.0 - square(s.x()))); }},
    {&op::Erf::spec,
     [](Step& s) { s.give(0, s.g() * apply(op::Exp{}, -square(s.x())) * (2.0 * std::numbers::inv_sqrtpi)); }},
    {&op::Sigmoid::spec, [](Step& s) { s.give(0, s.g() * s.y() * (1.0 - s.y())); }},
    {&op::Softplus::spec, [](Step& s) { s.give(0, s.g() * apply(op::Sigmoid{}, s.x())); }},
    {&op::Softsign::spec, [](Step& s) { s.give(0, s.g() / square(apply(op::Abs{}, s.x()) + 1.0)); }},
    {&op::Relu::spec, [](Step& s) { s.give(0, masked(s.x() > 0.0, s.g())); }},
    {&op::LeakyRelu::spec,
     [](Step& s) { s.give(0, where(s.x() < 0.0, s.g() * double{s.op<op::LeakyRelu>().alpha}, s.g())); }},
    {&op::ThresholdedRelu::spec,
     [](Step& s) { s.give(0, masked(s.x() > double{s.op<op::ThresholdedRelu>().alpha}, s.g())); }},
    {&op::PRelu::spec,
     [](Step& s) {
       const Term negative = s.x() < 0.0;
       if (s.wants(0)) s.give(0, where(negative, s.g() * s.x(1), s.g()));
       if (s.wants(1)) s.give_summed(1, masked(negative, s.g() * s.x()));
     }},
    {&op::Elu::spec,
     [](Step& s) { s.give(0, where(s.x() < 0.0, s.g() * (s.y() + double{s.op<op::Elu>().alpha}), s.g())); }},
    {&op::Celu::spec,
     [](Step& s) {
       s.give(0, where(s.x() < 0.0, s.g() * (s.y() / double{s.op<op::Celu>().alpha} + 1.0), s.g()));
     }},
    {&op::Selu::spec,
     [](Step& s) {
       const double alpha = s.op<op::Selu>().alpha, gamma = s.op<op::Selu>().gamma;
       s.give(0, where(s.x() > 0.0, s.g() * gamma, s.g() * (s.y() + alpha * gamma)));
     }},
    {&op::HardSigmoid::spec,
     [](Step& s) {
       const Term d = s.g() * double{s.op<op::HardSigmoid>().alpha};
       s.give(0, masked(s.y() > 0.0, masked(s.y() < 1.0, d)));
     }},
    {&op::HardSwish::spec,
     [](Step& s) {
       const Term d = s.g() * (s.x() / 3.0 + 0.5);
       s.give(0, where(s.x() > 3.0, s.g(), masked(s.x() > -3.0, d)));
     }},
    {&op::Swish::spec,
     [](Step& s) { s.through({s.x() * apply(op::Sigmoid{}, s.x() * double{s.op<op::Swish>().alpha})}); }},
    {&op::Mish::spec, [](Step& s) { s.through({s.x() * apply(op::Tanh{}, apply(op::Softplus{}, s.x()))}); }},
    {&op::Gelu::spec,
     [](Step& s) {
       const Term x = s.x();
       if (s.op<op::Gelu>().approximate == "tanh") {
         const Term inner = (x + x * square(x) * 0.044715) * std::sqrt(2.0 / std::numbers::pi);
         return s.through({x * 0.5 * (apply(op::Tanh{}, inner) + 1.0)});
       }
       s.through({x * 0.5 * (apply(op::Erf{}, x * (1.0 / std::numbers::sqrt2)) + 1.0)});
     }},
    {&op::Shrink::spec,
     [](Step& s) {
       const double lambd = s.op<op::Shrink>().lambd;
       s.give(0, masked(apply(op::Abs{}, s.x()) > lambd, s.g()));
     }},
};

/// Functions that are constant but for jumps, or do not depend on their operands' elements at all.
inline void flat_step(Step&) {}
inline constexpr Rule flat_rules[] = {
    {&op::Ceil::spec, flat_step},
    {&op::Floor::spec, flat_step},
    {&op::Round::spec, flat_step},
    {&op::Sign::spec, flat_step},
    {&op::Hardmax::spec, flat_step},
    {&op::EyeLike::spec, flat_step},
    {&op::Bernoulli::spec, flat_step},
    {&op::RandomNormalLike::spec, flat_step},
    {&op::RandomUniformLike::spec, flat_step},
};

}  // namespace tenon::TENON_ABI::gradients
