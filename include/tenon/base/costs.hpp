// What computation is tuned to: the sizes of caches, and the work that pays for a thread. Block sizes and
// grains are derived from this table, so that it states each assumption about processors once.
#pragma once

#include <cstdint>

#include "tenon/base/version.hpp"

/// Bytes of the caches that blocks are sized for. They are constants and not the sizes that the processor
/// reports, because most blocks are extents of arrays or of packed data, and because the places at which a
/// sum is cut determine its rounding, which must not depend on the machine. A block for a smaller cache still
/// works well in a larger one.
namespace tenon::TENON_ABI::cache_bytes {

/// The first-level data cache of a core. Blocks take half of it: the rest holds what streams by.
inline constexpr int64_t l1 = int64_t{32} << 10;

/// The second-level cache of a core that has 32 vector registers.
inline constexpr int64_t l2 = int64_t{1} << 20;

/// The second-level cache of a core of level Arch: cores with 16 registers have half.
template <class Arch>
inline constexpr int64_t l2_of = Arch::registers == 32 ? l2 : l2 / 2;

/// The share of the last-level cache that a computation can count on. More bytes than this have been evicted
/// by the time they are read again.
inline constexpr int64_t l3 = int64_t{16} << 20;

}  // namespace tenon::TENON_ABI::cache_bytes

/// The work of a task, in units of what its loop counts. Handing a task to a thread takes about a
/// microsecond. A task of this much work takes several, so that it pays, and yields enough tasks for threads
/// to finish together. Where tasks cut sums, these numbers determine the rounding.
namespace tenon::TENON_ABI::task_work {

/// Bytes that are copied, packed or looked up.
inline constexpr int64_t bytes = int64_t{1} << 16;

/// Elements that take a few vector instructions each: arithmetic, comparisons, conversions, sums.
inline constexpr int64_t cheap = int64_t{1} << 15;

/// Elements that take several passes or conversions, or are visited one by one: normalised, quantised,
/// selected.
inline constexpr int64_t moderate = int64_t{1} << 14;

/// Elements that take tens of instructions each: exponentials, transforms.
inline constexpr int64_t costly = int64_t{1} << 13;

/// Elements that are found in a table.
inline constexpr int64_t searches = int64_t{1} << 12;

/// Pairs of random numbers.
inline constexpr int64_t draws = int64_t{1} << 11;

/// Strings, which take an allocation each.
inline constexpr int64_t strings = int64_t{1} << 10;

/// Multiply-adds of loops that load an operand for each.
inline constexpr int64_t products = int64_t{1} << 17;

/// Multiply-adds of register tiles, which load few operands.
inline constexpr int64_t tile_products = int64_t{1} << 18;

/// The same of bytes, of which a lane holds four.
inline constexpr int64_t byte_products = 4 * tile_products;

}  // namespace tenon::TENON_ABI::task_work
