#include "tenon/kernels/reduce/reduce.hpp"

#include <algorithm>
#include <cstring>

#include "tenon/base/thread_pool.hpp"
#include "tests/kernels/data.hpp"

using namespace tenon;
using namespace tenon::kernels;

namespace {

using Shape = std::vector<int64_t>;

int64_t count(const Shape& shape) {
  int64_t n = 1;
  for (int64_t e : shape) n *= e;
  return n;
}

// The elements of x that make each result, in order.
template <class T>
std::vector<std::vector<T>> groups(const std::vector<T>& x, const Shape& shape, uint32_t axes) {
  int64_t kept = 1;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (!((axes >> d) & 1)) kept *= shape[d];
  std::vector<std::vector<T>> g(static_cast<std::size_t>(kept));
  for (std::size_t i = 0; i < x.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), at = 0, step = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (!((axes >> d) & 1)) {
        at += rest % shape[d] * step;
        step *= shape[d];
      }
      rest /= shape[d];
    }
    g[at].push_back(x[i]);
  }
  return g;
}

const ReduceOp all_ops[] = {ReduceOp::sum,     ReduceOp::mean,       ReduceOp::max,        ReduceOp::min,
                            ReduceOp::prod,    ReduceOp::l1,         ReduceOp::sum_square, ReduceOp::l2,
                            ReduceOp::log_sum, ReduceOp::log_sum_exp};

/// What every op makes of v.
template <class T>
class Expected {
 public:
  explicit Expected(const std::vector<T>& v) : n_(static_cast<long double>(v.size())) {
    for (T e : v) {
      const auto x = static_cast<long double>(static_cast<double>(e));
      sum_ += x, magnitudes_ += std::fabs(x), squares_ += x * x, product_ *= x;
      most_ = x > most_ || std::isnan(x) ? x : most_;
      least_ = x < least_ || std::isnan(x) ? x : least_;
    }
    shift_ = std::isfinite(most_) ? most_ : 0;
    for (T e : v) exps_ += std::exp(static_cast<long double>(static_cast<double>(e)) - shift_);
  }
  double of(ReduceOp op) const {
    switch (op) {
      case ReduceOp::sum: return static_cast<double>(sum_);
      case ReduceOp::mean: return static_cast<double>(sum_ / n_);
      case ReduceOp::max: return static_cast<double>(most_);
      case ReduceOp::min: return static_cast<double>(least_);
      case ReduceOp::prod: return static_cast<double>(product_);
      case ReduceOp::sum_square: return static_cast<double>(squares_);
      case ReduceOp::l1: return static_cast<double>(magnitudes_);
      case ReduceOp::l2: return static_cast<double>(std::sqrt(squares_));
      case ReduceOp::log_sum: return static_cast<double>(std::log(sum_));
      case ReduceOp::log_sum_exp: return static_cast<double>(std::log(exps_) + shift_);
    }
    return 0;
  }

 private:
  long double n_, sum_ = 0, magnitudes_ = 0, squares_ = 0, product_ = 1, exps_ = 0, shift_ = 0;
  long double most_ = -INFINITY, least_ = INFINITY;
};

