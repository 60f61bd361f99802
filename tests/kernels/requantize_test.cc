#include "tenon/kernels/requantize.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/kernels/levels.hpp"

using namespace tenon;
using namespace tenon::kernels;

TEST_CASE("requantize: bounds and ties, against the definition") {
  at_each_level([]<class Arch>(Arch) {
    std::vector<int32_t> x;
    for (int32_t k = -700; k < 700; ++k) x.push_back(k);
    x.insert(x.end(), {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()});
    std::vector<int8_t> y(x.size());
    requantize_row_impl<Arch>(x.data(), static_cast<int64_t>(x.size()), 0.5f, nullptr, int8_t{3},
                              int8_t{-100}, int8_t{90}, y.data());
    for (size_t k = 0; k < x.size(); ++k)
      CHECK(int{y[k]} == static_cast<int>(std::min(std::max(std::nearbyint(x[k] * 0.5) + 3, -100.0), 90.0)));
  });
}

TEST_CASE("add_bytes: every pair of bytes, signs and bounds, against the definition") {
  at_each_level([]<class Arch>(Arch) {
    constexpr int64_t n = 256 * 256 - 3;
    std::vector<uint8_t> a(n), b(n), y(n);
    for (size_t k = 0; k < a.size(); ++k)
      a[k] = static_cast<uint8_t>(k & 255), b[k] = static_cast<uint8_t>(k >> 8);
    for (int form = 0; form < 8; ++form) {
      CAPTURE(form);
      const bool a_signed = form & 1, b_signed = form & 2, y_signed = form & 4;
      AddBytesArgs g;
      g.n = n;
      g.a = {a.data(), a_signed, a_signed ? -7 : 120, 0.25f};
      g.b = {b.data(), b_signed, b_signed ? 127 : 0, 0.5f};
      // Powers of two: the scalar arithmetic is exact, ties included.
      g.y = y.data(), g.scale = 0.5f, g.zero = y_signed ? -3 : 77;
      g.lo = y_signed ? -3 : 77, g.hi = y_signed ? 127 : 200;
      add_bytes_impl<Arch>(g, 0, n);
      const auto number = [](uint8_t x, bool is_signed) {
        return is_signed ? int{static_cast<int8_t>(x)} : int{x};
      };
      int64_t wrong = 0;
      for (size_t k = 0; k < a.size(); ++k) {
        const double sum =
            (number(a[k], a_signed) - g.a.zero) * 0.25 + (number(b[k], b_signed) - g.b.zero) * 0.5;
        const double want =
            std::min(std::max(std::nearbyint(sum / 0.5) + g.zero, double(g.lo)), double(g.hi));
        wrong += number(y[k], y_signed) != static_cast<int>(want);
      }
      CHECK(wrong == 0);
    }
  });
}
