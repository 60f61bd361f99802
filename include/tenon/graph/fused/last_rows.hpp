// LastRows: the last steps of a value, of which the pass keep_last_steps lets a product compute no others.
#pragma once

#include "tenon/graph/fused/fields.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::passes {

/// The last steps of X (batch, steps, size): as many as `count` states, or all if X has fewer.
struct LastRows {
  static constexpr op::Attributes<> fields{};
  static constexpr op::Spec spec = op::own_spec("LastRows", {{"X", "T"}, {"count", "tensor(int64)"}},
                                                {{"Y", "T"}}, {{"T", types::floats_bf16}});

  constexpr void infer(op::Infer& i) const {
    if (!i.expect_rank(0, 3) || !i.expect_rank(1, 0)) return;
    Dims y = i.ranked(0) ? i.dims(0) : Dims::of_rank(3);
    if (!y[1].is(1)) {
      const Dim count = i.element(1, 0);
      y[1] = count.known() && y[1].known() ? Dim(std::min(count.value(), y[1].value())) : Dim();
    }
    i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const int64_t>, TensorView<T> y) const {
    const int64_t size = x.extent(2), from = x.extent(1), rows = y.extent(1);
    for (int64_t b = 0; b < y.extent(0); ++b)
      std::copy_n(x.data() + (b * from + from - rows) * size, rows * size, y.data() + b * rows * size);
  }
};

}  // namespace tenon::TENON_ABI::passes
