#include "tenon/simd/math.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

using namespace tenon;

namespace {

template <class T>
using Batch = simd::batch<T, simd::Native>;
template <class T>
constexpr int64_t width = simd::lanes<T, simd::Native>;

// The number of T's spacings between y and the expected value; below 2^more_exponent times the least normal
// number, of the spacings there.
template <class T>
double ulp_error(T y, long double expected, int more_exponent) {
  using L = std::numeric_limits<T>;
  if (std::isnan(expected)) return std::isnan(y) ? 0 : INFINITY;
  const long double limit =
      static_cast<long double>(L::max()) * (1 + static_cast<long double>(L::epsilon()) / 4);
  if (std::fabs(expected) >= limit)
    return y == (expected > 0 ? L::infinity() : -L::infinity()) ? 0 : INFINITY;
  if (std::isnan(y)) return INFINITY;
  if (std::isinf(y)) y = y > 0 ? L::max() : L::lowest();
  if (expected == 0) return y == 0 && std::signbit(y) == std::signbit(expected) ? 0 : INFINITY;
  int exponent;
  std::frexp(expected, &exponent);
  const long double spacing =
      std::ldexp(1.0L, std::max(exponent, L::min_exponent + more_exponent) - L::digits);
  return static_cast<double>(std::fabs(static_cast<long double>(y) - expected) / spacing);
}

// Numbers over the whole range of T, evenly spaced as bit patterns, and dense around zero to the powers of
// ten that functions bend at; all special numbers.
template <class T>
std::vector<T> sweep() {
  using L = std::numeric_limits<T>;
  std::vector<T> x{T(0),        -T(0),     L::infinity(),   -L::infinity(),   L::quiet_NaN(),
                   L::min(),    -L::min(), L::denorm_min(), -L::denorm_min(), L::max(),
                   L::lowest(), T(1),      T(-1),           T(0.5),           T(2)};
  std::mt19937_64 random(11);
  for (int i = 0; i < 200000; ++i) {
    const uint64_t bits = random();
    T v;
    std::memcpy(&v, &bits, sizeof v);
    if (std::isfinite(v)) x.push_back(v);
  }
  for (double range : {1.0, 2.0, 10.0, 40.0, 105.0, 750.0}) {
    std::uniform_real_distribution<double> real(-range, range);
    for (int i = 0; i < 60000; ++i) x.push_back(static_cast<T>(real(random)));
  }
  while (x.size() % 16) x.push_back(T(1));
  return x;
}

template <class T, class F>
double greatest_error(const std::vector<T>& x, F f, long double (*expected)(long double), int more_exponent,
                      T& worst) {
  double greatest = 0;
  for (std::size_t i = 0; i < x.size(); i += width<T>) {
    T y[width<T>];
    simd::storeu(y, f(simd::loadu<simd::Native>(x.data() + i)));
    for (int64_t j = 0; j < width<T>; ++j) {
      const double error = ulp_error(y[j], expected(x[i + j]), more_exponent);
      if (error > greatest) greatest = error, worst = x[i + j];
    }
  }
  return greatest;
}

long double sigmoid(long double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

}  // namespace

TEST_CASE("elementary functions stay within their errors over the whole range") {
  const auto run = [&]<class T>() {
    const std::vector<T> x = sweep<T>();
    using B = Batch<T>;
    constexpr bool single = std::is_same_v<T, float>;
    const auto check = [&](const char* name, double bound, auto f, long double (*expected)(long double),
                           int more_exponent = 0) {
      T worst = 0;
      const double error = greatest_error<T>(x, f, expected, more_exponent, worst);
      INFO(std::string(name), single ? " float: " : " double: ", error, " at ", worst);
      CHECK(error <= bound);
    };
    check(
        "exp", single ? 1.3 : 1.2, [](const B& v) { return simd::exp(v); },
        [](long double v) { return std::exp(v); });
    check("log", 0.9, [](const B& v) { return simd::log(v); }, [](long double v) { return std::log(v); });
    check(
        "tanh", single ? 5.5 : 3, [](const B& v) { return simd::tanh(v); },
        [](long double v) { return std::tanh(v); });
    check(
        "erf", single ? 6.2 : 3.1, [](const B& v) { return simd::erf(v); },
        [](long double v) { return std::erf(v); });
    check("sigmoid", single ? 2.7 : 2.4, [](const B& v) { return simd::sigmoid(v); }, sigmoid);
    check(
        "sinh", single ? 2.2 : 1.8, [](const B& v) { return simd::sinh(v); },
        [](long double v) { return std::sinh(v); });
    check("cosh", 1.7, [](const B& v) { return simd::cosh(v); }, [](long double v) { return std::cosh(v); });
    check(
        "sin", single ? 1.7 : 0.6, [](const B& v) { return simd::sin(v); },
        [](long double v) { return std::sin(v); });
    check(
        "cos", single ? 1.7 : 0.6, [](const B& v) { return simd::cos(v); },
        [](long double v) { return std::cos(v); });
    check(
        "tan", single ? 3.5 : 0.6, [](const B& v) { return simd::tan(v); },
        [](long double v) { return std::tan(v); });
    check("asin", 2.5, [](const B& v) { return simd::asin(v); }, [](long double v) { return std::asin(v); });
    check("acos", 1.3, [](const B& v) { return simd::acos(v); }, [](long double v) { return std::acos(v); });
    check("atan", 1.9, [](const B& v) { return simd::atan(v); }, [](long double v) { return std::atan(v); });
    check(
        "asinh", single ? 0.51 : 2.5, [](const B& v) { return simd::asinh(v); },
        [](long double v) { return std::asinh(v); });
    check(
        "acosh", single ? 0.51 : 2.5, [](const B& v) { return simd::acosh(v); },
        [](long double v) { return std::acosh(v); });
    check(
        "atanh", single ? 0.51 : 2.5, [](const B& v) { return simd::atanh(v); },
        [](long double v) { return std::atanh(v); });
    check(
        "expm1_negative", single ? 1 : 1.6, [](const B& v) { return simd::expm1_negative(-simd::abs(v)); },
        [](long double v) { return v == 0 ? 0 : std::expm1(-std::fabs(v)); });
    check(
        "expm1", single ? 2.8 : 3, [](const B& v) { return simd::expm1(v); },
        [](long double v) { return std::expm1(v); });
    check(
        "softplus", single ? 2.9 : 2.7, [](const B& v) { return simd::softplus(v); },
        [](long double v) {
          return std::isnan(v) ? v : std::fmax(v, 0.0L) + std::log1p(std::exp(-std::fabs(v)));
        });
    // Factors that are denormals have an error that the other factor raises.
    check(
        "gelu", single ? 8 : 9.5, [](const B& v) { return simd::gelu(v); },
        [](long double v) {
          return v < -100 ? -0x1p-16000L
                          : v * (std::erfc(-v * 0.70710678118654752440084436210484903928L) / 2);
        },
        7);
    check(
        "mish", single ? 4.7 : 4.3, [](const B& v) { return simd::mish(v); },
        [](long double v) {
          const long double e = std::exp(std::fmin(v, 60.0L)), n = e * (e + 2);
          return std::isnan(v) ? v : v * (n / (n + 2));
        },
        10);
  };
  run.operator()<float>();
  run.operator()<double>();
}

TEST_CASE("exp_flushed is exp where that is normal, else 0") {
  const auto run = []<class T>() {
    using L = std::numeric_limits<T>;
    for (T x : {T(0), T(-1), T(-80), T(-87), T(-87.5), T(-104), T(-700), T(-709), T(-1e30), -L::infinity(),
                T(88), L::quiet_NaN()}) {
      T flushed[width<T>], full[width<T>];
      simd::storeu(flushed, simd::exp_flushed(Batch<T>(x)));
      simd::storeu(full, simd::exp(Batch<T>(x)));
      if (full[0] < L::min()) CHECK(flushed[0] == 0);
      else if (full[0] == full[0]) CHECK(ulp_error(flushed[0], full[0], 0) <= std::fabs(x) / 20 + 1);
      else CHECK(std::isnan(flushed[0]));
    }
  };
  run.operator()<float>();
  run.operator()<double>();
}

TEST_CASE("pow has the special cases of C's") {
  const auto run = []<class T>(double bound) {
    using L = std::numeric_limits<T>;
    std::vector<T> bases{T(0),
                         -T(0),
                         T(1),
                         T(-1),
                         T(2),
                         T(-2),
                         T(0.5),
                         T(-0.5),
                         L::infinity(),
                         -L::infinity(),
                         L::quiet_NaN(),
                         L::max(),
                         L::lowest(),
                         L::min(),
                         L::denorm_min(),
                         -L::denorm_min(),
                         T(1.0000001),
                         T(10),
                         T(-10)};
    std::vector<T> exponents = bases;
    for (T e : {T(3), T(-3), T(1.5), T(-2.5), T(1e9), T(16777215), T(16777217), T(31), T(0.75)})
      exponents.push_back(e);
    std::mt19937 random(3);
    std::uniform_real_distribution<double> base(0, 20), exponent(-30, 30);
    for (int i = 0; i < 1000; ++i) {
      bases.push_back(static_cast<T>(base(random)));
      if (i % 4 == 0) exponents.push_back(static_cast<T>(exponent(random)));
    }
    double greatest = 0;
    for (T x : bases)
      for (std::size_t i = 0; i < exponents.size(); i += width<T>) {
        T y[width<T>], e[width<T>];
        for (int64_t j = 0; j < width<T>; ++j) e[j] = exponents[(i + j) % exponents.size()];
        simd::storeu(y, simd::pow(Batch<T>(x), simd::loadu<simd::Native>(e)));
        for (int64_t j = 0; j < width<T>; ++j) {
          const T want = std::pow(x, e[j]);
          if (std::isnan(want) || std::isinf(want) || want == 0) {
            const bool same = std::isnan(want) ? std::isnan(y[j])
                                               : y[j] == want && std::signbit(y[j]) == std::signbit(want);
            CHECK_MESSAGE(same, x, " ^ ", e[j], " gave ", y[j]);
          } else {
            greatest = std::fmax(
                greatest,
                ulp_error(y[j], std::pow(static_cast<long double>(x), static_cast<long double>(e[j])), 0));
          }
        }
      }
    CHECK(greatest <= bound);
  };
  run.operator()<float>(0.9);
  run.operator()<double>(0.6);
}

TEST_CASE("pow of floats: bases near 1 to high powers, results all over the range, and exact ones") {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> exponent(-124, 124), digits(-23, 0);
  std::uniform_int_distribution<int> way(0, 2);
  double greatest = 0;
  constexpr int64_t n = width<float>;
  const auto each = [&](const float* x, const float* e, auto see) {
    float y[n];
    simd::storeu(y, simd::pow(simd::loadu<simd::Native>(x), simd::loadu<simd::Native>(e)));
    for (int64_t j = 0; j < n; ++j) see(x[j], e[j], y[j]);
  };
  for (int i = 0; i < 20000; ++i) {
    float x[n], e[n];
    for (int64_t j = 0; j < n; ++j) {
      const float away = std::exp2(digits(random)) / 2;
      const int how = way(random);
      x[j] = how == 0 ? 1 + away : how == 1 ? 1 - away : std::exp2(exponent(random));
      e[j] = exponent(random) / (x[j] == 1 ? 1 : std::log2(x[j]));
    }
    each(x, e, [&](float a, float b, float y) {
      greatest = std::fmax(greatest, ulp_error(y, std::pow(static_cast<long double>(a), b), 0));
    });
  }
  CHECK(greatest <= 0.9);
  // Products that a float holds come out as they are, whatever is in the other lanes.
  for (int base = 1; base < 100; ++base)
    for (int power = -20; power < 20; ++power) {
      float x[n], e[n];
      for (int64_t j = 0; j < n; ++j)
        x[j] = j == 1 && power % 2 == 0 ? -1.0f : static_cast<float>(base), e[j] = static_cast<float>(power);
      each(x, e, [&](float a, float b, float y) {
        const double want = std::pow(static_cast<double>(a), b);
        if (static_cast<double>(static_cast<float>(want)) == want)
          CHECK_MESSAGE(y == static_cast<float>(want), a, " ^ ", b);
      });
    }
}

TEST_CASE("fmod and mod are exact") {
  const auto run = []<class T>() {
    std::vector<T> x = sweep<T>(), y = x;
    std::shuffle(y.begin(), y.end(), std::mt19937(5));
    bool good = true;
    for (std::size_t i = 0; i < x.size(); i += width<T>) {
      T rest[width<T>], wrapped[width<T>];
      const Batch<T> a = simd::loadu<simd::Native>(&x[i]), b = simd::loadu<simd::Native>(&y[i]);
      simd::storeu(rest, simd::fmod(a, b));
      simd::storeu(wrapped, simd::mod(a, b));
      for (int64_t j = 0; j < width<T>; ++j) {
        const T want = std::fmod(x[i + j], y[i + j]);
        const bool other = want != 0 && (want < 0) != (y[i + j] < 0);
        const T want_wrapped = want == 0 ? std::copysign(T(0), y[i + j]) : other ? want + y[i + j] : want;
        const auto same = [](T p, T q) {
          return std::isnan(p) ? std::isnan(q) : p == q && std::signbit(p) == std::signbit(q);
        };
        good &= same(want, rest[j]) && same(want_wrapped, wrapped[j]);
      }
    }
    CHECK(good);
  };
  run.operator()<float>();
  run.operator()<double>();
}
