// UnfoldTensor: the windows along an axis.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.UnfoldTensor
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/tensor/gather.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// PyTorch's Tensor.unfold: windows of `size` elements along axis `dim`, the first of each `step` elements
/// after that of the last; a new last axis holds a window's elements.
/// op::com_microsoft::UnfoldTensor{.dim = 0, .size = 3}(x) of (5,2) gives (3,2,3).
struct UnfoldTensor {
  int64_t dim = -1;
  Opt<int64_t> size{};
  int64_t step = 1;

  static constexpr Spec spec{.name = "UnfoldTensor",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::all}},
                             .elements = Elements::choice};
  static constexpr Attributes attributes{attr("dim", &UnfoldTensor::dim),
                                         attr("size", &UnfoldTensor::size).required(),
                                         attr("step", &UnfoldTensor::step)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_at_least("size", size.value_or(0), 1) || !i.expect_at_least("step", step, 1)) return;
    if (!i.expect_rank_at_least(0, 1) || !i.ranked(0)) return;
    const Dims& x = i.dims(0);
    const int axis = i.axis(dim, x.rank());
    Dims y = i.of_rank(x.rank() + 1);
    if (i.failed()) return;
    if (x[axis].below(*size)) return i.fail("windows of ", *size, " do not fit into an extent of ", x[axis]);
    for (int d = 0; d < x.rank(); ++d) y[d] = x[d];
    y[axis] = x[axis].known() ? Dim(windows(x[axis].value())) : Dim();
    y[x.rank()] = *size;
    i.out(0, y);
  }
  template <class L>
  int32_t lower(L& to) const {
    const Dims& x = to.dims(0);
    if (!x.ranked()) return -1;
    const int axis = static_cast<int>(resolve_axis(dim, x.rank()));
    if (!x[axis].known()) return -1;
    Tensor<int64_t> places({windows(x[axis].value()), *size});
    for (int64_t k = 0; k < places.size(); ++k) places[k] = k / *size * step + k % *size;
    Ints perm;
    for (int d = 0; d <= x.rank(); ++d)
      if (d != axis + 1) perm.push_back(d);
    perm.push_back(axis + 1);
    const int32_t gathered = to.add(Gather{.axis = axis}, {to.input(0), to.constant(places)});
    return function_body::transposed(to, gathered, perm);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  constexpr int64_t windows(int64_t extent) const { return (extent - *size) / step + 1; }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::UnfoldTensor)
