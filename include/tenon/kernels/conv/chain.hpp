// Consecutive convolutions over blocks of channels, computed in bands of rows: intermediate results stay in
// the second-level cache and never exist as a whole. Arguments and entry; bodies: chain_impl.hpp.
#pragma once

#include <span>

#include "tenon/kernels/conv/blocked.hpp"

namespace tenon::TENON_ABI::kernels {

template <class Arch, class T>
void conv_chain_impl(std::span<const BlockedConvArgs<T>> stages);

/// Computes the convolutions, each from the result of the previous one. x is read from the first one's
/// arguments only, `add` and y from the last one's; only the first may have a plain x. None is for winograd
/// or has a plain y, and all have batch 1. T: float.
template <class T>
inline void conv_chain(std::span<const BlockedConvArgs<T>> stages) {
  simd::dispatch([&]<class Arch>(Arch) { conv_chain_impl<Arch, T>(stages); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/conv/chain_impl.hpp"
#endif
