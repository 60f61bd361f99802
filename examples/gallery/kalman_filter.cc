// A Kalman filter: the place and the speed of a car, from noisy measurements of its place.
#include <cmath>
#include <cstdio>

#include "tenon/array/factory.hpp"
#include "tenon/array/math.hpp"
#include "tenon/array/random.hpp"

namespace {
using namespace tenon;

template <int64_t Rows, int64_t Columns>
using Matrix = Tensor<double, Shape<Rows, Columns>>;
}  // namespace

int main() {
  const Matrix<2, 2> F{{1, 1}, {0, 1}}, identity = eye<double, Shape<2, 2>>();  // place += speed, each second
  const Matrix<1, 2> H{{1, 0}};                                                 // the place is measured,
  const double R = 4;                                                           // with this variance
  Matrix<2, 1> x;                                                               // place and speed: unknown,
  Matrix<2, 2> P = 1e6 * identity;                                              // which is a wide covariance

  const double speed = 0.7;
  constexpr int seconds = 100;
  const auto noise = normal<double, Shape<seconds>>(5, 0, std::sqrt(R));
  double measured = 0, filtered = 0;  // sums of squared errors
  for (int k = 0; k < seconds; ++k) {
    const double truth = speed * k, z = truth + noise[k];
    if (k > 0) {
      x = matmul(F, x);
      P = matmul(matmul(F, P), transpose(F));
    }
    const Matrix<1, 1> S = matmul(matmul(H, P), transpose(H)) + R;
    const Matrix<2, 1> K = matmul(P, transpose(H)) / S;
    x += matmul(K, z - matmul(H, x));
    P = matmul(identity - matmul(K, H), P);

    measured += (z - truth) * (z - truth) / seconds;
    filtered += (x(0, 0) - truth) * (x(0, 0) - truth) / seconds;
    if (k == 1 || k == 9 || k == 99)
      std::printf("after %3d seconds: measured %5.2f, filtered %5.2f +- %.2f, in truth %5.2f\n", k + 1, z,
                  x(0, 0), std::sqrt(P(0, 0)), truth);
  }
  std::printf("speed %.2f, in truth %.2f\n", x(1, 0), speed);
  std::printf("mean square error: measured %.2f, filtered %.2f\n", measured, filtered);

  // Where nothing disturbs the motion, the filter fits a line; the variance of the line's end is known.
  const double n = seconds, line = R * 2 * (2 * n - 1) / (n * (n + 1));
  return std::abs(P(0, 0) - line) < 1e-4 && std::abs(x(1, 0) - speed) < 0.05 && filtered < measured / 4 ? 0
                                                                                                        : 1;
}
