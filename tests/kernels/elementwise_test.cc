#include "tenon/kernels/elementwise/elementwise.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "tenon/base/thread_pool.hpp"
#include "tests/kernels/data.hpp"

using namespace tenon;
using namespace tenon::kernels;

namespace {

double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double softplus(double x) {
  return std::isnan(x) ? x : std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}
double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
double even(double x) {
  const double r = std::floor(x), d = x - r;
  return d < 0.5 || (d == 0.5 && std::fmod(r, 2) == 0) ? r : r + 1;
}
double mish(double x) {
  if (x > 30 || std::isnan(x)) return x;
  const double e = std::exp(x), n = e * (e + 2);
  return x * (n / (n + 2));
}
double gelu(double x) { return static_cast<double>(x * std::erfc(-x * 0.70710678118654752440L) / 2); }
double gelu_tanh(double x) {
  return x == -INFINITY ? std::nan("") : x * sigmoid(1.5957691216057307118 * (x + 0.044715 * x * x * x));
}

struct UnaryCase {
  UnaryOp op;
  double (*expected)(double x, double a, double b);
  double ulp;  // of float and double; narrow floats are rounded once more
  UnaryParams p = {};
  double absolute = 0;  // error where the function passes through zero
};

const UnaryCase unary_cases[] = {
    {UnaryOp::absolute, [](double x, double, double) { return std::fabs(x); }, 0},
    {UnaryOp::negate, [](double x, double, double) { return -x; }, 0},
    {UnaryOp::sign, [](double x, double, double) { return x > 0   ? 1
                                                          : x < 0 ? -1
                                                                  : x * 0; }, 0},
    {UnaryOp::square, [](double x, double, double) { return x * x; }, 1},
    {UnaryOp::relu, [](double x, double, double) { return x < 0 ? 0 : x; }, 0},
    {UnaryOp::acos, [](double x, double, double) { return std::acos(x); }, 2},
    {UnaryOp::acosh, [](double x, double, double) { return std::acosh(x); }, 2},
    {UnaryOp::asin, [](double x, double, double) { return std::asin(x); }, 3},
    {UnaryOp::asinh, [](double x, double, double) { return std::asinh(x); }, 2},
    {UnaryOp::atan, [](double x, double, double) { return std::atan(x); }, 2},
    {UnaryOp::atanh, [](double x, double, double) { return std::atanh(x); }, 2},
    {UnaryOp::ceil, [](double x, double, double) { return std::ceil(x); }, 0},
    {UnaryOp::celu,
     [](double x, double a, double) { return x < 0 ? a * std::expm1(x / a) : x; },
     4,
     {1.5, 0}},
    {UnaryOp::celu,
     [](double x, double a, double) { return x < 0 ? a * std::expm1(x / a) : x; },
     5,
     {-1.5, 0}},
    {UnaryOp::clip, [](double x, double a, double b) { return clamp(x, a, b); }, 0, {-1.5, 2.5}},
    {UnaryOp::cos, [](double x, double, double) { return std::cos(x); }, 2},
    {UnaryOp::cosh, [](double x, double, double) { return std::cosh(x); }, 3},
    {UnaryOp::elu, [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; }, 4, {1.5, 0}},
    {UnaryOp::erf, [](double x, double, double) { return std::erf(x); }, 3},
    {UnaryOp::exp, [](double x, double, double) { return std::exp(x); }, 2},
    {UnaryOp::floor, [](double x, double, double) { return std::floor(x); }, 0},
    {UnaryOp::gelu, [](double x, double, double) { return x == -INFINITY ? 0 : gelu(x); }, 10},
    {UnaryOp::gelu_tanh, [](double x, double, double) { return gelu_tanh(x); }, 40},
    {UnaryOp::hard_sigmoid,
     [](double x, double a, double b) { return clamp(a * x + b, 0, 1); },
     1,
     {0.25, 0.5},
     1e-7},
    {UnaryOp::hard_swish, [](double x, double, double) { return x * clamp(x / 6 + 0.5, 0, 1); }, 3, {}, 1e-6},
    {UnaryOp::leaky_relu, [](double x, double a, double) { return x < 0 ? a * x : x; }, 1, {0.125, 0}},
    {UnaryOp::linear, [](double x, double a, double b) { return a * x + b; }, 2, {0.5, 0.25}, 1e-7},
    {UnaryOp::log, [](double x, double, double) { return std::log(x); }, 2},
    {UnaryOp::mish, [](double x, double, double) { return mish(x); }, 6},
    {UnaryOp::reciprocal, [](double x, double, double) { return 1 / x; }, 1},
    {UnaryOp::round, [](double x, double, double) { return std::isinf(x) || std::isnan(x) ? x : even(x); },
     0},
    {UnaryOp::selu,
     [](double x, double a, double b) { return b * (x > 0 ? x : a * std::expm1(x)); },
     5,
     {1.5, 1.25}},
    {UnaryOp::shrink,
     [](double x, double a, double b) { return x < -a  ? x + b
                                               : x > a ? x - b
                                                       : 0; },
     1,
     {0.5, 0.25}},
    {UnaryOp::sigmoid, [](double x, double, double) { return sigmoid(x); }, 3},
    {UnaryOp::sin, [](double x, double, double) { return std::sin(x); }, 2},
    {UnaryOp::sinh, [](double x, double, double) { return std::sinh(x); }, 4},
    {UnaryOp::softplus, [](double x, double, double) { return softplus(x); }, 4},
    {UnaryOp::softsign, [](double x, double, double) { return x / (1 + std::fabs(x)); }, 2},
    {UnaryOp::sqrt, [](double x, double, double) { return std::sqrt(x); }, 1},
    {UnaryOp::swish, [](double x, double a, double) { return x * sigmoid(a * x); }, 4, {1.25, 0}},
    {UnaryOp::tan, [](double x, double, double) { return std::tan(x); }, 4},
    {UnaryOp::tanh, [](double x, double, double) { return std::tanh(x); }, 4},
    {UnaryOp::thresholded_relu, [](double x, double a, double) { return x > a ? x : 0; }, 0, {0.5, 0}},
};

// All shapes broadcast with one another along each row.
const std::vector<std::vector<int64_t>> shape_pairs[] = {
    {{}, {}},
    {{0}, {1}},
    {{1000}, {1000}},
    {{1000}, {}},
    {{1}, {1000}},
    {{5, 1}, {1, 7}},
    {{3, 40}, {40}},
    {{3, 1}, {3, 40}},
    {{2, 3, 5}, {3, 1}},
    {{2, 3, 5}, {5}},
    {{2, 64, 7, 7}, {64, 1, 1}},
    {{2, 1, 4, 1, 6}, {3, 1, 5, 1}},
    {{4, 0, 3}, {1, 1, 3}},
    {{1, 1, 1}, {1}},
    {{2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1}, {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}},
    {{300, 3}, {3}},
    {{3, 50, 16}, {3, 1, 16}},
    {{2, 1, 7}, {2, 70, 7}},
    {{300, 7}, {300, 1}},
    {{2, 1, 40, 1}, {2, 3, 40, 25}},
    {{2, 8000, 3}, {2, 1, 3}},
    {{40000}, {40000}},
    {{2, 40000}, {2, 1}},
};

int64_t count(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t e : shape) n *= e;
  return n;
}

