// Resize and Upsample share the places of new elements on the old axes, and kernel calls.
#pragma once

#include <cmath>
#include <complex>

#include "tenon/base/convert.hpp"
#include "tenon/base/costs.hpp"
#include "tenon/base/platform/uncontracted.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/elementwise/half.hpp"
#include "tenon/kernels/resize/interpolated.hpp"
#include "tenon/kernels/resize/resize.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

enum class ResizeMode : uint8_t { nearest, linear, cubic };

/// Which of the two neighbours is the nearest: the closer one, and of two equally close ones the lower or the
/// upper; always the lower or the upper; or the upper where the axis gets shorter and else the lower.
enum class NearestMode : uint8_t { prefer_floor, prefer_ceil, floor, ceil, by_direction };

enum class ResizeCoordinates : uint8_t {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize
};

/// How elements are found, on every axis alike.
struct ResizeRule {
  ResizeMode mode = ResizeMode::nearest;
  NearestMode nearest = NearestMode::prefer_floor;
  ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
  bool antialias = false;
  bool exclude_outside = false;
  double cubic_coefficient = -0.75;
  float extrapolation_value = 0;
};

/// An axis: its extents, out / in as requested, and the part of it that tf_crop_and_resize takes.
struct ResizeAxis {
  int64_t in = 1, out = 1;
  double scale = 1;
  double start = 0, end = 1;
};

