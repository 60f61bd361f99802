// Convolutions over blocks of channels that follow one another, computed by bands of rows: what one gives to
// the next stays in the second-level cache, and is never whole. Arguments and entry; bodies: chain_impl.hpp.
#pragma once

#include <span>

#include "tenon/kernels/conv/blocked.hpp"

namespace tenon::TENON_ABI::kernels {

template <class Arch, class T>
void conv_chain_impl(std::span<const BlockedConvArgs<T>> stages);

/// Computes the convolutions, each of the one before. Of their arguments x counts in the first, and `add` and
/// y in the last; only the first may have a plain x. None is for winograd or has a plain y, and all have one
/// batch. T: float.
template <class T>
inline void conv_chain(std::span<const BlockedConvArgs<T>> stages) {
  simd::dispatch([&]<class Arch>(Arch) { conv_chain_impl<Arch, T>(stages); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/conv/chain_impl.hpp"
#endif
