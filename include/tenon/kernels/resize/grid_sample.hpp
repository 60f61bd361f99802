// Elements of a tensor's spatial axes, and values interpolated between them, at the points of a grid. Bodies
// of linear sampling of floats: grid_sample_impl.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "tenon/base/convert.hpp"
#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/uncontracted.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/resize/interpolated.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

enum class SampleMode : uint8_t { nearest, linear, cubic };
enum class SamplePadding : uint8_t { zeros, border, reflection };

/// x (batch, channels, extents...), points (batch, count, axes), y (batch, channels, count). The coordinates
/// of a point, the last axis first, lie in [-1, 1]: with align_corners these are the middles of the outermost
/// elements, else their outer edges. NaN coordinates count as the first element, or with zeros as outside.
struct GridSampleArgs {
  SampleMode mode = SampleMode::linear;
  SamplePadding padding = SamplePadding::zeros;
  bool align_corners = false;
  int axes = 0;
  const int64_t* extents = nullptr;  ///< (axes)
  int64_t batch = 0, channels = 0, count = 0;
  DType type{};  ///< of the coordinates, a float type
  const void* points = nullptr;
};

namespace detail {

/// Reflects x at the edges until it lies between them; 0 if there is nothing between, and for an x that is
/// NaN or too large for F to distinguish elements.
template <class F>
F reflect(F x, F low, F high) {
  const F range = high - low;
  if (x >= low && x <= high) return x;
  const F over = x < low ? low - x : x - high, turns = std::floor(over / range),
          rest = over - uncontracted(turns * range);
  if (!(range > 0 && turns * std::numeric_limits<F>::epsilon() < 1)) return 0;
  const bool even = std::fmod(turns, F{2}) == 0;
  return std::clamp((x < low) == even ? low + rest : high - rest, low, high);
}

/// The elements of one axis that a coordinate refers to: indices, -1 for a zero outside, and weights.
struct GridTaps {
  int64_t index[4];
  double weight[4];
};

/// F, the type of the coordinates, is also the type of the arithmetic.
template <class F>
void grid_taps(const GridSampleArgs& a, int axis, F coordinate, GridTaps& taps) {
  const int64_t extent = a.extents[axis];
  const auto n = static_cast<F>(extent);
  const F low = a.align_corners ? F{0} : F(-0.5), high = a.align_corners ? n - 1 : n - F(0.5);
  F x = a.align_corners ? (coordinate + 1) / 2 * (n - 1) : (uncontracted((coordinate + 1) * n) - 1) / 2;
  if (a.mode == SampleMode::nearest) x = std::nearbyint(x);
  if (!(x >= low && x <= high)) {
    // As in PyTorch, cubic interpolation takes border elements around the place itself.
    if (a.padding == SamplePadding::border)
      x = !(x >= 0 || x < 0) ? F{0} : a.mode == SampleMode::cubic ? x : std::clamp(x, F{0}, n - 1);
    if (a.padding == SamplePadding::reflection) x = reflect(x, low, high);
    // Far outside, all neighbours are outside too.
    x = x > -8 ? std::min(x, n + 8) : F{-8};
  }
  const F base = std::floor(x);
  const auto ratio = static_cast<double>(x - base);
  int first = 0, count = 1;
  if (a.mode == SampleMode::nearest) {
    taps.weight[0] = 1;
  } else if (a.mode == SampleMode::linear) {
    count = 2;
    taps.weight[0] = 1 - ratio;
    taps.weight[1] = ratio;
  } else {
    first = -1, count = 4;
    constexpr double c = -0.75;
    const auto near = [](double d) {
      return uncontracted((uncontracted((c + 2) * d) - (c + 3)) * d * d) + 1;
    };
    const auto far = [](double d) {
      return uncontracted((uncontracted((uncontracted(c * d) - 5 * c) * d) + 8 * c) * d) - 4 * c;
    };
    taps.weight[0] = far(1 + ratio);
    taps.weight[1] = near(ratio);
    taps.weight[2] = near(1 - ratio);
    taps.weight[3] = far(2 - ratio);
  }
  for (int k = 0; k < count; ++k) {
    int64_t i = static_cast<int64_t>(base) + first + k;
    if (i < 0 || i >= extent) {
      if (a.padding == SamplePadding::zeros) i = -1;
      else if (a.padding == SamplePadding::reflection)
        i = static_cast<int64_t>(
            reflect(static_cast<double>(i), static_cast<double>(low), static_cast<double>(high)));
      if (a.padding != SamplePadding::zeros) i = std::clamp<int64_t>(i, 0, extent - 1);
    }
    taps.index[k] = i;
  }
}

/// The terms of a block of points. Term k of point p is at [k * block + p]: an element of the plane, -1 for
/// none, and its weight.
class GridTerms {
 public:
  static constexpr int64_t most = 512;  ///< points that are processed together

