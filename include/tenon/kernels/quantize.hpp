// Linear quantisation between real numbers and the narrow types: one scale for a tensor, for each index of an
// axis, or for each block along an axis. Elements of any type pass through panels of floats, so that pairs of
// types need no code of their own. Results do not depend on threads. Bodies of the hot loops:
// quantize_impl.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tenon/base/convert.hpp"
#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/base/types.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

/// The index of each element's scale (and zero point). With the elements seen as (outer, extent, inner),
/// element (o, k, i) has scale index o * outer_step + k / block * axis_step + i * inner_step. The inner step
/// is 0 or 1; if `inner` is 1, so is the axis step. The default is a single scale.
struct QuantGrid {
  int64_t outer = 1, extent = 1, inner = 1;
  int64_t block = 1;
  int64_t outer_step = 0, axis_step = 0, inner_step = 0;

  constexpr int64_t size() const { return outer * extent * inner; }
  constexpr bool is_per_tensor() const { return outer_step == 0 && axis_step == 0 && inner_step == 0; }
  static constexpr QuantGrid per_tensor(int64_t size) { return {.inner = size}; }
  static constexpr QuantGrid per_axis(int64_t outer, int64_t extent, int64_t inner) {
    return {.outer = outer, .extent = extent, .inner = inner, .axis_step = 1};
  }
  /// One scale for every `block` elements along the axis; the last block may be shorter.
  static constexpr QuantGrid blocked(int64_t outer, int64_t extent, int64_t inner, int64_t block) {
    const int64_t blocks = extent / block + (extent % block != 0);
    return {outer, extent, inner, block, blocks * inner, inner, 1};
  }
};

/// y = saturate(round(x / scale) + zero), rounded to nearest, ties to even; float types are rounded once
/// after the sum.
struct QuantizeArgs {
  QuantGrid grid;
  DType x_type = DType::float32;  ///< float32, float16, bfloat16, int32
  const void* x = nullptr;
  DType scale_type = DType::float32;  ///< as x_type, or float8e8m0
  const void* scale = nullptr;
  DType y_type = DType::uint8;  ///< any integer of at most 16 bits, packed ones included; float8*; float4e2m1
  const void* zero = nullptr;   ///< of y_type; nullptr: zero
  void* y = nullptr;
  /// The type to which both operands of the division and its result are rounded: float32, float16, bfloat16.
  /// Undefined for int32 divided by int32, whose quotient is rounded only once.
  DType precision = DType::float32;
  bool saturate = true;  ///< float8 types: whether overflow gives the greatest finite number
};

/// y = (x - zero) * scale, computed as float, rounded to y_type.
struct DequantizeArgs {
  QuantGrid grid;
  DType x_type = DType::uint8;  ///< as y_type of QuantizeArgs, or int32
  const void* x = nullptr;
  const void* zero = nullptr;         ///< of x_type; nullptr: zero
  DType scale_type = DType::float32;  ///< float32, float16, bfloat16, float8e8m0
  const void* scale = nullptr;
  DType y_type = DType::float32;  ///< float32, float16, bfloat16
  void* y = nullptr;
};

/// Serial bodies for whole panels, in quantize_impl.hpp. y = saturate(round(x / scale) + zero); T: uint8,
/// int8, or float that holds whole numbers.
template <class Arch, class T>
void quantize_panel_impl(const float* x, const float* scale, const float* zero, float low, float high, T* y);
/// y = (x - zero) * scale. T: uint8, int8, float.
template <class Arch, class T>
void dequantize_panel_impl(const T* x, const float* zero, const float* scale, float* y);
/// The least and greatest of n > 0 numbers; NaN if one of them is.
template <class Arch>
void range_impl(const float* x, int64_t n, float& least, float& greatest);
/// Elements [begin, end) with bytes on one side, and floats on the other and as scales.
template <class Arch>
void quantize_bytes_impl(const QuantizeArgs& a, int64_t begin, int64_t end);
template <class Arch>
void dequantize_bytes_impl(const DequantizeArgs& a, int64_t begin, int64_t end);
/// Between float and float16 or bfloat16.
template <class Arch>
void load_half_impl(DType type, const uint16_t* x, float* y, int64_t n);
template <class Arch>
void store_half_impl(DType type, const float* x, uint16_t* y, int64_t n);

