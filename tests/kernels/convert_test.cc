#include "tenon/kernels/elementwise/convert.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "tenon/base/convert.hpp"

namespace tenon {

TEST_CASE("convert_elements: every pair of types as base/convert.hpp has it") {
  constexpr std::size_t n = 64 * 40 + 13;
  constexpr DType types[] = {DType::bool_,   DType::uint8,   DType::int8,       DType::uint16,
                             DType::int16,   DType::uint32,  DType::int32,      DType::uint64,
                             DType::int64,   DType::float64, DType::float16,    DType::bfloat16,
                             DType::float32, DType::int4,    DType::float8e5m2, DType::complex64};
  // Numbers of every size, some panels of small ones, and the ends of the integers' ranges.
  std::vector<double> numbers(n);
  std::mt19937_64 random(5);
  for (std::size_t k = 0; k < n; ++k) {
    const auto bits = static_cast<int64_t>(random());
    numbers[k] = k % 1024 < 512 ? static_cast<double>(bits % 1000) / 4
                                : std::ldexp(static_cast<double>(bits), -static_cast<int>(random() % 70));
  }
  std::size_t at = 600;
  for (double end : {0x1p7, 0x1p8, 0x1p15, 0x1p16, 0x1p31, 0x1p32, 0x1p63, 0x1p64, 1e30, double(INFINITY),
                     double(NAN), 0.0})
    for (double sign : {-1.0, 1.0})
      for (double step : {-0.5, 0.0, 1.0}) numbers[at++] = sign * (end + step);

  std::vector<std::byte> x(n * 8), y(n * 8), expected(n * 8);
  int kernels_used = 0;
  for (DType from : types) {
    convert_n(from, x.data(), DType::float64, numbers.data(), n);
    if (from == DType::int64 || from == DType::uint64)  // more digits than a double has
      for (std::size_t k = 0; k < n; k += 2) {
        const uint64_t bits = random() >> (random() % 64);
        std::memcpy(x.data() + k * 8, &bits, 8);
      }
    for (DType to : types) {
      if (to == from) continue;
      for (std::size_t count : {n, std::size_t{1}, std::size_t{64}}) {
        std::fill(expected.begin(), expected.end(), std::byte{});
        convert_n(to, expected.data(), from, x.data(), static_cast<int64_t>(count));
        simd::dispatch([&]<class Arch>(Arch) {
          std::fill(y.begin(), y.end(), std::byte{});
          if (!kernels::convert_impl<Arch>(to, y.data(), from, x.data(), static_cast<int64_t>(count))) return;
          ++kernels_used;
          INFO(name_of(from), " to ", name_of(to));
          CHECK(y == expected);
        });
      }
    }
  }
  CHECK(kernels_used > 0);
  std::vector<float> one(1, 2.5f);
  CHECK(kernels::convert_elements(DType::int64, y.data(), DType::float32, one.data(), 1));
  CHECK(!kernels::convert_elements(DType::int4, y.data(), DType::float32, one.data(), 1));
}

}  // namespace tenon
