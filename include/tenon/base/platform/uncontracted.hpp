// Products that keep their rounding.
#pragma once

#include "tenon/base/version.hpp"

#include <complex>

namespace tenon::TENON_ABI {

/// x, unchanged. Compilers contract a * b + c to one instruction, which rounds once, if their flags provide
/// it. They cannot contract uncontracted(a * b) + c, so the bits are the same for all flags.
/// Visual C++ contracts nothing by default.
template <class F>
F uncontracted(F x) {
#if defined(__SSE2__)
  asm("" : "+x"(x));
#elif defined(__aarch64__)
  asm("" : "+w"(x));
#elif defined(__GNUC__)
  asm("" : "+m"(x));
#endif
  return x;
}
template <class F>
std::complex<F> uncontracted(std::complex<F> x) {
  return {uncontracted(x.real()), uncontracted(x.imag())};
}

}  // namespace tenon::TENON_ABI
