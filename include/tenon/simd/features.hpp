// Instructions that some processors have in addition to their level's, and other properties of processors.
// Kernels use them if available. A family's plain function is a better match than the template that any
// processor has.
#pragma once

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::simd {

/// Whether the level has the instruction of dot_bytes and the processor supports it.
template <class Arch>
inline bool has_dot_bytes();

/// Whether the processor has the instruction of look_up_bytes.
template <class Arch>
inline bool has_byte_tables();

/// Whether the level has tile registers (tiles.hpp), and the processor supports them.
template <class Arch>
inline bool has_tiles();

/// Whether the processor executes operations on registers of 64 bytes in halves, in the time of two of 32
/// bytes.
template <class = void>
inline bool halves_registers();

/// Whether the processor accesses arrays in memory best without hints, where others gain from prefetching and
/// from stores that bypass the caches.
template <class = void>
inline bool prefetches_enough();

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/arm/features.hpp"
#include "tenon/simd/x86/features.hpp"

#include "tenon/simd/generic/features.hpp"
