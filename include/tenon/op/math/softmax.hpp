// Softmax: exponentials along an axis, scaled to sum 1.   onnx.ai/onnx/operators/onnx__Softmax.html
#pragma once

#include "tenon/kernels/reduce/softmax.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::op {

/// output = exp(input) / ReduceSum(exp(input), axis). Stable: the greatest element is subtracted first.
/// op::Softmax{.axis = 0}(x) of (0,0) gives (0.5,0.5).
struct Softmax {
  int64_t axis = -1;

  static constexpr Spec spec{.name = "Softmax",
                             .since = {13},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::floats_bf16}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("axis", &Softmax::axis)};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (x.ranked() && x.rank() > 0) i.axis(axis, x.rank());
    i.out(0, x);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    if (x.empty()) return;  // other extents may overflow
    const int a = x.rank() == 0 ? 0 : resolve_axis(axis, x.rank());
    const auto [outer, extent, inner] = split_at(x.extents(), a);
    kernels::softmax(x.data(), y.data(), outer, extent, inner);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// The input is taken as a matrix: axes before `axis` make its rows, axes from `axis` on are normalised
/// together.
struct Softmax_1 {
  int64_t axis = 1;

  static constexpr Spec spec{.name = "Softmax",
                             .since = {1, 11},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::floats}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("axis", &Softmax_1::axis)};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (x.ranked() && axis != x.rank()) i.axis(axis, x.rank());
    i.out(0, x);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    if (x.empty()) return;
    const int64_t rows = product(x.extents().first(static_cast<std::size_t>(resolve_axis(axis, x.rank()))));
    kernels::softmax(x.data(), y.data(), rows, x.size() / rows, 1);
  }
  /// Along one axis, where the others behind `axis` have extent 1.
  template <class L>
  int32_t lower(L& to) const {
    const Dims& x = to.dims(0);
    if (!x.ranked() || x.rank() == 0 || axis == x.rank()) return -1;
    const int first = resolve_axis(axis, x.rank());
    int along = first;
    for (int d = first, longer = 0; d < x.rank(); ++d)
      if (!x[d].is(1)) {
        if (longer++ > 0) return -1;
        along = d;
      }
    return to.add(Softmax{.axis = along}, {to.input(0)});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
