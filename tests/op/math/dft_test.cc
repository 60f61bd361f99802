#include "tenon/op/math/dft.hpp"

#include <complex>

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;
using op::DFT;

namespace {
using Numbers = std::vector<std::complex<double>>;

/// The transform by its definition.
Numbers transformed(const Numbers& x, bool inverse = false) {
  const auto n = static_cast<int64_t>(x.size());
  Numbers y(x.size());
  for (int64_t k = 0; k < n; ++k)
    for (int64_t j = 0; j < n; ++j) {
      const long double angle = 2 * 3.14159265358979323846264338L * static_cast<long double>(j * k % n) /
                                static_cast<long double>(n);
      const std::complex<double> w(static_cast<double>(std::cos(angle)),
                                   static_cast<double>(inverse ? std::sin(angle) : -std::sin(angle)));
      y[static_cast<std::size_t>(k)] += x[static_cast<std::size_t>(j)] * w / (inverse ? double(n) : 1.0);
    }
  return y;
}
/// n numbers of about 1, the same in every run.
Numbers signal(int64_t n, bool real) {
  Numbers x(static_cast<std::size_t>(n));
  uint32_t state = 12345;
  const auto next = [&] {
    return static_cast<double>((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-23 - 1;
  };
  for (auto& z : x) {
    const double re = next(), im = next();
    z = {re, real ? 0 : im};
  }
  return x;
}
/// Lines of the given (outer, inner) positions as a tensor (outer, n, inner, parts), all the same but for a
/// factor of 1 + position.
Value tensor(const Numbers& x, int64_t outer, int64_t inner, int64_t parts, std::size_t first) {
  const auto n = static_cast<int64_t>(std::min(first, x.size()));
  Tensor<double> t(Extents{outer, n, inner, parts});
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t k = 0; k < n; ++k)
      for (int64_t i = 0; i < inner; ++i)
        for (int64_t p = 0; p < parts; ++p) {
          const std::complex<double> z = x[static_cast<std::size_t>(k)] * double(1 + o * inner + i);
          t[((o * n + k) * inner + i) * parts + p] = p == 0 ? z.real() : z.imag();
        }
  return t;
}
}  // namespace

TEST_CASE("DFT: lengths") {
  const Value axis = t<int64_t>({}, {1});
  const std::size_t all = SIZE_MAX;
  for (int64_t n :
       {1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  12,  13,  14,  15,  16,  17,   18,  19,  20,
        21,  22,  25,  26,  27,  30,  31,  32,  34,  37,  49,  60,  64,  77,  97,  98,  100,  101, 120, 121,
        125, 127, 128, 143, 169, 210, 240, 243, 251, 256, 289, 360, 500, 509, 512, 605, 1001, 1024}) {
    CAPTURE(n);
    const auto half = static_cast<std::size_t>(n / 2 + 1);
    for (const auto& [outer, inner] : {std::pair{1, 1}, std::pair{2, 9}}) {
      if (n > 200 && inner > 1) continue;
      for (bool real : {false, true}) {
        const Numbers x = signal(n, real), y = transformed(x);
        const double atol = 1e-13 * double(n) * outer * inner;
        const Value in = tensor(x, outer, inner, real ? 1 : 2, all), out = tensor(y, outer, inner, 2, all);
        check(DFT{}, {in, Value(), axis}, {out}, 0, atol);
        check(DFT{.inverse = 1}, {out, Value(), axis}, {tensor(x, outer, inner, 2, all)}, 0, atol);
        if (!real) continue;
        const Value bins = tensor(y, outer, inner, 2, half);
        check(DFT{.onesided = 1}, {in, Value(), axis}, {bins}, 0, atol);
        check(DFT{.inverse = 1, .onesided = 1}, {bins, t<int32_t>({}, {static_cast<int32_t>(n)}), axis}, {in},
              0, atol);
        if (n % 2 == 0) check(DFT{.inverse = 1, .onesided = 1}, {bins, Value(), axis}, {in}, 0, atol);
        check(DFT{.inverse = 1}, {in, Value(), axis}, {tensor(transformed(x, true), outer, inner, 2, all)}, 0,
              atol);
      }
    }
  }
}

TEST_CASE("DFT: a long prime length") {
  // A constant gives a peak at 0, a single one a circle.
  constexpr int64_t n = 100003;
  Tensor<double> ones(Extents{n, 1}), peak(Extents{n, 2}), one(Extents{n, 1});
  std::fill(ones.begin(), ones.end(), 1.0);
  std::fill(one.begin(), one.end(), 0.0);
  std::fill(peak.begin(), peak.end(), 0.0);
  peak[0] = n, one[1] = 1;
  check(DFT{}, {ones}, {peak}, 0, 1e-8);
  const Value circle = run(DFT{}, {one})[0];
  const auto z = circle.view<double>();
  double worst = 0;
  for (int64_t k = 0; k < n; ++k) {
    const double angle = 2 * 3.14159265358979323846 * static_cast<double>(k) / n;
    worst = std::max({worst, std::abs(z[2 * k] - std::cos(angle)), std::abs(z[2 * k + 1] + std::sin(angle))});
  }
  CHECK(worst < 1e-11);
}

TEST_CASE("DFT: types, dft_length, axes") {
  const Value d2 = t<double>({1, 4, 1}, {1, 2, 3, 4});
  for (DType d : {DType::float16, DType::float32, DType::float64, DType::bfloat16}) {
    const Value x = cast(d, {1, 4, 1}, {1, 2, 3, 4}), y = cast(d, {1, 4, 2}, {10, 0, -2, 2, -2, 0, -2, -2});
    for (int version : {17, 20}) check(stated<DFT>(version), {x}, {y}, 0, 1e-12);
    check(DFT{.inverse = 1}, {y}, {cast(d, {1, 4, 2}, {1, 0, 2, 0, 3, 0, 4, 0})}, 0, 1e-12);
    check(DFT{.onesided = 1}, {x}, {cast(d, {1, 3, 2}, {10, 0, -2, 2, -2, 0})}, 0, 1e-12);
    check(DFT{.inverse = 1, .onesided = 1}, {cast(d, {1, 3, 2}, {10, 5, -2, 2, -2, 7})}, {x}, 0, 1e-12);
  }
  // Cut, filled with zeros; too few bins.
  check(DFT{}, {d2, t<int64_t>({}, {2})}, {t<double>({1, 2, 2}, {3, 0, -1, 0})}, 0, 1e-12);
  check(DFT{}, {tensor({1, 2, 3, 4}, 1, 1, 1, 4), t<int32_t>({1}, {5}), t<int64_t>({}, {1})},
        {tensor(transformed({1, 2, 3, 4, 0}), 1, 1, 2, 5)}, 0, 1e-12);
  check(DFT{.onesided = 1}, {d2, t<int64_t>({}, {3})},
        {t<double>({1, 2, 2}, {6, 0, -1.5, std::sqrt(3.0) / 2})}, 0, 1e-12);
  check(DFT{.inverse = 1, .onesided = 1}, {t<double>({1, 2, 2}, {4, 0, 2, 0}), t<int64_t>({}, {4})},
        {t<double>({1, 4, 1}, {2, 1, 0, 1})}, 0, 1e-12);
  // A matrix of numbers, along each axis by each of its names, and at version 17.
  const Value x = t<float>({2, 3, 1}, {1, 2, 3, 4, 5, 6});
  const float s = std::sqrt(3.0f) / 2;
  const Value rows = t<float>({2, 3, 2}, {5, 0, 7, 0, 9, 0, -3, 0, -3, 0, -3, 0});
  const Value columns = t<float>({2, 3, 2}, {6, 0, -1.5, s, -1.5, -s, 15, 0, -1.5, s, -1.5, -s});
  for (int64_t axis : {0, -3}) {
    check(DFT{}, {x, Value(), t<int64_t>({}, {axis})}, {rows}, 0, 1e-6);
    check(stated<DFT>(17, {{"axis", axis}}), {x}, {rows}, 0, 1e-6);
  }
  for (int64_t axis : {1, -2}) {
    check(DFT{}, {x, Value(), t<int64_t>({}, {axis})}, {columns}, 0, 1e-6);
    check(stated<DFT>(17, {{"axis", axis}}), {x}, {columns}, 0, 1e-6);
  }
  check(DFT{}, {x}, {columns}, 0, 1e-6);
  check(stated<DFT>(17, {{"onesided", int64_t{1}}}), {t<float>({1, 2, 2, 1}, {1, 2, 3, 5})},
        {t<float>({1, 2, 2, 2}, {4, 0, 7, 0, -2, 0, -3, 0})}, 0, 1e-6);
  check_refused<DFT>(20, {{"axis", int64_t{1}}}, "has no attribute 'axis'");
}

TEST_CASE("DFT: empty, NaN, refused") {
  check(DFT{}, {t<float>({0, 4, 1}, {})}, {t<float>({0, 4, 2}, {})});
  check(DFT{}, {t<float>({3, 0, 2}, {})}, {t<float>({3, 0, 2}, {})});
  check(DFT{}, {t<float>({1, 0, 2}, {}), t<int64_t>({}, {2})}, {t<float>({1, 2, 2}, {0, 0, 0, 0})});
  check(DFT{.onesided = 1}, {t<float>({1, 0, 1}, {})}, {t<float>({1, 1, 2}, {0, 0})});
  check(DFT{.inverse = 1, .onesided = 1}, {t<float>({1, 1, 2}, {1, 2})}, {t<float>({1, 0, 1}, {})});
  CHECK(std::isnan(run(DFT{}, {t<float>({2, 1}, {NAN, 1})})[0].view<float>()[2]));
  const Value x = t<float>({1, 4, 1}, {1, 2, 3, 4}), z = t<float>({1, 2, 2}, {1, 2, 3, 4});
  const auto with_axis = [](int64_t a) { return t<int64_t>({}, {a}); };
  check_fails(DFT{}, {x, Value(), with_axis(2)}, "axis 2 holds the parts of complex numbers");
  check_fails(DFT{}, {x, Value(), with_axis(-1)}, "axis 2 holds the parts of complex numbers");
  check_fails(DFT{}, {x, Value(), with_axis(3)}, "axis 3 outside of [-3, 2]");
  check_fails(DFT{}, {x, Value(), with_axis(INT64_MIN)}, "holds a number out of range");
  check_fails(DFT{}, {x, Value(), t<int64_t>({2}, {0, 1})}, "axis: (2), expected one element");
  check_fails(DFT{}, {x, t<int64_t>({}, {0})}, "dft_length: 0, expected at least 1");
  check_fails(DFT{}, {x, t<int32_t>({}, {-5})}, "dft_length: -5, expected at least 1");
  check_fails(DFT{}, {x, t<int64_t>({2}, {4, 4})}, "dft_length: (2), expected one element");
  check_fails(DFT{}, {t<float>({3}, {1, 2, 3})}, "input: rank 1, expected at least 2");
  check_fails(DFT{}, {t<float>({1, 3}, {1, 2, 3})}, "the last extent is neither 1 (real) nor 2 (complex)");
  check_fails(DFT{.onesided = 1}, {z}, "the one-sided transform takes real numbers");
  check_fails(DFT{.inverse = 1, .onesided = 1}, {x}, "the inverse one-sided transform takes complex numbers");
  check_fails(DFT{.inverse = 1, .onesided = 1}, {t<float>({1, 0, 2}, {})},
              "dft_length: -2, expected at least 0");
  check_fails(DFT{}, {x, t<int64_t>({}, {INT64_MAX})}, "");
}

TEST_CASE("DFT: what inference of files refuses") {
  const DFT dft;
  const auto refused = [&](const Extents& extents) {
    const Value length = t<int64_t>(extents, {4});
    std::vector<op::Info> out(1);
    return any(dft).infer(std::vector{info(DType::float32, {1, 4, 1}), op::info_of(length)}, out).of_files();
  };
  CHECK(refused({1}));
  CHECK_FALSE(refused({}));
}

TEST_CASE("DFT: symbols, typed") {
  const auto n = Dim::symbol(1), m = Dim::symbol(2);
  const auto x = info(DType::float32, {n, m, 1}), z = info(DType::float32, {n, m, 2});
  const auto scalar = [](int64_t v) { return info(DType::int64, {}, {v}); };
  const auto unknown = info(DType::int64, {});
  const auto none = op::Info{};
  CHECK(infer(DFT{}, {x})[0].dims == Dims{n, m, 2});
  CHECK(infer(DFT{.onesided = 1}, {x})[0].dims == Dims{n, Dim(), 2});
  CHECK(infer(DFT{.onesided = 1}, {x, scalar(42), scalar(0)})[0].dims == Dims{22, m, 2});
  CHECK(infer(DFT{.inverse = 1, .onesided = 1}, {z, scalar(42)})[0].dims == Dims{n, 42, 1});
  CHECK(infer(DFT{.inverse = 1, .onesided = 1}, {info(DType::float32, {n, 6, 2})})[0].dims == Dims{n, 10, 1});
  CHECK(infer(DFT{}, {x, unknown})[0].dims == Dims{n, Dim(), 2});
  CHECK(infer(DFT{}, {x, none, unknown})[0].dims == Dims{n, m, 2});
  CHECK(infer(DFT{}, {x, scalar(4), unknown})[0].dims == Dims{Dim(), Dim(), 2});
  CHECK(infer(DFT{.onesided = 1}, {x, none, unknown})[0].dims == Dims{Dim(), Dim(), 2});
  CHECK(infer(stated<DFT>(17), {x}).dims == Dims{n, m, 2});
  CHECK(infer(stated<DFT>(17, {{"onesided", int64_t{1}}}), {info(DType::float32, {2, 5, 5, 1})}).dims ==
        Dims{2, 3, 5, 2});
  CHECK_FALSE(infer(DFT{}, {info(DType::float32, Dims())})[0].dims.ranked());
  auto y = apply<DFT{}>(Tensor<float, Shape<2, 1>>{{3}, {1}});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<2, 2>>>);
  CHECK((y(0, 0) == 4 && y(1, 0) == 2));
}
}  // namespace tenon
