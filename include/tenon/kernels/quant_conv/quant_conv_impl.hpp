// Convolutions of 8-bit integers: bodies.
#pragma once

#include <cstdint>

#include "tenon/base/scratch.hpp"
#include "tenon/kernels/gemm/bytes.hpp"
#include "tenon/kernels/quant_conv/depthwise.hpp"
#include "tenon/kernels/quant_conv/plane_conv.hpp"
#include "tenon/kernels/quant_conv/planes.hpp"
#include "tenon/kernels/quant_conv/quant_conv.hpp"
#include "tenon/kernels/quant_conv/sparse.hpp"
#include "tenon/kernels/quant_conv/weights.hpp"

namespace tenon::TENON_ABI::kernels::quant_conv_detail {

using gemm_detail::ByteForm;
using gemm_detail::with_form;

template <class Ops, class Arch>
void run_conv(const QuantConvArgs& g, const int32_t* packed) {
  const WeightLayout<Ops, Arch> weights(g.geometry);
  const PlaneLayout<Arch> planes(g.geometry);
  if (planes.fits()) PlaneConv<Ops, Arch>(g, weights, planes, packed).run();
  else SparseConv<Ops, Arch>(g, weights, planes.w, packed).run();
}

}  // namespace tenon::TENON_ABI::kernels::quant_conv_detail

namespace tenon::TENON_ABI::kernels {

template <class Arch>
int64_t quant_conv_packed_weight_size_impl(const QuantConvArgs& g) {
  using namespace quant_conv_detail;
  if (sums_in_floats<Arch>(g.geometry)) return float_weights<Arch>(g.geometry);
  const ConstantForm form = weight_form<Arch>(g);
  int64_t size = 0;
  with_form<Arch, true>(form.form, [&]<class Ops>(Ops) {
    size = WeightLayout<Ops, Arch>(g.geometry).size_with_excess(form.places);
  });
  return size;
}

template <class Arch>
void quant_conv_pack_weights_impl(const QuantConvArgs& g, int32_t* packed) {
  using namespace quant_conv_detail;
  if (sums_in_floats<Arch>(g.geometry)) return pack_float_weights<Arch>(g.geometry, weight_rows(g), packed);
  const ConstantForm form = weight_form<Arch>(g);
  with_form<Arch, true>(form.form, [&]<class Ops>(Ops) { pack_weights<Ops, Arch>(g, form, packed); });
}

template <class Arch>
void quant_conv_impl(const QuantConvArgs& g) {
  using namespace quant_conv_detail;
  const ConvGeometry& s = g.geometry;
  if (s.batch <= 0 || s.out_channels <= 0) return;
  for (int d = 0; d < s.rank; ++d)
    if (s.out[d] <= 0) return;
  Scratch scratch;
  const int32_t* packed = g.packed_w;
  if (packed == nullptr) {
    int32_t* own = scratch.take<int32_t>(quant_conv_packed_weight_size_impl<Arch>(g));
    quant_conv_pack_weights_impl<Arch>(g, own);
    packed = own;
  }
  if (sums_in_floats<Arch>(s)) return run_in_floats<Arch>(g, reinterpret_cast<const float*>(packed));
  with_form<Arch, true>(static_cast<ByteForm>(packed[0]),
                        [&]<class Ops>(Ops) { run_conv<Ops, Arch>(g, packed); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

template void quant_conv_impl<TENON_INSTANTIATE>(const QuantConvArgs&);
template int64_t quant_conv_packed_weight_size_impl<TENON_INSTANTIATE>(const QuantConvArgs&);
template void quant_conv_pack_weights_impl<TENON_INSTANTIATE>(const QuantConvArgs&, int32_t*);

}  // namespace tenon::TENON_ABI::kernels
#endif
