// Windows that slide over spatial axes, shared by convolution and pooling.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tenon/base/inline_vector.hpp"
#include "tenon/base/platform/overflow.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::sliding {

/// Output cell o and kernel cell k of an axis see input cell o * stride + k * dilation - pad.
struct Axis {
  int64_t in, out, kernel, stride, dilation, pad;

  /// Whether the window maps each cell of the axis to itself.
  constexpr bool identity() const {
    return in == out && kernel == 1 && pad == 0 && (stride == 1 || out == 1);
  }
};

/// The axes of a window, at least one, the innermost last.
template <class Arch>
struct SlidingWindow {
  int rank = 0;
  Axis axis[max_spatial];

  /// Copies the axes. With `join`, axes that form one axis in memory are merged, to make the innermost as
  /// long as possible: an identity joins the axis before it if that axis has stride 1.
  SlidingWindow(bool join, int rank_, const int64_t* in, const int64_t* out, const int64_t* kernel,
                const int64_t* strides, const int64_t* dilations, const int64_t* pads) {
    for (int d = 0; d < rank_; ++d) {
      const Axis a{in[d], out[d], kernel[d], strides[d], dilations[d], pads[d]};
      if (join && rank > 0 && a.identity() && (axis[rank - 1].stride == 1 || a.in == 1)) {
        Axis& before = axis[rank - 1];
        before.in *= a.in, before.out *= a.out, before.dilation *= a.in, before.pad *= a.in;
      } else {
        axis[rank++] = a;
      }
    }
  }

  const Axis& inner() const { return axis[rank - 1]; }
  bool identity() const { return rank == 1 && axis[0].identity(); }

  int64_t in_cells() const {
    return product([](const Axis& a) { return a.in; });
  }
  int64_t out_cells() const {
    return product([](const Axis& a) { return a.out; });
  }
  int64_t kernel_cells() const {
    return product([](const Axis& a) { return a.kernel; });
  }

 private:
  template <class F>
  int64_t product(F f) const {
    int64_t cells = 1;
    for (int d = 0; d < rank; ++d) cells *= f(axis[d]);
    return cells;
  }
};

/// Steps `index` (of `rank` axes, the last fastest) to the next cell of the box extent(0), extent(1), ...
template <class Arch, class Extent>
inline void step(int rank, int64_t* index, Extent extent) {
  for (int d = rank - 1; d >= 0; --d) {
    if (++index[d] < extent(d)) return;
    index[d] = 0;
  }
}

/// The least t >= 0 with first + t * by >= 0.
constexpr int64_t steps_to_zero(int64_t first, int64_t by) { return first >= 0 ? 0 : (-first + by - 1) / by; }

/// Bits of the first `count` lanes whose input column, `from` for lane 0, is inside the image.
template <class Arch, int S>
uint64_t lanes_inside(int64_t from, int64_t in_cols, int64_t count) {
  const int64_t head = std::min(steps_to_zero(from, S), count);
  const int64_t end = std::min(steps_to_zero(from - in_cols, S), count);
  return head < end ? (~uint64_t{0} >> (64 - (end - head))) << head : 0;
}

/// to[i] = x for i < count.
template <class Arch, class T>
inline void fill_run(T* to, int64_t count, T x) {
  constexpr int L = simd::lanes<T, Arch>;
  const auto v = simd::broadcast<Arch>(x);
  int64_t i = 0;
  for (; i + L <= count; i += L) simd::storeu(to + i, v);
  if (i < count) simd::store_n(to + i, v, count - i);
}

/// to[i] = from[i * stride].
template <class Arch, class T>
inline void copy_strided(const T* from, int64_t stride, int64_t count, T* to) {
  constexpr int L = simd::lanes<T, Arch>;
  int64_t i = 0;
  if (stride == 1) {
    for (; i + L <= count; i += L) simd::storeu(to + i, simd::loadu<Arch>(from + i));
    if (i < count) simd::store_n(to + i, simd::load_n<Arch>(from + i, count - i), count - i);
    return;
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (stride == 2) {
      for (; i + L <= count; i += L) simd::storeu(to + i, simd::load_even_n<Arch>(from + 2 * i, L));
      if (i < count) simd::store_n(to + i, simd::load_even_n<Arch>(from + 2 * i, count - i), count - i);
      return;
    }
  }
  for (; i < count; ++i) to[i] = from[i * stride];
}

