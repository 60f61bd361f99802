// Bodies of quantize.hpp. Panels have a known length, so that the compiler vectorises plain loops for the
// level.
#pragma once

#include "tenon/kernels/quantize.hpp"
#include "tenon/simd/batch.hpp"
#include "tenon/simd/half.hpp"

namespace tenon::TENON_ABI::kernels {

template <class Arch, class T>
void quantize_panel_impl(const float* __restrict x, const float* __restrict scale,
                         const float* __restrict zero, float low, float high, T* __restrict y) {
  for (int64_t i = 0; i < detail::quant_panel; ++i) {
    // Bounds are applied before rounding: they are whole numbers, and bounded numbers are small enough to
    // round. NaN gives the lower bound.
    const float least = low - zero[i], most = high - zero[i];
    float q = x[i] / scale[i];
    q = q > least ? q : least;
    q = q < most ? q : most;
    q = detail::round_even<Arch>(q) + zero[i];
    if constexpr (std::is_same_v<T, float>) y[i] = q;
    else y[i] = static_cast<T>(static_cast<int32_t>(q));
  }
}

template <class Arch, class T>
void dequantize_panel_impl(const T* __restrict x, const float* __restrict zero, const float* __restrict scale,
                           float* __restrict y) {
  for (int64_t i = 0; i < detail::quant_panel; ++i) y[i] = (static_cast<float>(x[i]) - zero[i]) * scale[i];
}

template <class Arch>
void range_impl(const float* x, int64_t n, float& least, float& greatest) {
  using F = simd::batch<float, Arch>;
  constexpr int64_t lanes = simd::lanes<float, Arch>;
  F low[4], high[4];
  for (int k = 0; k < 4; ++k) low[k] = high[k] = F(x[0]);
  // NaN if a number is, or if both infinities occur.
  F sum(0.0f);
  const auto take = [&](int k, const F& v) {
    low[k] = simd::min(v, low[k]);
    high[k] = simd::max(v, high[k]);
    sum = sum + v;
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes)
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) take(k, simd::loadu<Arch>(x + i + k * lanes));
  for (; i < n; i += lanes) {
    const int64_t count = std::min(lanes, n - i);
    take(0, simd::first_n(simd::load_n<Arch>(x + i, count), count, F(x[0])));
  }
  if (simd::any(simd::isnan(sum)))
    for (int64_t k = 0; k < n; ++k)
      if (x[k] != x[k]) {
        least = greatest = x[k];
        return;
      }
  least = simd::min_of_lanes(F(simd::min(simd::min(low[0], low[1]), simd::min(low[2], low[3]))));
  greatest = simd::max_of_lanes(F(simd::max(simd::max(high[0], high[1]), simd::max(high[2], high[3]))));
}

// Runs of one scale are written in whole vectors, past the run's end too, for the next run to overwrite, but
// never past `end`. int8 becomes uint8, and uint8 int8, by flipping its first bit.

