// Expand: a tensor broadcast to a shape.   onnx.ai/onnx/operators/onnx__Expand.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::op {

/// numpy's broadcasting of input and a tensor of extents `shape`; extents of 1 in `shape` keep those of
/// input.
struct Expand {
  static constexpr Spec spec{.name = "Expand",
                             .since = {8, 13},
                             .inputs = {{"input", "T"}, {"shape", "tensor(int64)"}},
                             .outputs = {{"output", "T"}},
                             .types = {all_tensors_ir4}};

  constexpr void infer(Infer& i) const {
    const Dims &x = i.dims(0), &shape = i.dims(1);
    if (!i.expect_rank(1, 1)) return;
    const Dim rank = i.has_elements(1) ? Dim(i.element_count(1)) : shape.ranked() ? shape[0] : Dim{};
    if (!rank.known()) return;
    if (rank.value() > max_rank) return i.fail("rank ", rank, " is above ", max_rank);
    Dims to = Dims::of_rank(static_cast<int>(rank.value()));
    for (int d = 0; d < to.rank() && i.has_elements(1); ++d) {
      to[d] = i.element(1, d);
      if (to[d].known() && to[d].value() < 0) return i.fail("extent ", to[d], " is negative");
    }
    i.out(0, i.broadcast(x, to));
    if (!i.failed() && propagates_array(i)) propagate_strided(i, 0, steps(x.extents(), i.out(0).dims.rank()));
  }
  void compute(AnyView input, TensorView<const int64_t>, AnyOut output) const {
    if (output.empty()) return;
    const Extents to = dense_strides(output.extents()), from = steps(input.extents(), output.rank());
    kernels::move(input.dtype(), output.data(), {0, to.data()}, input.data(), {0, from.data()},
                  output.extents());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// Steps of the input along each axis of the result: 0 where it is stretched.
  static constexpr Extents steps(std::span<const int64_t> x, int rank) {
    Extents s = dense_strides(x);
    for (int d = 0; d < s.size(); ++d)
      if (x[static_cast<std::size_t>(d)] == 1) s[d] = 0;
    while (s.size() < rank) s.insert(0, 0);
    return s;
  }
};

}  // namespace tenon::op