namespace detail {

// Elements of a panel: a multiple of the elements in a byte and of every vector's width. Loops run over the
// whole panel, so that the compiler emits vector code without a remainder.
inline constexpr int64_t quant_panel = 256;
inline constexpr int64_t quant_grain = 64;  // panels per task

template <class T>
struct alignas(64) QuantPanel {
  T at[quant_panel];
};

/// Rounds to nearest even, for magnitudes below 2^22: the sum's last bit is worth 1.
template <class Arch>
constexpr float round_even(float x) {
  constexpr float magic = 0x1.8p23f;
  return (x + magic) - magic;
}

/// Calls f(i) for i < n. Whole panels use a loop of known length.
template <class F>
void for_panel(int64_t n, F f) {
  if (n == quant_panel)
    for (int64_t i = 0; i < quant_panel; ++i) f(i);
  else
    for (int64_t i = 0; i < n; ++i) f(i);
}

// ---- panels from and to memory -----------------------------------------------------------------------

using QuantTypes =
    TypeList<float, float16, bfloat16, float8e8m0, int32_t, int8_t, uint8_t, int16_t, uint16_t, int4, uint4,
             int2, uint2, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, float4e2m1>;

/// Converts elements [first, first + n) of an array to floats. int32 is rounded, all others are exact.
using LoadFloats = void (*)(const void* src, int64_t first, int64_t n, float* to);

template <class T>
inline constexpr bool is_half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

template <class T>
void load_floats(const void* src, int64_t first, int64_t n, float* __restrict to) {
  if constexpr (is_half<T>) {
    const uint16_t* from = static_cast<const uint16_t*>(src) + first;
    simd::dispatch([&]<class Arch>(Arch) { load_half_impl<Arch>(dtype_of<T>, from, to, n); });
    return;
  }
  const auto p = element_pointer<T>(src) + first;
  const auto load = [p, to](int64_t i) { to[i] = static_cast<float>(tenon::detail::number_of(T(p[i]))); };
  if constexpr (PackedElement<T>) {
    constexpr int per_byte = PackedPtr<T>::per_byte;
    if (p.slot() == 0 && n % per_byte == 0) {
      const uint8_t* byte = p.byte();
      for (int64_t i = 0; i < n; i += per_byte, ++byte)
        for (int lane = 0; lane < per_byte; ++lane) {
          const T element = T::from_bits(*byte >> (lane * (8 / per_byte)) & ((1 << (8 / per_byte)) - 1));
          to[i + lane] = static_cast<float>(tenon::detail::number_of(element));
        }
      return;
    }
  }
  for_panel(n, load);
}

inline LoadFloats load_floats_of(DType type) {
  LoadFloats f = nullptr;
  visit_types(QuantTypes{}, type, [&]<class T>() { f = load_floats<T>; });
  return f;
}

/// Writes a panel's numbers to [first, first + n) of an array. For integers they are truncated, because they
/// are whole and in range; for floats they are rounded.
using StoreFloats = void (*)(const float* from, int64_t n, void* dst, int64_t first, bool saturate);

template <class T>
void store_floats(const float* from, int64_t n, void* dst, int64_t first, [[maybe_unused]] bool saturate) {
  if constexpr (is_half<T>) {
    uint16_t* to = static_cast<uint16_t*>(dst) + first;
    simd::dispatch([&]<class Arch>(Arch) { store_half_impl<Arch>(dtype_of<T>, from, to, n); });
  } else if constexpr (NarrowFloatElement<T> || PackedElement<T>) {
    tenon::detail::store_panel<T>(dst, first, from, n, {.saturate = saturate});
  } else if constexpr (std::is_same_v<T, float>) {
    std::copy_n(from, n, static_cast<float*>(dst) + first);
  } else {
    T* __restrict to = static_cast<T*>(dst) + first;
    for_panel(n, [from, to](int64_t i) { to[i] = static_cast<T>(static_cast<int32_t>(from[i])); });
  }
}

inline StoreFloats store_floats_of(DType type) {
  StoreFloats f = nullptr;
  visit_types(QuantTypes{}, type, [&]<class T>() { f = store_floats<T>; });
  return f;
}

/// Rounds a panel's first n to float16 or bfloat16 and back.
inline void round_floats(DType precision, float* x, int64_t n) {
  if (precision != DType::float16 && precision != DType::bfloat16) return;
  uint16_t bits[quant_panel];
  simd::dispatch([&]<class Arch>(Arch) {
    store_half_impl<Arch>(precision, x, bits, n);
    load_half_impl<Arch>(precision, bits, x, n);
  });
}

// ---- scales and zero points, one for each element of a panel -----------------------------------------

/// Calls f(offset, number, count, step) for the runs of elements [first, first + n) whose scales are all
/// `number` (step 0) or `number` onwards (step 1).
template <class F>
void for_each_scale_run(const QuantGrid& g, int64_t first, int64_t n, F f) {
  const bool whole_rows = g.inner > 1 || g.axis_step == 0;
  int64_t i = first % g.inner, k = first / g.inner % g.extent, o = first / g.inner / g.extent;
  int64_t block = k / g.block, left = g.block - k % g.block;  // of the block
  for (int64_t at = 0; at < n;) {
    const int64_t row = whole_rows ? g.inner - i : g.block > 1 ? std::min(left, g.extent - k) : g.extent - k;
    const int64_t count = std::min(n - at, row), steps = whole_rows ? 1 : count;
    f(at, o * g.outer_step + block * g.axis_step + i * g.inner_step, count,
      whole_rows ? g.inner_step : int64_t{g.block == 1});
    at += count;
    i = 0;
    k += steps;
    left -= steps;
    if (g.block == 1) block = k;
    else if (left == 0) ++block, left = g.block;
    if (k == g.extent) k = 0, block = 0, left = g.block, ++o;
  }
}

/// A panel of each element's entry in `source` (its scale or zero point). Kept for the next panel if that
/// needs the same entries.
template <class T, class Load>
class GridPanel {
 public:
  GridPanel(const QuantGrid& grid, const void* source, T fill, Load load)
      : grid_(grid), source_(source), load_(load) {
    std::fill_n(panel_.at, quant_panel, fill);
  }
  const T* get(int64_t first, int64_t n) {
    if (source_ == nullptr) return panel_.at;
    for_each_scale_run(grid_, first, n, [&](int64_t offset, int64_t number, int64_t count, int64_t step) {
      if (step != 0) {
        load_(source_, number, count, panel_.at + offset);
        same_ = -1;
      } else if (count < n) {
        T value;
        load_(source_, number, 1, &value);
        std::fill_n(panel_.at + offset, count, value);
        same_ = -1;
      } else if (number != same_) {
        T value;
        load_(source_, number, 1, &value);
        std::fill_n(panel_.at, quant_panel, value);
        same_ = number;
      }
    });
    return panel_.at;
  }