struct Case {
  Shape shape;
  uint32_t axes;  // a bit each
};
const Case cases[] = {
    {{}, 0},
    {{1}, 1},
    {{7}, 0},
    {{7}, 1},
    {{1000}, 1},
    {{33, 1000}, 2},
    {{33, 1000}, 1},
    {{2000, 3}, 1},
    {{2000, 3}, 2},
    {{5, 4}, 3},
    {{3, 4, 5}, 1},
    {{3, 4, 5}, 2},
    {{3, 4, 5}, 4},
    {{3, 4, 5}, 5},
    {{3, 4, 5}, 3},
    {{3, 4, 5}, 6},
    {{2, 17, 3, 19}, 10},
    {{2, 17, 3, 19}, 5},
    {{2, 17, 3, 19}, 9},
    {{1, 6, 1, 9}, 2},
    {{1, 6, 1, 9}, 5},
    {{2, 130, 2}, 2},
    {{2, 2, 130}, 1},
    {{2, 2, 129}, 2},
    {{4, 64, 7, 7}, 12},
    {{4, 7, 7, 64}, 6},
    {{70000}, 1},
    {{2, 50000}, 2},
    {{50000, 2}, 1},
    {{3, 20000, 5}, 2},
    {{150, 20, 3}, 2},
    {{150, 5, 16}, 2},
    {{70, 23, 4}, 2},
    {{70, 24, 4}, 2},
    {{70, 6, 9}, 2},
    {{40, 3, 5, 2}, 10},
    {{0}, 1},
    {{3, 0}, 2},
    {{3, 0}, 1},
    {{0, 3}, 1},
    {{0, 3}, 3},
    {{2, 0, 3}, 4},
    {{2, 3, 2, 3, 2, 3, 2, 3}, 0x55},
    {{2, 3, 2, 3, 2, 3, 2, 3}, 0xaa},
    {{1025}, 1},
    {{4096}, 1},
    {{15}, 1},
    {{16}, 1},
    {{17}, 1},
    {{63}, 1},
    {{64}, 1},
    {{65}, 1},
};

}  // namespace

TEST_CASE("reductions of floating point over any axes") {
  test::for_each_float([]<class T>() {
    for (const Case& c : cases) {
      for (bool strange : {false, true}) {
        const int64_t n = count(c.shape);
        auto x = strange ? test::strange_numbers<T>(n, 0.25, 1.75) : test::numbers<T>(n, 0.25, 1.75);
        // Whether sums and products of the greatest and least numbers leave the range depends on their order.
        for (T& v : x) {
          const double size = std::fabs(static_cast<double>(v));
          if (std::isfinite(size) && size != 0 && (size > 1e3 || size < 1e-3)) v = T(3.0f);
        }
        const auto g = groups(x, c.shape, c.axes);
        const ReducePlan plan = reduce_plan(c.shape, c.axes);
        REQUIRE(plan.kept == static_cast<int64_t>(g.size()));
        const std::vector<Expected<T>> expected(g.begin(), g.end());
        for (ReduceOp op : all_ops) {
          std::vector<T> y(g.size() + 1, T(77.0f));
          reduce(op, x.data(), y.data(), plan);
          CHECK(static_cast<double>(y.back()) == 77);
          for (std::size_t o = 0; o < g.size(); ++o) {
            const double want = expected[o].of(op);
            // Strange numbers cancel: only infinities, NaN and extrema are compared.
            if (strange && std::isfinite(want) && op != ReduceOp::max && op != ReduceOp::min) continue;
            double ulp = sizeof(T) == 2 ? 0.6 : 4;
            if (op == ReduceOp::prod) ulp = std::fmax(4, static_cast<double>(g[o].size()));
            if (op == ReduceOp::max || op == ReduceOp::min) ulp = 0;
            if (sizeof(T) == 8 && op != ReduceOp::prod && ulp > 0) ulp = 40;
            // A logarithm near 0 has the absolute error of its argument.
            const bool logarithm = op == ReduceOp::log_sum || op == ReduceOp::log_sum_exp;
            if (!test::close(
                    y[o], want, ulp,
                    logarithm ? 3 * test::epsilon<std::conditional_t<sizeof(T) == 8, T, float>>() : 0))
              FAIL_CHECK("op ", static_cast<int>(op), " bytes ", sizeof(T), " elements ", g[o].size(),
                         " axes ", c.axes, " expected ", want, " got ", static_cast<double>(y[o]));
          }
        }
      }
    }
  });
}

