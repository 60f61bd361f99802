#include "tenon/kernels/reduce/normalize.hpp"

#include <cstring>

#include "tenon/base/thread_pool.hpp"
#include "tests/kernels/data.hpp"

using namespace tenon;
using namespace tenon::kernels;

namespace {

template <class T>
double ulp_of() {
  return sizeof(T) == 2 ? 0.7 : 12;
}

// Results near 0 come from cancelling: their error is as large as the terms'.
template <class T>
double absolute_of() {
  return 8 * test::epsilon<std::conditional_t<sizeof(T) == 8, T, float>>();
}

struct Moments {
  double mean = 0, variance = 0, square = 0;
};
template <class T>
Moments moments(const T* x, int64_t n) {
  long double sum = 0, squares = 0, centred = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  const long double mean = sum / n;
  for (int64_t i = 0; i < n; ++i) {
    const long double v = static_cast<double>(x[i]);
    squares += v * v;
    centred += (v - mean) * (v - mean);
  }
  return {static_cast<double>(mean), static_cast<double>(centred / n), static_cast<double>(squares / n)};
}

}  // namespace

TEST_CASE("layer and RMS norm, with and without scale, bias and statistics") {
  test::for_each_float([]<class T>() {
    for (int64_t n : {1, 2, 7, 15, 16, 17, 64, 65, 768, 1000, 3000})
      for (bool scaled : {false, true})
        for (bool biased : {false, true})
          for (bool centred : {false, true}) {
            const int64_t rows = 3;
            // Far from zero: the variance must not cancel.
            const auto x = test::numbers<T>(rows * n, 8, 12);
            const auto scale = test::numbers<T>(n, -2, 2, 5), bias = test::numbers<T>(n, -2, 2, 6);
            std::vector<T> y(static_cast<std::size_t>(rows * n + 1), T(77.0f));
            float mean[3], inv_std[3];
            const LayerNormArgs<T> args{.x = x.data(),
                                        .y = y.data(),
                                        .rows = rows,
                                        .n = n,
                                        .scale = scaled ? scale.data() : nullptr,
                                        .bias = biased ? bias.data() : nullptr,
                                        .epsilon = 1e-3,
                                        .mean = mean,
                                        .inv_std = inv_std};
            centred ? layer_norm(args) : rms_norm(args);
            CHECK(static_cast<double>(y.back()) == 77);
            for (int64_t r = 0; r < rows; ++r) {
              const Moments m = moments(&x[r * n], n);
              const double centre = centred ? m.mean : 0,
                           factor = 1 / std::sqrt((centred ? m.variance : m.square) + 1e-3);
              if (centred) CHECK(test::close(mean[r], centre, 2));
              CHECK(test::close(inv_std[r], factor, 20));
              for (int64_t i = 0; i < n; ++i) {
                const double s = scaled ? static_cast<double>(scale[i]) : 1,
                             b = biased ? static_cast<double>(bias[i]) : 0;
                const double want = (static_cast<double>(x[r * n + i]) - centre) * factor * s + b;
                // The mean's rounding, at 12, is raised by the factor.
                const double absolute = absolute_of<T>() * (1 + 2 * factor * std::fabs(s));
                if (!test::close(y[r * n + i], want, ulp_of<T>(), absolute))
                  FAIL_CHECK("bytes ", sizeof(T), " n ", n, " expected ", want, " got ",
                             static_cast<double>(y[r * n + i]));
              }
            }
          }
  });
}

TEST_CASE("batch norm with and without spatial axes") {
  test::for_each_float([]<class T>() {
    using C = compute_t<T>;
    const int64_t shapes[][3] = {{2, 3, 1}, {3, 1000, 1}, {2, 3, 17},  {1, 2, 1000},
                                 {0, 3, 4}, {2, 5, 49},   {70, 33, 33}};
    for (const auto& s : shapes) {
      const int64_t channels = s[1], spatial = s[2], n = s[0] * channels * spatial;
      const auto x = test::numbers<T>(n);
      const auto scale = test::numbers<C>(channels, -2, 2, 3), bias = test::numbers<C>(channels, -2, 2, 4);
      const auto mean = test::numbers<C>(channels, -1, 1, 5),
                 variance = test::numbers<C>(channels, 0.5, 2, 6);
      std::vector<T> y(static_cast<std::size_t>(n + 1), T(77.0f));
      batch_norm(BatchNormArgs<T>{x.data(), y.data(), s[0], channels, spatial, scale.data(), bias.data(),
                                  mean.data(), variance.data(), 1e-3});
      CHECK(static_cast<double>(y.back()) == 77);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t c = i / spatial % channels;
        const double want = (static_cast<double>(x[i]) - static_cast<double>(mean[c])) /
                                std::sqrt(static_cast<double>(variance[c]) + 1e-3) *
                                static_cast<double>(scale[c]) +
                            static_cast<double>(bias[c]);
        if (!test::close(y[i], want, ulp_of<T>(), absolute_of<T>()))
          FAIL_CHECK("bytes ", sizeof(T), " expected ", want, " got ", static_cast<double>(y[i]));
      }
    }
  });
}

