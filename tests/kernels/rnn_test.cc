#include "tenon/kernels/rnn.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/data.hpp"

using namespace tenon::kernels;

namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

template <class T>
void check_near(T got, double want) {
  CHECK(got == doctest::Approx(want).epsilon(16 * test::epsilon<T>()));
}

template <class Arch, class T>
void test_lstm(int64_t n) {
  const int64_t hidden = n + 3;  // units of a thread's block are not all
  const std::vector<T> gates = test::numbers<T>(4 * hidden, -9, 9), before = test::numbers<T>(n);
  std::vector<T> cell = before, h(before.size());
  lstm_units_impl<Arch, T>(gates.data(), hidden, n, cell.data(), h.data());
  for (int64_t k = 0; k < n; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const auto gate = [&](int64_t g) { return double{gates[static_cast<std::size_t>(g * hidden + k)]}; };
    const double c = logistic(gate(2)) * double{before[at]} + logistic(gate(0)) * std::tanh(gate(3));
    check_near(cell[at], c);
    check_near(h[at], logistic(gate(1)) * std::tanh(c));
  }
}

template <class Arch, class T>
void test_gru(int64_t n, bool linear) {
  const auto numbers = [&](unsigned seed) { return test::numbers<T>(n, -9, 9, seed); };
  const std::vector<T> sums = numbers(1), reset = numbers(2), fresh = numbers(3), before = numbers(4),
                       products = numbers(5);
  std::vector<T> update = sums, own = linear ? products : std::vector<T>(sums.size()), h(sums.size());
  gru_gates_impl<Arch, T>(update.data(), reset.data(), n, linear ? own.data() : before.data(), own.data());
  gru_units_impl<Arch, T>(update.data(), fresh.data(), linear ? own.data() : nullptr, n, before.data(),
                          h.data());
  for (std::size_t k = 0; k < h.size(); ++k) {
    const double z = logistic(double{sums[k]}),
                 scaled = logistic(double{reset[k]}) * double{linear ? products[k] : before[k]};
    check_near(update[k], z);
    check_near(own[k], scaled);
    check_near(h[k], (1 - z) * std::tanh(double{fresh[k]} + (linear ? scaled : 0)) + z * double{before[k]});
  }
}

}  // namespace

TEST_CASE_TEMPLATE("units of a step, against the definition", T, float, double) {
  tenon::simd::dispatch([]<class Arch>(Arch) {
    CAPTURE(Arch::register_bytes);
    for (const int64_t n : test::sizes) {
      CAPTURE(n);
      test_lstm<Arch, T>(n);
      test_gru<Arch, T>(n, false);
      test_gru<Arch, T>(n, true);
    }
  });
}
