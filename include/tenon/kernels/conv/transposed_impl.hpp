// Transposed convolutions: bodies, in two forms: in phases (transposed_phases.hpp) and scattered
// (transposed_scatter.hpp).
#pragma once

#include <cstdint>

#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/transposed.hpp"
#include "tenon/kernels/conv/transposed_phases.hpp"
#include "tenon/kernels/conv/transposed_runs.hpp"
#include "tenon/kernels/conv/transposed_scatter.hpp"

namespace tenon::TENON_ABI::kernels {

template <class Arch, class T>
void conv_transpose_impl(const ConvTransposeArgs<T>& g) {
  using namespace transposed_detail;
  const ConvGeometry& s = g.geometry;
  if (s.batch <= 0 || s.out_channels <= 0 || product_of<Arch>(s.out, s.rank) <= 0) return;
  if (!fits_phases<Arch>(s) || (g.packed_w == nullptr && !weights_are_finite<Arch>(s, g.w)))
    return transpose_scattered<Arch>(g);
  Scratch scratch;
  Phases<Arch, T> phases(scratch, g);
  if (g.packed_w != nullptr) return phases.run(g.packed_w);
  T* const packed = scratch.take<T>(phases.weight_size());
  phases.pack(g.w, packed);
  phases.run(packed);
}

template <class Arch, class T>
int64_t conv_transpose_packed_weight_size_impl(const ConvGeometry& g) {
  using namespace transposed_detail;
  if (!fits_phases<Arch>(g)) return 0;
  Scratch scratch;
  return Phases<Arch, T>(scratch, ConvTransposeArgs<T>{g}).weight_size();
}

template <class Arch, class T>
bool conv_transpose_pack_weights_impl(const ConvGeometry& g, const T* w, T* packed) {
  using namespace transposed_detail;
  if (!weights_are_finite<Arch>(g, w)) return false;
  Scratch scratch;
  Phases<Arch, T>(scratch, ConvTransposeArgs<T>{g}).pack(w, packed);
  return true;
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

#define TENON_CONV_TRANSPOSE(T)                                                                       \
  template void conv_transpose_impl<TENON_INSTANTIATE, T>(const ConvTransposeArgs<T>&);               \
  template int64_t conv_transpose_packed_weight_size_impl<TENON_INSTANTIATE, T>(const ConvGeometry&); \
  template bool conv_transpose_pack_weights_impl<TENON_INSTANTIATE, T>(const ConvGeometry&, const T*, T*);
TENON_CONV_TRANSPOSE(float)
TENON_CONV_TRANSPOSE(double)
#undef TENON_CONV_TRANSPOSE

}  // namespace tenon::TENON_ABI::kernels
#endif
