#include "tenon/kernels/requantize.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tenon/kernels/quantize.hpp"
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

TEST_CASE("range and quantize_bytes: ties, their neighbours and no numbers, against the definition") {
  at_each_level([]<class Arch>(Arch) {
    const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
    for (const float scale : {1.0f, 0.0237f, 3e30f, 1e-45f, 0.0f, inf, nan})
      for (const int64_t n : {1, 15, 64, 130, 1003}) {
        CAPTURE(scale);
        CAPTURE(n);
        std::vector<float> x(static_cast<size_t>(n));
        for (size_t k = 0; k < x.size(); ++k) {
          const float middle = (static_cast<float>(k % 301) - 20) / 2 * (scale == scale ? scale : 1);
          x[k] = k % 4 == 0 ? middle : std::nextafter(middle, k % 4 == 1 ? inf : -inf);
          if (k % 4 == 3) x[k] += scale * 1e-5f;
        }
        std::vector<uint8_t> y(x.size());
        const auto check = [&](uint8_t flip) {
          quantize_bytes_impl<Arch>(x.data(), n, scale, 7, flip, y.data());
          int64_t wrong = 0;
          for (size_t k = 0; k < x.size(); ++k) {
            const float q = x[k] / scale;
            const float bounded = q > -7 ? std::min(q, 248.0f) : -7.0f;
            wrong += (y[k] ^ flip) != static_cast<int>(std::nearbyint(bounded)) + 7;
          }
          CHECK(wrong == 0);
        };
        check(0);
        check(0x80);
        float least = 0, greatest = 0;
        x[0] = 0;
        std::erase_if(x, [](float v) { return !(std::abs(v) <= 3e38f); });
        range_impl<Arch>(x.data(), static_cast<int64_t>(x.size()), least, greatest);
        CHECK(least == *std::min_element(x.begin(), x.end()));
        CHECK(greatest == *std::max_element(x.begin(), x.end()));
        x.resize(static_cast<size_t>(n), 1.0f);
        x[0] = inf, x[x.size() / 2] = -inf;
        check(0);
        range_impl<Arch>(x.data(), n, least, greatest);
        CHECK(least == -inf);
        CHECK(greatest == (n == 1 ? -inf : inf));
        x[x.size() / 3] = nan;
        check(0);
        range_impl<Arch>(x.data(), n, least, greatest);
        CHECK(std::isnan(least));
        CHECK(std::isnan(greatest));
      }
  });
}