std::vector<int64_t> result_shape(const std::vector<std::vector<int64_t>>& shapes) {
  std::size_t rank = 0;
  for (const auto& s : shapes) rank = std::max(rank, s.size());
  std::vector<int64_t> out(rank, 1);
  for (const auto& s : shapes)
    for (std::size_t d = 0; d < s.size(); ++d)
      if (s[d] != 1) out[rank - s.size() + d] = s[d];
  return out;
}

// Where element i of the result of shape `out` comes from in an operand.
int64_t source(int64_t i, const std::vector<int64_t>& out, const std::vector<int64_t>& shape) {
  int64_t offset = 0, step = 1;
  for (std::size_t d = out.size(); d-- > 0;) {
    const int64_t index = i % out[d];
    i /= out[d];
    const std::size_t lead = out.size() - shape.size();
    if (d < lead) continue;
    if (shape[d - lead] != 1) offset += index * step;
    step *= shape[d - lead];
  }
  return offset;
}

template <class T>
double mod(double x, double y) {
  const double rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

// Integer results as the wide, wrapping computation that C++ defines.
template <class T>
T integer_expected(BinaryOp op, T x, T y) {
  const uint64_t a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  using enum BinaryOp;
  switch (op) {
    case add: return static_cast<T>(a + b);
    case sub: return static_cast<T>(a - b);
    case mul: return static_cast<T>(a * b);
    case min: return std::min(x, y);
    case max: return std::max(x, y);
    case prelu: return x < T(0) ? static_cast<T>(a * b) : x;
    case bitwise_and: return static_cast<T>(a & b);
    case bitwise_or: return static_cast<T>(a | b);
    case bitwise_xor: return static_cast<T>(a ^ b);
    case shift_left: return b < 8 * sizeof(T) ? static_cast<T>(a << b) : T(0);
    case shift_right: return b < 8 * sizeof(T) ? static_cast<T>(a >> b) : T(0);
    case pow: {
      uint64_t r = 1;
      if (std::is_signed_v<T> && y < T(0))
        return x == T(1) ? T(1) : x == static_cast<T>(-1) ? static_cast<T>(y % 2 ? -1 : 1) : T(0);
      for (uint64_t k = 0; k < std::min<uint64_t>(b, 64); ++k) r *= a;
      // Past 64 factors only 0, 1 and -1 have results that the loop above does not settle.
      if (b > 64) {
        r = 1;
        uint64_t s = a;
        for (uint64_t e = b; e; e /= 2, s *= s)
          if (e % 2) r *= s;
      }
      return static_cast<T>(r);
    }
    default: break;
  }
  if (y == T(0)) return 0;
  const bool overflow = std::is_signed_v<T> && y == static_cast<T>(-1);
  if (op == div) return overflow ? static_cast<T>(0 - a) : static_cast<T>(x / y);
  const T rest = overflow ? T(0) : static_cast<T>(x % y);
  return op == fmod || rest == T(0) || (rest < T(0)) == (y < T(0)) ? rest : static_cast<T>(rest + y);
}

}  // namespace