namespace resize_detail {

/// The place on the old axis of element j of the new one.
inline double place(const ResizeAxis& a, ResizeCoordinates coordinates, int64_t j) {
  const auto at = static_cast<double>(j), in = static_cast<double>(a.in), out = a.scale * in;
  const double half_pixel = (at + 0.5) / a.scale - 0.5;
  switch (coordinates) {
    case ResizeCoordinates::half_pixel: return half_pixel;
    case ResizeCoordinates::half_pixel_symmetric:
      return half_pixel + uncontracted(in / 2 * (1 - static_cast<double>(a.out) / out));
    case ResizeCoordinates::pytorch_half_pixel: return a.out == 1 ? 0 : half_pixel;
    case ResizeCoordinates::align_corners: return out == 1 ? 0 : at * (in - 1) / (out - 1);
    case ResizeCoordinates::asymmetric: return at / a.scale;
    case ResizeCoordinates::tf_half_pixel_for_nn: return a.scale == 1 ? at : (at + 0.5) / a.scale;
    case ResizeCoordinates::tf_crop_and_resize:
      return a.out == 1 ? (a.start + a.end) * (in - 1) / 2
                        : uncontracted(a.start * (in - 1)) +
                              at * (a.end - a.start) * (in - 1) / static_cast<double>(a.out - 1);
  }
  return 0;
}

inline double nearest(double x, NearestMode mode, bool shrinks) {
  switch (mode) {
    case NearestMode::prefer_floor: return std::ceil(x - 0.5);
    case NearestMode::prefer_ceil: return std::floor(x + 0.5);
    case NearestMode::floor: return std::floor(x);
    case NearestMode::ceil: return std::ceil(x);
    case NearestMode::by_direction: return shrinks ? std::ceil(x) : std::floor(x);
  }
  return x;
}

/// The weight of an element at a distance, for the coefficient c of cubic convolution.
inline double weight(ResizeMode mode, double distance, double c) {
  const double x = std::abs(distance);
  if (mode == ResizeMode::linear) return x < 1 ? 1 - x : 0;
  if (x <= 1) return ((c + 2) * x - (c + 3)) * x * x + 1;
  return x < 2 ? ((c * x - 5 * c) * x + 8 * c) * x - 4 * c : 0;
}

/// An axis with its elements: `index` as in ResampleAxis, weights that are null for the nearest mode, and
/// where the result is the extrapolation value.
struct Sampled {
  int64_t taps = 1;
  int64_t* index = nullptr;
  double* weights = nullptr;
  bool* outside = nullptr;
  bool same = true;  ///< each element is the old one of its index
  bool any_outside = false;
};

inline Sampled sample(const ResizeAxis& a, const ResizeRule& rule, Scratch& scratch) {
  Sampled s;
  const double support = rule.mode == ResizeMode::cubic ? 2 : 1;
  const double shrink = rule.antialias ? std::min(a.scale, 1.0) : 1.0;
  // The elements from floor(x) + first on, as many on either side.
  const int64_t first =
      rule.mode == ResizeMode::nearest ? 0 : static_cast<int64_t>(std::floor(-support / shrink)) + 1;
  if (rule.mode != ResizeMode::nearest) s.taps = 2 - 2 * first;
  s.index = scratch.take<int64_t>(s.taps * a.out);
  s.outside = scratch.take<bool>(a.out);
  if (rule.mode != ResizeMode::nearest) s.weights = scratch.take<double>(s.taps * a.out);
  const auto last = static_cast<double>(a.in - 1);
  const auto element = [&](double x) { return static_cast<int64_t>(std::clamp(x, 0.0, last)); };
  s.same = a.in == a.out;
  for (int64_t j = 0; j < a.out; ++j) {
    double x = place(a, rule.coordinates, j);
    s.outside[j] = rule.coordinates == ResizeCoordinates::tf_crop_and_resize && !(x >= 0 && x <= last);
    s.any_outside |= s.outside[j];
    if (!(x >= -1e15 && x <= 1e15)) x = 0;
    if (rule.mode == ResizeMode::nearest) {
      s.index[j] = element(nearest(x, rule.nearest, a.scale < 1));
      s.same &= s.index[j] == j;
      continue;
    }
    const double base = std::floor(x) + static_cast<double>(first);
    double sum = 0;
    for (int64_t k = 0; k < s.taps; ++k) {
      const double at = base + static_cast<double>(k);
      double w = weight(rule.mode, (at - x) * shrink, rule.cubic_coefficient);
      if (rule.exclude_outside && (at < 0 || at > last)) w = 0;
      s.index[k * a.out + j] = element(at);
      s.weights[k * a.out + j] = w;
      sum += w;
    }
    if (rule.antialias || rule.exclude_outside)
      for (int64_t k = 0; k < s.taps; ++k) s.weights[k * a.out + j] /= sum;
    s.same &= x == static_cast<double>(j) && shrink == 1;
  }
  return s;
}

using kernels::interpolated_t;

template <class T>
const interpolated_t<T>* load(const T* x, interpolated_t<T>* wide, int64_t n) {
  if constexpr (std::is_same_v<T, interpolated_t<T>>) {
    return x;
  } else {
    if constexpr (is_float(dtype_of<T>)) kernels::convert_half(x, wide, n);
    else
      for (int64_t k = 0; k < n; ++k) wide[k] = static_cast<interpolated_t<T>>(x[k]);
    return wide;
  }
}
/// Integers are truncated.
template <class T>
void store(const interpolated_t<T>* wide, T* y, int64_t n) {
  if constexpr (std::is_same_v<T, interpolated_t<T>>) return;
  else if constexpr (is_float(dtype_of<T>)) kernels::convert_half(wide, y, n);
  else
    for (int64_t k = 0; k < n; ++k) y[k] = convert<T>(wide[k]);
}

/// Each element of x and y is `parts` numbers.
template <class T>
void interpolate(const T* x, T* y, std::span<const int64_t> in, std::span<const int64_t> out,
                 const Sampled* axes, int64_t parts) {
  using C = interpolated_t<T>;
  const Extents before(in), after(out);
  const int rank = before.size();
  Scratch scratch;
  // Axes that get shorter come first, and axes that get longer last, so that intermediate arrays stay small.
  int order[max_rank], passes = 0, first = rank;
  kernels::ResampleAxis<C> plans[max_rank];
  for (int d = 0; d < rank; ++d)
    if (!axes[d].same && before[d] > after[d]) order[passes++] = d;
  for (int d = rank; d-- > 0;)
    if (!axes[d].same && before[d] <= after[d]) order[passes++] = d;
  for (int d = 0; d < rank; ++d) {
    if (axes[d].same) continue;
    first = std::min(first, d);
    C* weights = scratch.take<C>(axes[d].taps * after[d]);
    for (int64_t k = 0; k < axes[d].taps * after[d]; ++k) weights[k] = static_cast<C>(axes[d].weights[k]);
    plans[d] = {before[d], after[d], axes[d].taps, axes[d].index, weights};
  }
  // The work is done plane by plane: a plane has all axes after the leading ones that stay the same.
  const auto plane = static_cast<std::size_t>(first);
  const int64_t planes = extent_product(in.first(plane)), from = extent_product(in.subspan(plane)) * parts,
                to = extent_product(out.subspan(plane)) * parts;
  int64_t most = to;
  Extents extents = before;
  for (int k = 0; k < passes; ++k) {
    extents[order[k]] = after[order[k]];
    most = std::max(most, extent_product(std::span<const int64_t>(extents).subspan(plane)) * parts);
  }
  constexpr bool wide = std::is_same_v<T, C>;
  parallel_for(planes, 1 + 2 * task_work::cheap / (from + to), [&](int64_t begin, int64_t end) {
    Scratch memory;
    C* const loaded = memory.take<C>(wide ? 0 : from);
    C* const between[] = {memory.take<C>(wide && passes < 2 ? 0 : most),
                          memory.take<C>(passes < 2 ? 0 : most)};
    for (int64_t p = begin; p < end; ++p) {
      const C* source = load(x + p * from, loaded, from);
      Extents now = before;
      for (int k = 0; k < passes; ++k) {
        C* target = between[k % 2];
        if constexpr (wide)
          if (k + 1 == passes) target = y + p * to;
        const auto [outer, extent, inner] =
            split_at(std::span<const int64_t>(now).subspan(plane), order[k] - first);
        kernels::resample(source, target, plans[order[k]], outer, inner * parts);
        now[order[k]] = after[order[k]];
        source = target;
      }
      store(source, y + p * to, to);
    }
  });
}

}  // namespace resize_detail

