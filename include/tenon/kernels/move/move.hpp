// Elements of any type moved between strided layouts: whole bytes in blocks, sub-byte elements by their bits,
// strings by assignment. Concat, Split, Slice, Tile, Expand, Pad and Transpose are built on `move`.
#pragma once

#include <string>

#include "tenon/base/costs.hpp"
#include "tenon/base/types.hpp"
#include "tenon/kernels/move/transpose.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

/// Elements of `width` bits, several to a byte, the first in the lowest bits.
template <int width>
struct PackedMover {
  uint8_t* to;
  const uint8_t* from;
  static constexpr int64_t size = 1;
  static constexpr int64_t per_byte = 8 / width;
  static constexpr uint8_t mask = (1 << width) - 1;

  uint8_t load(int64_t i) const {
    return static_cast<uint8_t>(from[i / per_byte] >> (i % per_byte * width)) & mask;
  }
  void store(int64_t i, uint8_t bits) const {
    const int shift = static_cast<int>(i % per_byte) * width;
    uint8_t& byte = to[i / per_byte];
    byte = static_cast<uint8_t>((byte & ~(mask << shift)) | (bits << shift));
  }
  void row(int64_t t, int64_t t_step, int64_t f, int64_t f_step, int64_t n) const {
    int64_t i = 0;
    if (t_step == 1) {
      for (; i < n && (t + i) % per_byte != 0; ++i) store(t + i, load(f + i * f_step));
      const int64_t bytes = (n - i) / per_byte;
      uint8_t* out = to + (t + i) / per_byte;
      if (f_step == 1 && (f + i) % per_byte == 0) {
        simd::copy(out, from + (f + i) / per_byte, static_cast<std::size_t>(bytes));
        i += bytes * per_byte;
      } else {
        for (int64_t b = 0; b < bytes; ++b) {
          unsigned byte = 0;
          for (int k = 0; k < per_byte; ++k, ++i)
            byte |= static_cast<unsigned>(load(f + i * f_step)) << (k * width);
          out[b] = static_cast<uint8_t>(byte);
        }
      }
    }
    for (; i < n; ++i) store(t + i * t_step, load(f + i * f_step));
  }
};

template <class Mover>
inline constexpr bool shares_bytes = false;
template <int width>
inline constexpr bool shares_bytes<PackedMover<width>> = true;

/// Calls f with the mover for elements of the packed type d.
template <class F>
void with_packed_mover(DType d, void* to, const void* from, F&& f) {
  uint8_t* t = static_cast<uint8_t*>(to);
  const uint8_t* s = static_cast<const uint8_t*>(from);
  if (bits_of(d) == 2) f(PackedMover<2>{t, s});
  else f(PackedMover<4>{t, s});
}

/// Calls f with the mover for elements of type d.
template <class F>
void with_mover(DType d, void* to, const void* from, F&& f) {
  if (is_string(d))
    return f(ElementMover<std::string>{static_cast<std::string*>(to), static_cast<const std::string*>(from)});
  char* t = static_cast<char*>(to);
  const char* s = static_cast<const char*>(from);
  switch (bits_of(d)) {
    case 8: return f(BlockMover<1>{t, s});
    case 16: return f(BlockMover<2>{t, s});
    case 32: return f(BlockMover<4>{t, s});
    case 64: return f(BlockMover<8>{t, s});
    case 128: return f(BlockMover<16>{t, s});
    default: return with_packed_mover(d, to, from, f);
  }
}

/// parallel_for over rows that write about `row_bytes` each; serial if rows may share a byte.
template <class F>
void for_rows(int64_t rows, int64_t row_bytes, bool serial, F&& f) {
  const int64_t grain = row_bytes >= copy_bytes ? 1 : copy_bytes / (row_bytes > 0 ? row_bytes : 1);
  parallel_for(rows, serial ? rows : grain, f);
}

