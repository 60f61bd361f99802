// Conway's game of life: a convolution counts neighbours, a comparison decides.
#include <algorithm>
#include <cstdio>

#include "tenon/array/math.hpp"
#include "tenon/op/nn/conv.hpp"
#include "tenon/op/tensor/pad.hpp"

namespace {
using namespace tenon;

using World = Tensor<float, Shape<1, 1, 8, 8>>;

// A cell lives on with 2 or 3 living neighbours, and is born with 3. Where the cell itself counts one half,
// that is every sum within 1/2 of 3: 2 + 1/2, 3, 3 + 1/2.
World next(const World& world) {
  const Tensor<float, Shape<1, 1, 3, 3>> around{{{{1, 1, 1}, {1, 0.5f, 1}, {1, 1, 1}}}};
  const auto torus = apply<op::Pad{.mode = "wrap"}>(world, constant<int64_t, 0, 0, 1, 1, 0, 0, 1, 1>);
  return cast<float>(abs(apply<op::Conv{}>(torus, around) - 3) <= 0.5f);
}
}  // namespace

int main() {
  World start;
  for (auto [row, column] : {std::pair{0, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}}) start(0, 0, row, column) = 1;

  World generation[33];
  generation[0] = start.clone();
  for (int k = 0; k < 32; ++k) generation[k + 1] = next(generation[k]);

  for (int row = 0; row < 8; ++row) {
    for (int k : {0, 1, 2, 3, 4, 32}) {
      if (k > 0) std::printf("  ");
      for (int column = 0; column < 8; ++column)
        std::printf("%c", generation[k](0, 0, row, column) > 0 ? '#' : '.');
    }
    std::printf("\n");
  }

  // A glider moves by one cell down and to the right in four generations, and around this world in 32.
  bool glides = std::equal(start.begin(), start.end(), generation[32].begin());
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column)
      glides &= generation[4](0, 0, (row + 1) % 8, (column + 1) % 8) == start(0, 0, row, column);
  std::printf("a glider: %s\n", glides ? "yes" : "no");
  return glides ? 0 : 1;
}
