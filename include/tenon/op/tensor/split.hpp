// Split: a tensor cut into parts along an axis.   onnx.ai/onnx/operators/onnx__Split.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

namespace split_detail {

/// The rule for `count` parts that have the length at(k) each, as far as it is known.
template <class At>
constexpr void infer_split(Infer& i, int64_t along, Dim count, At at) {
  const Dims& x = i.dims(0);
  if (count.differs(i.outputs()))
    return i.fail("split states ", count, " lengths for ", i.outputs(), " outputs");
  if (!x.ranked()) return;
  const int axis = i.axis(along, x.rank());
  if (i.failed()) return;
  Dim sum = 0;
  for (int k = 0; k < i.outputs(); ++k) {
    const Dim length = at(k);
    if (!i.expect_at_least("length", length, 0)) return;
    Dims r = x;
    r[axis] = length;
    i.out(k, r);
    if (x.rank() == 1 && length.known() && sum.known())
      propagate(i, 0, k, length.value(), [&](int64_t j) { return sum.value() + j; });
    if (length.known() && sum.known() && !(sum + length).known()) return i.fail("the lengths overflow");
    sum = sum + length;
  }
  if (sum.differs(x[axis])) i.fail("the lengths sum to ", sum, ", but axis ", axis, " has ", x[axis]);
}

/// The length of part k of `parts` equal ones, of which the last may be shorter or empty.
constexpr Dim even_part(Dim extent, int64_t parts, int64_t k) {
  if (parts == 1) return extent;
  if (!extent.known()) return {};
  const int64_t n = extent.value(), length = n / parts + (n % parts != 0);
  const int64_t before = length != 0 && k > n / length ? n : k * length;
  return std::min(length, n - before);
}

constexpr void infer_even_split(Infer& i, int64_t along, int64_t parts, bool exact) {
  const Dims& x = i.dims(0);
  if (!i.expect_at_least("num_outputs", parts, 1) || !x.ranked()) return;
  const int axis = i.axis(along, x.rank());
  if (i.failed()) return;
  const Dim extent = x[axis];
  if (exact && (extent % parts).differs(0))
    return i.fail("axis ", axis, " of ", x, " does not divide into ", parts, " equal parts");
  infer_split(i, along, parts, [&](int k) { return even_part(extent, parts, k); });
}

/// `length(k)` is part k's, for parts that are not requested.
template <class Length>
void split(AnyView x, int64_t along, std::span<const AnyOut> outputs, Length length) {
  if (x.empty()) return;
  const int axis = resolve_axis(along, x.rank());
  const AxisSplit whole = split_at(x.extents(), axis);
  const int64_t row = whole.extent * whole.inner;
  int64_t at = 0;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const int64_t part = whole.inner * (outputs[k] ? outputs[k].extent(axis) : length(static_cast<int>(k)));
    const int64_t extents[] = {whole.outer, part}, to[] = {part, 1}, from[] = {row, 1};
    if (outputs[k]) kernels::move(x.dtype(), outputs[k].data(), {0, to}, x.data(), {at, from}, extents);
    at += part;
  }
}

}  // namespace split_detail

/// `split` states the parts' lengths along `axis`; without it there are `num_outputs` equal parts, the last
/// of which may be shorter. Before version 18, without `split`, there are as many equal parts as outputs.
/// op::call<2>(op::Split{.num_outputs = 2}, x) of (5) gives (3) and (2).
struct Split {
  int64_t axis = 0;
  Opt<int64_t> num_outputs{};

  static constexpr Spec spec{
      .name = "Split",
      .since = {2, 11, 13, 18},
      .inputs = {{"input", "T"}, {.name = "split", .type = "tensor(int64)", .arity = optional, .since = 13}},
      .outputs = {{"outputs", "T", variadic}},
      .types = {all_tensors_ir4},
      .elements = Elements::choice};
  static constexpr Attributes attributes{attr("axis", &Split::axis),
                                         attr_as_input<std::vector<int64_t>>("split", 1).until(12),
                                         attr("num_outputs", &Split::num_outputs).since(18)};

  constexpr void infer(Infer& i) const {
    if (i.has(1) && num_outputs) return i.fail("split and num_outputs exclude each other");
    if (!i.has(1) && !num_outputs && i.version() >= 18)
      return i.fail("neither split nor num_outputs is given");
    if (!i.has(1))
      return split_detail::infer_even_split(i, axis, num_outputs.value_or(i.outputs()), !num_outputs);
    if (!i.expect_rank(1, 1)) return;
    split_detail::infer_split(i, axis, i.length(1), [&](int k) { return i.element(1, k); });
  }
  void compute(AnyView input, TensorView<const int64_t> split, std::span<const AnyOut> outputs) const {
    split_detail::split(input, axis, outputs, [&](int k) {
      const auto parts = num_outputs.value_or(static_cast<int64_t>(outputs.size()));
      return split ? split[k]
                   : split_detail::even_part(input.extent(static_cast<int>(axis)), parts, k).value();
    });
  }
  template <class L>
  void loops(L& l) const {
    const int rank = l.dims(0).rank();
    for (int d = 0; d < rank; ++d) {
      if (d == resolve_axis(axis, rank)) continue;
      typename L::Axes out;
      for (int k = 0; k < l.outputs(); ++k) out.push_back({k, d});
      l.over({{0, d}}, std::move(out));
    }
    if (!l.dims(0).ranked()) return;
    // Parts of equal length are stretches of the axis.
    const int along = resolve_axis(axis, rank);
    const Dim length = l.out(0)[along];
    typename L::Axes out, lengths;
    for (int k = 0; k < l.outputs(); ++k) {
      if (!l.out(k)[along].same(length)) return;
      out.push_back({k, along});
      if (l.has(1)) lengths.push_back({1, k});
    }
    l.over({{0, along, l.outputs()}}, std::move(out), length).elements = std::move(lengths);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// An attribute states the lengths, or an input of the data's type, which takes precedence.
struct Split_1 {
  Opt<int64_t> axis{};  ///< 0 unless stated
  std::vector<int64_t> split{};

  static constexpr Spec spec{.name = "Split",
                             .since = {1},
                             .inputs = {{"input", "T"}, {"split", "T", optional}},
                             .outputs = {{"outputs...", "T", variadic}},
                             .types = {{"T", types::floats}},
                             .elements = Elements::choice};
  static constexpr Attributes attributes{attr("axis", &Split_1::axis), attr("split", &Split_1::split)};

  constexpr void infer(Infer& i) const {
    const int64_t along = axis.value_or(0);
    if (!i.has(1) && split.empty()) return split_detail::infer_even_split(i, along, i.outputs(), true);
    if (!i.has(1))
      return split_detail::infer_split(i, along, static_cast<int64_t>(split.size()),
                                       [&](int k) { return Dim(split[static_cast<std::size_t>(k)]); });
    if (!i.expect_rank(1, 1)) return;
    const void* data = i.in(1).data;
    split_detail::infer_split(i, along, i.dims(1).count(),
                              [&](int k) { return data ? Dim(truncated_at(i.dtype(1), data, k)) : Dim{}; });
  }
  void compute(AnyView input, AnyView lengths, std::span<const AnyOut> outputs) const {
    split_detail::split(input, axis.value_or(0), outputs, [&](int k) {
      if (lengths) return truncated_at(lengths.dtype(), lengths.data(), k);
      return split.empty()
                 ? input.extent(static_cast<int>(axis.value_or(0))) / static_cast<int64_t>(outputs.size())
                 : split[static_cast<std::size_t>(k)];
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Split, tenon::op::Split_1)
