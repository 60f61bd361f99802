// Derivatives of reductions.
#pragma once

#include <limits>

#include "tenon/graph/gradients/elementwise.hpp"
#include "tenon/op/reduction/reduce_l1.hpp"
#include "tenon/op/reduction/reduce_l2.hpp"
#include "tenon/op/reduction/reduce_log_sum.hpp"
#include "tenon/op/reduction/reduce_log_sum_exp.hpp"
#include "tenon/op/reduction/reduce_max.hpp"
#include "tenon/op/reduction/reduce_mean.hpp"
#include "tenon/op/reduction/reduce_min.hpp"
#include "tenon/op/reduction/reduce_prod.hpp"
#include "tenon/op/reduction/reduce_sum.hpp"
#include "tenon/op/reduction/reduce_sum_square.hpp"

namespace tenon::TENON_ABI::gradients {

/// A reduction's result, or its derivative, with the reduced axes restored with extent 1.
template <class Op>
Term restored(Step& s, Term t) {
  return s.template op<Op>().keepdims == 1 || !s.x(1) ? t : s.w.add(op::Unsqueeze{}, {t, s.x(1)});
}
/// The sum of x over the axes of the step's reduction, which are kept with extent 1.
template <class Op>
Term sum_as(Step& s, Term x) {
  return s.w.add(op::ReduceSum{.noop_with_empty_axes = s.template op<Op>().noop_with_empty_axes},
                 {x, s.x(1)});
}
/// For a reduction with dy/dx = slope(x, y, g), where y and g broadcast to x.
template <class Op, class F>
void reduction_step(Step& s, F slope) {
  s.give(0, slope(s.x(), restored<Op>(s, s.y()), restored<Op>(s, s.g())));
}
/// Equal extrema share the derivative.
template <class Op>
void extremum_of_step(Step& s) {
  const Term chosen = equal(s.x(), restored<Op>(s, s.y()));
  s.give(0, masked(chosen, restored<Op>(s, s.g()) / sum_as<Op>(s, cast_like(chosen, s.x()))));
}
/// The product of the other elements is y / x where x is not 0. For a single zero it is the product of the
/// nonzero elements. For each of two zeros it is this product times the other zero, so that its derivative is
/// right too. With more zeros neither matters.
inline void product_step(Step& s) {
  const Term x = s.x(), zero = equal(x, 0.0), one = where(zero, 1.0, x);
  const Term y = restored<op::ReduceProd>(s, s.y()), g = restored<op::ReduceProd>(s, s.g());
  op::ReduceProd kept = s.op<op::ReduceProd>();
  kept.keepdims = 1;
  const Term product = s.w.add(kept, {one, s.x(1)}) * g;
  const Term zeros = sum_as<op::ReduceProd>(s, cast_like(zero, x));
  const Term other = sum_as<op::ReduceProd>(s, where(zero, x, 0.0)) - x;
  const Term of_several = where(equal(zeros, 2.0), product * other, 0.0);
  s.give(0, where(zero, where(equal(zeros, 1.0), product, of_several), g * y / one));
}

inline constexpr Rule reduction_rules[] = {
    {&operator_id<op::ReduceSum>,
     [](Step& s) { s.give(0, expand(restored<op::ReduceSum>(s, s.g()), shape(s.x()))); }},
    {&operator_id<op::ReduceMean>,
     [](Step& s) {
       // The number of elements per mean; arbitrary if there are no means.
       const Term count = size(s.x()) / s.w.add(op::Max{}, {size(s.y()), s.w.integer(1)});
       const Term g = widened(restored<op::ReduceMean>(s, s.g()));
       s.give(0, expand(cast_like(g / cast_like(count, g), s.x()), shape(s.x())));
     }},
    {&operator_id<op::ReduceMax>, extremum_of_step<op::ReduceMax>},
    {&operator_id<op::ReduceMin>, extremum_of_step<op::ReduceMin>},
    {&operator_id<op::ReduceProd>, product_step},
    {&operator_id<op::ReduceSumSquare>,
     [](Step& s) {
       reduction_step<op::ReduceSumSquare>(s, [](Term x, Term, Term g) { return g * x * 2.0; });
     }},
    {&operator_id<op::ReduceL1>,
     [](Step& s) { reduction_step<op::ReduceL1>(s, [](Term x, Term, Term g) { return g * sign(x); }); }},
    {&operator_id<op::ReduceL2>,
     [](Step& s) {
       reduction_step<op::ReduceL2>(
           s, [](Term x, Term y, Term g) { return g * x / where(equal(y, 0.0), 1.0, y); });
     }},
    {&operator_id<op::ReduceLogSum>,
     [](Step& s) {
       s.give(0, expand(restored<op::ReduceLogSum>(s, s.g()) / sum_as<op::ReduceLogSum>(s, s.x()),
                        shape(s.x())));
     }},
    {&operator_id<op::ReduceLogSumExp>,
     [](Step& s) {
       // The logarithm of a sum of zeros, -inf, must not be subtracted.
       const double nothing = -std::numeric_limits<double>::infinity();
       reduction_step<op::ReduceLogSumExp>(s, [nothing](Term x, Term y, Term g) {
         return g * apply(op::Exp{}, x - where(equal(y, nothing), 0.0, y));
       });
     }},
};

}  // namespace tenon::TENON_ABI::gradients
