// Tensors that read like mathematics: arithmetic in one loop, functions by their names, slices, from headers
// alone.
#include <cstdio>

#include "tenon/array/math.hpp"
#include "tenon/array/slice.hpp"
#include "tenon/tensor/print.hpp"

int main() {
  using namespace tenon;
  Tensor<float, Shape<2, 3>> x{{1, 2, 3}, {4, 5, 6}};
  Tensor<float, Shape<3, 2>> w{{1, 0}, {0, 1}, {1, 1}};

  Tensor<float, Shape<2, 2>> y = 0.5f * matmul(x, w) + 1;  // one loop after the product
  auto e = exp(y - max<1>(y, keepdims));                   // an expression, not computed yet
  auto p = eval(e / sum<1>(e, keepdims));                  // Tensor<float, Shape<2, 2>>
  x(all, range(0, 2)) = where(p < 0.5f, 0.0f, y);          // two columns of x
  x += slice(x, 1);                                        // into x's memory; a row is a view
  std::printf("y =\n%s\np =\n%s\nx =\n%s\n", to_string(y).c_str(), to_string(p).c_str(),
              to_string(x).c_str());

  try {
    slice(x, 2) = 0;
  } catch (const Error& error) {
    std::printf("refused: %s\n", error.what());
  }
}