 private:
  const QuantGrid& grid_;
  const void* source_;
  Load load_;
  int64_t same_ = -1;  // the index of the scale that fills the whole panel
  QuantPanel<T> panel_;
};

// ---- a panel of quantize ------------------------------------------------------------------------------

/// A quotient of int32 that rounds to the same whole number as the exact quotient: a double is precise enough
/// to tell a tie from its neighbours. A quotient out of range of every result only has to remain so.
inline float quotient(int32_t x, int32_t scale, bool whole) {
  constexpr double bound = 0x1p21, magic = 0x1.8p52;
  double q = static_cast<double>(x) / static_cast<double>(scale);
  if (!whole) return static_cast<float>(q);
  q = q > -bound ? q : -bound;
  q = q < bound ? q : bound;
  return static_cast<float>((q + magic) - magic);
}

inline constexpr QuantPanel<float> ones = [] {
  QuantPanel<float> panel{};
  for (float& x : panel.at) x = 1;
  return panel;
}();

struct IntegerRange {
  float low, high;
};
inline IntegerRange range_of(DType type) {
  const int width = bits_of(type);
  const float count = static_cast<float>(1 << width);
  return is_signed(type) ? IntegerRange{-count / 2, count / 2 - 1} : IntegerRange{0, count - 1};
}

inline void load_int32(const void* src, int64_t first, int64_t n, int32_t* to) {
  const int32_t* from = static_cast<const int32_t*>(src) + first;
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

/// Loads scales, rounded to the precision of the division.
struct LoadScales {
  const QuantizeArgs& a;
  LoadFloats load = load_floats_of(a.scale_type);

  void operator()(const void* src, int64_t first, int64_t count, float* to) const {
    load(src, first, count, to);
    if (a.scale_type != a.precision) round_floats(a.precision, to, count);
  }
};

/// One thread's panels of quantize.
class Quantizer {
 public:
  explicit Quantizer(const QuantizeArgs& a)
      : a_(a),
        scale_(a.grid, exact_ ? nullptr : a.scale, 1, LoadScales{a}),
        divisor_(a.grid, exact_ ? a.scale : nullptr, 1, load_int32),
        zero_(a.grid, a.zero, 0, load_floats_of(a.y_type)) {}

  /// Quantises `count` elements from index `first` on.
  void run(int64_t first, int64_t count) {
    divide(first, count);
    const float* zeros = zero_.get(first, count);
    if (!whole_) {
      for (int64_t i = 0; i < count; ++i) {
        const float v = from_[i] / by_[i];
        q_.at[i] = zeros[i] == 0 ? v : v + zeros[i];  // -0 + 0 would lose the sign
      }
    } else if (count == quant_panel && a_.y_type == DType::uint8) {
      return round(zeros, static_cast<uint8_t*>(a_.y) + first);
    } else if (count == quant_panel && a_.y_type == DType::int8) {
      return round(zeros, static_cast<int8_t*>(a_.y) + first);
    } else {
      round(zeros, q_.at);
    }
    store_(q_.at, count, a_.y, first, a_.saturate);
  }

 private:
  /// Computes numbers and their divisors; after a division in another precision, quotients and ones.
  void divide(int64_t first, int64_t count) {
    from_ = x_.at, by_ = scale_.get(first, count);
    if (exact_) {
      const int32_t *dividends = static_cast<const int32_t*>(a_.x) + first,
                    *divisors = divisor_.get(first, count);
      for (int64_t i = 0; i < count; ++i) x_.at[i] = quotient(dividends[i], divisors[i], whole_);
      return;
    }
    if (a_.x_type == DType::float32 && a_.precision == DType::float32 && count == quant_panel) {
      from_ = static_cast<const float*>(a_.x) + first;
      return;
    }
    load_(a_.x, first, count, x_.at);
    if (a_.x_type != a_.precision) round_floats(a_.precision, x_.at, count);
    if (a_.precision == DType::float32) return;
    for (int64_t i = 0; i < count; ++i) x_.at[i] /= by_[i];
    round_floats(a_.precision, x_.at, count);
    by_ = ones.at;
  }
  template <class T>
  void round(const float* zeros, T* y) const {
    simd::dispatch(
        [&]<class Arch>(Arch) { quantize_panel_impl<Arch>(from_, by_, zeros, range_.low, range_.high, y); });
  }

  const QuantizeArgs& a_;
  const bool whole_ = is_integer(a_.y_type), exact_ = a_.precision == DType::undefined;
  const LoadFloats load_ = load_floats_of(a_.x_type);
  const StoreFloats store_ = store_floats_of(a_.y_type);
  const IntegerRange range_ = range_of(a_.y_type);
  GridPanel<float, LoadScales> scale_;
  GridPanel<int32_t, decltype(&load_int32)> divisor_;
  GridPanel<float, LoadFloats> zero_;
  QuantPanel<float> x_{}, q_{};
  const float *from_ = nullptr, *by_ = nullptr;
};

/// Calls f(args, begin, end) for the elements of a grid with float scales and byte zero points. A short row
/// of scales, one per element and the same for all rows, is repeated, because vectors need long rows.
template <class Args, class F>
void by_bytes(const Args& a, F f) {
  constexpr int64_t room = 256;
  const int64_t n = a.grid.size(), extent = a.grid.extent;
  Args longer = a;
  float scale[room];
  uint8_t zero[room];
  if (a.grid.inner == 1 && a.grid.axis_step != 0 && a.grid.outer_step == 0 && a.grid.block == 1 &&
      a.grid.outer > 1 && extent <= room / 2) {
    const int64_t length = room / extent * extent;
    for (int64_t i = 0; i < length; ++i) scale[i] = static_cast<const float*>(a.scale)[i % extent];
    longer.scale = scale;
    if (a.zero != nullptr) {
      for (int64_t i = 0; i < length; ++i) zero[i] = static_cast<const uint8_t*>(a.zero)[i % extent];
      longer.zero = zero;
    }
    longer.grid = QuantGrid::per_axis(1 + n / length, length, 1);
  }
  parallel_for(n, task_work::moderate, [&](int64_t begin, int64_t end) { f(longer, begin, end); });
}

}  // namespace detail

/// The scale and zero point of bytes.
struct DynamicScale {
  float scale = 1;
  uint8_t zero = 0;
};

/// Quantises grid.size() elements. See QuantizeArgs.
inline void quantize(const QuantizeArgs& a) {
  constexpr int64_t panel = detail::quant_panel;
  const int64_t n = a.grid.size();
  if (n == 0) return;
  const bool floats =
      a.x_type == DType::float32 && a.scale_type == DType::float32 && a.precision == DType::float32;
  if (floats && (a.y_type == DType::uint8 || a.y_type == DType::int8))
    return detail::by_bytes(a, [&](const QuantizeArgs& longer, int64_t begin, int64_t end) {
      simd::dispatch([&]<class Arch>(Arch) { quantize_bytes_impl<Arch>(longer, begin, end); });
    });
  parallel_for((n + panel - 1) / panel, detail::quant_grain, [&](int64_t begin, int64_t end) {
    detail::Quantizer quantizer(a);
    for (int64_t first = begin * panel; first < end * panel; first += panel)
      quantizer.run(first, std::min(panel, n - first));
  });
}

/// Dequantises grid.size() elements. See DequantizeArgs.
inline void dequantize(const DequantizeArgs& a) {
  using namespace detail;
  const int64_t n = a.grid.size();
  if (n == 0) return;
  const bool wide = a.x_type == DType::int32;
  const bool bytes = a.x_type == DType::uint8 || a.x_type == DType::int8;
  if (bytes && a.scale_type == DType::float32 && a.y_type == DType::float32)
    return by_bytes(a, [&](const DequantizeArgs& longer, int64_t begin, int64_t end) {
      simd::dispatch([&]<class Arch>(Arch) { dequantize_bytes_impl<Arch>(longer, begin, end); });
    });
  const LoadFloats load_x = load_floats_of(a.x_type), load_scale = load_floats_of(a.scale_type);
  const StoreFloats store = store_floats_of(a.y_type);
  parallel_for((n + quant_panel - 1) / quant_panel, quant_grain, [&](int64_t begin, int64_t end) {
    GridPanel<float, LoadFloats> scale(a.grid, a.scale, 1, load_scale);
    GridPanel<float, LoadFloats> zero(a.grid, wide ? nullptr : a.zero, 0, load_x);
    GridPanel<int32_t, decltype(&load_int32)> wide_zero(a.grid, wide ? a.zero : nullptr, 0, load_int32);
    QuantPanel<float> x{}, y;
    for (int64_t first = begin * quant_panel; first < end * quant_panel; first += quant_panel) {
      const int64_t count = std::min(quant_panel, n - first);
      const bool in_place = bytes && count == quant_panel;
      if (wide) {
        const int32_t *from = static_cast<const int32_t*>(a.x) + first, *less = wide_zero.get(first, count);
        for_panel(count,
                  [&](int64_t i) { x.at[i] = static_cast<float>(static_cast<int64_t>(from[i]) - less[i]); });
      } else if (!in_place) {
        load_x(a.x, first, count, x.at);
      }
      const float *zeros = zero.get(first, count), *factors = scale.get(first, count);
      const bool direct = a.y_type == DType::float32 && count == quant_panel;
      float* to = direct ? static_cast<float*>(a.y) + first : y.at;
      simd::dispatch([&]<class Arch>(Arch) {
        const auto of = [&]<class T>(const T* from) {
          dequantize_panel_impl<Arch>(from, zeros, factors, to);
        };
        if (!in_place) of(x.at);
        else if (a.x_type == DType::uint8) of(static_cast<const uint8_t*>(a.x) + first);
        else of(static_cast<const int8_t*>(a.x) + first);
      });
      if (!direct) store(to, count, a.y, first, true);
    }
  });
}

/// The scale and zero point that DynamicQuantizeLinear chooses for numbers with this minimum and maximum:
/// uint8 then covers them and 0.
inline DynamicScale dynamic_scale(float least, float greatest) {
  if (least > 0) least = 0;
  if (greatest < 0) greatest = 0;
  // When every number is 0, any scale serves; 1 avoids a division by 0.
  if (least == greatest) return {};
  const float scale = (greatest - least) / 255.0f;
  // Infinities, NaN and a scale that underflows can give any quotient: it is bounded, and NaN becomes 0.
  float zero = 0.0f - least / scale;
  zero = zero > 0.0f ? zero : 0.0f;
  zero = zero < 255.0f ? zero : 255.0f;
  return {scale, static_cast<uint8_t>(detail::round_even<simd::Baseline>(zero))};
}

/// The same for n numbers.
inline DynamicScale dynamic_scale(const float* x, int64_t n) {
  if (n == 0) return {};
  constexpr int64_t grain = task_work::moderate;
  Scratch scratch;
  auto* const ranges = scratch.take<float>((n + grain - 1) / grain * 2);
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    float* const range = ranges + begin / grain * 2;
    simd::dispatch([&]<class Arch>(Arch) { range_impl<Arch>(x + begin, end - begin, range[0], range[1]); });
  });
  float least = ranges[0], greatest = ranges[1];
  // A NaN ends the comparisons, and remains.
  for (int64_t k = 2; k < (n + grain - 1) / grain * 2 && least <= greatest; k += 2) {
    if (!(ranges[k] >= least)) least = ranges[k];
    if (!(ranges[k + 1] <= greatest)) greatest = ranges[k + 1];
  }
  return dynamic_scale(least, greatest);
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/quantize_impl.hpp"
#endif
