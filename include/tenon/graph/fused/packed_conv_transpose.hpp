// PackedConvTranspose: a ConvTranspose whose weights are laid out for the kernel.
#pragma once

#include "tenon/base/storage.hpp"
#include "tenon/op/nn/conv_transpose.hpp"

namespace tenon::TENON_ABI::passes {

/// The results of ConvTranspose. W is an operand if X may have extents for which the kernel reads unpacked
/// weights; otherwise it is left out.
struct PackedConvTranspose {
  op::ConvTranspose op{};
  DType element = DType::undefined;  ///< of X
  Extents extents{};                 ///< of W: (C, M/group, kernel...)
  Extents in{};       ///< X's spatial extents that `weights` are packed for; empty if W is an operand
  Storage weights{};  ///< as conv_transpose_pack_weights writes them

  static constexpr op::Attributes fields{
      op::attr("op", &PackedConvTranspose::op), op::attr("element", &PackedConvTranspose::element),
      op::attr("extents", &PackedConvTranspose::extents), op::attr("in", &PackedConvTranspose::in),
      op::attr("weights", &PackedConvTranspose::weights)};
  static constexpr op::Spec spec = [] {
    op::Spec s = op::own_spec("PackedConvTranspose", op::ConvTranspose::spec);
    s.inputs.items_[1].arity = op::optional;
    return s;
  }();

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != element) return i.fail("X is ", i.dtype(0), ", the weights are ", element);
    op.infer_with(i, Dims(extents));
    const Dims& x = i.dims(0);
    for (int k = 0; !i.failed() && x.ranked() && k < in.size(); ++k)
      if (x[k + 2].differs(in[k])) return i.fail("X: ", x, ", the weights are packed for ", Dims(in));
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> w, TensorView<const T> b, TensorView<T> y) const {
    op.compute_with<T>(extents, static_cast<const compute_t<T>*>(weights.data()), x, w, b, y);
  }
};

}  // namespace tenon::TENON_ABI::passes