template <class Arch>
void dequantize_bytes_impl(const DequantizeArgs& a, int64_t begin, int64_t end) {
  using F = simd::batch<float, Arch>;
  using I = simd::batch<int32_t, Arch>;
  constexpr int64_t lanes = simd::lanes<float, Arch>;
  const auto *x = static_cast<const uint8_t*>(a.x), *zeros = static_cast<const uint8_t*>(a.zero);
  const auto* scales = static_cast<const float*>(a.scale);
  auto* y = static_cast<float*>(a.y);
  const int flip = a.x_type == DType::int8 ? 0x80 : 0;
  const auto numbers = [flip](const I& v) { return simd::to_float(I(v ^ I(flip))); };
  const auto with_one_scale = [=](int64_t i, int64_t stop, const F& zero, const F& scale) {
    const auto whole = [=](int64_t at) {
      simd::storeu(y + at, F((numbers(simd::load_bytes<Arch>(x + at)) - zero) * scale));
    };
    for (; i + 4 * lanes <= stop; i += 4 * lanes)
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) whole(i + k * lanes);
    for (; i < stop && i + lanes <= end; i += lanes) whole(i);
    if (i >= stop) return;
    const int64_t n = stop - i;
    simd::store_n(y + i, F((numbers(simd::load_bytes_n<Arch>(x + i, n)) - zero) * scale), n);
  };
  const auto with_each_scale = [=](int64_t i, int64_t stop, int64_t to_number) {
    const auto* zero = zeros == nullptr ? nullptr : zeros + to_number;
    const auto* scale = scales + to_number;
    for (; i + lanes <= stop; i += lanes) {
      const F shift = numbers(zero == nullptr ? I(0) : simd::load_bytes<Arch>(zero + i));
      simd::storeu(y + i, F((numbers(simd::load_bytes<Arch>(x + i)) - shift) * simd::loadu<Arch>(scale + i)));
    }
    if (i == stop) return;
    const int64_t n = stop - i;
    const F shift = numbers(zero == nullptr ? I(0) : simd::load_bytes_n<Arch>(zero + i, n));
    const F v = numbers(simd::load_bytes_n<Arch>(x + i, n)) - shift;
    simd::store_n(y + i, F(v * simd::load_n<Arch>(scale + i, n)), n);
  };
  detail::for_each_scale_run(a.grid, begin, end - begin,
                             [=](int64_t offset, int64_t number, int64_t count, int64_t each) {
                               const int64_t i = begin + offset, stop = i + count;
                               if (each != 0) return with_each_scale(i, stop, number - i);
                               const int zero = zeros == nullptr ? 0 : zeros[number];
                               with_one_scale(i, stop, F(static_cast<float>(zero ^ flip)), F(scales[number]));
                             });
}

namespace detail {

/// Quantises `count` vectors with a single scale.
template <int count, class F>
inline void quantize_vectors(const float* x, const F& scale, const F& inverse, int zero, uint8_t flip,
                             uint8_t* y) {
  // The product with the inverse is a few roundings off the quotient, and rounds to the same whole number
  // unless it is close to the middle of two.
  constexpr float magic = 0x1.8p23f;
  F q[count];
  auto clear = F(0.0f) == F(0.0f);
#pragma GCC unroll 4
  for (int k = 0; k < count; ++k) {
    q[k] = F::load_unaligned(x + k * static_cast<int>(F::size)) * inverse;
    clear = clear & (simd::abs(q[k] - ((q[k] + F(magic)) - F(magic))) < F(0.5f - 0x1p-14f));
  }
  if (!simd::all(clear)) {
    for (int k = 0; k < count; ++k)
      q[k] = simd::div(F::load_unaligned(x + k * static_cast<int>(F::size)), scale);
  }
  // NaN gives the lower bound.
#pragma GCC unroll 4
  for (int k = 0; k < count; ++k) q[k] = simd::min(F(simd::max(q[k], F(-1024.0f))), F(1024.0f));
  simd::store_rounded<count>(y, q, zero, 0, 255, flip);
}

}  // namespace detail

