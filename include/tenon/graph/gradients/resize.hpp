// Derivatives of operators that make axes longer or shorter, or write into zeros.
#pragma once

#include <array>
#include <limits>

#include "tenon/graph/gradients/attention.hpp"
#include "tenon/graph/gradients/movement.hpp"
#include "tenon/graph/gradients/product.hpp"
#include "tenon/op/tensor/center_crop_pad.hpp"
#include "tenon/op/tensor/resize.hpp"
#include "tenon/op/tensor/tensor_scatter.hpp"
#include "tenon/op/tensor/upsample.hpp"

namespace tenon::TENON_ABI::gradients {

/// For an operator that moves the elements of operand `moved` into zeros: it moves their places, counted from
/// 1, in the same way. `in` has the other operands.
inline void moved_among_zeros_step(Step& s, AnyOperator op, std::vector<Term> in, int moved = 0) {
  if (!s.wants(moved)) return;
  Writer& w = s.w;
  const Term x = s.x(moved), all = size(x) + 1.0;
  in[static_cast<std::size_t>(moved)] =
      reshape(w.add(op::Range{}, {w.integer(1), all, w.integer(1)}), shape(x));
  const Term places = w.add_node(std::move(op), in, 1)[0];
  const Term zeros = expand(w.number(0, x), reshape(all, w.integers({1})));
  const Term sums = w.add(op::ScatterElements{.reduction = "add"}, {zeros, flat(places), flat(s.g())});
  const Term end = w.integers({std::numeric_limits<int64_t>::max()});
  s.give(moved, reshape(w.add(op::Slice{}, {sums, w.integers({1}), end}), shape(x)));
}

/// Resize with a linear or cubic mode, axis by axis: the matrix of an axis is the resized identity.
class ResizedAxes {
 public:
  explicit ResizedAxes(Step& s) : s_(s), w_(s.w), op_(s.op<op::Resize>()), rank_(s.rank(s.x())) {
    if (op_.keep_aspect_ratio_policy != "stretch")
      s.refuse("no derivative of Resize with keep_aspect_ratio_policy ",
               std::string_view(op_.keep_aspect_ratio_policy));
    for (int k : {roi, scales, sizes})
      if (s.wants(k))
        s.refuse("no derivative of Resize with respect to ",
                 std::string_view(op::Resize::spec.input(k).name));
    if (given(scales) && given(sizes))
      s.refuse("the derivative of Resize needs to know before the run which of scales and sizes is empty");
  }

  /// The derivative with respect to x, given g, the derivative with respect to the result.
  Term back(Term g) const {
    const int64_t n = op_.axes.empty() ? rank_ : op_.axes.size();
    for (int64_t k = 0; k < n; ++k) {
      const int64_t axis = op_.axes.empty() ? k : op_.axes[static_cast<int>(k)];
      const int d = static_cast<int>(axis < 0 ? axis + rank_ : axis);
      if (!stays(static_cast<int>(k), d)) g = multiplied(g, transposed(matrix(k, n, d), 2), d);
    }
    return g;
  }

 private:
  static constexpr int roi = 1, scales = 2, sizes = 3;

