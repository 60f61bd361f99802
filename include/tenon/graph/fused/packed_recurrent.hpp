// PackedRecurrent: an RNN, GRU or LSTM whose W is laid out for the kernel.
#pragma once

#include "tenon/base/storage.hpp"
#include "tenon/op/framework/infer.hpp"
#include "tenon/tensor/view.hpp"

namespace tenon::TENON_ABI::passes {

/// The results of Op, whose W is left out.
template <class Op>
struct PackedRecurrent {
  Op op{};
  DType element = DType::undefined;  ///< of W
  Dims extents{};                    ///< of W
  Storage w{};                       ///< each direction's W^T, as pack_b writes it

  static constexpr op::Attributes fields{
      op::attr("op", &PackedRecurrent::op), op::attr("element", &PackedRecurrent::element),
      op::attr("extents", &PackedRecurrent::extents), op::attr("w", &PackedRecurrent::w)};
  static constexpr op::Spec spec = [] {
    op::Spec s = op::own_spec("PackedRecurrent", Op::spec);
    s.inputs.items_[1].arity = op::optional;
    return s;
  }();

  void infer(op::Infer& i) const {
    if (i.dtype(0) != element) return i.fail("X is ", i.dtype(0), ", W is ", element);
    if (const Dims& x = i.dims(0); x.rank() == 3 && x[2].differs(extents[2].value()))
      return i.fail("X: ", x, ", W: ", extents);
    op.infer(i);
  }
  template <class T, class... Rest>
  void compute(TensorView<const T> x, Rest... rest) const {
    op.template compute_with<T>(static_cast<const compute_t<T>*>(w.data()), x, rest...);
  }
};

}  // namespace tenon::TENON_ABI::passes