// Dense rows that all begin at whole bytes do not share bytes.
template <int width>
void copy_packed(PackedMover<width> move, int64_t to_at, int64_t from_at, const CopyPlan& plan) {
  if (plan.size == 0) return;
  if (plan.rank == 0) return move.row(to_at, 1, from_at, 1, 1);
  const int inner = plan.rank - 1;
  const int64_t n = plan.extents[inner];
  bool apart = to_at % move.per_byte == 0 && plan.to[inner] == 1;
  for (int d = 0; d < inner; ++d) apart &= plan.to[d] % move.per_byte == 0;
  for_rows(plan.size / n, n / move.per_byte, !apart, [&](int64_t begin, int64_t end) {
    for_each_outer(plan, inner, begin, end, [&](int64_t to, int64_t from) {
      move.row(to_at + to, plan.to[inner], from_at + from, plan.from[inner], n);
    });
  });
}

}  // namespace detail

/// The layout of elements in an array: index 0 is at `offset`, and a step along axis d is `strides[d]`, both
/// in elements.
struct Strided {
  int64_t offset = 0;
  const int64_t* strides = nullptr;
};

/// Copies the elements of all indices below `extents` from one strided layout to another. Strides may be
/// negative or, of `from`, 0. Elements of `to` must not overlap one another or elements of `from`. Any number
/// of axes.
inline void move(DType d, void* to, Strided to_at, const void* from, Strided from_at,
                 std::span<const int64_t> extents) {
  int axes = 0;
  for (int64_t e : extents) {
    if (e == 0) return;
    axes += e != 1;
  }
  if (axes > max_rank) {  // more axes than a plan holds: loop over the first axis here
    for (int64_t i = 0; i < extents[0]; ++i)
      move(d, to, {to_at.offset + i * to_at.strides[0], to_at.strides + 1}, from,
           {from_at.offset + i * from_at.strides[0], from_at.strides + 1}, extents.subspan(1));
    return;
  }
  const int rank = static_cast<int>(extents.size());
  if (is_packed(d)) {
    const auto plan = detail::copy_plan(to_at.strides, from_at.strides, extents.data(), rank);
    detail::with_packed_mover(
        d, to, from, [&](auto mover) { detail::copy_packed(mover, to_at.offset, from_at.offset, plan); });
  } else if (is_string(d)) {
    copy_strided(static_cast<std::string*>(to) + to_at.offset, to_at.strides,
                 static_cast<const std::string*>(from) + from_at.offset, from_at.strides, extents.data(),
                 rank);
  } else {
    const int size = bits_of(d) / 8;
    copy_strided(static_cast<char*>(to) + to_at.offset * size, to_at.strides,
                 static_cast<const char*>(from) + from_at.offset * size, from_at.strides, extents.data(),
                 rank, static_cast<std::size_t>(size));
  }
}

/// Copies n dense elements. Does nothing when both arrays are the same.
inline void copy(DType d, void* to, const void* from, int64_t n) {
  if (n == 0 || to == from) return;
  if (is_string(d)) {
    auto* t = static_cast<std::string*>(to);
    auto* f = static_cast<const std::string*>(from);
    return parallel_for(n, detail::copy_bytes / int64_t{sizeof(std::string)},
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) t[i] = f[i];
                        });
  }
  auto* t = static_cast<char*>(to);
  auto* f = static_cast<const char*>(from);
  parallel_for(packed_bytes(n, d), 2 * detail::copy_bytes, [&](int64_t begin, int64_t end) {
    simd::copy(t + begin, f + begin, static_cast<std::size_t>(end - begin));
  });
}

/// Dense rows of `bytes` bytes each.
struct Rows {
  const void* data = nullptr;
  int64_t bytes = 0;  ///< of a row
};

