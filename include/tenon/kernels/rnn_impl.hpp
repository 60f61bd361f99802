// Bodies of the cells in rnn.hpp whose activations are the usual ones.
#pragma once

#include "tenon/kernels/rnn.hpp"
#include "tenon/simd/math.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

/// Calls unit(k, load, store) for the vectors of n numbers; load(p) and store(p, v) mask off lanes past the
/// last number.
template <class Arch, class T, class F>
void for_each_vector(int64_t n, F unit) {
  using V = simd::batch<T, Arch>;
  constexpr int64_t lanes = simd::lanes<T, Arch>;
  int64_t k = 0;
  for (; k + lanes <= n; k += lanes)
    unit(k, [](const T* p) { return simd::loadu<Arch>(p); }, [](T* p, const V& v) { simd::storeu(p, v); });
  if (const int64_t rest = n - k; rest > 0)
    unit(
        k, [=](const T* p) { return simd::load_n<Arch>(p, rest); },
        [=](T* p, const V& v) { simd::store_n(p, v, rest); });
}

}  // namespace detail

template <class Arch, class T>
void lstm_units_impl(const T* gates, int64_t hidden, int64_t n, T* cell, T* h) {
  detail::for_each_vector<Arch, T>(n, [=](int64_t k, auto load, auto store) {
    const T* gate = gates + k;
    const auto in = simd::sigmoid(load(gate)), out = simd::sigmoid(load(gate + hidden)),
               forget = simd::sigmoid(load(gate + 2 * hidden)), fresh = simd::tanh(load(gate + 3 * hidden));
    const auto c = simd::mul_add(forget, load(cell + k), in * fresh);
    store(cell + k, c);
    store(h + k, out * simd::tanh(c));
  });
}

template <class Arch, class T>
void gru_gates_impl(T* update, const T* reset, int64_t n, const T* from, T* own) {
  detail::for_each_vector<Arch, T>(n, [=](int64_t k, auto load, auto store) {
    store(update + k, simd::sigmoid(load(update + k)));
    store(own + k, simd::sigmoid(load(reset + k)) * load(from + k));
  });
}

template <class Arch, class T>
void gru_units_impl(const T* update, const T* fresh, const T* own, int64_t n, const T* before, T* h) {
  detail::for_each_vector<Arch, T>(n, [=](int64_t k, auto load, auto store) {
    const auto z = load(update + k);
    auto x = load(fresh + k);
    if (own != nullptr) x = x + load(own + k);
    store(h + k, simd::mul_add(z, load(before + k), (decltype(z)(T{1}) - z) * simd::tanh(x)));
  });
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

#define TENON_CELLS(T)                                                                     \
  template void lstm_units_impl<TENON_INSTANTIATE, T>(const T*, int64_t, int64_t, T*, T*); \
  template void gru_gates_impl<TENON_INSTANTIATE, T>(T*, const T*, int64_t, const T*, T*); \
  template void gru_units_impl<TENON_INSTANTIATE, T>(const T*, const T*, const T*, int64_t, const T*, T*);
TENON_CELLS(float)
TENON_CELLS(double)
#undef TENON_CELLS

}  // namespace tenon::TENON_ABI::kernels
#endif
