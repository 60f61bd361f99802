// k-means: points go to the nearest centre, centres to the mean of their points, until none moves.
#include <cstdio>

#include "tenon/array/math.hpp"
#include "tenon/array/random.hpp"

int main() {
  using namespace tenon;
  constexpr int64_t k = 3, each = 100, n = k * each;
  // Clouds around three places: (k, 1, 2) + (k, each, 2).
  const Tensor<float, Shape<k, 1, 2>> places{{{-2, 0}}, {{0, 3}}, {{2, 0}}};
  const Tensor<float, Shape<n, 1, 2>> points =
      reshape<n, 1, 2>(places + normal<float, Shape<k, each, 2>>(1, 0, 0.5));

  Tensor<float, Shape<k, 2>> centres{{-1, 0}, {0, 0}, {1, 0}};
  int steps = 0;
  for (bool moved = true; moved; ++steps) {
    const Tensor<float, Shape<n, k, 1>> distance = sum<2>(pow(points - centres, 2), keepdims);
    const auto member = cast<float>(distance == min<1>(distance, keepdims));  // of the nearest: 1, else 0
    const Tensor<float, Shape<k, 2>> means = sum<0>(points * member) / sum<0>(member);
    moved = max(abs(means - centres)).item() > 0;
    centres = means.clone();
  }

  for (int64_t c = 0; c < k; ++c)
    std::printf("(%.1f, %.1f)\n", static_cast<double>(centres(c, 0)), static_cast<double>(centres(c, 1)));
  std::printf("after %d steps\n", steps);
  return max(abs(centres - reshape<k, 2>(places))).item() < 0.2f ? 0 : 1;
}