/// A padded copy of one channel whose innermost axis is split by its stride, so that the cells that
/// neighbouring outputs see through one kernel cell are contiguous for every stride. An output row then needs
/// no border tests and only unit-stride loads.
template <class T, class Arch>
class PaddedPlane {
 public:
  /// Elements of scratch that the copy takes, or limit + 1 if it takes more than `limit`.
  static int64_t size(const SlidingWindow<Arch>& w, int64_t limit) {
    int64_t cells = w.inner().stride;
    for (int d = 0; d < w.rank; ++d) {
      const int64_t more = d + 1 < w.rank ? span(w.axis[d]) : phase_length(w.inner());
      cells = tenon::detail::bounded_product(cells, more, limit + 1);
    }
    return cells;
  }

  /// `space` has size() elements, `taps` one for each kernel cell.
  PaddedPlane(const SlidingWindow<Arch>& w, T* space, int64_t* taps, T fill)
      : w_(w), space_(space), taps_(taps) {
    const Axis& inner = w.inner();
    phase_ = phase_length(inner);
    row_ = phase_ * inner.stride;
    int64_t stride = row_;
    for (int d = w.rank - 2; d >= 0; --d) {
      stride_[d] = stride;
      stride *= span(w.axis[d]);
    }
    fill_run<Arch>(space, stride, fill);
    int64_t at[max_spatial] = {};
    const int64_t kernel_cells = w.kernel_cells();
    for (int64_t k = 0; k < kernel_cells; ++k) {
      int64_t offset = column(at[w.rank - 1] * inner.dilation);
      for (int d = 0; d + 1 < w.rank; ++d) offset += at[d] * w.axis[d].dilation * stride_[d];
      taps[k] = offset;
      step<Arch>(w.rank, at, [&](int d) { return w.axis[d].kernel; });
    }
  }

  /// Copies one channel in. The padding keeps the constructor's fill.
  void load(const T* x) {
    const Axis& inner = w_.inner();
    // Padded column c is input column c - pad.
    const int64_t first = std::max<int64_t>(inner.pad, 0);
    const int64_t end = std::min(inner.in + inner.pad, row_);
    int64_t rows = 1;
    for (int d = 0; d + 1 < w_.rank; ++d) rows *= w_.axis[d].in;
    int64_t at[max_spatial] = {};
    for (int64_t r = 0; r < rows; ++r) {
      bool inside = true;
      T* to = space_;
      for (int d = 0; d + 1 < w_.rank; ++d) {
        const int64_t padded = at[d] + w_.axis[d].pad;
        inside = inside && padded >= 0 && padded < span(w_.axis[d]);
        to += padded * stride_[d];
      }
      if (inside) {
        const T* from = x + r * inner.in - inner.pad;
        for (int64_t s = 0; s < inner.stride; ++s) {
          const int64_t skip = s >= first ? 0 : (first - s + inner.stride - 1) / inner.stride;
          const int64_t c = s + skip * inner.stride;
          if (c < end)
            copy_strided<Arch>(from + c, inner.stride,
                               std::min((end - c - 1) / inner.stride + 1, phase_ - skip),
                               to + s * phase_ + skip);
        }
      }
      step<Arch>(w_.rank - 1, at, [&](int d) { return w_.axis[d].in; });
    }
  }

  /// The place of the first cell of the output row with outer coordinates `at`. Output o sees kernel cell k
  /// at row(at) + taps[k] + o. A whole vector can be read from any o of the row.
  const T* row(const int64_t* at) const {
    const T* p = space_;
    for (int d = 0; d + 1 < w_.rank; ++d) p += at[d] * w_.axis[d].stride * stride_[d];
    return p;
  }

