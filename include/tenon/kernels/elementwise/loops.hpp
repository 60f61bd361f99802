// Loops of elementwise functions over contiguous elements.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tenon/base/costs.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/types.hpp"
#include "tenon/kernels/elementwise/ops.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels::detail {

/// Elements that are widened to float, or gathered from short broadcast rows, at a time.
inline constexpr int64_t map_panel = 512;

template <class Arch, class T, class F>
void map(const T* x, T* y, int64_t n, const F& f) {
  int64_t i = 0;
  if constexpr (!std::is_integral_v<T>) {
    constexpr int64_t width = simd::lanes<compute_t<T>, Arch>;
    for (; i + width <= n; i += width) simd::store_wide<Arch>(y + i, f(simd::load_wide<Arch>(x + i)));
    if (i < n) simd::store_wide<Arch>(y + i, f(simd::load_wide<Arch>(x + i, n - i)), n - i);
  } else {
    for (; i < n; ++i) y[i] = static_cast<T>(f(x[i]));
  }
}

// Whether T goes through panels of floats: narrow floats share the loops of float, except in functions that
// cost less than the panel.
template <class T, class Row>
inline constexpr bool by_panels = simd::is_narrow<T> && Row::grain != task_work::cheap;

// y = f(x) a panel at a time, by the loop of float.
template <class Arch, class T>
TENON_NOINLINE void map_narrow(void (*loop)(UnaryParams, const float*, float*, int64_t), UnaryParams p,
                               const T* x, T* y, int64_t n) {
  alignas(64) float wide[map_panel];
  for (int64_t i = 0; i < n; i += map_panel) {
    const int64_t count = n - i < map_panel ? n - i : map_panel;
    simd::widen<Arch>(x + i, wide, count);
    loop(p, wide, wide, count);
    simd::narrow<Arch>(wide, y + i, count);
  }
}

// c[i] = f(a[i], b[i]), f = F{}; an operand that does not move stays at its first element; at least one
// operand moves.
template <class Arch, class F, class T, class R>
void zip(const T* a, bool a_moves, const T* b, bool b_moves, R* c, int64_t n) {
  const F f{};
  int64_t i = 0;
  if constexpr (!std::is_integral_v<T> && std::is_same_v<T, R>) {
    using W = compute_t<T>;
    constexpr int64_t width = simd::lanes<W, Arch>;
    const auto loop = [&](auto&& x, auto&& y) {
      for (; i + width <= n; i += width) simd::store_wide<Arch>(c + i, f(x(i), y(i)));
      if (i < n) simd::store_wide<Arch>(c + i, f(x(i, n - i), y(i, n - i)), n - i);
    };
    const auto moving = [](const T* p) {
      return [p](int64_t at, auto... count) { return simd::load_wide<Arch>(p + at, count...); };
    };
    const auto fixed = [](const T* p) {
      return [v = simd::broadcast<Arch>(static_cast<W>(*p))](auto...) { return v; };
    };
    if (a_moves && b_moves) loop(moving(a), moving(b));
    else if (a_moves) loop(moving(a), fixed(b));
    else loop(fixed(a), moving(b));
  } else if (a_moves && b_moves) {
    for (; i < n; ++i) c[i] = static_cast<R>(f(a[i], b[i]));
  } else if (a_moves) {
    for (const T y = *b; i < n; ++i) c[i] = static_cast<R>(f(a[i], y));
  } else {
    for (const T x = *a; i < n; ++i) c[i] = static_cast<R>(f(x, b[i]));
  }
}

// c[i] = F{}(a[i], b[i], defined): for functions so costly that the loop overhead does not matter.
template <class Arch, class F, class T>
void zip_each(const T* a, const T* b, T* c, int64_t n, bool& defined) {
  for (int64_t i = 0; i < n; ++i) c[i] = static_cast<T>(F{}(a[i], b[i], defined));
}

}  // namespace tenon::TENON_ABI::kernels::detail
