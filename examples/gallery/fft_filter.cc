// A low-pass filter: to frequencies, those above 20 Hz away, and back.
#include <cstdio>
#include <numbers>

#include "tenon/array/factory.hpp"
#include "tenon/array/math.hpp"
#include "tenon/op/math/dft.hpp"
#include "tenon/op/reduction/reduce_l2.hpp"

namespace {
using namespace tenon;

constexpr int64_t n = 256;  // samples of one second
using Signal = Tensor<float, Shape<1, n, 1>>;
using Spectrum = Tensor<float, Shape<1, n / 2 + 1, 2>>;  // complex numbers

// The amplitude of the oscillations of each whole number of hertz.
Tensor<float, Shape<1, n / 2 + 1>> amplitudes(const Spectrum& spectrum) {
  return apply<op::ReduceL2{.keepdims = 0}>(spectrum, constant<int64_t, -1>) * (2.0f / n);
}
}  // namespace

int main() {
  const Signal turn = reshape<1, n, 1>(arange<float, Shape<n>>()) * (2 * std::numbers::pi_v<float> / n);
  const Signal low = sin(5 * turn), signal = low + 0.5f * sin(60 * turn);

  const Spectrum spectrum = apply<op::DFT{.onesided = 1}>(signal);
  const auto pass = cast<float>(reshape<-1, 1>(arange<float, Shape<n / 2 + 1>>()) <= 20);
  const Signal filtered = apply<op::DFT{.inverse = 1, .onesided = 1}>(spectrum * pass);

  const auto before = amplitudes(spectrum), after = amplitudes(apply<op::DFT{.onesided = 1}>(filtered));
  for (int hertz : {5, 60})
    std::printf("%2d Hz: amplitude %.3f, filtered %.3f\n", hertz, static_cast<double>(before(0, hertz)),
                static_cast<double>(after(0, hertz)));
  const float error = max(abs(filtered - low)).item();
  std::printf("the 5 Hz alone, but for %s\n", error < 1e-5f ? "rounding" : "much");
  return error < 1e-5f ? 0 : 1;
}
