#include "tenon/kernels/elementwise/half.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace tenon {

TEST_CASE_TEMPLATE("convert_half: every 16-bit float there and back, and what rounds", H, float16, bfloat16) {
  const int64_t n = 65536 + 3;
  std::vector<H> x(n), back(n);
  std::vector<float> wide(n), between(n);
  for (int64_t k = 0; k < n; ++k) x[static_cast<std::size_t>(k)] = H::from_bits(static_cast<uint16_t>(k));
  kernels::convert_half(x.data(), wide.data(), n);
  kernels::convert_half(wide.data(), back.data(), n);
  int64_t wrong = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const float expected = static_cast<float>(x[k]);
    if (std::isnan(expected)) wrong += !std::isnan(wide[k]) || !std::isnan(static_cast<float>(back[k]));
    else wrong += wide[k] != expected || back[k].bits != x[k].bits;
    // Just above a number of the type, and halfway to the next: the low bits of the float are set.
    between[k] = std::bit_cast<float>(std::bit_cast<uint32_t>(expected) + (k % 2 ? 1u : 0x8000u));
  }
  CHECK(wrong == 0);
  kernels::convert_half(between.data(), back.data(), n);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const H expected(between[k]);
    wrong +=
        std::isnan(between[k]) ? !std::isnan(static_cast<float>(back[k])) : back[k].bits != expected.bits;
  }
  CHECK(wrong == 0);
}
}  // namespace tenon