/// y from x: for each axis its row of `axes`. Strings are only moved: the mode is nearest.
template <class T>
void resize(TensorView<const T> x, TensorView<T> y, const ResizeRule& rule, const ResizeAxis* axes) {
  using namespace resize_detail;
  if (y.empty()) return;
  Scratch scratch;
  Sampled sampled[max_rank];
  const int64_t* index[max_rank];
  bool same = true;
  for (int d = 0; d < x.rank(); ++d) {
    sampled[d] = sample(axes[d], rule, scratch);
    index[d] = sampled[d].index;
    same &= sampled[d].same;
  }
  if (same) {
    kernels::copy(dtype_of<T>, y.data(), x.data(), x.size());
  } else if (rule.mode == ResizeMode::nearest) {
    kernels::pick(dtype_of<T>, y.data(), y.extents(), x.data(), x.extents(), index);
  } else if constexpr (is_complex(dtype_of<T>)) {
    using R = typename T::value_type;
    interpolate(reinterpret_cast<const R*>(x.data()), reinterpret_cast<R*>(y.data()), x.extents(),
                y.extents(), sampled, 2);
  } else if constexpr (!std::is_same_v<T, std::string>) {
    interpolate(x.data(), y.data(), x.extents(), y.extents(), sampled, 1);
  }
  for (int d = 0; d < x.rank(); ++d) {
    if (!sampled[d].any_outside) continue;
    const T value = convert<T>(rule.extrapolation_value);
    const auto [outer, extent, inner] = split_at(y.extents(), d);
    for (int64_t row = 0; row < outer * extent; ++row)
      if (sampled[d].outside[row % extent]) std::fill_n(y.data() + row * inner, inner, value);
  }
}

/// in * scale, rounded down; fails for a scale that is not a finite number above 0, or below `least`.
inline Dim scaled_extent(Infer& i, Dim in, float scale, float least = 0) {
  if (!(scale > 0 && scale >= least && scale < HUGE_VALF)) {
    i.fail("a scale is ", least >= 1 ? "below 1" : "not above 0", ", or no number");
    return {};
  }
  if (scale == 1 || !in.known()) return scale == 1 ? in : Dim();
  const double extent = std::floor(static_cast<double>(in.value()) * static_cast<double>(scale));
  if (!(extent < 0x1p62)) return i.fail("extent ", in, " becomes too large"), Dim();
  return static_cast<int64_t>(extent);
}

/// Resize-10 and Upsample: one scale for each axis, where the elements are known; asymmetric coordinates.
constexpr void infer_scaled(Infer& i, const float* scales, Dim count, float least) {
  const Dims& x = i.dims(0);
  if (!x.ranked()) return;
  if (count.differs(x.rank())) return i.fail(count, " scales for a rank of ", x.rank());
  Dims y = Dims::of_rank(x.rank());
  for (int d = 0; scales != nullptr && d < x.rank(); ++d) {
    y[d] = scaled_extent(i, x[d], scales[d], least);
    if (i.failed()) return;
  }
  i.out(0, y);
}
template <class T>
void resize_scaled(TensorView<const T> x, const float* scales, TensorView<T> y, ResizeMode mode,
                   NearestMode nearest) {
  ResizeAxis axes[max_rank];
  for (int d = 0; d < x.rank(); ++d) axes[d] = {x.extent(d), y.extent(d), scales[d]};
  resize(x, y, {.mode = mode, .nearest = nearest, .coordinates = ResizeCoordinates::asymmetric}, axes);
}

/// `mode` is one of these; strings can only be moved, by nearest.
constexpr bool check_resize_mode(Infer& i, const Str& mode, std::initializer_list<Str> choices) {
  if (!i.expect_choice("mode", mode, choices)) return false;
  if (mode != "nearest" && i.dtype(0) == DType::string)
    return i.fail_type("strings have no '", mode, "'"), false;
  return true;
}
/// Where the elements of the result come from, if no coordinate mode needs others.
constexpr Elements resized_elements(const Str& mode) {
  return mode == "nearest" ? Elements::choice : Elements::any;
}
constexpr ResizeMode resize_mode(const Str& mode) {
  return mode == "nearest" ? ResizeMode::nearest : mode == "cubic" ? ResizeMode::cubic : ResizeMode::linear;
}

}  // namespace tenon::TENON_ABI::op