TEST_CASE("square roots are rounded correctly, of every number in [1, 4) and of special ones") {
  constexpr int64_t panel = 1 << 16;
  std::vector<float> x(panel), y(panel);
  const auto wrong = [&](int64_t n) {
    unary(UnaryOp::sqrt, x.data(), y.data(), n);
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
      const float root = std::sqrt(x[i]);
      count += std::isnan(root) ? !std::isnan(y[i])
                                : std::bit_cast<uint32_t>(y[i]) != std::bit_cast<uint32_t>(root);
    }
    return count;
  };
  for (uint32_t bits = std::bit_cast<uint32_t>(1.0f); bits < std::bit_cast<uint32_t>(4.0f); bits += panel) {
    for (uint32_t i = 0; i < panel; ++i) x[i] = std::bit_cast<float>(bits + i);
    REQUIRE(wrong(panel) == 0);
  }
  using L = std::numeric_limits<float>;
  const std::vector<float> special{
      0.0f,     -0.0f,         1.0f,           L::denorm_min(), L::min(), 0x1p-100f, 0x1.fffffep-101f,
      L::max(), L::infinity(), -L::infinity(), L::quiet_NaN(),  -1.0f,    2.0f};
  for (std::size_t k = 0; k < special.size(); ++k) {
    CAPTURE(special[k]);
    for (int64_t i = 0; i < 40; ++i) x[i] = i % 3 == 0 ? special[k] : static_cast<float>(i) * 0x1.3p80f;
    CHECK(wrong(40) == 0);
    std::fill_n(x.begin(), 40, special[k]);
    x[7] = 0.0f;
    CHECK(wrong(40) == 0);
  }
}

TEST_CASE("every unary op of floating point, at odd lengths and with special numbers") {
  test::for_each_float([]<class T>() {
    for (const UnaryCase& c : unary_cases) {
      for (int64_t n : test::sizes) {
        const auto x = test::strange_numbers<T>(n, -6, 6);
        std::vector<T> y(static_cast<std::size_t>(n + 1), T(77.0f));
        unary(c.op, x.data(), y.data(), n, c.p);
        CHECK(static_cast<double>(y.back()) == 77.0);
        for (int64_t i = 0; i < n; ++i) {
          const double v = static_cast<double>(x[i]), expected = c.expected(v, c.p.alpha, c.p.beta);
          const double ulp = sizeof(T) == 2 ? 0.51 : c.ulp + 0.01;
          const bool good =
              test::close(y[i], expected, ulp, c.absolute * (std::is_same_v<T, double> ? 1e-8 : 1));
          if (good) continue;
          FAIL_CHECK("op ", static_cast<int>(c.op), " bytes ", sizeof(T), " x ", v, " expected ", expected,
                     " got ", static_cast<double>(y[i]));
        }
      }
    }
  });
}