  explicit GridTerms(const GridSampleArgs& a)
      : a_(a),
        taps_(a.mode == SampleMode::nearest  ? 1
              : a.mode == SampleMode::linear ? 2
                                             : 4) {
    // Without an element, other extents may overflow.
    plane_ = std::count(a.extents, a.extents + a.axes, 0) == 0;
    for (int d = 0; d < a.axes; ++d) {
      plane_ *= plane_ == 0 ? 0 : a.extents[d];
      terms_ *= taps_;
    }
    // The places and weights of a block stay in the second-level cache.
    constexpr int64_t near = cache_bytes::l2 / 8 / int64_t{sizeof(int64_t) + sizeof(double)};
    block_ = std::clamp<int64_t>(near / terms_, 1, most);
  }
  int64_t plane() const { return plane_; }
  int64_t terms() const { return terms_; }
  int64_t block() const { return block_; }

  void take_memory(Scratch& scratch) {
    coordinates_ = scratch.take<double>(block_ * a_.axes);
    place_ = scratch.take<int64_t>(terms_ * block_);
    weight_ = scratch.take<double>(terms_ * block_);
    narrow_ = scratch.take<float>(terms_ * block_);
    order_ = scratch.take<int64_t>(block_);
  }

  /// Finds the terms of n points, from the `first` of batch entry b on.
  void find(int64_t b, int64_t first, int64_t n) {
    const int64_t from = (b * a_.count + first) * a_.axes;
    const char* points = static_cast<const char*>(a_.points) + from * (bits_of(a_.type) / 8);
    convert_n(DType::float64, coordinates_, a_.type, points, n * a_.axes);
    insides_ = 0;
    for (int64_t p = 0, outsides = 0; p < n; ++p) {
      if (plane_ > 0) find_point(p);
      bool inside = plane_ > 0;
      for (int64_t k = p; k < terms_ * block_; k += block_) {
        if (plane_ == 0) place_[k] = -1;
        inside &= place_[k] >= 0;
        narrow_[k] = static_cast<float>(weight_[k]);
      }
      order_[inside ? insides_++ : n - ++outsides] = p;
    }
  }

  /// y[p] = the sum of the terms of point p, for p < n, of a channel's plane x.
  template <class T>
  void sum(const T* x, int64_t n, T* y) const {
    if (a_.mode == SampleMode::nearest) {
      for (int64_t p = 0; p < n; ++p) y[p] = place_[p] < 0 ? T{} : x[place_[p]];
    } else if constexpr (!std::is_same_v<T, std::string>) {
      int64_t j = 0;
      if (terms_ == 2)
        for (; j < insides_; ++j) y[order_[j]] = convert<T>(sum_terms<2, false>(x, order_[j]));
      for (; j < insides_; ++j) y[order_[j]] = convert<T>(sum_terms<4, false>(x, order_[j]));
      for (; j < n; ++j) y[order_[j]] = convert<T>(sum_terms<1, true>(x, order_[j]));
    }
  }

