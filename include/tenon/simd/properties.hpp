// What kernels ask of a level when they are compiled. A family states what differs from any processor.
#pragma once

#include <cstdint>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::simd {

/// Whether the level has the instructions of dot_bytes_16.
template <class Arch>
inline constexpr bool has_dot_bytes_16 = false;

/// The number that dot_bytes subtracts from each byte of x: 128 where the level has products of signed bytes
/// alone, else 0.
template <class Arch>
inline constexpr int32_t dot_bytes_lowers = 0;

/// Whether products with one lane of a vector (batch/lane_products.hpp) are instructions.
template <class Arch>
inline constexpr bool has_lane_products = false;

/// Whether dot_blocks is an instruction.
template <class Arch>
inline constexpr bool has_block_products = false;

/// Whether some processors of the level have tile registers (tiles.hpp).
template <class Arch>
inline constexpr bool may_have_tiles = false;

/// Whether load_n, load_masked and store_n are instructions rather than loops, for lanes of 4 and 8 bytes.
template <class Arch>
inline constexpr bool has_masks = false;

/// Whether a masked load or store takes no longer than a plain one of all lanes, for lanes of any size.
template <class Arch>
inline constexpr bool masks_are_free = false;

/// Whether look_up of a table of 16 words is an instruction.
template <class Arch>
inline constexpr bool has_tables_of_16 = false;

/// Whether the bytes of 16 can be put into any order by an instruction.
template <class Arch>
inline constexpr bool has_byte_shuffles = false;

/// Whether tiles of several steps load their vectors again for each row. LLVM orders the products for
/// WebAssembly by vectors, and the broadcasts of all rows would take registers from the sums meanwhile.
template <class Arch>
inline constexpr bool reloads_vectors = false;

/// Whether a turn of a loop costs several instructions more: engines of WebAssembly check in each whether
/// they have been interrupted.
template <class Arch>
inline constexpr bool has_costly_loops = false;

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/arm/properties.hpp"
#include "tenon/simd/wasm/properties.hpp"
#include "tenon/simd/x86/properties.hpp"
