// Pooling: bodies.
//
// Outputs are computed a vector at a time: each over its window's cells if the innermost axis is not pooled
// and fills vectors, otherwise a row of them from the fold of the rows that they see. With indices, and where
// padding would make a row far longer, they are computed one by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/pool.hpp"
#include "tenon/kernels/conv/pool_rows.hpp"
#include "tenon/kernels/conv/pool_vectors.hpp"
#include "tenon/kernels/conv/pool_whole.hpp"
#include "tenon/kernels/conv/pool_windows.hpp"
#include "tenon/kernels/conv/sliding.hpp"

namespace tenon::TENON_ABI::kernels::pool_detail {

using sliding::fits_padded;

/// The place of row-major cell `flat` of a plane if the first axis varies fastest.
template <class Arch>
int64_t column_major_place(int rank, const int64_t* extents, int64_t flat) {
  int64_t place = 0;
  for (int d = rank - 1; d >= 0; --d) {
    int64_t stride = 1;
    for (int e = 0; e < d; ++e) stride *= extents[e];
    place += flat % extents[d] * stride;
    flat /= extents[d];
  }
  return place;
}

}  // namespace tenon::TENON_ABI::kernels::pool_detail

namespace tenon::TENON_ABI::kernels {

template <class Arch, class T>
void max_pool_impl(const PoolArgs<T>& g) {
  using namespace pool_detail;
  const SlidingWindow<Arch> w(true, g.rank, g.in, g.out, g.kernel, g.strides, g.dilations, g.pads_begin);
  const int64_t in = w.in_cells();
  if (g.planes <= 0 || w.out_cells() <= 0) return;
  // NaN is the neutral element of a maximum that prefers numbers.
  constexpr T neutral =
      std::is_integral_v<T> ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::quiet_NaN();
  using V = simd::batch<T, Arch>;
  const auto greater = [](const V& a, const V& b) { return simd::max_num(a, b); };
  if (g.indices == nullptr && sees_whole(w))
    return pool_whole<Arch>(g.planes, in, g.x, g.y, neutral, greater,
                            [](const V& v) { return greatest_number<Arch>(v); });
  const SlidingWindow<Arch> plain(false, g.rank, g.in, g.out, g.kernel, g.strides, g.dilations, g.pads_begin);
  if (g.indices == nullptr && keeps_vectors<T>(g.rank, plain) && fits_padded<T>(plain))
    return pool_vectors<Arch>(plain, g.planes, g.x, g.y, neutral, greater,
                              [](int64_t, const V& v) { return v; });
  if (g.indices == nullptr && in > 0 && fits_padded<T>(w)) {
    pool_rows<Arch>(w, g.planes, g.x, g.y, neutral, greater, [](int64_t, int64_t, const V& v) { return v; });
    return;
  }
  pool_cells<Arch>(w, g.planes, [&](int64_t plane, const int64_t* at, int64_t to) {
    const T* x = g.x + plane * in;
    int64_t best = -1;
    T most{};
    for_cells(w, at, [&](int64_t cell) {
      const T value = x[cell];
      if (best < 0 || value > most || (most != most && value == value)) {
        best = cell;
        most = value;
      }
    });
    g.y[to] = best >= 0 ? x[best] : neutral;
    if (g.indices != nullptr)
      g.indices[to] =
          best < 0 ? -1 : plane * in + (g.column_major ? column_major_place<Arch>(g.rank, g.in, best) : best);
  });
}

template <class Arch, class T>
void average_pool_impl(const PoolArgs<T>& g) {
  using namespace pool_detail;
  // Axes are not joined, because divisors need the padding of each of the caller's axes.
  const SlidingWindow<Arch> w(false, g.rank, g.in, g.out, g.kernel, g.strides, g.dilations, g.pads_begin);
  const int64_t in = w.in_cells();
  if (g.planes <= 0 || w.out_cells() <= 0) return;
  const auto counted = [&](int d, int64_t o) {
    const Axis& a = w.axis[d];
    const Part part = part_within<Arch>(a, o, g.count_include_pad ? -a.pad : 0,
                                        a.in + (g.count_include_pad ? g.pads_end[d] : 0));
    return std::max<int64_t>(part.last - part.first, 0);
  };
  using V = simd::batch<T, Arch>;
  const auto plus = [](const V& a, const V& b) { return a + b; };
  if (sees_whole(w)) {
    pool_whole<Arch>(g.planes, in, g.x, g.y, T{0}, plus,
                     [=](const V& sum) { return simd::sum_of_lanes(sum) / static_cast<T>(in); });
    return;
  }
  const bool by_vectors = keeps_vectors<T>(g.rank, w);
  if (in > 0 && fits_padded<T>(w)) {
    Scratch scratch;
    const int last = w.rank - 1;
    const int64_t row = w.inner().out, out = w.out_cells();
    T* counts = scratch.take<T>(out);
    T* of_axis[max_spatial];
    for (int d = 0; d < w.rank; ++d) {
      of_axis[d] = scratch.take<T>(w.axis[d].out);
      for (int64_t o = 0; o < w.axis[d].out; ++o) of_axis[d][o] = static_cast<T>(counted(d, o));
    }
    int64_t at[max_spatial] = {};
    for (int64_t first = 0; first < out; first += row) {
      T outer = 1;
      for (int d = 0; d < last; ++d) outer *= of_axis[d][at[d]];
      for (int64_t o = 0; o < row; ++o) counts[first + o] = outer * of_axis[last][o];
      step<Arch>(last, at, [&](int d) { return w.axis[d].out; });
    }
    if (by_vectors)
      return pool_vectors<Arch>(w, g.planes, g.x, g.y, T{0}, plus, [counts](int64_t place, const V& sum) {
        return simd::div(sum, V(simd::loadu<Arch>(counts + place)));
      });
    pool_rows<Arch>(w, g.planes, g.x, g.y, T{0}, plus, [=](int64_t place, int64_t count, const V& sum) {
      return simd::div(sum, simd::load_n<Arch>(counts + place, count));
    });
    return;
  }
  pool_cells<Arch>(w, g.planes, [&](int64_t plane, const int64_t* at, int64_t to) {
    const T* x = g.x + plane * in;
    T sum = 0, count = 1;
    for_cells(w, at, [&](int64_t cell) { sum += x[cell]; });
    for (int d = 0; d < w.rank; ++d) count *= static_cast<T>(counted(d, at[d]));
    g.y[to] = count == 0 ? std::numeric_limits<T>::quiet_NaN() : sum / count;
  });
}

template <class Arch, class T>
void sum_pool_impl(const PoolArgs<T>& g) {
  using namespace pool_detail;
  const SlidingWindow<Arch> w(true, g.rank, g.in, g.out, g.kernel, g.strides, g.dilations, g.pads_begin);
  const int64_t in = w.in_cells();
  if (g.planes <= 0 || w.out_cells() <= 0) return;
  if (in > 0 && fits_padded<T>(w)) {
    using V = simd::batch<T, Arch>;
    const auto plus = [](const V& a, const V& b) { return a + b; };
    pool_rows<Arch>(w, g.planes, g.x, g.y, T{0}, plus, [](int64_t, int64_t, const V& sum) { return sum; });
    return;
  }
  pool_cells<Arch>(w, g.planes, [&](int64_t plane, const int64_t* at, int64_t to) {
    const T* x = g.x + plane * in;
    T sum = 0;
    for_cells(w, at, [&](int64_t cell) { sum += x[cell]; });
    g.y[to] = sum;
  });
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

template void max_pool_impl<TENON_INSTANTIATE, float>(const PoolArgs<float>&);
template void max_pool_impl<TENON_INSTANTIATE, double>(const PoolArgs<double>&);
template void max_pool_impl<TENON_INSTANTIATE, int8_t>(const PoolArgs<int8_t>&);
template void max_pool_impl<TENON_INSTANTIATE, uint8_t>(const PoolArgs<uint8_t>&);
template void average_pool_impl<TENON_INSTANTIATE, float>(const PoolArgs<float>&);
template void average_pool_impl<TENON_INSTANTIATE, double>(const PoolArgs<double>&);
template void sum_pool_impl<TENON_INSTANTIATE, float>(const PoolArgs<float>&);
template void sum_pool_impl<TENON_INSTANTIATE, double>(const PoolArgs<double>&);

}  // namespace tenon::TENON_ABI::kernels
#endif
