#include "tenon/kernels/reduce/softmax.hpp"

#include <cstring>

#include "tenon/base/thread_pool.hpp"
#include "tests/kernels/data.hpp"

using namespace tenon;
using namespace tenon::kernels;

TEST_CASE("softmax and log-softmax of rows and of middle axes") {
  test::for_each_float([]<class T>() {
    const int64_t shapes[][3] = {
        {0, 5, 1},    {1, 0, 1},     {1, 1, 1},    {3, 7, 1},    {2, 16, 1},  {2, 17, 1}, {300, 3, 1},
        {9, 23, 1},   {8, 1, 1},     {4, 1000, 1}, {1, 5000, 1}, {5, 8, 1},   {5, 31, 1}, {5, 32, 1},
        {3, 33, 1},   {3, 63, 1},    {3, 64, 1},   {3, 65, 1},   {2, 5, 3},   {3, 1, 4},  {2, 33, 17},
        {1, 10, 300}, {1, 200, 129}, {2, 3, 0},    {1, 700, 7},  {2, 301, 12}};
    for (const auto& s : shapes) {
      const int64_t outer = s[0], axis = s[1], inner = s[2], n = outer * axis * inner;
      // The wide range makes most exponentials vanish.
      for (double range : {4.0, 200.0}) {
        const auto x = test::numbers<T>(n, -range, range);
        std::vector<T> y(static_cast<std::size_t>(n + 1), T(77.0f)), z = y;
        softmax(x.data(), y.data(), outer, axis, inner);
        log_softmax(x.data(), z.data(), outer, axis, inner);
        CHECK(static_cast<double>(y.back()) == 77);
        CHECK(static_cast<double>(z.back()) == 77);
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t j = 0; j < inner; ++j) {
            const auto at = [&](int64_t i) { return (o * axis + i) * inner + j; };
            long double most = -INFINITY, sum = 0;
            for (int64_t i = 0; i < axis; ++i) most = std::fmax(most, static_cast<double>(x[at(i)]));
            for (int64_t i = 0; i < axis; ++i) sum += std::exp(static_cast<double>(x[at(i)]) - most);
            for (int64_t i = 0; i < axis; ++i) {
              const long double v = static_cast<double>(x[at(i)]) - most;
              const double ulp = sizeof(T) == 2 ? 0.6 : 5,
                           unit = test::epsilon<std::conditional_t<sizeof(T) == 8, T, float>>();
              // exp makes the rounding of its argument a relative error.
              const double wide = ulp * (1 + (sizeof(T) == 2 ? 0 : static_cast<double>(-v) / 4));
              if (!test::close(y[at(i)], static_cast<double>(std::exp(v) / sum), wide,
                               1.2e-38 * static_cast<double>(1 / sum)))
                FAIL_CHECK("softmax bytes ", sizeof(T), " axis ", axis, " expected ",
                           static_cast<double>(std::exp(v) / sum), " got ", static_cast<double>(y[at(i)]));
              if (!test::close(z[at(i)], static_cast<double>(v - std::log(sum)), ulp, 4 * unit))
                FAIL_CHECK("log-softmax bytes ", sizeof(T), " axis ", axis, " expected ",
                           static_cast<double>(v - std::log(sum)), " got ", static_cast<double>(z[at(i)]));
            }
          }
      }
    }
  });
}

TEST_CASE("softmax of special numbers is what the formula gives") {
  const float inf = INFINITY, nan = NAN;
  const struct {
    std::vector<float> x, y;
  } rows[] = {
      {{-inf, -inf, -inf}, {nan, nan, nan}},
      {{-inf, 0, -inf}, {0, 1, 0}},
      {{nan, 0, 1}, {nan, nan, nan}},
      {{inf, 0}, {nan, nan}},
      {{0, 1, 2, nan}, {nan, nan, nan, nan}},
      {{3e38f, -3e38f}, {1, 0}},
      {{0, -100, -90}, {1, 0, 0}},
  };
  for (const auto& r : rows) {
    const int64_t n = static_cast<int64_t>(r.x.size());
    std::vector<float> y(r.x.size());
    for (int64_t copies : {1, 3}) {  // as a row, and as a middle axis with other columns at its side
      std::vector<float> x, wide;
      for (float v : r.x)
        for (int64_t k = 0; k < copies; ++k) x.push_back(k == 1 ? v : v + 0);
      wide.resize(x.size());
      softmax(x.data(), wide.data(), 1, n, copies);
      for (int64_t i = 0; i < n; ++i) {
        const float got = wide[i * copies + copies / 2], want = r.y[i];
        CHECK((got == want || (std::isnan(got) && std::isnan(want))));
      }
    }
  }
}

TEST_CASE("softmax in place and in parallel gives the same bits") {
  const auto x = test::numbers<float>(300 * 700);
  for (int64_t inner : {1, 7}) {
    std::vector<float> plain(x.size()), threaded(x.size()), in_place = x;
    softmax(x.data(), plain.data(), 300, 700 / inner, inner);
    ThreadPool pool(3);
    const ScopedPool scope(pool);
    softmax(x.data(), threaded.data(), 300, 700 / inner, inner);
    softmax(in_place.data(), in_place.data(), 300, 700 / inner, inner);
    CHECK(std::memcmp(plain.data(), threaded.data(), x.size() * 4) == 0);
    CHECK(std::memcmp(plain.data(), in_place.data(), x.size() * 4) == 0);
  }
}
