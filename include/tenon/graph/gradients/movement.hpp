// Derivatives of operators that move elements.
#pragma once

#include "tenon/graph/gradients/step.hpp"
#include "tenon/op/math/cum_prod.hpp"
#include "tenon/op/math/cum_sum.hpp"
#include "tenon/op/math/top_k.hpp"
#include "tenon/op/nn/dropout.hpp"
#include "tenon/op/nn/flatten.hpp"
#include "tenon/op/tensor/compress.hpp"
#include "tenon/op/tensor/depth_to_space.hpp"
#include "tenon/op/tensor/dynamic_slice.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/gather_elements.hpp"
#include "tenon/op/tensor/gather_nd.hpp"
#include "tenon/op/tensor/pad.hpp"
#include "tenon/op/tensor/reverse_sequence.hpp"
#include "tenon/op/tensor/scatter_elements.hpp"
#include "tenon/op/tensor/scatter_nd.hpp"
#include "tenon/op/tensor/space_to_depth.hpp"
#include "tenon/op/tensor/split.hpp"
#include "tenon/op/tensor/squeeze.hpp"
#include "tenon/op/tensor/tile.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tenon/op/tensor/trilu.hpp"

namespace tenon::TENON_ABI::gradients {

/// Each element of d added at its index among the elements of x.
inline Term scattered(Term d, Term indices, Term x) {
  Writer& w = *d.writer;
  const Term zeros = expand(w.number(0, x), reshape(size(x), w.integers({1})));
  const Term sums = w.add(op::ScatterElements{.reduction = "add"}, {zeros, flat(indices), flat(d)});
  return reshape(sums, shape(x));
}
/// For an operator that only moves the elements of operand 0: it moves their indices in the same way. A Pad
/// that only moves does not read its constant, which is not an index.
template <class Op>
void moved_step(Step& s) {
  if (!s.wants(0)) return;
  const Term x = s.x(), n = size(x);
  const Term indices = s.w.add(op::Range{}, {s.w.integer(0), n, s.w.integer(1)});
  std::vector<Term> in{reshape(indices, shape(x))};
  for (int k = 1; k < s.inputs(); ++k) in.push_back(std::is_same_v<Op, op::Pad> && k == 2 ? Term{} : s.x(k));
  s.give(0, scattered(s.g(), s.w.add_node(s.op<Op>(), in, 1)[0], x));
}
/// For an operator that only changes the extents of operand 0.
inline void reshaped_step(Step& s) { s.give(0, reshape(s.g(), shape(s.x()))); }

inline void pad_step(Step& s) {
  const op::Pad& pad = s.op<op::Pad>();
  if (pad.mode != "constant") return moved_step<op::Pad>(s);
  // Negative pads undo positive ones, and vice versa.
  if (s.wants(0)) s.give(0, s.w.add(op::Pad{}, {s.g(), -s.x(1), {}, s.x(3)}));
  if (!s.wants(2)) return;
  const Term added = s.w.add(op::Pad{}, {zeros_like(s.x()), s.x(1), s.w.number(1, s.x()), s.x(3)});
  s.give(2, reshape(sum(s.g() * added), shape(s.x(2))));
}

inline void concat_step(Step& s) {
  const int64_t axis = s.op<op::Concat>().axis.value_or(1);
  if (s.inputs() == 1) return s.give(0, s.g());
  std::vector<Term> extents;
  for (int k = 0; k < s.inputs(); ++k)
    extents.push_back(shape(s.x(k), axis, axis == -1 ? Opt<int64_t>{} : Opt<int64_t>(axis + 1)));
  const Term split = s.w.add_node(op::Concat{.axis = 0}, extents, 1)[0];
  const std::vector<Term> parts = s.w.add_node(op::Split{.axis = axis}, std::array{s.g(), split}, s.inputs());
  for (int k = 0; k < s.inputs(); ++k) s.give(k, parts[static_cast<std::size_t>(k)]);
}
template <class Op>
void split_step(Step& s) {
  const Opt<int64_t> axis = s.op<Op>().axis;
  std::vector<Term> parts;
  for (int k = 0; k < s.outputs(); ++k) parts.push_back(s.g(k));
  s.give(0, s.w.add_node(op::Concat{.axis = axis.value_or(0)}, parts, 1)[0]);
}
inline void transpose_step(Step& s) {
  const Ints& perm = s.op<op::Transpose>().perm;
  op::Transpose back{.perm = perm};
  for (int k = 0; k < perm.size(); ++k) {
    const int64_t to = perm[k] < 0 ? perm[k] + perm.size() : perm[k];
    back.perm[static_cast<int>(to)] = k;
  }
  s.give(0, s.w.add(back, {s.g()}));
}
inline void gather_step(Step& s) {
  if (s.op<op::Gather>().axis != 0) return moved_step<op::Gather>(s);
  const Term rows = s.w.add(op::Cast{.to = static_cast<int64_t>(DType::int64)}, {s.x(1)});
  if (s.wants(0))
    s.give(0, s.w.add(op::ScatterND{.reduction = "add"}, {zeros_like(s.x()), unsqueeze(rows, {-1}), s.g()}));
}
/// For y = x with updates u put in.
template <class Op>
void scatter_step(Step& s) {
  Writer& w = s.w;
  const Op& op = s.op<Op>();
  const Term x = s.x(0), u = s.x(2), g = s.g();
  const auto scattered = [&](Term into, Term updates, const char* reduction) {
    Op scatter = op;
    scatter.reduction = reduction;
    return w.add(scatter, {into, s.x(1), updates});
  };
  const auto gathered = [&](Term t) {
    if constexpr (std::is_same_v<Op, op::ScatterND>) return w.add(op::GatherND{}, {t, s.x(1)});
    else return w.add(op::GatherElements{.axis = op.axis}, {t, s.x(1)});
  };
  if (op.reduction == "none" || op.reduction == "add") {
    if (s.wants(0)) s.give(0, op.reduction == "add" ? g : scattered(g, zeros_like(u), "none"));
    if (s.wants(2)) s.give(2, gathered(g));
    return;
  }
  if (op.reduction == "mul") {
    // An element's other factors multiply to the product of all nonzero factors divided by its own, or to 0.
    const auto nonzero = [](Term t) { return where(equal(t, 0.0), 1.0, t); };
    const auto zeros = [](Term t) { return cast_like(equal(t, 0.0), t); };
    const Term product = g * scattered(nonzero(x), nonzero(u), "mul");
    const Term count = scattered(zeros(x), zeros(u), "add");
    const auto slope = [&](Term own, Term all, Term zeros_of_all) {
      return where(zeros_of_all > zeros(own), 0.0, all / nonzero(own));
    };
    if (s.wants(0)) s.give(0, slope(x, product, count));
    if (s.wants(2)) s.give(2, slope(u, gathered(product), gathered(count)));
    return;
  }
  // Equal extrema share the derivative.
  const Term of_x = equal(x, s.y()), of_u = equal(u, gathered(s.y()));
  const Term share = g / scattered(cast_like(of_x, x), cast_like(of_u, u), "add");
  if (s.wants(0)) s.give(0, where(of_x, share, 0.0));
  if (s.wants(2)) s.give(2, where(of_u, gathered(share), 0.0));
}
/// A running product without one of its factors is the product of the nonzero factors, divided by that factor
/// unless it is 0. Any other factor counts up to the first zero; the first zero itself counts from its place
/// up to the second.
inline void cum_prod_step(Step& s) {
  const op::CumProd& product = s.op<op::CumProd>();
  Writer& w = s.w;
  const Term x = s.x(), zero = equal(x, 0.0), nonzero = where(zero, 1.0, x);
  const op::CumSum sum{.exclusive = product.exclusive, .reverse = product.reverse},
      back{.exclusive = product.exclusive, .reverse = !product.reverse};
  const Term zeros = w.add(sum, {cast_like(zero, x), s.x(1)});
  const Term d = s.g() * w.add(product, {nonzero, s.x(1)});
  const auto with_zeros = [&](double count) {
    return w.add(back, {where(equal(zeros, count), d, 0.0), s.x(1)});
  };
  s.give(0, where(zero, with_zeros(1), with_zeros(0) / nonzero));
}
inline void dropout_step(Step& s) {
  if (!s.x(2) || s.w.is_false(s.x(2))) return s.give(0, s.g());
  const Term g = s.g(), kept = 1.0 - (s.x(1) ? cast_like(s.x(1), g) : s.w.number(0.5, g));
  s.give(0, where(s.result(1), where(s.x(2), g / kept, g), 0.0));
  if (s.wants(1)) {
    const Term slope = where(s.x(2), sum(g * s.y()) / kept, 0.0);
    s.give(1, cast_like(reshape(slope, shape(s.x(1))), s.x(1)));
  }
}

inline constexpr Rule movement_rules[] = {
    {&operator_id<op::Reshape>, reshaped_step},
    {&operator_id<op::Flatten>, reshaped_step},
    {&operator_id<op::Squeeze>, reshaped_step},
    {&operator_id<op::Unsqueeze>, reshaped_step},
    {&operator_id<op::Expand>, [](Step& s) { s.give_summed(0, s.g()); }},
    {&operator_id<op::Transpose>, transpose_step},
    {&operator_id<op::Concat>, concat_step},
    {&operator_id<op::Split>, split_step<op::Split>},
    {&operator_id<op::Split_1>, split_step<op::Split_1>},
    {&operator_id<op::Slice>, moved_step<op::Slice>},
    {&operator_id<op::DynamicSlice>, moved_step<op::DynamicSlice>},
    {&operator_id<op::Tile>, moved_step<op::Tile>},
    {&operator_id<op::Compress>, moved_step<op::Compress>},
    {&operator_id<op::DepthToSpace>, moved_step<op::DepthToSpace>},
    {&operator_id<op::SpaceToDepth>, moved_step<op::SpaceToDepth>},
    {&operator_id<op::ReverseSequence>, moved_step<op::ReverseSequence>},
    {&operator_id<op::Pad>, pad_step},
    {&operator_id<op::Gather>, gather_step},
    {&operator_id<op::GatherElements>,
     [](Step& s) {
       s.give(0, s.w.add(op::ScatterElements{.axis = s.op<op::GatherElements>().axis, .reduction = "add"},
                         {zeros_like(s.x()), s.x(1), s.g()}));
     }},
    {&operator_id<op::GatherND>, moved_step<op::GatherND>},
    {&operator_id<op::ScatterElements>, scatter_step<op::ScatterElements>},
    {&operator_id<op::ScatterND>, scatter_step<op::ScatterND>},
    {&operator_id<op::TopK>,
     [](Step& s) {
       s.give(0, s.w.add(op::ScatterElements{.axis = s.op<op::TopK>().axis, .reduction = "add"},
                         {zeros_like(s.x()), s.y(1), s.g()}));
     }},
    {&operator_id<op::Trilu>, [](Step& s) { s.give(0, s.w.add(s.op<op::Trilu>(), {s.g(), s.x(1)})); }},
    {&operator_id<op::CumSum>,
     [](Step& s) {
       op::CumSum back = s.op<op::CumSum>();
       back.reverse = !back.reverse;
       s.give(0, s.w.add(back, {s.g(), s.x(1)}));
     }},
    {&operator_id<op::CumProd>, cum_prod_step},
    {&operator_id<op::Dropout>, dropout_step},
    {&operator_id<op::Range>,
     [](Step& s) {
       const Term steps = s.w.add(op::Range{}, {s.w.integer(0), size(s.y()), s.w.integer(1)});
       if (s.wants(0)) s.give(0, reshape(sum(s.g()), shape(s.x(0))));
       if (s.wants(2)) s.give(2, reshape(sum(s.g() * cast_like(steps, s.g())), shape(s.x(2))));
     }},
};

}  // namespace tenon::TENON_ABI::gradients
