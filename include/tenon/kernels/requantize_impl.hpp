// Bodies of requantize.hpp. For requantize, the compiler vectorises plain loops for the level.
#pragma once

#include <cstring>

#include "tenon/kernels/requantize.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels {

template <class Arch, class T>
void requantize_row_impl(const int32_t* __restrict x, int64_t n, float rate,
                         const float* __restrict col_scale, T zero, T lo, T hi, T* __restrict y) {
  // Bounds are applied before rounding: they are whole numbers, and bounded numbers are small enough for the
  // sum with `magic` to round. NaN gives the lower bound.
  constexpr float magic = 0x1.8p23f;
  const float shift = static_cast<float>(zero);
  const float least = static_cast<float>(lo) - shift;
  const float most = static_cast<float>(hi) - shift;
  const auto narrowed = [=](float q) {
    q = q > least ? q : least;
    q = q < most ? q : most;
    q = (q + magic) - magic + shift;
    return static_cast<T>(static_cast<int32_t>(q));
  };
  if (col_scale == nullptr)
    for (int64_t i = 0; i < n; ++i) y[i] = narrowed(static_cast<float>(x[i]) * rate);
  else
    for (int64_t i = 0; i < n; ++i) y[i] = narrowed(static_cast<float>(x[i]) * (rate * col_scale[i]));
}

template <class Arch>
void add_bytes_impl(const AddBytesArgs& g, int64_t begin, int64_t end) {
  using I = simd::batch<int32_t, Arch>;
  using F = simd::batch<float, Arch>;
  constexpr int64_t lanes = simd::lanes<int32_t, Arch>;
  const auto* a = static_cast<const uint8_t*>(g.a.data);
  const auto* b = static_cast<const uint8_t*>(g.b.data);
  auto* y = static_cast<uint8_t*>(g.y);
  // Signed bytes and their zero points are raised by 128.
  const int32_t a_flip = g.a.is_signed ? 128 : 0, b_flip = g.b.is_signed ? 128 : 0;
  const I fa(a_flip), fb(b_flip), za(g.a.zero + a_flip), zb(g.b.zero + b_flip), zero(g.zero);
  const F ra(g.a.scale / g.scale), rb(g.b.scale / g.scale);
  const F least(static_cast<float>(g.lo - g.zero)), most(static_cast<float>(g.hi - g.zero));
  const auto sum = [&](const uint8_t* u, const uint8_t* v, uint8_t* to) {
    const F p = simd::to_float((simd::load_bytes<Arch>(u) ^ fa) - za) * ra;
    F q = simd::mul_add(simd::to_float((simd::load_bytes<Arch>(v) ^ fb) - zb), rb, p);
    q = simd::min(simd::max(q, least), most);
    simd::store_bytes(to, simd::round_bytes(q, zero));
  };
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) sum(a + i, b + i, y + i);
  if (i == end) return;
  uint8_t u[lanes] = {}, v[lanes] = {}, to[lanes];
  std::memcpy(u, a + i, static_cast<std::size_t>(end - i));
  std::memcpy(v, b + i, static_cast<std::size_t>(end - i));
  sum(u, v, to);
  std::memcpy(y + i, to, static_cast<std::size_t>(end - i));
}

template <class Arch>
void mul_bytes_impl(const MulBytesArgs& g, const uint8_t* a, const uint8_t* b, int64_t n, uint8_t* y) {
  using I = simd::batch<int32_t, Arch>;
  using F = simd::batch<float, Arch>;
  constexpr int64_t lanes = simd::lanes<int32_t, Arch>;
  const int32_t a_flip = g.a.is_signed ? 128 : 0, b_flip = g.b.is_signed ? 128 : 0;
  const I fa(a_flip), fb(b_flip), za(g.a.zero + a_flip), zb(g.b.zero + b_flip), zero(g.zero);
  const F rate(g.a.scale * g.b.scale / g.scale);
  const F least(static_cast<float>(g.lo - g.zero)), most(static_cast<float>(g.hi - g.zero));
  // Products of two bytes are whole floats.
  const I one((b[0] ^ b_flip) - (g.b.zero + b_flip));
  const auto product = [&](const uint8_t* u, const uint8_t* v, uint8_t* to) {
    const I by = v == nullptr ? one : (simd::load_bytes<Arch>(v) ^ fb) - zb;
    const F exact = simd::to_float((simd::load_bytes<Arch>(u) ^ fa) - za) * simd::to_float(by);
    simd::store_bytes(to, simd::round_bytes(simd::min(simd::max(exact * rate, least), most), zero));
  };
  const auto all = [&](auto each) {
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) product(a + i, each ? b + i : nullptr, y + i);
    if (i == n) return;
    uint8_t u[lanes] = {}, v[lanes] = {}, to[lanes];
    std::memcpy(u, a + i, static_cast<std::size_t>(n - i));
    if (each) std::memcpy(v, b + i, static_cast<std::size_t>(n - i));
    product(u, each ? v : nullptr, to);
    std::memcpy(y + i, to, static_cast<std::size_t>(n - i));
  };
  if (g.b_column != 0) all(std::true_type{});
  else all(std::false_type{});
}

template <class Arch>
void look_up_bytes_impl(const uint8_t* table, const uint8_t* x, int64_t n, uint8_t* y) {
  constexpr int64_t lanes = simd::lanes<uint8_t, Arch>;
  if (n >= lanes && simd::has_byte_tables<Arch>()) {
    simd::batch<uint8_t, Arch> parts[256 / lanes];
    for (int64_t k = 0; k < 256 / lanes; ++k) parts[k] = simd::loadu<Arch>(table + k * lanes);
    for (int64_t i = 0; i < n; i += lanes) {
      const int64_t count = std::min(n - i, lanes);
      simd::store_n(y + i, simd::look_up_bytes(parts, simd::load_n<Arch>(x + i, count)), count);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) y[i] = table[x[i]];
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

template void requantize_row_impl<TENON_INSTANTIATE>(const int32_t*, int64_t, float, const float*, int8_t,
                                                     int8_t, int8_t, int8_t*);
template void requantize_row_impl<TENON_INSTANTIATE>(const int32_t*, int64_t, float, const float*, uint8_t,
                                                     uint8_t, uint8_t, uint8_t*);
template void add_bytes_impl<TENON_INSTANTIATE>(const AddBytesArgs&, int64_t, int64_t);
template void mul_bytes_impl<TENON_INSTANTIATE>(const MulBytesArgs&, const uint8_t*, const uint8_t*, int64_t,
                                                uint8_t*);
template void look_up_bytes_impl<TENON_INSTANTIATE>(const uint8_t*, const uint8_t*, int64_t, uint8_t*);

}  // namespace tenon::TENON_ABI::kernels
#endif
