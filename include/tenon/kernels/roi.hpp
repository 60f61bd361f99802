// Pools over regions of interest of planes (channels, height, width). T: float, double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/uncontracted.hpp"
#include "tenon/base/scratch.hpp"

namespace tenon::TENON_ABI::kernels {

/// The arguments of both pools. Region r lies in image image[r], and has a row of y (regions, channels,
/// out...).
template <class T>
struct RoiPoolArgs {
  const T* x = nullptr;  ///< (images, channels, height, width)
  T* y = nullptr;        ///< (regions, channels, out_height, out_width)
  int64_t regions = 0, channels = 0, height = 0, width = 0, out_height = 0, out_width = 0;
  const int64_t* image = nullptr;  ///< (regions), each in range
};

namespace detail {

/// body(region, first, last) for blocks of a region's channels, in parallel.
template <class F>
void for_region_channels(int64_t regions, int64_t channels, F body) {
  constexpr int64_t block = 32;
  const int64_t blocks = (channels + block - 1) / block;
  parallel_for(regions * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t first = t % blocks * block;
      body(t / blocks, first, std::min(first + block, channels));
    }
  });
}

struct Span {
  int64_t first, last;
};
/// Cells [first, last) of bin number `bin` of `bins` that divide `extent` cells from `start` on, clipped to
/// [0, cells).
template <class T>
Span roi_bin(int64_t start, int64_t extent, int64_t bin, int64_t bins, int64_t cells) {
  const T size = static_cast<T>(extent) / static_cast<T>(bins);
  const auto first = static_cast<int64_t>(std::floor(static_cast<T>(bin) * size));
  const auto last = static_cast<int64_t>(std::ceil(static_cast<T>(bin + 1) * size));
  return {std::clamp<int64_t>(start + first, 0, cells), std::clamp<int64_t>(start + last, 0, cells)};
}

/// The greatest element of a bin of a plane; NaN if any element is, 0 for a bin without elements.
template <class T>
T greatest_of(const T* x, int64_t width, Span rows, Span columns) {
  if (rows.first >= rows.last || columns.first >= columns.last) return 0;
  T most = -std::numeric_limits<T>::infinity();
  for (int64_t h = rows.first; h < rows.last; ++h)
    for (int64_t w = columns.first; w < columns.last; ++w) {
      const T v = x[h * width + w];
      most = v > most || v != v ? v : most;
    }
  return most;
}

}  // namespace detail

/// A region in whole cells, both ends included; neither is further than `limit` from 0.
struct RoiCells {
  static constexpr float limit = 0x1p30f;
  int64_t top, left, bottom, right;
};

/// y = the greatest element of each of out_height times out_width bins of each region; NaN if any element is;
/// 0 for a bin outside of the image.
template <class T>
void max_roi_pool(const RoiPoolArgs<T>& a, const RoiCells* cells) {
  detail::for_region_channels(a.regions, a.channels, [&](int64_t r, int64_t begin, int64_t end) {
    const RoiCells& roi = cells[r];
    const int64_t height = std::max<int64_t>(roi.bottom - roi.top + 1, 1);
    const int64_t width = std::max<int64_t>(roi.right - roi.left + 1, 1);
    for (int64_t c = begin; c < end; ++c) {
      const T* x = a.x + (a.image[r] * a.channels + c) * a.height * a.width;
      T* y = a.y + (r * a.channels + c) * a.out_height * a.out_width;
      for (int64_t i = 0; i < a.out_height; ++i) {
        const detail::Span rows = detail::roi_bin<T>(roi.top, height, i, a.out_height, a.height);
        for (int64_t j = 0; j < a.out_width; ++j)
          *y++ = detail::greatest_of(x, a.width, rows,
                                     detail::roi_bin<T>(roi.left, width, j, a.out_width, a.width));
      }
    }
  });
}

/// Samples along one axis of a region: `grid` in each of `bins` bins of length `size`, from `start` on.
template <class T>
struct RoiSamples {
  T start = 0, size = 0;
  int64_t grid = 0;  ///< none if not above 0
};
template <class T>
struct RoiRegion {
  RoiSamples<T> vertical, horizontal;
};

namespace detail {

/// The samples of a bin that lie between the same two cells, `low` and `high`. Each has a weight for both.
/// The sums serve means; the greatest and least weights serve maxima.
template <class T>
struct RoiCell {
  int64_t low, high;
  T low_sum, high_sum, low_most, low_least, high_most, high_least;
};

/// The cells of all bins along an axis of `extent` cells.
template <class T>
class RoiAxis {
 public:
  RoiAxis(Scratch& scratch, const RoiSamples<T>& s, int64_t bins, int64_t extent)
      : first_(extent), ends_(scratch.take<int64_t>(bins + 1)), outside_(scratch.take<bool>(bins)) {
    // Counted first, then written.
    for (bool write : {false, true}) {
      int64_t count = 0;
      for (int64_t b = 0; b < bins; ++b) {
        ends_[b] = count;
        outside_[b] = false;
        int64_t before = -1;
        for (int64_t k = 0; k < s.grid; ++k) {
          T v = s.start + uncontracted(static_cast<T>(b) * s.size) +
                (static_cast<T>(k) + T(0.5)) * s.size / static_cast<T>(s.grid);
          if (!(v >= -1 && v <= static_cast<T>(extent))) {
            outside_[b] = true;
            continue;
          }
          v = std::max<T>(v, 0);
          const int64_t low = std::min(static_cast<int64_t>(v), extent - 1);
          if (low != before) ++count;
          if (write) {
            add(cells_[count - 1], low, v, extent, low != before);
            first_ = std::min(first_, low), last_ = std::max(last_, std::min(low + 2, extent));
          }
          before = low;
        }
      }
      ends_[bins] = count;
      if (!write) cells_ = scratch.take<RoiCell<T>>(count);
    }
  }

