// Convolutions of bytes over tensors of (N, H, W, C): bodies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tenon/kernels/quant_conv/last.hpp"
#include "tenon/kernels/quant_conv/last_depthwise.hpp"
#include "tenon/kernels/quant_conv/last_tiles.hpp"
#include "tenon/kernels/quant_conv/last_weights.hpp"
#include "tenon/kernels/quant_conv/last_words.hpp"

namespace tenon::TENON_ABI::kernels {

template <class Arch>
bool fast_conv_last_impl() {
  return simd::has_dot_bytes_16<Arch>;
}

template <class Arch>
int64_t quant_conv_last_weight_size_impl(const ConvGeometry& g, bool plain_x, const int8_t* w) {
  using namespace conv_last_detail;
  int64_t size = form_cells;
  const ConstantForm form = form_of<Arch>(g, plain_x, w);
  gemm_detail::with_form<Arch, false>(form.form, [&]<class Words>(Words) {
    if (is_depthwise_last(g)) size += DepthwiseLayout<Words, Arch>(g).size();
    else
      size +=
          Layout<Arch>(g, plain_x, simd::has_tiles<Arch>(), Words::per_cell).size_with_excess(form.places);
  });
  return size;
}

template <class Arch>
void quant_conv_last_pack_impl(const ConvGeometry& g, bool plain_x, const int8_t* w, const int32_t* bias,
                               int32_t x_zero, int32_t* packed) {
  using namespace conv_last_detail;
  const auto [form, places] = form_of<Arch>(g, plain_x, w);
  const Layout<Arch> l(g, plain_x, simd::has_tiles<Arch>());
  std::fill_n(packed, form_cells, 0);
  packed[0] = static_cast<int32_t>(form);
  packed[1] = places > 0 ? static_cast<int32_t>(l.lists()) : 0;
  packed += form_cells;
  gemm_detail::with_form<Arch, false>(form, [&]<class Words>(Words) {
    if (is_depthwise_last(g)) return pack_depthwise<Words, Arch>(g, w, bias, x_zero, packed);
    pack_weights<Words>(l, g, plain_x, w, bias, x_zero, packed);
  });
  if (places > 0) take_excess(l, packed);
}

template <class Arch>
void quant_conv_last_impl(const QuantConvLastArgs& args) {
  using namespace conv_last_detail;
  if (args.geometry.batch * args.geometry.out[0] * args.geometry.out[1] <= 0) return;
  QuantConvLastArgs g = args;
  g.packed_w += form_cells;
  gemm_detail::with_form<Arch, false>(static_cast<ByteForm>(args.packed_w[0]), [&]<class Words>(Words) {
    if constexpr (simd::has_dot_bytes_16<Arch> && !std::is_same_v<Words, SafeQuads>)
      if (is_depthwise_last(g.geometry)) return conv_depthwise<Words, Arch>(g);
    if constexpr (simd::may_have_tiles<Arch>)
      if (simd::has_tiles<Arch>()) return conv_by_tiles<simd::Tiles<Arch>, Arch>(g);
    conv_by_words<Words, Arch>(g, args.packed_w[1]);
  });
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

template bool fast_conv_last_impl<TENON_INSTANTIATE>();
template int64_t quant_conv_last_weight_size_impl<TENON_INSTANTIATE>(const ConvGeometry&, bool,
                                                                     const int8_t*);
template void quant_conv_last_pack_impl<TENON_INSTANTIATE>(const ConvGeometry&, bool, const int8_t*,
                                                           const int32_t*, int32_t, int32_t*);
template void quant_conv_last_impl<TENON_INSTANTIATE>(const QuantConvLastArgs&);

}  // namespace tenon::TENON_ABI::kernels
#endif
