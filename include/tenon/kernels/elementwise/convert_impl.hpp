// Bodies of convert.hpp. Panels have a known length, so that the compiler vectorises plain loops for the
// level.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/kernels/elementwise/convert.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

using ConvertLoop = void (*)(const void* src, void* dst, int64_t n);

/// x truncated towards zero, and the least I for a number outside I's range. No branch precedes the
/// conversion, because the compiler would not vectorise one.
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

/// The type with the bits of T: wrapped results are computed as unsigned ones.
template <class T>
struct WrappedType {
  using type = T;
};
template <std::integral T>
  requires(sizeof(T) < 4 && !std::is_same_v<T, bool>)
struct WrappedType<T> {
  using type = std::make_unsigned_t<T>;
};

/// Types that C++ computes with, and that convert from and to float.
template <class T>
inline constexpr bool has_convert_loop = std::is_arithmetic_v<T> && !std::is_same_v<T, float>;

/// The loop from elements of a type to floats, and from floats; nullptr for types without one.
template <class Arch>
ConvertLoop to_floats(DType from) {
  ConvertLoop loop = nullptr;
  visit_types(all_types{}, from, [&]<class From>() {
    if constexpr (simd::is_narrow<From>) loop = convert_half_loop<Arch, float, From>;
    else if constexpr (std::is_same_v<From, bool>) loop = convert_loop<Arch, float, uint8_t>;
    else if constexpr (has_convert_loop<From>) loop = convert_loop<Arch, float, From>;
  });
  return loop;
}
template <class Arch>
ConvertLoop of_floats(DType to) {
  ConvertLoop loop = nullptr;
  visit_types(all_types{}, to, [&]<class To>() {
    if constexpr (simd::is_narrow<To>) loop = convert_half_loop<Arch, To, float>;
    else if constexpr (has_convert_loop<To>) loop = convert_loop<Arch, typename WrappedType<To>::type, float>;
  });
  return loop;
}
/// The same between integers of 32 and 64 bits, and from them to bool.
template <class Arch>
ConvertLoop of_integers(DType to, DType from) {
  ConvertLoop loop = nullptr;
  visit_types(all_types{}, from, [&]<class From>() {
    if constexpr (std::is_integral_v<From> && sizeof(From) >= 4) {
      using Bits = std::make_unsigned_t<From>;
      if (to == DType::bool_) loop = convert_loop<Arch, bool, Bits>;
      if constexpr (sizeof(From) == 8) {
        if (is_integer(to) && bits_of(to) == 32) loop = convert_loop<Arch, uint32_t, Bits>;
      } else if (is_integer(to) && bits_of(to) == 64) {
        loop = convert_loop<Arch, uint64_t, From>;
      }
    }
  });
  return loop;
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
  if (bits_of(from) > 16) return run(of_integers<Arch>(to, from));

  // A float holds all numbers of 16 bits exactly.
  constexpr int64_t panel = 512;
  const ConvertLoop load = to_floats<Arch>(from), store = of_floats<Arch>(to);
  if (load == nullptr || store == nullptr) return false;
  const char* x = static_cast<const char*>(src);
  char* y = static_cast<char*>(dst);
  for (int64_t i = 0; i < n; i += panel) {
    alignas(64) float floats[panel];
    const int64_t count = std::min(panel, n - i);
    load(x + i * bits_of(from) / 8, floats, count);
    store(floats, y + i * bits_of(to) / 8, count);
  }
  return true;
}

#ifdef TENON_INSTANTIATE
template bool convert_impl<TENON_INSTANTIATE>(DType, void*, DType, const void*, int64_t);
#endif

}  // namespace tenon::TENON_ABI::kernels