 private:
  /// `together` divides the number of terms. `outside`: whether terms may be absent.
  template <int together, bool outside, class T>
  auto sum_terms(const T* x, int64_t p) const {
    using C = interpolated_t<T>;
    C total{};
    for (int64_t k = p; k < terms_ * block_; k += together * block_)
#pragma GCC unroll 4
      for (int64_t j = 0; j < together; ++j) {
        const int64_t at = place_[k + j * block_];
        if (outside && at < 0) continue;
        if constexpr (sizeof(C) == (is_complex(dtype_of<T>) ? 2 : 1) * sizeof(float))
          total += uncontracted(static_cast<C>(x[at]) * narrow_[k + j * block_]);
        else total += uncontracted(static_cast<C>(x[at]) * weight_[k + j * block_]);
      }
    return total;
  }

  /// The product of the terms of the axes so far and the taps of the next axis yields the terms including it.
  void find_point(int64_t p) {
    int64_t* const place = place_ + p;
    double* const weight = weight_ + p;
    const int64_t block = block_;
    place[0] = 0;
    weight[0] = 1;
    int64_t known = 1;
    for (int d = 0; d < a_.axes; ++d, known *= taps_) {
      GridTaps t;
      const double at = coordinates_[p * a_.axes + a_.axes - 1 - d];
      if (a_.type == DType::float64) grid_taps<double>(a_, d, at, t);
      else grid_taps<float>(a_, d, static_cast<float>(at), t);
      for (int64_t k = taps_; k-- > 0;)
        for (int64_t j = 0; j < known; ++j) {
          const int64_t so_far = place[j * block], to = (k * known + j) * block;
          weight[to] = weight[j * block] * t.weight[k];
          place[to] = so_far < 0 || t.index[k] < 0 ? -1 : so_far * a_.extents[d] + t.index[k];
        }
    }
  }

  const GridSampleArgs& a_;
  int taps_;  // of an axis
  int64_t plane_ = 0, terms_ = 1, block_ = 0;
  double *coordinates_ = nullptr, *weight_ = nullptr;
  float* narrow_ = nullptr;  // the weights
  int64_t* place_ = nullptr;
  int64_t* order_ = nullptr;  // points that have all terms, then the others
  int64_t insides_ = 0;       // how many have all terms
};

}  // namespace detail

/// Points that linear sampling of floats processes together. Term k of point p is at [k * linear_block + p]:
/// an element of the plane, -1 for none, and its weight.
inline constexpr int64_t linear_block = 128;

// Serial bodies, for one to three axes of at most 2^22 elements.

/// The terms of n points.
template <class Arch>
void grid_terms_impl(const GridSampleArgs& a, const float* points, int64_t n, int32_t* place, float* weight);
/// y[p] = the sum of the terms of point p of a plane x.
template <class Arch>
void grid_line_impl(const float* x, int64_t terms, const int32_t* place, const float* weight, int64_t n,
                    float* y);
/// Elements [first, last) of planes as rows of all their channels, with zeros at the end.
template <class Arch>
void grid_turn_impl(const float* x, int64_t plane, int64_t channels, int64_t row, int64_t first, int64_t last,
                    float* turned);
/// y[c * y_row + p] = the sum of the terms of point p of channel c; `sums` is scratch memory of (n, row).
template <class Arch>
void grid_rows_impl(const float* turned, int64_t row, int64_t channels, int64_t terms, const int32_t* place,
                    const float* weight, int64_t n, float* sums, float* y, int64_t y_row);

