// Concat: tensors joined along an axis.   onnx.ai/onnx/operators/onnx__Concat.html
#pragma once

#include "tenon/base/scratch.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// The inputs differ at most in their extents on `axis`, where the result has the sum. Before version 4 the
/// axis is 1 unless it is stated. op::Concat{.axis = 0}(x, y) of (2,3) and (1,3) gives (3,3).
struct Concat {
  Opt<int64_t> axis{};

  static constexpr Spec spec{.name = "Concat",
                             .since = {1, 4, 11, 13},
                             .inputs = {{"inputs", "T", variadic}},
                             .outputs = {{"concat_result", "T"}},
                             .types = {{"T", {{1, types::floats}, {4, types::all}, {13, types::all_ir4}}}},
                             .elements = Elements::choice,
                             .memory = Memory::join};
  static constexpr Attributes attributes{attr("axis", &Concat::axis).until(3),
                                         attr("axis", &Concat::axis).required().since(4)};

  constexpr void infer(Infer& i) const {
    if (!axis && i.version() >= 4) return i.fail("axis is missing");
    Dims r;
    for (int k = 0; k < i.inputs(); ++k) {
      const Dims& x = i.dims(k);
      if (r.ranked() && x.ranked() && r.rank() != x.rank())
        return i.fail("ranks of ", r, " and ", x, " differ");
      if (!r.ranked()) r = x;
    }
    if (!r.ranked()) return;
    const int along = i.axis(axis.value_or(1), r.rank());
    if (i.failed()) return;
    Dim sum = 0;
    for (int k = 0; k < i.inputs(); ++k) {
      const Dims& x = i.dims(k);
      if (!x.ranked()) {
        sum = {};
        break;
      }
      const Dim before = sum;
      sum = before + x[along];
      if (before.known() && x[along].known() && !sum.known())
        return i.fail("the extents along axis ", along, " overflow");
      for (int d = 0; d < r.rank(); ++d)
        if (d != along) r[d] = i.unify(r[d], x[d], "extents off the axis");
    }
    r[along] = sum;
    i.out(0, r);

    // The elements of some inputs may be known alone: the others have a place in the list.
    bool any = false;
    for (int k = 0; k < i.inputs(); ++k) any |= i.propagates(k);
    PropagatedData& v = i.out(0).propagated;
    if (!any || r.rank() != 1 || !sum.known() || !v.begin(sum.value())) return;
    for (int k = 0; k < i.inputs(); ++k)
      for (int64_t j = 0; j < i.dims(k)[0].value(); ++j)
        v.push_back(i.propagates(k) ? i.propagated(k, j) : Dim());
  }
  void compute(std::span<const AnyView> inputs, AnyOut concat_result) const {
    if (concat_result.empty()) return;
    const int along = resolve_axis(axis.value_or(1), concat_result.rank());
    const AxisSplit whole = split_at(concat_result.extents(), along);
    const int64_t row = whole.extent * whole.inner;
    // In one loop over the rows the result is written from end to end, and threads synchronise once.
    if (const DType d = concat_result.dtype(); d != DType::string && !is_packed(d)) {
      Scratch scratch;
      auto* const parts = scratch.take<kernels::Rows>(static_cast<int64_t>(inputs.size()));
      for (std::size_t k = 0; k < inputs.size(); ++k)
        parts[k] = {inputs[k].data(), packed_bytes(inputs[k].extent(along) * whole.inner, d)};
      if (kernels::join_rows(concat_result.data(), {parts, inputs.size()}, whole.outer)) return;
    }
    int64_t at = 0;
    for (const AnyView& x : inputs) {
      const int64_t length = x.extent(along) * whole.inner;
      const auto place = static_cast<const std::byte*>(concat_result.data()) + packed_bytes(at, x.dtype());
      if (whole.outer == 1 && x.data() == place) {  // a plan placed the operand there
        at += length;
        continue;
      }
      const int64_t extents[] = {whole.outer, length}, to[] = {row, 1}, from[] = {length, 1};
      kernels::move(x.dtype(), concat_result.data(), {at, to}, x.data(), {0, from}, extents);
      at += length;
    }
  }
  template <class L>
  void loops(L& l) const {
    const int rank = l.out(0).rank();
    for (int d = 0; d < rank; ++d) {
      if (d == resolve_axis(axis.value_or(1), rank)) continue;
      typename L::Axes in;
      for (int k = 0; k < l.inputs(); ++k) in.push_back({k, d});
      l.over(std::move(in), {{0, d}});
    }
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Concat)
