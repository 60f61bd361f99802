// Bodies of grid_sample.hpp: linear sampling of floats.
#pragma once

#include <algorithm>
#include <bit>

#include "tenon/kernels/resize/grid_sample.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

/// The place of coordinates on an axis: the preceding element, and the distance from it.
template <class Arch>
void find_between(const GridSampleArgs& a, int axis, simd::batch<float, Arch> at,
                  simd::batch<int32_t, Arch>& before, simd::batch<float, Arch>& ratio) {
  using V = simd::batch<float, Arch>;
  constexpr int L = simd::lanes<float, Arch>;
  const auto n = static_cast<float>(a.extents[axis]);
  const float low = a.align_corners ? 0.0f : -0.5f, high = a.align_corners ? n - 1 : n - 0.5f;
  // Kept apart from the subtraction, with which it would be fused: places are the same at all levels.
  const V scaled = simd::in_register((at + V(1.0f)) * V(n));
  V x = a.align_corners ? (at + V(1.0f)) * V(0.5f) * V(n - 1) : (scaled - V(1.0f)) * V(0.5f);
  if (const auto within = (x >= V(low)) & (x <= V(high)); !simd::all(within)) {
    if (a.padding == SamplePadding::reflection) {
      alignas(64) float lane[L];
      simd::storeu(lane, x);
      for (float& v : lane) v = reflect(v, low, high);
      x = simd::loadu<Arch>(lane);
    } else {
      // Two elements past the ends are as far outside as any. NaN also ends up there, or at the first
      // element.
      const bool zeros = a.padding == SamplePadding::zeros;
      const V least(zeros ? -2.0f : 0.0f), most(zeros ? n + 1 : n - 1);
      x = simd::select(within, x, simd::select(x > least, simd::min(x, most), least));
    }
  }
  const V base = simd::floor(x);
  ratio = x - base;
  // The low bits of a float of this size are a whole number.
  constexpr float magic = 0x1.8p23f;
  before =
      simd::bits_as<int32_t>(base + V(magic)) - simd::batch<int32_t, Arch>(std::bit_cast<int32_t>(magic));
}

}  // namespace detail

template <class Arch>
void grid_terms_impl(const GridSampleArgs& a, const float* points, int64_t n, int32_t* place, float* weight) {
  using V = simd::batch<float, Arch>;
  using I = simd::batch<int32_t, Arch>;
  constexpr int64_t L = simd::lanes<float, Arch>, block = linear_block;
  for (int64_t p = 0; p < n; p += L) {
    // The coordinates of L points, axis by axis.
    alignas(64) float columns[3 * L] = {};
    for (int64_t i = 0; i < std::min(L, n - p); ++i)
      for (int d = 0; d < a.axes; ++d) columns[d * L + i] = points[(p + i) * a.axes + a.axes - 1 - d];
    simd::storeu(place + p, I(0));
    simd::storeu(weight + p, V(1.0f));
    for (int64_t d = 0, known = 1; d < a.axes; ++d, known *= 2) {
      const I extent(static_cast<int32_t>(a.extents[d])), last = extent - I(1);
      I before;
      V ratio;
      detail::find_between<Arch>(a, static_cast<int>(d), simd::loadu<Arch>(columns + d * L), before, ratio);
      for (int32_t k = 2; k-- > 0;) {
        const V share = k == 1 ? ratio : V(1.0f) - ratio;
        I at = before + I(k);
        if (a.padding == SamplePadding::zeros) at = at | ((at | (last - at)) >> 31);
        else at = simd::min(simd::max(at, I(0)), last);
        for (int64_t j = 0; j < known; ++j) {
          const int64_t from = j * block + p, to = (k * known + j) * block + p;
          const I so_far = simd::loadu<Arch>(place + from);
          simd::storeu(place + to, (simd::mul_wrap(so_far, extent) + at) | ((so_far | at) >> 31));
          simd::storeu(weight + to, simd::loadu<Arch>(weight + from) * share);
        }
      }
    }
  }
}

template <class Arch>
void grid_line_impl(const float* x, int64_t terms, const int32_t* place, const float* weight, int64_t n,
                    float* y) {
  constexpr int64_t block = linear_block;
  const auto sum = [&]<int count>() {
    for (int64_t p = 0; p < n; ++p) {
      int32_t outside = 0;
#pragma GCC unroll 8
      for (int k = 0; k < count; ++k) outside |= place[k * block + p];
      float total = 0;
#pragma GCC unroll 8
      for (int k = 0; k < count; ++k)
        if (outside >= 0 || place[k * block + p] >= 0)
          total += x[place[k * block + p]] * weight[k * block + p];
      y[p] = total;
    }
  };
  if (terms == 2) sum.template operator()<2>();
  else if (terms == 4) sum.template operator()<4>();
  else sum.template operator()<8>();
}

template <class Arch>
void grid_turn_impl(const float* x, int64_t plane, int64_t channels, int64_t row, int64_t first, int64_t last,
                    float* turned) {
  simd::turn<Arch>(x + first, plane, channels, last - first, turned + first * row, row);
  for (int64_t i = first; i < last; ++i) std::fill(turned + i * row + channels, turned + (i + 1) * row, 0.0f);
}

template <class Arch>
void grid_rows_impl(const float* turned, int64_t row, int64_t channels, int64_t terms, const int32_t* place,
                    const float* weight, int64_t n, float* sums, float* y, int64_t y_row) {
  using V = simd::batch<float, Arch>;
  constexpr int64_t L = simd::lanes<float, Arch>, block = linear_block;
  for (int64_t p = 0; p < n; ++p) {
    const auto sum = [&]<int count>(int64_t c) {
      V total[count];
      for (V& t : total) t = V(0.0f);
      for (int64_t k = p; k < terms * block; k += block) {
        if (place[k] < 0) continue;
        const float* const from = turned + place[k] * row + c;
        const V w(weight[k]);
        for (int i = 0; i < count; ++i)
          total[i] = simd::mul_add(simd::loadu<Arch>(from + i * L), w, total[i]);
      }
      for (int i = 0; i < count; ++i) simd::storeu(sums + p * row + c + i * L, total[i]);
    };
    int64_t c = 0;
    for (; c + 4 * L <= row; c += 4 * L) sum.template operator()<4>(c);
    for (; c < row; c += L) sum.template operator()<1>(c);
  }
  simd::turn<Arch>(sums, row, n, channels, y, y_row);
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

template void grid_terms_impl<TENON_INSTANTIATE>(const GridSampleArgs&, const float*, int64_t, int32_t*,
                                                 float*);
template void grid_line_impl<TENON_INSTANTIATE>(const float*, int64_t, const int32_t*, const float*, int64_t,
                                                float*);
template void grid_turn_impl<TENON_INSTANTIATE>(const float*, int64_t, int64_t, int64_t, int64_t, int64_t,
                                                float*);
template void grid_rows_impl<TENON_INSTANTIATE>(const float*, int64_t, int64_t, int64_t, const int32_t*,
                                                const float*, int64_t, float*, float*, int64_t);

}  // namespace tenon::TENON_ABI::kernels
#endif