TEST_CASE("unary in place, in parallel, and with the op known to the compiler give the same bits") {
  const auto x = test::strange_numbers<float>(100003);
  std::vector<float> plain(x.size()), threaded(x.size()), in_place = x;
  unary(UnaryOp::exp, x.data(), plain.data(), static_cast<int64_t>(x.size()));
  ThreadPool pool(3);
  const ScopedPool scope(pool);
  unary<UnaryOp::exp>(x.data(), threaded.data(), static_cast<int64_t>(x.size()));
  unary(UnaryOp::exp, in_place.data(), in_place.data(), static_cast<int64_t>(x.size()));
  CHECK(std::memcmp(plain.data(), threaded.data(), x.size() * 4) == 0);
  CHECK(std::memcmp(plain.data(), in_place.data(), x.size() * 4) == 0);
}

TEST_CASE("unary and clip of integers") {
  test::for_each_integer([]<class T>() {
    for (int64_t n : test::sizes) {
      const auto x = test::strange_numbers<T>(n, -100, 100);
      std::vector<T> y(x.size());
      const auto check = [&](UnaryOp op, auto expected) {
        unary(op, x.data(), y.data(), n);
        for (int64_t i = 0; i < n; ++i)
          CHECK(y[i] == static_cast<T>(expected(static_cast<uint64_t>(x[i]), x[i])));
      };
      check(UnaryOp::negate, [](uint64_t u, T) { return 0 - u; });
      check(UnaryOp::absolute, [](uint64_t u, T v) { return v < T(0) ? 0 - u : u; });
      check(UnaryOp::sign, [](uint64_t, T v) { return v > T(0) ? 1 : v < T(0) ? -1 : 0; });
      check(UnaryOp::square, [](uint64_t u, T) { return u * u; });
      check(UnaryOp::relu, [](uint64_t, T v) { return v < T(0) ? T(0) : v; });
      check(UnaryOp::bitwise_not, [](uint64_t u, T) { return ~u; });
      clip(x.data(), y.data(), n, T(3), T(50));
      for (int64_t i = 0; i < n; ++i) CHECK(y[i] == std::min(std::max(x[i], T(3)), T(50)));
    }
  });
  const int64_t big[] = {std::numeric_limits<int64_t>::max()};
  int64_t clipped[1];
  clip(big, clipped, 1, int64_t{0}, big[0] - 1);
  CHECK(clipped[0] == big[0] - 1);
}

TEST_CASE("clip of narrow floats takes bounds of its own type") {
  const float16 x[] = {float16(-3.0f), float16(0.25f), std::numeric_limits<float16>::quiet_NaN(),
                       float16(9.0f)};
  float16 y[4];
  clip(x, y, 4, float16(-1.0f), float16(2.0f));
  CHECK(static_cast<float>(y[0]) == -1);
  CHECK(static_cast<float>(y[1]) == 0.25f);
  CHECK(std::isnan(static_cast<float>(y[2])));
  CHECK(static_cast<float>(y[3]) == 2);
}

TEST_CASE("broadcast plans merge axes that all operands walk alike") {
  struct {
    std::vector<int64_t> a, b;
    int rank;
    bool dense_a, dense_b;
  } rows[] = {
      {{2, 3, 4}, {2, 3, 4}, 1, true, true},   {{2, 3, 4}, {}, 1, true, false},
      {{2, 3, 4}, {4}, 2, true, false},        {{2, 3, 4}, {3, 4}, 2, true, false},
      {{2, 3, 4}, {3, 1}, 3, true, false},     {{1, 1}, {1}, 1, true, true},
      {{5, 1, 1}, {1, 6, 7}, 2, false, false}, {{1, 9, 1}, {9, 1}, 1, true, true},
  };
  for (const auto& r : rows) {
    const auto plan = broadcast_plan(r.a, r.b);
    CHECK(plan.rank == r.rank);
    CHECK(plan.size == count(result_shape({r.a, r.b})));
    CHECK(plan.dense(0) == r.dense_a);
    CHECK(plan.dense(1) == r.dense_b);
  }
  constexpr int64_t a[] = {8, 1, 6}, b[] = {7, 1};
  static_assert(broadcast_plan(a, b).size == 336);
}