  bool given(int input) const {
    const Term t = s_.x(input);
    return t && !w_.dims(t).count().is(0);
  }
  bool crops() const { return op_.coordinate_transformation_mode == "tf_crop_and_resize"; }
  /// Whether the elements along an axis are known to stay as they are.
  bool stays(int k, int d) const {
    if (crops()) return false;
    if (given(sizes)) {
      const Dims x = w_.dims(s_.x()), y = w_.dims(s_.y());
      return y.ranked() && x[d].known() && x[d].same(y[d]);
    }
    const auto& entry = w_.graph().entry(s_.x(scales).id);
    return entry.source == Graph::Source::constant && entry.content.is_tensor() &&
           entry.content.tensor().view().as<float>()[k] == 1;
  }
  /// (old extent, new extent): how much of each old element a new one has.
  Term matrix(int64_t k, int64_t n, int d) const {
    op::Resize one = op_;
    one.axes = {1};
    one.extrapolation_value = 0;
    const auto entries = [&](int input, std::initializer_list<int64_t> which) {
      return given(input) ? w_.add(op::Gather{}, {s_.x(input), w_.integers(which)}) : s_.x(input);
    };
    const Term place = numbered(s_.x(), d);
    const Term identity = cast_like(equal(unsqueeze(place, {1}), place), widened(s_.x()));
    const Term in[] = {identity, crops() ? entries(roi, {k, n + k}) : s_.x(roi), entries(scales, {k}),
                       entries(sizes, {k})};
    return w_.add_node(s_.again(one), in, 1)[0];
  }
  /// g times the matrix along axis d.
  Term multiplied(Term g, Term matrix, int d) const {
    if (d == rank_ - 1) return mat_mul(g, matrix);
    op::Transpose exchange;
    for (int k = 0; k < rank_; ++k) exchange.perm.push_back(k);
    std::swap(exchange.perm[d], exchange.perm[rank_ - 1]);
    return w_.add(exchange, {mat_mul(w_.add(exchange, {g}), matrix)});
  }

  Step& s_;
  Writer& w_;
  const op::Resize& op_;
  int rank_;
};

inline void resize_step(Step& s) {
  op::Resize resize = s.op<op::Resize>();
  if (resize.mode == "nearest") {
    resize.extrapolation_value = 0;
    return moved_among_zeros_step(s, s.again(resize), {{}, s.x(1), s.x(2), s.x(3)});
  }
  s.give(0, cast_like(ResizedAxes(s).back(widened(s.g())), s.x()));
}
/// Upsample is a Resize with these coordinates.
template <class Op>
void upsample_step(Step& s, Term scales) {
  const auto& old = s.op<Op>();
  const op::Resize resize{.coordinate_transformation_mode = "asymmetric",
                          .mode = old.mode == "nearest" ? "nearest" : "linear",
                          .nearest_mode = "floor"};
  s.through({s.w.add(resize, {s.x(), {}, scales})});
}

inline constexpr Rule resize_rules[] = {
    {&operator_id<op::CenterCropPad>,
     [](Step& s) { moved_among_zeros_step(s, s.again(s.op<op::CenterCropPad>()), {{}, s.x(1)}); }},
    {&operator_id<op::TensorScatter>,
     [](Step& s) {
       const op::TensorScatter& scatter = s.op<op::TensorScatter>();
       if (s.wants(0)) s.give(0, s.w.add(scatter, {s.g(), zeros_like(s.x(1)), s.x(2)}));
       const Term nowhere = expand(s.w.integer(0), shape(s.x(0)));
       moved_among_zeros_step(s, s.again(scatter), {nowhere, {}, s.x(2)}, 1);
     }},
    {&operator_id<op::Resize>, resize_step},
    {&operator_id<op::Resize_10>,
     [](Step& s) {
       const op::Resize_10& old = s.op<op::Resize_10>();
       // The nearest element of shorter axes is the upper one.
       if (old.mode == "nearest") return moved_step<op::Resize_10>(s);
       upsample_step<op::Resize_10>(s, s.x(1));
     }},
    {&operator_id<op::Upsample>, [](Step& s) { upsample_step<op::Upsample>(s, s.x(1)); }},
    {&operator_id<op::Upsample_7>,
     [](Step& s) { upsample_step<op::Upsample_7>(s, s.w.floats(s.op<op::Upsample_7>().scales)); }},
    {&operator_id<op::Upsample_1>,
     [](Step& s) {
       const op::Upsample_1& old = s.op<op::Upsample_1>();
       upsample_step<op::Upsample_1>(s,
                                     s.w.floats(std::array{1.0f, 1.0f, *old.height_scale, *old.width_scale}));
     }},
};

}  // namespace tenon::TENON_ABI::gradients
