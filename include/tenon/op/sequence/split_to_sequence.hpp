// SplitToSequence: a tensor cut along an axis.   onnx.ai/onnx/operators/onnx__SplitToSequence.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// A scalar `split` is the length of every part except perhaps the last, a vector states the length of each.
/// Without it parts have length 1, and lose the axis if `keepdims` is 0.
/// op::SplitToSequence{}(x, int64_t{2}) of (5) gives tensors of (2), (2) and (1).
struct SplitToSequence {
  int64_t axis = 0;
  int64_t keepdims = 1;

  static constexpr Spec spec{.name = "SplitToSequence",
                             .since = {11, 24},
                             .inputs = {{"input", "T"}, {"split", "I", optional}},
                             .outputs = {{"output_sequence", "S"}},
                             .types = {{"T", {{11, types::all}, {24, types::all_ir4}}},
                                       {"I", types::indices},
                                       {"S", {{11, seq(types::all)}, {24, seq(types::all_ir4)}}}}};
  static constexpr Attributes attributes{attr("axis", &SplitToSequence::axis),
                                         attr("keepdims", &SplitToSequence::keepdims).flag()};

  /// Parts are separate values; a greater number of them indicates a wrong extent.
  static constexpr int64_t max_parts = int64_t{1} << 22;

  constexpr void infer(Infer& i) const {
    if (i.in(0).type.kind == Kind::tensor) i.out(0).type = Type(Kind::sequence, i.dtype(0));
    if (i.has(1) && i.ranked(1) && i.dims(1).rank() > 1)
      return i.fail("split ", i.dims(1), " is no scalar and no vector");
    if (!i.ranked(0)) return;
    Dims part = i.dims(0);
    const int a = i.axis(axis, part.rank());
    if (i.failed()) return;
    if (i.has(1)) part[a] = length_of_parts(i, part[a]);
    else if (keepdims) part[a] = 1;
    else part.erase(a);
    if (!i.failed()) i.out(0, part);
  }
  /// The length that all parts have, as far as it is known.
  static constexpr Dim length_of_parts(Infer& i, Dim extent) {
    const Dim count = i.length(1);
    if (i.dims(1).rank() == 0 && i.ranked(1)) {
      const Dim length = i.item(1);
      if (length.below(1)) i.fail("split ", length, " is not positive");
      return i.failed() || !(extent % length).is(0) ? Dim() : length;
    }
    if (!count.known() || count.is(0) || !i.has_elements(1)) return {};
    const Dim first = i.element(1, 0);
    Dim sum = 0;
    bool equal = true;
    for (int64_t k = 0; k < count.value(); ++k) {
      const Dim length = i.element(1, k);
      if (length.below(0)) return {};  // the run reports which part it is
      sum = sum + length;
      equal &= length.same(first);
    }
    if (sum.differs(extent)) i.fail("the parts sum to ", sum, ", not to extent ", extent);
    return equal ? first : Dim();
  }
  /// Error{invalid_shape} if lengths are negative, or do not sum to the extent of the axis.
  Value compute(Context& c, AnyView input, AnyView split) const {
    const int a = resolve_axis(axis, input.rank());
    const auto [outer, extent, inner] = split_at(input.extents(), a);
    const bool each = split && split.rank() == 1;
    const int64_t length = !split ? 1 : each ? 0 : int_at(split, 0);
    if (!each && length <= 0)
      raise(ErrorCode::invalid_shape, spec.name, "split ", length, " is not positive");
    const int64_t parts = each ? split.size() : extent / length + (extent % length != 0);
    if (parts > max_parts) raise(ErrorCode::out_of_memory, spec.name, parts, " parts");
    Sequence s{.element = input.dtype(), .items = {}};
    s.items.reserve(static_cast<std::size_t>(parts));
    int64_t at = 0;
    for (int64_t k = 0; k < parts; ++k) {
      const int64_t n = each ? int_at(split, k) : std::min(length, extent - at);
      if (n < 0 || n > extent - at)
        raise(ErrorCode::invalid_shape, spec.name, "part ", k, " of length ", n, " at ", at, " of extent ",
              extent);
      Extents extents(input.extents());
      if (!split && !keepdims) extents.erase(a);
      else extents[a] = n;
      AnyTensor part = AnyTensor::uninitialized(input.dtype(), extents, c.allocator());
      const int64_t rows[] = {outer, n * inner}, to[] = {n * inner, 1}, from[] = {extent * inner, 1};
      kernels::move(input.dtype(), part.out().data(), {0, to}, input.data(), {at * inner, from}, rows);
      s.items.push_back(std::move(part));
      at += n;
    }
    if (at != extent)
      raise(ErrorCode::invalid_shape, spec.name, "the parts sum to ", at, ", not to extent ", extent);
    return s;
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::SplitToSequence)
