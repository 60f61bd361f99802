// Pooling whose only window is the whole plane.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenon/kernels/conv/pool_windows.hpp"
#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::pool_detail {

/// Whether there is one window, and it sees each cell of a plane once.
template <class Arch>
bool sees_whole(const SlidingWindow<Arch>& w) {
  for (int d = 0; d < w.rank; ++d) {
    const Axis& a = w.axis[d];
    if (a.out != 1 || a.pad != 0 || a.kernel != a.in || (a.dilation != 1 && a.kernel != 1)) return false;
  }
  return true;
}

/// All outputs if the only window is the whole plane: a plane's cells are folded into one vector, then into a
/// number.
template <class Arch, class T, class Join, class Done>
void pool_whole(int64_t planes, int64_t cells, const T* x, T* y, T neutral, Join join, Done done) {
  using V = simd::batch<T, Arch>;
  constexpr int L = simd::lanes<T, Arch>;
  for_planes<Arch>(planes, cells, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const T* from = x + plane * cells;
      V sum[4] = {V(neutral), V(neutral), V(neutral), V(neutral)};
      int64_t i = 0;
      for (; i + 4 * L <= cells; i += 4 * L)
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) sum[v] = join(V(simd::loadu<Arch>(from + i + v * L)), sum[v]);
      for (; i + L <= cells; i += L) sum[0] = join(V(simd::loadu<Arch>(from + i)), sum[0]);
      if (i < cells)
        sum[1] = join(simd::load_masked<Arch>(from + i, (uint64_t{1} << (cells - i)) - 1, neutral), sum[1]);
      y[plane] = done(join(join(sum[0], sum[1]), join(sum[2], sum[3])));
    }
  });
}

/// The greatest lane; NaN only where all are.
template <class Arch, class T>
T greatest_number(const simd::batch<T, Arch>& v) {
  if constexpr (std::is_floating_point_v<T>) {
    using V = simd::batch<T, Arch>;
    const V least(-std::numeric_limits<T>::infinity());
    const T most = simd::max_of_lanes(V(simd::max_num(least, v)));
    return most > -std::numeric_limits<T>::infinity() || simd::any(v == least)
               ? most
               : std::numeric_limits<T>::quiet_NaN();
  } else {
    return simd::fold_lanes(v, [](T a, T b) { return std::max(a, b); });
  }
}

}  // namespace tenon::TENON_ABI::kernels::pool_detail
