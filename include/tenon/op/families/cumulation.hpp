// CumSum and CumProd differ only in their names, versions and kernels.
#pragma once

#include "tenon/kernels/reduce/cumulate.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// Each element of y is F of the elements of x up to its own along `axis` or, with `exclusive`, before its
/// own; with `reverse` from the end of the axis on.
template <Str Name, kernels::CumulateOp F, int... Since>
struct Cumulation {
  int64_t exclusive = 0;
  int64_t reverse = 0;

  static constexpr Spec spec{.name = Name,
                             .since = {Since...},
                             .inputs = {{"x", "T"}, {"axis", "T2"}},
                             .outputs = {{"y", "T"}},
                             .types = {{"T",
                                        {{11, types::float32 | types::float64 | types::int32 | types::int64 |
                                                  types::uint32 | types::uint64},
                                         {14, types::wide_numeric_bf16}}},
                                       {"T2", types::indices}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("exclusive", &Cumulation::exclusive).flag(),
                                         attr("reverse", &Cumulation::reverse).flag()};

  constexpr void infer(Infer& i) const {
    if (!i.expect_one(1)) return;
    if (Ints axis; i.ints(1, axis) && i.ranked(0)) i.axis(axis[0], i.dims(0).rank());
    i.out(0, i.dims(0));
  }
  template <class T>
  void compute(TensorView<const T> x, AnyView axis, TensorView<T> y) const {
    if (x.empty()) return;
    const int64_t along = axis.dtype() == DType::int32 ? axis.as<int32_t>()[0] : axis.as<int64_t>()[0];
    const auto [outer, extent, inner] = split_at(x.extents(), resolve_axis(along, x.rank()));
    kernels::cumulate<F>(x.data(), y.data(), outer, extent, inner, exclusive != 0, reverse != 0);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op