/// Writes rows consecutively: row r of the result is row r of each part, in their order. Without effect,
/// returns false for rows so long that threads have to share them.
inline bool join_rows(void* to, std::span<const Rows> parts, int64_t rows) {
  int64_t whole = 0, longest = 0;
  for (const Rows& p : parts) {
    whole += p.bytes;
    longest = std::max(longest, p.bytes);
  }
  if (rows <= 1 || whole == 0 || whole > detail::copy_bytes) return false;
  parallel_for(rows, detail::copy_bytes / whole, [&](int64_t begin, int64_t end) {
    char* t = static_cast<char*>(to) + begin * whole;
    int64_t r = begin;
    // The shortest rows: from each part in turn, as many rows as stay in the first-level cache.
    for (int64_t n; whole <= 160 && r < end; r += n) {
      n = std::min(cache_bytes::l1 / 2 / whole, end - r);
      char* place = static_cast<char*>(to) + r * whole;
      for (const Rows& p : parts) {
        detail::copy_rows(place, whole, static_cast<const char*>(p.data) + r * p.bytes, p.bytes, n, p.bytes);
        place += p.bytes;
      }
    }
    // A call per short row would cost more than the copy. Short rows are copied in steps of sixteen bytes.
    // The next rows overwrite the surplus, and the last sixteen rows are long enough to hold it.
    if (longest < 256)
      for (; r + 16 < end; ++r)
        for (const Rows& p : parts) {
          const char* from = static_cast<const char*>(p.data) + r * p.bytes;
          for (int64_t k = 0; k < p.bytes; k += 16) {
            char step[16];
            std::memcpy(step, from + k, 16);
            std::memcpy(t + k, step, 16);
          }
          t += p.bytes;
        }
    for (; r < end; ++r)
      for (const Rows& p : parts) {
        simd::copy(t, static_cast<const char*>(p.data) + r * p.bytes, static_cast<std::size_t>(p.bytes));
        t += p.bytes;
      }
  });
  return true;
}

/// Sets n elements to the one at `value`.
inline void fill(DType d, void* to, const void* value, int64_t n) {
  if (n == 0) return;
  // Most fills repeat one byte, such as zero.
  const auto* bytes = static_cast<const uint8_t*>(value);
  bool same = d != DType::string;
  unsigned byte = same ? bytes[0] : 0;
  for (int k = 1; same && k < bits_of(d) / 8; ++k) same = bytes[k] == byte;
  if (is_packed(d)) {
    // The bits after the last element in its byte are unused, so whole bytes may be written.
    byte &= (1u << bits_of(d)) - 1;
    for (int k = bits_of(d); k < 8; k *= 2) byte |= byte << k;
  }
  if (!same) {
    const int64_t one = 1, zero = 0;
    return move(d, to, {0, &one}, value, {0, &zero}, {&n, 1});
  }
  auto* t = static_cast<char*>(to);
  parallel_for(packed_bytes(n, d), 2 * detail::copy_bytes, [&](int64_t begin, int64_t end) {
    std::memset(t + begin, static_cast<int>(byte), static_cast<std::size_t>(end - begin));
  });
}

/// An element of type d that is 0, false or "".
inline const void* zero_element(DType d) {
  alignas(16) static constexpr char zero[16]{};
  static const std::string no_text;
  return d == DType::string ? static_cast<const void*>(&no_text) : zero;
}

/// Axis d of the dense result is axis permutation[d] of the dense source of these extents.
inline void transpose(DType d, void* to, const void* from, std::span<const int64_t> extents,
                      std::span<const int64_t> permutation) {
  for (int64_t e : extents)
    if (e == 0) return;
  if (is_packed(d)) {
    const auto s = detail::transpose_strides(extents, permutation);
    move(d, to, {0, s.to}, from, {0, s.from}, {s.extents, extents.size()});
  } else if (is_string(d)) {
    transpose(static_cast<std::string*>(to), static_cast<const std::string*>(from), extents, permutation);
  } else {
    transpose(to, from, extents, permutation, static_cast<std::size_t>(bits_of(d) / 8));
  }
}

}  // namespace tenon::TENON_ABI::kernels
