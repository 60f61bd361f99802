#include "tenon/kernels/requantize.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tenon/kernels/quantize.hpp"

using namespace tenon;
using namespace tenon::kernels;

TEST_CASE("requantize: bounds and ties, against the definition") {
  simd::dispatch([]<class Arch>(Arch) {
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

TEST_CASE("look_up_bytes: every byte, all lengths, in place") {
  simd::dispatch([]<class Arch>(Arch) {
    std::vector<uint8_t> table(256);
    for (size_t k = 0; k < 256; ++k) table[k] = static_cast<uint8_t>(k * 91 + 17);
    for (const size_t n : {0, 1, 63, 64, 65, 129, 300}) {
      std::vector<uint8_t> x(n), want(n);
      for (size_t k = 0; k < n; ++k)
        x[k] = static_cast<uint8_t>(k * 3), want[k] = table[static_cast<uint8_t>(k * 3)];
      look_up_bytes_impl<Arch>(table.data(), x.data(), static_cast<int64_t>(n), x.data());
      CHECK(x == want);
    }
  });
}

TEST_CASE("add_bytes: every pair of bytes, signs and bounds, against the definition") {
  simd::dispatch([]<class Arch>(Arch) {
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

TEST_CASE("quantize and dequantize: bytes with every kind of scales, in two parts, against the definition") {
  const QuantGrid grids[] = {
      QuantGrid::per_tensor(131),      QuantGrid::per_axis(3, 5, 49),     QuantGrid::per_axis(2, 3, 150),
      QuantGrid::per_axis(40, 7, 1),   QuantGrid::per_axis(3, 131, 1),    QuantGrid::per_axis(1, 300, 1),
      QuantGrid::per_axis(2, 90, 3),   QuantGrid::blocked(5, 100, 1, 32), QuantGrid::blocked(7, 11, 1, 3),
      QuantGrid::blocked(2, 7, 37, 3), QuantGrid::blocked(2, 64, 4, 16),  QuantGrid::blocked(3, 5, 1, 100)};
  simd::dispatch([&]<class Arch>(Arch) {
    for (const QuantGrid& g : grids)
      for (int form = 0; form < 4; ++form) {
        CAPTURE(&g - grids);
        CAPTURE(form);
        const bool is_signed = form & 1, has_zero = form & 2;
        const DType type = is_signed ? DType::int8 : DType::uint8;
        const int low = is_signed ? -128 : 0, bias = is_signed ? 0x80 : 0;
        const auto n = static_cast<size_t>(g.size());
        std::vector<int64_t> number(n);
        for (int64_t e = 0; e < g.size(); ++e)
          number[static_cast<size_t>(e)] = e / g.inner / g.extent * g.outer_step +
                                           e / g.inner % g.extent / g.block * g.axis_step +
                                           e % g.inner * g.inner_step;
        const auto scales = static_cast<size_t>(*std::max_element(number.begin(), number.end()) + 1);
        std::vector<float> scale(scales), x(n), back(n), parts(n);
        std::vector<uint8_t> zero(scales), y(n), part(n);
        for (size_t k = 0; k < scales; ++k)
          scale[k] = 0.01f * static_cast<float>(k % 13 + 1), zero[k] = static_cast<uint8_t>(k * 37);
        for (size_t k = 0; k < n; ++k) x[k] = static_cast<float>(k * 101 % 997) / 100 - 5;
        x[n / 2] = std::nanf("");
        const QuantizeArgs q{.grid = g,
                             .x = x.data(),
                             .scale = scale.data(),
                             .y_type = type,
                             .zero = has_zero ? zero.data() : nullptr,
                             .y = y.data()};
        quantize(q);
        // What a part writes past its end shows in the other one.
        QuantizeArgs q_part = q;
        q_part.y = part.data();
        const int64_t cut = g.size() / 3;
        quantize_bytes_impl<Arch>(q_part, cut, g.size());
        quantize_bytes_impl<Arch>(q_part, 0, cut);
        CHECK(part == y);
        const DequantizeArgs d{.grid = g,
                               .x_type = type,
                               .x = y.data(),
                               .zero = q.zero,
                               .scale = scale.data(),
                               .y = back.data()};
        dequantize(d);
        DequantizeArgs d_part = d;
        d_part.y = parts.data();
        dequantize_bytes_impl<Arch>(d_part, cut, g.size());
        dequantize_bytes_impl<Arch>(d_part, 0, cut);
        CHECK(parts == back);
        int64_t wrong = 0;
        for (size_t k = 0; k < n; ++k) {
          const auto s = static_cast<size_t>(number[k]);
          const int z = has_zero ? (zero[s] ^ bias) + low : 0;
          const float v = x[k] / scale[s];
          const int want = v == v ? std::clamp(static_cast<int>(std::nearbyint(v)) + z, low, low + 255) : low;
          wrong += (y[k] ^ bias) + low != want;
          wrong += back[k] != static_cast<float>(want - z) * scale[s];
        }
        CHECK(wrong == 0);
      }
  });
}

TEST_CASE("range and quantize_bytes: ties, their neighbours and no numbers, against the definition") {
  simd::dispatch([]<class Arch>(Arch) {
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
          const auto zero = static_cast<uint8_t>(7 ^ flip);
          quantize_bytes_impl<Arch>({.grid = QuantGrid::per_tensor(n),
                                     .x = x.data(),
                                     .scale = &scale,
                                     .y_type = flip == 0 ? DType::uint8 : DType::int8,
                                     .zero = &zero,
                                     .y = y.data()},
                                    0, n);
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

TEST_CASE("mul_bytes: signs, bounds and numbers for rows, against the definition") {
  simd::dispatch([]<class Arch>(Arch) {
    constexpr int64_t n = 256 * 256 - 3;
    std::vector<uint8_t> a(n), b(n), y(n);
    for (size_t k = 0; k < a.size(); ++k)
      a[k] = static_cast<uint8_t>(k & 255), b[k] = static_cast<uint8_t>(k >> 8);
    for (int form = 0; form < 16; ++form) {
      CAPTURE(form);
      const bool a_signed = form & 1, b_signed = form & 2, y_signed = form & 4;
      MulBytesArgs g;
      g.a = {a.data(), a_signed, a_signed ? -7 : 120, 0.25f};
      g.b = {b.data(), b_signed, b_signed ? 127 : 0, 0.5f};
      g.scale = 16, g.zero = y_signed ? -3 : 77;
      g.lo = y_signed ? -3 : 77, g.hi = y_signed ? 127 : 200;
      g.b_column = form & 8 ? 0 : 1;
      const uint8_t* by = b.data() + (form & 8 ? 12345 : 0);
      mul_bytes_impl<Arch>(g, a.data(), by, n, y.data());
      const auto number = [](uint8_t x, bool is_signed) {
        return is_signed ? int{static_cast<int8_t>(x)} : int{x};
      };
      int64_t wrong = 0;
      for (size_t k = 0; k < a.size(); ++k) {
        const double product = (number(a[k], a_signed) - g.a.zero) * 0.25 *
                               (number(by[form & 8 ? 0 : k], b_signed) - g.b.zero) * 0.5;
        const double want =
            std::min(std::max(std::nearbyint(product / 16) + g.zero, double(g.lo)), double(g.hi));
        wrong += number(y[k], y_signed) != static_cast<int>(want);
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("mul_bytes: numbers for rows and columns of several matrices") {
  constexpr int64_t outer = 2, rows = 3, n = 40000;
  std::vector<uint8_t> a(outer * rows * n), b(outer * n), y(a.size());
  for (size_t k = 0; k < a.size(); ++k) a[k] = static_cast<uint8_t>(k % 13);
  for (size_t k = 0; k < b.size(); ++k) b[k] = static_cast<uint8_t>(k % 17);
  for (const bool columns : {false, true}) {
    MulBytesArgs g{.outer = outer, .rows = rows, .n = n, .a = {a.data()}, .b = {b.data()}, .y = y.data()};
    g.b_outer = columns ? n : rows, g.b_row = columns ? 0 : 1, g.b_column = columns;
    mul_bytes(g);
    int64_t wrong = 0;
    for (int64_t k = 0; k < outer * rows * n; ++k) {
      const int64_t at = columns ? k / (rows * n) * n + k % n : k / n;
      wrong += y[static_cast<size_t>(k)] != a[static_cast<size_t>(k)] * b[static_cast<size_t>(at)];
    }
    CHECK(wrong == 0);
  }
}
