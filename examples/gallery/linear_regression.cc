// Linear regression: the least squares solution of x w = y, by conjugate gradients.
#include <cstdio>

#include "tenon/array/factory.hpp"
#include "tenon/array/join.hpp"
#include "tenon/array/math.hpp"
#include "tenon/array/random.hpp"

int main() {
  using namespace tenon;
  constexpr int64_t n = 1000;
  // y = 2 a - 3 b + 0.5, and noise.
  const auto points = random<float, Shape<n, 2>>(1, -1, 1);
  const Tensor<float, Shape<3, 1>> truth{{2}, {-3}, {0.5f}};
  const auto x = concat<1>(points, ones<float, Shape<n, 1>>());  // Tensor<float, Shape<n, 3>>
  const Tensor<float, Shape<n, 1>> y = matmul(x, truth) + normal<float, Shape<n, 1>>(2, 0, 0.01);

  // The normal equations are A w = b, with A = xᵀ x and b = xᵀ y.
  const auto xt = transpose(x);
  const auto A = matmul(xt, x);
  const auto b = matmul(xt, y);
  Tensor<float, Shape<3, 1>> w, residual = b.clone(), direction = b.clone();
  for (int step = 0; step < 3; ++step) {  // as many as there are unknowns
    const auto Ad = matmul(A, direction);
    const auto before = sum(residual * residual);
    const Tensor<float, Shape<>> length = before / sum(direction * Ad);
    w += length * direction;
    residual -= length * Ad;
    direction = residual + sum(residual * residual) / before * direction;
  }

  const float error = max(abs(w - truth)).item();
  std::printf("y = %.2f a %+.2f b %+.2f\n", static_cast<double>(w[0]), static_cast<double>(w[1]),
              static_cast<double>(w[2]));
  std::printf("off by %s\n", error < 1e-3f ? "less than 0.001" : "more than 0.001");
  return error < 1e-3f ? 0 : 1;
}