TEST_CASE("binary ops of floating point over broadcast shapes") {
  const struct {
    BinaryOp op;
    double (*expected)(double, double);
    double ulp;
  } ops[] = {
      {BinaryOp::add, [](double x, double y) { return x + y; }, 0.51},
      {BinaryOp::sub, [](double x, double y) { return x - y; }, 0.51},
      {BinaryOp::mul, [](double x, double y) { return x * y; }, 0.51},
      {BinaryOp::div, [](double x, double y) { return x / y; }, 0.51},
      {BinaryOp::min, [](double x, double y) { return x < y || std::isnan(x) ? x : y; }, 0},
      {BinaryOp::max, [](double x, double y) { return x > y || std::isnan(x) ? x : y; }, 0},
      {BinaryOp::pow, [](double x, double y) { return std::pow(x, y); }, 2},
      {BinaryOp::fmod, [](double x, double y) { return std::fmod(x, y); }, 0},
      {BinaryOp::mod, mod<double>, 0.51},
      {BinaryOp::prelu, [](double x, double y) { return x < 0 ? x * y : x; }, 0.51},
  };
  test::for_each_float([&]<class T>() {
    for (const auto& shapes : shape_pairs) {
      const auto &sa = shapes[0], &sb = shapes[1];
      const auto out = result_shape({sa, sb});
      const auto a = test::strange_numbers<T>(count(sa), -4, 4, 3),
                 b = test::strange_numbers<T>(count(sb), -4, 4, 5);
      const int64_t n = count(out);
      const auto plan = broadcast_plan(sa, sb);
      for (const auto& o : ops) {
        std::vector<T> c(static_cast<std::size_t>(n + 1), T(77.0f));
        CHECK(binary(o.op, a.data(), b.data(), c.data(), plan));
        CHECK(static_cast<double>(c.back()) == 77.0);
        bool good = true;
        for (int64_t i = 0; i < n && good; ++i) {
          const double x = static_cast<double>(a[source(i, out, sa)]),
                       y = static_cast<double>(b[source(i, out, sb)]);
          good = test::close(c[i], o.expected(x, y), o.ulp);
          if (good) continue;
          FAIL_CHECK("op ", static_cast<int>(o.op), " bytes ", sizeof(T), ": ", x, ", ", y, " expected ",
                     o.expected(x, y), " got ", static_cast<double>(c[i]));
        }
      }
    }
  });
}

TEST_CASE("binary ops of integers wrap, and report division by zero") {
  using enum BinaryOp;
  test::for_each_integer([]<class T>() {
    for (const auto& shapes : shape_pairs) {
      const auto &sa = shapes[0], &sb = shapes[1];
      const auto out = result_shape({sa, sb});
      const auto a = test::strange_numbers<T>(count(sa), -100, 100, 3),
                 b = test::strange_numbers<T>(count(sb), -9, 9, 5);
      const int64_t n = count(out);
      const auto plan = broadcast_plan(sa, sb);
      for (BinaryOp op : {add, sub, mul, div, min, max, pow, mod, fmod, prelu, bitwise_and, bitwise_or,
                          bitwise_xor, shift_left, shift_right}) {
        if (std::is_signed_v<T> && (op == shift_left || op == shift_right)) continue;
        std::vector<T> c(static_cast<std::size_t>(n));
        const bool defined = binary(op, a.data(), b.data(), c.data(), plan);
        bool good = true, divides_by_zero = false;
        for (int64_t i = 0; i < n && good; ++i) {
          const T x = a[source(i, out, sa)], y = b[source(i, out, sb)];
          divides_by_zero |=
              ((op == div || op == mod || op == fmod) && y == T(0)) || (op == pow && x == T(0) && y < T(0));
          good = c[i] == integer_expected(op, x, y);
          if (!good)
            FAIL_CHECK("op ", static_cast<int>(op), " bytes ", sizeof(T), ": ", +x, ", ", +y, " got ", +c[i]);
        }
        CHECK(defined == !divides_by_zero);
      }
    }
  });
}

TEST_CASE("comparisons, also of narrow floats and integers") {
  using enum CompareOp;
  const auto run = []<class T>() {
    for (const auto& shapes : shape_pairs) {
      const auto &sa = shapes[0], &sb = shapes[1];
      const auto out = result_shape({sa, sb});
      const auto a = test::strange_numbers<T>(count(sa), -2, 2, 3),
                 b = test::strange_numbers<T>(count(sb), -2, 2, 5);
      const int64_t n = count(out);
      const auto plan = broadcast_plan(sa, sb);
      const auto c = std::make_unique<bool[]>(static_cast<std::size_t>(n));
      for (CompareOp op : {equal, less, less_equal, greater, greater_equal}) {
        compare(op, a.data(), b.data(), c.get(), plan);
        bool good = true;
        for (int64_t i = 0; i < n; ++i) {
          const T x = a[source(i, out, sa)], y = b[source(i, out, sb)];
          const bool expected = op == equal        ? x == y
                                : op == less       ? x < y
                                : op == less_equal ? x <= y
                                : op == greater    ? x > y
                                                   : x >= y;
          good &= c[i] == expected;
        }
        INFO("op ", static_cast<int>(op), " bytes ", sizeof(T));
        CHECK(good);
      }
    }
  };
  test::for_each_float(run);
  test::for_each_integer(run);
}

