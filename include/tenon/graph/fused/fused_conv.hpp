// FusedConv: a convolution and the nodes fused into it, before its weights have a kernel's layout.
#pragma once

#include "tenon/graph/fused/packed_conv.hpp"

namespace tenon::TENON_ABI::passes {

/// PackedConv, before its weights are packed.
struct FusedConv {
  op::Conv conv;
  Bounds bounds{};
  DType element = DType::undefined;  ///< of X
  Extents extents;                   ///< of the weights: (M, C/group, kernel...)
  Storage weights{};                 ///< in that order, maybe not AnyTensor::aligned
  std::vector<double> factors{};     ///< (M) of the weights, or empty
  Storage bias{};                    ///< (M), or empty
  bool winograd = false;             ///< whether Winograd's tiles are allowed, see allow_winograd

  static constexpr op::Spec spec = PackedConv::spec;

  constexpr void infer(op::Infer& i) const { infer_fused_conv(i, conv, element, extents); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> z, TensorView<T> y) const {
    PackedConv{conv, bounds, element, extents, plain_weights(), bias, false}.compute(x, z, y);
  }

  /// The weights times their factors, aligned.
  Storage plain_weights() const {
    const DType numbers = compute_dtype(element);
    const AnyTensor from(numbers, extents, weights);
    if (factors.empty() && from.aligned()) return weights;
    AnyTensor own = from.clone();
    visit_types<float, double>(numbers, [&]<class C>() {
      C* w = own.out().as<C>().data();
      for (std::size_t c = 0,
                       each = static_cast<std::size_t>(own.size()) / static_cast<std::size_t>(extents[0]);
           c < factors.size(); ++c)
        for (std::size_t k = c * each; k < (c + 1) * each; ++k) w[k] = static_cast<C>(w[k] * factors[c]);
    });
    return own.storage();
  }
};

}  // namespace tenon::TENON_ABI::passes