 private:
  // Input cells from the first that a window can see to the last.
  static constexpr int64_t span(const Axis& a) {
    return (a.out - 1) * a.stride + (a.kernel - 1) * a.dilation + 1;
  }
  static constexpr int64_t phase_length(const Axis& a) {
    return (span(a) + a.stride - 1) / a.stride + simd::lanes<T, Arch>;
  }
  int64_t column(int64_t c) const { return c % w_.inner().stride * phase_ + c / w_.inner().stride; }

  const SlidingWindow<Arch>& w_;
  T* space_;
  int64_t* taps_;
  int64_t phase_, row_;
  int64_t stride_[max_spatial];
};

/// Vectors of a channel's outputs: each starts at `from` in the padded copy, at `to` in the output, and has
/// `count` outputs.
struct Place {
  int64_t from, to, count;
};

/// Vectors that are computed side by side: enough to cover the latency of fma, with registers to spare.
inline constexpr int place_group = 8;

/// The greatest number of places, rounded up to whole groups.
template <class T, class Arch>
int64_t most_places(const SlidingWindow<Arch>& w) {
  const int64_t row = w.inner().out, vectors = (row + simd::lanes<T, Arch> - 1) / simd::lanes<T, Arch>;
  return w.out_cells() / row * vectors + place_group - 1;
}

/// Fills `places` with all places of a channel, then with empty ones to complete the last group. Returns the
/// number of places.
template <class T, class Arch>
int64_t list_places(const SlidingWindow<Arch>& w, const PaddedPlane<T, Arch>& padded, const T* space,
                    Place* places) {
  constexpr int L = simd::lanes<T, Arch>;
  const int64_t row = w.inner().out, rows = w.out_cells() / row;
  int64_t at[max_spatial] = {}, count = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t from = padded.row(at) - space;
    for (int64_t o = 0; o < row; o += L)
      places[count++] = {from + o, r * row + o, std::min<int64_t>(L, row - o)};
    step<Arch>(w.rank - 1, at, [&](int d) { return w.axis[d].out; });
  }
  while (count % place_group != 0) places[count++] = {0, 0, 0};
  return count;
}

/// y = done(place, sum), where sum = join(k)(cells that kernel cell k sees, sum) over all k, starting from
/// `start`.
template <class Arch, class T, class Join, class Done>
void reduce_windows(const T* space, const int64_t* taps, int64_t kernel, const Place* places, int64_t count,
                    T start, T* y, Join join, Done done) {
  using V = simd::batch<T, Arch>;
  for (int64_t p = 0; p < count; p += place_group) {
    const Place* place = places + p;
    V sum[place_group];
#pragma GCC unroll 8
    for (int v = 0; v < place_group; ++v) sum[v] = V(start);
    for (int64_t k = 0; k < kernel; ++k) {
      const auto with = join(k);
      const T* from = space + taps[k];
#pragma GCC unroll 8
      for (int v = 0; v < place_group; ++v) sum[v] = with(V(simd::loadu<Arch>(from + place[v].from)), sum[v]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < place_group; ++v) {
      const V result = done(place[v], sum[v]);
      if (place[v].count == simd::lanes<T, Arch>) simd::storeu(y + place[v].to, result);
      else simd::store_n(y + place[v].to, result, place[v].count);
    }
  }
}

/// Whether a padded copy's size is reasonable compared to the channel's input and output.
template <class T, class Arch>
bool fits_padded(const SlidingWindow<Arch>& w) {
  const int64_t limit = 4 * (w.in_cells() + w.out_cells()) + 4096;
  int64_t kernel = 1;
  for (int d = 0; d < w.rank; ++d)
    kernel = tenon::detail::bounded_product(kernel, w.axis[d].kernel, limit + 1);
  return kernel <= limit && PaddedPlane<T, Arch>::size(w, limit) <= limit;
}

}  // namespace tenon::TENON_ABI::kernels::sliding