namespace detail {

/// Whether sample_linear supports the arguments.
inline bool samples_linear(const GridSampleArgs& a) {
  if (a.mode != SampleMode::linear || a.type == DType::float64 || a.axes > 3) return false;
  int64_t plane = 1;
  for (int d = 0; d < a.axes; ++d) {
    if (a.extents[d] <= 0 || a.extents[d] > 1 << 22) return false;
    plane *= a.extents[d];
    if (plane > std::numeric_limits<int32_t>::max()) return false;
  }
  return true;
}

/// Planes are turned into rows of channels, so that a point's channels are vectors, if there are enough
/// points to pay for it and it takes at most 64 MB.
inline void sample_linear(const GridSampleArgs& a, const float* x, float* y) {
  constexpr int64_t block = linear_block;
  constexpr int64_t most = cache_bytes::l3 / 8 / int64_t{sizeof(float)};  // elements of the turned planes
  int64_t plane = 1;
  for (int d = 0; d < a.axes; ++d) plane *= a.extents[d];
  const int64_t terms = int64_t{1} << a.axes, blocks = (a.count + block - 1) / block;
  const bool turns = a.channels >= 8 && a.count >= plane / 4 && plane <= 1 << 20;
  const int64_t together =
                    turns ? std::min(std::max<int64_t>(most / plane / 16 * 16, 16), a.channels) : a.channels,
                row = (together + 15) / 16 * 16, batches = turns ? 1 : a.batch;
  Scratch planes;
  float* const turned = turns ? planes.take<float>(plane * row) : nullptr;
  for (int64_t b = 0; b < a.batch; b += batches)
    for (int64_t c = 0; c < a.channels; c += together) {
      const int64_t channels = std::min(together, a.channels - c);
      const float* const from = x + (b * a.channels + c) * plane;
      if (turns)
        parallel_for(plane, 1 + task_work::cheap / row, [&](int64_t first, int64_t last) {
          simd::dispatch([&]<class Arch>(Arch) {
            grid_turn_impl<Arch>(from, plane, channels, row, first, last, turned);
          });
        });
      const int64_t grain = 1 + task_work::cheap / (block * terms * channels);
      parallel_for(batches * blocks, grain, [&](int64_t begin, int64_t end) {
        Scratch scratch;
        float* const points = scratch.take<float>(block * a.axes);
        int32_t* const place = scratch.take<int32_t>(terms * block);
        float* const weight = scratch.take<float>(terms * block);
        float* const sums = scratch.take<float>(turns ? block * row : 0);
        for (int64_t task = begin; task < end; ++task) {
          const int64_t entry = b + task / blocks, first = task % blocks * block,
                        n = std::min(block, a.count - first), at = (entry * a.count + first) * a.axes;
          convert_n(DType::float32, points, a.type,
                    static_cast<const char*>(a.points) + at * (bits_of(a.type) / 8), n * a.axes);
          simd::dispatch([&]<class Arch>(Arch) {
            grid_terms_impl<Arch>(a, points, n, place, weight);
            float* const to = y + (entry * a.channels + c) * a.count + first;
            if (turns)
              return grid_rows_impl<Arch>(turned, row, channels, terms, place, weight, n, sums, to, a.count);
            for (int64_t k = 0; k < channels; ++k)
              grid_line_impl<Arch>(x + (entry * a.channels + k) * plane, terms, place, weight, n,
                                   to + k * a.count);
          });
        }
      });
    }
}

}  // namespace detail

/// Integers are truncated. T: any type but strings, which support only the nearest mode.
template <class T>
void grid_sample(const GridSampleArgs& a, const T* x, T* y) {
  if constexpr (std::is_same_v<T, float>)
    if (detail::samples_linear(a)) return detail::sample_linear(a, x, y);
  const detail::GridTerms shape(a);
  const int64_t plane = shape.plane(), block = shape.block(), blocks = (a.count + block - 1) / block;
  parallel_for(a.batch * blocks, 1 + task_work::cheap / (block * shape.terms() * a.channels + 1),
               [&](int64_t begin, int64_t end) {
                 Scratch scratch;
                 detail::GridTerms terms = shape;
                 terms.take_memory(scratch);
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t b = task / blocks, first = task % blocks * block,
                                 n = std::min(block, a.count - first);
                   terms.find(b, first, n);
                   for (int64_t c = b * a.channels; c < (b + 1) * a.channels; ++c)
                     terms.sum(x + c * plane, n, y + c * a.count + first);
                 }
               });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/resize/grid_sample_impl.hpp"
#endif