  const RoiCell<T>* begin(int64_t bin) const { return cells_ + ends_[bin]; }
  const RoiCell<T>* end(int64_t bin) const { return cells_ + ends_[bin + 1]; }
  /// All cells lie in [first(), last()).
  int64_t first() const { return first_; }
  int64_t last() const { return last_; }
  /// Whether a sample of the bin lies outside the image, where everything is zero.
  bool outside(int64_t bin) const { return outside_[bin]; }

 private:
  static void add(RoiCell<T>& c, int64_t low, T v, int64_t extent, bool first) {
    const T high = low == extent - 1 ? T(0) : v - static_cast<T>(low), weight = T(1) - high;
    if (first) {
      c = {low, std::min(low + 1, extent - 1), weight, high, weight, weight, high, high};
      return;
    }
    c.low_sum += weight, c.high_sum += high;
    c.low_most = std::max(c.low_most, weight), c.low_least = std::min(c.low_least, weight);
    c.high_most = std::max(c.high_most, high), c.high_least = std::min(c.high_least, high);
  }

  int64_t first_, last_ = 0;
  int64_t* ends_;
  bool* outside_;
  RoiCell<T>* cells_ = nullptr;
};

/// The greatest product of v and a product of two weights; weights are not negative.
template <class T>
void raise_to(T& most, T v, T y_most, T y_least, T x_most, T x_least) {
  const T product = v >= 0 ? y_most * x_most * v : y_least * x_least * v;
  if (product > most) most = product;
}

/// The means of a row of bins: its samples' rows are summed to `line`, then their columns.
template <class T>
void average_bins(const T* x, int64_t width, const RoiAxis<T>& rows, int64_t i, const RoiAxis<T>& columns,
                  int64_t bins, T count, T* line, T* y) {
  std::fill(line + std::min(columns.first(), columns.last()), line + columns.last(), T(0));
  for (const auto* v = rows.begin(i); v != rows.end(i); ++v) {
    const T *low = x + v->low * width, *high = x + v->high * width;
    for (int64_t k = columns.first(); k < columns.last(); ++k)
      line[k] += v->low_sum * low[k] + v->high_sum * high[k];
  }
  for (int64_t j = 0; j < bins; ++j) {
    T sum = 0;
    for (const auto* h = columns.begin(j); h != columns.end(j); ++h)
      sum += h->low_sum * line[h->low] + h->high_sum * line[h->high];
    y[j] = sum / count;
  }
}

/// The greatest product of a cell and its weight among the samples of bin (i, j).
template <class T>
T greatest_sample(const T* x, int64_t width, const RoiAxis<T>& rows, int64_t i, const RoiAxis<T>& columns,
                  int64_t j) {
  T most = rows.outside(i) || columns.outside(j) ? T(0) : -std::numeric_limits<T>::infinity();
  for (const auto* v = rows.begin(i); v != rows.end(i); ++v)
    for (const auto* h = columns.begin(j); h != columns.end(j); ++h) {
      const T *low = x + v->low * width, *high = x + v->high * width;
      raise_to(most, low[h->low], v->low_most, v->low_least, h->low_most, h->low_least);
      raise_to(most, low[h->high], v->low_most, v->low_least, h->high_most, h->high_least);
      raise_to(most, high[h->low], v->high_most, v->high_least, h->low_most, h->low_least);
      raise_to(most, high[h->high], v->high_most, v->high_least, h->high_most, h->high_least);
    }
  return most;
}

}  // namespace detail

/// y = the mean of each bin's samples, each interpolated between four cells; with `greatest`, the greatest
/// product of a cell and its weight among all samples. A sample further than one cell outside the image is 0,
/// and so is a bin without samples. height and width are not 0.
template <class T>
void roi_align(const RoiPoolArgs<T>& a, const RoiRegion<T>* regions, bool greatest) {
  detail::for_region_channels(a.regions, a.channels, [&](int64_t r, int64_t begin, int64_t end) {
    const RoiRegion<T>& roi = regions[r];
    Scratch scratch;
    const detail::RoiAxis<T> rows(scratch, roi.vertical, a.out_height, a.height);
    const detail::RoiAxis<T> columns(scratch, roi.horizontal, a.out_width, a.width);
    T* line = scratch.take<T>(a.width);
    const bool none = roi.vertical.grid <= 0 || roi.horizontal.grid <= 0;
    const T count = none ? T(1) : static_cast<T>(roi.vertical.grid) * static_cast<T>(roi.horizontal.grid);
    for (int64_t c = begin; c < end; ++c) {
      const T* x = a.x + (a.image[r] * a.channels + c) * a.height * a.width;
      T* y = a.y + (r * a.channels + c) * a.out_height * a.out_width;
      if (none) {
        std::fill_n(y, a.out_height * a.out_width, T(0));
        continue;
      }
      for (int64_t i = 0; i < a.out_height; ++i, y += a.out_width) {
        if (!greatest) detail::average_bins(x, a.width, rows, i, columns, a.out_width, count, line, y);
        else
          for (int64_t j = 0; j < a.out_width; ++j)
            y[j] = detail::greatest_sample(x, a.width, rows, i, columns, j);
      }
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels
