// Statistics of random numbers, for tests.
#pragma once

#include <cmath>
#include <utility>

#include "tests/op/check.hpp"

namespace tenon::test {

/// Mean and standard deviation of a tensor's elements.
inline std::pair<double, double> moments(const Value& v) {
  const AnyView x = v.tensor().view();
  double sum = 0, squares = 0;
  for (int64_t k = 0; k < x.size(); ++k) sum += as_double(x, k), squares += as_double(x, k) * as_double(x, k);
  const double n = static_cast<double>(x.size());
  return {sum / n, std::sqrt(squares / n - sum / n * sum / n)};
}

}  // namespace tenon::test