template <class Arch>
void quantize_bytes_impl(const QuantizeArgs& a, int64_t begin, int64_t end) {
  using F = simd::batch<float, Arch>;
  using I = simd::batch<int32_t, Arch>;
  constexpr int64_t lanes = simd::lanes<float, Arch>;
  const auto *x = static_cast<const float*>(a.x), *scales = static_cast<const float*>(a.scale);
  const auto* zeros = static_cast<const uint8_t*>(a.zero);
  auto* y = static_cast<uint8_t*>(a.y);
  const uint8_t flip = a.y_type == DType::int8 ? 0x80 : 0;

  const auto with_one_scale = [=](int64_t i, int64_t stop, float by, int zero) {
    const F scale(by), inverse(1 / by);
    for (; stop - i > 2 * lanes && end - i >= 4 * lanes; i += 4 * lanes)
      detail::quantize_vectors<4>(x + i, scale, inverse, zero, flip, y + i);
    for (; stop - i > lanes && end - i >= 2 * lanes; i += 2 * lanes)
      detail::quantize_vectors<2>(x + i, scale, inverse, zero, flip, y + i);
    for (; i < stop && end - i >= lanes; i += lanes)
      detail::quantize_vectors<1>(x + i, scale, inverse, zero, flip, y + i);
    if (i >= stop) return;
    float from[lanes] = {};
    uint8_t to[lanes];
    std::copy(x + i, x + stop, from);
    detail::quantize_vectors<1>(from, scale, inverse, zero, flip, to);
    std::copy_n(to, stop - i, y + i);
  };
  const auto with_each_scale = [=](int64_t i, int64_t stop, int64_t to_number) {
    const I sign(flip);
    const auto bytes = [sign](const F& v, const F& scale, const I& byte) {
      const I zero = byte ^ sign;
      const F shift = simd::to_float(zero);
      // NaN gives the lower bound.
      const F q = simd::min(F(simd::max(simd::div(v, scale), F(F(0.0f) - shift))), F(F(255.0f) - shift));
      return I(simd::round_bytes(q, zero) ^ sign);
    };
    const auto* zero = zeros == nullptr ? nullptr : zeros + to_number;
    const auto* scale = scales + to_number;
    for (; i + lanes <= stop; i += lanes)
      simd::store_bytes(y + i, bytes(simd::loadu<Arch>(x + i), simd::loadu<Arch>(scale + i),
                                     zero == nullptr ? I(0) : simd::load_bytes<Arch>(zero + i)));
    if (i == stop) return;
    const int64_t n = stop - i;
    uint8_t to[lanes];
    simd::store_bytes(to, bytes(simd::load_n<Arch>(x + i, n), simd::load_n<Arch>(scale + i, n),
                                zero == nullptr ? I(0) : simd::load_bytes_n<Arch>(zero + i, n)));
    std::copy_n(to, n, y + i);
  };
  detail::for_each_scale_run(
      a.grid, begin, end - begin, [=](int64_t offset, int64_t number, int64_t count, int64_t each) {
        const int64_t i = begin + offset;
        if (each != 0) return with_each_scale(i, i + count, number - i);
        with_one_scale(i, i + count, scales[number], (zeros == nullptr ? 0 : zeros[number]) ^ flip);
      });
}

template <class Arch>
void load_half_impl(DType type, const uint16_t* x, float* y, int64_t n) {
  if (type == DType::float16) simd::f16_to_f32<Arch>(x, y, n);
  else simd::bf16_to_f32<Arch>(x, y, n);
}

template <class Arch>
void store_half_impl(DType type, const float* x, uint16_t* y, int64_t n) {
  if (type == DType::float16) simd::f32_to_f16<Arch>(x, y, n);
  else simd::f32_to_bf16<Arch>(x, y, n);
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

template void quantize_panel_impl<TENON_INSTANTIATE>(const float*, const float*, const float*, float, float,
                                                     uint8_t*);
template void quantize_panel_impl<TENON_INSTANTIATE>(const float*, const float*, const float*, float, float,
                                                     int8_t*);
template void quantize_panel_impl<TENON_INSTANTIATE>(const float*, const float*, const float*, float, float,
                                                     float*);
template void dequantize_panel_impl<TENON_INSTANTIATE>(const uint8_t*, const float*, const float*, float*);
template void dequantize_panel_impl<TENON_INSTANTIATE>(const int8_t*, const float*, const float*, float*);
template void dequantize_panel_impl<TENON_INSTANTIATE>(const float*, const float*, const float*, float*);
template void dequantize_bytes_impl<TENON_INSTANTIATE>(const DequantizeArgs&, int64_t, int64_t);
template void range_impl<TENON_INSTANTIATE>(const float*, int64_t, float&, float&);
template void quantize_bytes_impl<TENON_INSTANTIATE>(const QuantizeArgs&, int64_t, int64_t);
template void load_half_impl<TENON_INSTANTIATE>(DType, const uint16_t*, float*, int64_t);
template void store_half_impl<TENON_INSTANTIATE>(DType, const float*, uint16_t*, int64_t);

}  // namespace tenon::TENON_ABI::kernels
#endif
