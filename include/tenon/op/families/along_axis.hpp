// Softmax, LogSoftmax and Hardmax differ in what they compute from a line of elements. Today a line lies
// along one axis; before version 13 several axes formed one.
#pragma once

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// Each line of input along `axis` through F: f(x, y, outer, extent, inner), y may be x.
template <Str Name, class F>
struct AlongAxis {
  int64_t axis = -1;

  static constexpr F lines{};
  static constexpr Spec spec{.name = Name,
                             .since = {13},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::floats_bf16}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("axis", &AlongAxis::axis)};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (!i.expect_rank_at_least(0, 1)) return;
    if (x.ranked()) i.axis(axis, x.rank());
    i.out(0, x);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    if (x.empty()) return;  // other extents may overflow
    const auto [outer, extent, inner] = split_at(x.extents(), resolve_axis(axis, x.rank()));
    lines(x.data(), y.data(), outer, extent, inner);
  }
  template <class L>
  void loops(L& l) const {
    const int rank = l.dims(0).rank();
    l.each_axis(0, rank, rank > 0 ? resolve_axis(axis, rank) : -1);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// Op at versions 1 and 11: the input is taken as a matrix, axes before `axis` form its rows, and axes from
/// `axis` on form one line together.
template <class Op>
struct FromAxisOn {
  int64_t axis = 1;

  static constexpr Spec spec{.name = Op::spec.name,
                             .since = {1, 11},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::floats}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("axis", &FromAxisOn::axis)};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (x.ranked()) {
      const auto check = [&] { i.axis(axis, x.rank()); };
      if (axis != x.rank()) check();
      else if (i.version() >= 11) i.for_files(check);
    }
    i.out(0, x);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    if (x.empty()) return;
    const int64_t rows =
        extent_product(x.extents().first(static_cast<std::size_t>(resolve_axis(axis, x.rank()))));
    Op::lines(x.data(), y.data(), rows, x.size() / rows, 1);
  }
  /// Along one axis, if the others from `axis` on have extent 1.
  template <class L>
  int32_t renew(L& to) const {
    const Dims& x = to.dims(0);
    if (!x.ranked() || x.rank() == 0 || axis == x.rank()) return -1;
    const int first = resolve_axis(axis, x.rank());
    int along = first;
    for (int d = first, longer = 0; d < x.rank(); ++d)
      if (!x[d].is(1)) {
        if (longer++ > 0) return -1;
        along = d;
      }
    return to.add(Op{.axis = along}, {to.input(0)});
  }
  template <class L>
  void loops(L& l) const {
    l.each_axis(0, l.dims(0).ranked() ? resolve_axis(axis, l.dims(0).rank()) : 0);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op
