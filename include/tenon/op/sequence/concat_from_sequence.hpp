// ConcatFromSequence: the tensors of a sequence as one. onnx.ai/onnx/operators/onnx__ConcatFromSequence.html
#pragma once

#include "tenon/op/families/control_flow.hpp"
#include "tenon/op/tensor/concat.hpp"

namespace tenon::TENON_ABI::op {

/// The tensors concatenated along `axis`, the only axis on which their extents may differ. If `new_axis` is
/// 1, they are stacked along a new axis, and their extents are equal. Error{invalid_argument} for an empty
/// sequence. op::ConcatFromSequence{.axis = 0}(sequence) of (2,3) and (1,3) gives (3,3).
struct ConcatFromSequence {
  Opt<int64_t> axis{};
  int64_t new_axis = 0;

  static constexpr Spec spec{.name = "ConcatFromSequence",
                             .since = {11},
                             .inputs = {{"input_sequence", "S"}},
                             .outputs = {{"concat_result", "T"}},
                             .types = {{"S", seq(types::all)}, {"T", types::all}}};
  static constexpr Attributes attributes{attr("axis", &ConcatFromSequence::axis).required(),
                                         attr("new_axis", &ConcatFromSequence::new_axis)};

  constexpr void infer(Infer& i) const {
    if (!axis) return i.fail("axis is missing");
    if (!i.expect_choice("new_axis", new_axis, {0, 1})) return;
    if (i.in(0).type.kind == Kind::sequence) i.out(0).type = i.dtype(0);
    if (!i.ranked(0)) return;
    Dims d = i.dims(0);
    const Dims rank = i.of_rank(d.rank() + new_axis);
    const int a = i.axis(*axis, rank.rank());
    if (i.failed()) return;
    if (new_axis) d.insert(a, Dim());
    else d[a] = Dim();
    i.out(0, d);
  }
  /// Error{invalid_shape} if the axis or the extents do not fit.
  Value compute(Context& c, const Value& input_sequence) const {
    const std::vector<Value>& items = input_sequence.sequence().items;
    if (items.empty()) raise(ErrorCode::invalid_argument, spec.name, "the sequence is empty");
    Extents extents = items[0].tensor().extents();
    const int rank = extents.size() + static_cast<int>(new_axis);
    if (*axis < -rank || *axis >= rank)
      raise(ErrorCode::invalid_shape, spec.name, "axis ", *axis, " outside of [", -rank, ", ", rank - 1, "]");
    const int along = resolve_axis(*axis, rank);
    int64_t sum = 0;
    std::vector<AnyView> views;
    for (const Value& item : items) {
      const Extents& x = item.tensor().extents();
      bool fits = x.size() == extents.size();
      for (int d = 0; fits && d < x.size(); ++d) fits = x[d] == extents[d] || (!new_axis && d == along);
      if (!fits || (!new_axis && tenon::detail::add_overflow(sum, x[along], &sum)))
        raise(ErrorCode::invalid_shape, spec.name, "tensors of ", to_string(extents), " and ", to_string(x));
      views.push_back(item.tensor().view());
    }
    if (new_axis) return stacked(spec.name, items, along, false, c.allocator());
    extents[along] = sum;
    AnyTensor result = AnyTensor::uninitialized(views[0].dtype(), extents, c.allocator());
    Concat{.axis = along}.compute(views, result.out());
    return result;
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ConcatFromSequence)