TEST_CASE("reductions of integers: ring operations wrap, the others are rounded towards zero") {
  test::for_each_integer([]<class T>() {
    using Sum = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    for (const Case& c : cases) {
      const auto x = test::strange_numbers<T>(count(c.shape), std::is_signed_v<T> ? -9 : 0, 9);
      const auto g = groups(x, c.shape, c.axes);
      const ReducePlan plan = reduce_plan(c.shape, c.axes);
      std::vector<T> y(g.size());
      const auto check = [&](ReduceOp op, auto want) {
        reduce(op, x.data(), y.data(), plan);
        for (std::size_t o = 0; o < g.size(); ++o)
          if (y[o] != static_cast<T>(want(g[o])))
            FAIL_CHECK("op ", static_cast<int>(op), " bytes ", sizeof(T), " elements ", g[o].size(), " got ",
                       +y[o]);
      };
      const auto fold = [](uint64_t first, auto f) {
        return [=](const std::vector<T>& v) {
          uint64_t sum = first;
          for (T e : v) sum = f(sum, static_cast<uint64_t>(e));
          return sum;
        };
      };
      const auto add = fold(0, [](uint64_t a, uint64_t b) { return a + b; });
      check(ReduceOp::sum, add);
      check(ReduceOp::prod, fold(1, [](uint64_t a, uint64_t b) { return a * b; }));
      check(ReduceOp::sum_square, fold(0, [](uint64_t a, uint64_t b) { return a + b * b; }));
      check(ReduceOp::l1, fold(0, [](uint64_t a, uint64_t b) {
              return a + (std::is_signed_v<T> && static_cast<int64_t>(b) < 0 ? 0 - b : b);
            }));
      check(ReduceOp::mean, [&](const std::vector<T>& v) {
        return v.empty() ? Sum(0) : static_cast<Sum>(add(v)) / static_cast<Sum>(v.size());
      });
      check(ReduceOp::max, [](const std::vector<T>& v) {
        return v.empty() ? std::numeric_limits<T>::min() : *std::max_element(v.begin(), v.end());
      });
      check(ReduceOp::min, [](const std::vector<T>& v) {
        return v.empty() ? std::numeric_limits<T>::max() : *std::min_element(v.begin(), v.end());
      });
    }
    const T x[] = {T(3), T(4), T(12), T(84)};
    T y = 0;
    reduce(ReduceOp::l2, x, &y, reduce_plan(Shape{4}, 1));
    CHECK(y == T(85));
    reduce(ReduceOp::log_sum, x, &y, reduce_plan(Shape{4}, 1));
    CHECK(y == T(4));  // log(103)
    reduce(ReduceOp::log_sum_exp, x, &y, reduce_plan(Shape{4}, 1));
    CHECK(y == T(84));
    reduce(ReduceOp::log_sum, x, &y, reduce_plan(Shape{0}, 1));
    CHECK(y == std::numeric_limits<T>::min());
  });
}

TEST_CASE("integers are taken as reals where their squares or sums would wrap") {
  const int64_t most = std::numeric_limits<int64_t>::max();
  int64_t y;
  for (const int64_t copies : {1, 100, 100000}) {
    std::vector<int64_t> x(static_cast<std::size_t>(2 * copies), 3000000000);
    std::fill(x.begin() + copies, x.end(), 4000000000);
    reduce(ReduceOp::l2, x.data(), &y, reduce_plan(Shape{2 * copies}, 1));
    CHECK(y == static_cast<int64_t>(5e9 * std::sqrt(static_cast<double>(copies))));
    std::fill(x.begin(), x.end(), most);
    reduce(ReduceOp::log_sum, x.data(), &y, reduce_plan(Shape{2 * copies}, 1));
    CHECK(y == static_cast<int64_t>(std::log(0x1p64 * static_cast<double>(copies))));
  }
}

TEST_CASE("log_sum_exp neither overflows nor underflows") {
  const float inf = INFINITY, nan = NAN;
  const struct {
    std::vector<float> x;
    float y;
  } rows[] = {{{1000, 1000}, 1000 + std::log(2.0f)},
              {{-1000, -1000}, -1000 + std::log(2.0f)},
              {{-inf, -inf}, -inf},
              {{-inf, 2}, 2},
              {{inf, 1}, inf},
              {{inf, -inf}, inf},
              {{nan, 1}, nan},
              {{1, inf, nan}, nan}};
  for (const auto& r : rows) {
    float y = 0;
    const int64_t n = static_cast<int64_t>(r.x.size());
    reduce(ReduceOp::log_sum_exp, r.x.data(), &y, reduce_plan(Shape{n}, 1));
    CHECK((y == doctest::Approx(r.y) || (std::isnan(y) && std::isnan(r.y)) || y == r.y));
    reduce(ReduceOp::log_sum_exp, r.x.data(), &y, reduce_plan(Shape{n, 1, 1}, 1));
    CHECK((y == doctest::Approx(r.y) || (std::isnan(y) && std::isnan(r.y)) || y == r.y));
  }
}