TEST_CASE("logic") {
  for (const auto& shapes : shape_pairs) {
    const auto &sa = shapes[0], &sb = shapes[1];
    const auto out = result_shape({sa, sb});
    const auto a = test::numbers<uint8_t>(count(sa), 0, 2, 3), b = test::numbers<uint8_t>(count(sb), 0, 2, 5);
    const auto c = std::make_unique<bool[]>(static_cast<std::size_t>(count(out)));
    const bool *x = reinterpret_cast<const bool*>(a.data()), *y = reinterpret_cast<const bool*>(b.data());
    for (LogicOp op : {LogicOp::logical_and, LogicOp::logical_or, LogicOp::logical_xor}) {
      logic(op, x, y, c.get(), broadcast_plan(sa, sb));
      bool good = true;
      for (int64_t i = 0; i < count(out); ++i) {
        const bool p = x[source(i, out, sa)], q = y[source(i, out, sb)];
        good &= c[i] == (op == LogicOp::logical_and ? p && q : op == LogicOp::logical_or ? p || q : p != q);
      }
      CHECK(good);
    }
  }
}

TEST_CASE("where moves blocks of any size") {
  const std::vector<std::vector<int64_t>> rows[] = {
      {{1000}, {1000}, {1000}}, {{}, {5}, {5}},  {{5}, {}, {}},    {{3, 1}, {1, 7}, {2, 1, 1}},
      {{2, 65}, {65}, {2, 1}},  {{0}, {1}, {1}}, {{70}, {70}, {}}, {{2, 1, 70}, {3, 1}, {70}},
  };
  const auto run = []<std::size_t size>(const std::vector<std::vector<int64_t>>& s) {
    struct Block {
      char bytes[size];
    };
    const auto out = result_shape(s);
    const auto condition = test::numbers<uint8_t>(count(s[0]), 0, 2, 3);
    std::vector<Block> a(count(s[1])), b(count(s[2])), c(count(out));
    for (auto* v : {&a, &b})
      for (Block& block : *v) {
        static unsigned char next = 0;
        for (char& byte : block.bytes) byte = static_cast<char>(next++);
      }
    where(reinterpret_cast<const bool*>(condition.data()), a.data(), b.data(), c.data(), size,
          broadcast_plan(s[0], s[1], s[2]));
    bool good = true;
    for (int64_t i = 0; i < count(out); ++i) {
      const Block& expected =
          condition[source(i, out, s[0])] ? a[source(i, out, s[1])] : b[source(i, out, s[2])];
      good &= std::memcmp(&expected, &c[i], size) == 0;
    }
    CHECK(good);
  };
  for (const auto& s : rows) {
    run.operator()<1>(s);
    run.operator()<2>(s);
    run.operator()<4>(s);
    run.operator()<8>(s);
    run.operator()<16>(s);
  }
}

TEST_CASE("binary_each takes strings, and power any two types") {
  const std::string a[] = {"x", "y"}, b[] = {"1", "2", "3"};
  std::string c[6];
  const int64_t sa[] = {2, 1}, sb[] = {3};
  binary_each(a, b, c, broadcast_plan(sa, sb),
              [](const std::string& x, const std::string& y) { return x + y; });
  CHECK(c[0] == "x1");
  CHECK(c[5] == "y3");

  CHECK(power(int32_t{2}, 3.5f) == 11);
  CHECK(power(3.0f, int64_t{-2}) == 1.0f / 9);
  CHECK(power(int32_t{-2}, int64_t{31}) == std::numeric_limits<int32_t>::min());
  CHECK(power(int32_t{10}, 30.0) == std::numeric_limits<int32_t>::max());
  CHECK(power(int32_t{-10}, 31.0) == std::numeric_limits<int32_t>::min());
  CHECK(power(int32_t{-10}, 0.5) == 0);
  CHECK(power(uint8_t{3}, 10.0f) == 255);
  CHECK(power(int64_t{0}, -1.0) == std::numeric_limits<int64_t>::max());
  CHECK(power(int64_t{3}, int32_t{-1}) == 0);
  CHECK(power(int64_t{-1}, int32_t{-3}) == -1);
  CHECK(static_cast<float>(power(float16(2.0f), int32_t{3})) == 8);
}