TEST_CASE("group and instance norm") {
  test::for_each_float([]<class T>() {
    const int64_t shapes[][4] = {{2, 1, 6, 5}, {2, 3, 6, 5},    {2, 6, 6, 50},
                                 {1, 2, 8, 1}, {1, 4, 4, 1000}, {0, 1, 2, 3}};
    for (const auto& s : shapes)
      for (bool scaled : {false, true}) {
        const int64_t groups = s[1], channels = s[2], spatial = s[3], n = s[0] * channels * spatial,
                      size = channels / groups * spatial;
        const auto x = test::numbers<T>(n, 8, 12);
        const auto scale = test::numbers<T>(channels, -2, 2, 5), bias = test::numbers<T>(channels, -2, 2, 6);
        std::vector<T> y(static_cast<std::size_t>(n + 1), T(77.0f));
        group_norm(GroupNormArgs<T>{x.data(), y.data(), s[0], groups, channels, spatial,
                                    scaled ? scale.data() : nullptr, scaled ? bias.data() : nullptr, 1e-3});
        CHECK(static_cast<double>(y.back()) == 77);
        for (int64_t i = 0; i < n; ++i) {
          const Moments m = moments(&x[i / size * size], size);
          const int64_t c = i / spatial % channels;
          const double k = scaled ? static_cast<double>(scale[c]) : 1,
                       b = scaled ? static_cast<double>(bias[c]) : 0;
          const double factor = 1 / std::sqrt(m.variance + 1e-3);
          const double want = (static_cast<double>(x[i]) - m.mean) * factor * k + b;
          if (!test::close(y[i], want, ulp_of<T>(), absolute_of<T>() * (1 + 2 * factor * std::fabs(k))))
            FAIL_CHECK("bytes ", sizeof(T), " expected ", want, " got ", static_cast<double>(y[i]));
        }
      }
  });
}

TEST_CASE("local response normalisation") {
  test::for_each_float([]<class T>() {
    const int64_t shapes[][3] = {{2, 5, 7}, {1, 3, 1}, {2, 1, 33}, {1, 20, 100}, {0, 2, 2}};
    for (const auto& s : shapes)
      for (int64_t size : {1, 2, 3, 5, 50})
        for (double beta : {0.75, 0.5, 1.0, 0.6}) {
          const int64_t channels = s[1], spatial = s[2], n = s[0] * channels * spatial;
          const auto x = test::numbers<T>(n);
          std::vector<T> y(static_cast<std::size_t>(n + 1), T(77.0f));
          lrn(LrnArgs<T>{x.data(), y.data(), s[0], channels, spatial, size, 0.05, beta, 1.5});
          CHECK(static_cast<double>(y.back()) == 77);
          for (int64_t i = 0; i < n; ++i) {
            const int64_t c = i / spatial % channels;
            double sum = 0;
            for (int64_t k = c - (size - 1) / 2; k <= c + size / 2; ++k) {
              if (k < 0 || k >= channels) continue;
              const double v = static_cast<double>(x[i + (k - c) * spatial]);
              sum += v * v;
            }
            const double want =
                static_cast<double>(x[i]) / std::pow(1.5 + 0.05 / static_cast<double>(size) * sum, beta);
            if (!test::close(y[i], want, sizeof(T) == 2 ? 0.6 : 6))
              FAIL_CHECK("bytes ", sizeof(T), " expected ", want, " got ", static_cast<double>(y[i]));
          }
        }
  });
}

TEST_CASE("norms in place and in parallel give the same bits") {
  const int64_t rows = 200, n = 700;
  const auto x = test::numbers<float>(rows * n);
  std::vector<float> plain(x.size()), threaded(x.size()), in_place = x;
  LayerNormArgs<float> args{.x = x.data(), .y = plain.data(), .rows = rows, .n = n};
  layer_norm(args);
  ThreadPool pool(3);
  const ScopedPool scope(pool);
  args.y = threaded.data();
  layer_norm(args);
  args.x = args.y = in_place.data();
  layer_norm(args);
  CHECK(std::memcmp(plain.data(), threaded.data(), x.size() * 4) == 0);
  CHECK(std::memcmp(plain.data(), in_place.data(), x.size() * 4) == 0);
}