TEST_CASE("log_sum_exp of blocks of numbers that are far apart") {
  const auto check = [](auto type) {
    using T = decltype(type);
    const Shape shape{5, 3, 40};
    std::vector<T> x, y(200);
    for (int64_t i = 0; i < count(shape); ++i)
      x.push_back(static_cast<T>(static_cast<float>(i / 120 * 40 - 100)));
    reduce(ReduceOp::log_sum_exp, x.data(), y.data(), reduce_plan(shape, 2));
    for (std::size_t k = 0; k < y.size(); ++k) {
      const float exact = static_cast<float>(x[k / 40 * 120]) + std::log(3.0f);
      if constexpr (std::is_integral_v<T>) CHECK(y[k] == static_cast<T>(exact));
      else CHECK(static_cast<float>(y[k]) == doctest::Approx(exact).epsilon(1e-2));
    }
  };
  check(float()), check(double()), check(float16()), check(bfloat16()), check(int8_t()), check(int32_t()),
      check(int64_t());
}

TEST_CASE("long float sums are near sums of double, and the same bits for any number of threads") {
  const int64_t n = 1 << 20;
  const auto x = test::numbers<float>(n, 0, 1);
  const Case splits[] = {{{n}, 1},
                         {{2, n / 2}, 2},
                         {{n / 2, 2}, 1},
                         {{64, n / 64}, 2},
                         {{n / 64, 64}, 1},
                         {{16, n / 64, 4}, 5},
                         {{n / 1024, 1024}, 1},
                         {{n / 64, 4, 16}, 2},
                         {{n / 32, 16, 2}, 2},
                         {{n / 128, 16, 8}, 2}};
  for (const Case& c : splits) {
    const ReducePlan plan = reduce_plan(c.shape, c.axes);
    std::vector<double> exact;
    for (const auto& g : groups(x, c.shape, c.axes)) {
      long double sum = 0;
      for (float v : g) sum += v;
      exact.push_back(static_cast<double>(sum));
    }
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::l2, ReduceOp::log_sum_exp, ReduceOp::max}) {
      std::vector<float> serial(exact.size()), threaded(exact.size());
      reduce(op, x.data(), serial.data(), plan);
      for (int threads : {2, 5}) {
        ThreadPool pool(threads);
        const ScopedPool scope(pool);
        reduce(op, x.data(), threaded.data(), plan);
        CHECK(std::memcmp(serial.data(), threaded.data(), serial.size() * 4) == 0);
      }
      if (op != ReduceOp::sum || plan.reduced < 1000) continue;
      for (std::size_t o = 0; o < exact.size(); ++o)
        CHECK(std::fabs(serial[o] - exact[o]) <= 2e-7 * exact[o]);
    }
  }
}

TEST_CASE("long reductions that keep any small number of results") {
  for (int64_t kept = 1; kept <= 130; ++kept) {
    const int64_t reduced = 200000 / kept + 1500;
    const std::vector<float> x(static_cast<std::size_t>(reduced * kept), 1.0f);
    std::vector<float> y(static_cast<std::size_t>(kept), -1.0f);
    const int64_t extents[] = {reduced, kept};
    reduce(ReduceOp::sum, x.data(), y.data(), reduce_plan(extents, 1));
    for (float v : y) CHECK(v == static_cast<float>(reduced));
  }
}

TEST_CASE("the op known to the compiler gives the same") {
  const auto x = test::numbers<float>(35);
  const ReducePlan plan = reduce_plan(Shape{5, 7}, 2);
  float a[5], b[5];
  reduce(ReduceOp::mean, x.data(), a, plan);
  reduce<ReduceOp::mean>(x.data(), b, plan);
  CHECK(std::memcmp(a, b, sizeof a) == 0);
}
