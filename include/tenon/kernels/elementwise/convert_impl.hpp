// Bodies of convert.hpp. Panels have a known length: the compiler makes vector code of the level from plain
// loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/kernels/elementwise/convert.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::kernels {

namespace detail {

using ConvertLoop = void (*)(const void* src, void* dst, int64_t n);

/// x cut towards zero, and the least I for a number beyond I's range. No branch stands before the conversion,
/// as the compiler makes no vector code of one.
template <class I, class Arch>
inline I cut(float x) {
  constexpr auto least = static_cast<float>(std::numeric_limits<I>::min());
  return static_cast<I>(static_cast<int>(x >= least) & static_cast<int>(x < -least) ? x : least);
}

template <class Arch, class To, class From>
inline To converted(From x) {
  if constexpr (std::is_same_v<To, bool>) return x != 0;
  else if constexpr (!std::is_same_v<From, float> || std::is_floating_point_v<To>) return static_cast<To>(x);
  else if constexpr (std::is_same_v<To, uint64_t>) return tenon::detail::truncate_to<To>(x);
  else if constexpr (std::is_same_v<To, uint32_t>) return static_cast<To>(cut<int64_t, Arch>(x));
  else if constexpr (sizeof(To) < 4) return static_cast<To>(cut<int32_t, Arch>(x));
  else return cut<To, Arch>(x);
}

inline constexpr int64_t convert_panel = 64;

template <class Arch, class To, class From>
inline void convert_panel_of(const From* __restrict x, To* __restrict y) {
  if constexpr (std::is_same_v<From, float> && (sizeof(To) == 8 || std::is_same_v<To, uint32_t>) &&
                !std::is_same_v<To, double>) {
    // Not every level has instructions for the wide integers.
    int small = 1;
    for (int64_t i = 0; i < convert_panel; ++i) small &= static_cast<int>(std::fabs(x[i]) < 0x1p31f);
    if (small) {
      for (int64_t i = 0; i < convert_panel; ++i) y[i] = static_cast<To>(static_cast<int32_t>(x[i]));
      return;
    }
  }
  for (int64_t i = 0; i < convert_panel; ++i) y[i] = converted<Arch, To>(x[i]);
}

template <class Arch, class To, class From>
void convert_loop(const void* src, void* dst, int64_t n) {
  constexpr int64_t panel = convert_panel;
  const From* const x = static_cast<const From*>(src);
  To* const y = static_cast<To*>(dst);
  int64_t i = 0;
  for (; i + panel <= n; i += panel) convert_panel_of<Arch>(x + i, y + i);
  if (i == n) return;
  From last[panel] = {};
  To results[panel];
  std::copy(x + i, x + n, last);
  convert_panel_of<Arch>(last, results);
  std::copy_n(results, n - i, y + i);
}
template <class Arch, class To, class From>
void convert_half_loop(const void* src, void* dst, int64_t n) {
  if constexpr (std::is_same_v<To, float>)
    simd::widen<Arch>(static_cast<const From*>(src), static_cast<To*>(dst), n);
  else simd::narrow<Arch>(static_cast<const From*>(src), static_cast<To*>(dst), n);
}

/// The loop from elements of a type to floats, and from floats; nullptr for types without one. Results that
/// wrap are made as unsigned ones.
template <class Arch>
ConvertLoop to_floats(DType from) {
  switch (from) {
    case DType::bool_:
    case DType::uint8: return convert_loop<Arch, float, uint8_t>;
    case DType::int8: return convert_loop<Arch, float, int8_t>;
    case DType::uint16: return convert_loop<Arch, float, uint16_t>;
    case DType::int16: return convert_loop<Arch, float, int16_t>;
    case DType::uint32: return convert_loop<Arch, float, uint32_t>;
    case DType::int32: return convert_loop<Arch, float, int32_t>;
    case DType::uint64: return convert_loop<Arch, float, uint64_t>;
    case DType::int64: return convert_loop<Arch, float, int64_t>;
    case DType::float64: return convert_loop<Arch, float, double>;
    case DType::float16: return convert_half_loop<Arch, float, float16>;
    case DType::bfloat16: return convert_half_loop<Arch, float, bfloat16>;
    default: return nullptr;
  }
}
template <class Arch>
ConvertLoop of_floats(DType to) {
  switch (to) {
    case DType::bool_: return convert_loop<Arch, bool, float>;
    case DType::int8:
    case DType::uint8: return convert_loop<Arch, uint8_t, float>;
    case DType::int16:
    case DType::uint16: return convert_loop<Arch, uint16_t, float>;
    case DType::uint32: return convert_loop<Arch, uint32_t, float>;
    case DType::int32: return convert_loop<Arch, int32_t, float>;
    case DType::uint64: return convert_loop<Arch, uint64_t, float>;
    case DType::int64: return convert_loop<Arch, int64_t, float>;
    case DType::float64: return convert_loop<Arch, double, float>;
    case DType::float16: return convert_half_loop<Arch, float16, float>;
    case DType::bfloat16: return convert_half_loop<Arch, bfloat16, float>;
    default: return nullptr;
  }
}
/// The same between the wide integers, and from them to bool.
template <class Arch>
ConvertLoop of_integers(DType to, DType from) {
  const bool narrow = from == DType::int32 || from == DType::uint32;
  if (!narrow && from != DType::int64 && from != DType::uint64) return nullptr;
  switch (to) {
    case DType::bool_:
      return narrow ? convert_loop<Arch, bool, uint32_t> : convert_loop<Arch, bool, uint64_t>;
    case DType::int32:
    case DType::uint32: return narrow ? nullptr : convert_loop<Arch, uint32_t, uint64_t>;
    case DType::int64:
    case DType::uint64: return from == DType::int32 ? convert_loop<Arch, int64_t, int32_t> : nullptr;
    default: return nullptr;
  }
}

}  // namespace detail

template <class Arch>
bool convert_impl(DType to, void* dst, DType from, const void* src, int64_t n) {
  using namespace detail;
  const auto run = [&](ConvertLoop loop) {
    if (loop != nullptr) loop(src, dst, n);
    return loop != nullptr;
  };
  if (to == DType::float32) return run(to_floats<Arch>(from));
  if (from == DType::float32) return run(of_floats<Arch>(to));
  if (bits(from) > 16) return run(of_integers<Arch>(to, from));

  // What has 16 bits a float holds exactly.
  constexpr int64_t panel = 512;
  const ConvertLoop load = to_floats<Arch>(from), store = of_floats<Arch>(to);
  if (load == nullptr || store == nullptr) return false;
  const char* x = static_cast<const char*>(src);
  char* y = static_cast<char*>(dst);
  for (int64_t i = 0; i < n; i += panel) {
    alignas(64) float floats[panel];
    const int64_t count = std::min(panel, n - i);
    load(x + i * bits(from) / 8, floats, count);
    store(floats, y + i * bits(to) / 8, count);
  }
  return true;
}

#ifdef TENON_INSTANTIATE
template bool convert_impl<TENON_INSTANTIATE>(DType, void*, DType, const void*, int64_t);
#endif

}  // namespace tenon::kernels
