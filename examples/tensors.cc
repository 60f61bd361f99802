// Typed tensors and operators, from headers alone.
#include <cstdio>

#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/tensor/print.hpp"

int main() {
  using namespace tenon;
  Tensor<float, Shape<2, 3>> x{{1, 2, 3}, {4, 5, 6}};
  Tensor<float, Shape<3, 2>> w{{1, 0}, {0, 1}, {1, 1}};

  auto y = op::MatMul{}(x, w);  // Tensor<float, Shape<2, 2>>: the compiler knows the extents
  auto z = op::Add{}(y, 0.5f);
  auto p = apply<op::Softmax{.axis = -1}>(z);  // attributes that the compiler knows
  static_assert(std::is_same_v<decltype(p), Tensor<float, Shape<2, 2>>>);

  int64_t axis = 0;  // attributes of run time: the same functor
  auto q = op::Softmax{.axis = axis}(z);
  std::printf("x w + 0.5 =\n%s\n", to_string(z).c_str());
  std::printf("softmax over rows =\n%s\nover columns =\n%s\n", to_string(p).c_str(), to_string(q).c_str());

  try {
    op::Add{}(Tensor<float>({2}, {1, 2}), Tensor<float>({3}, {1, 2, 3}));
  } catch (const Error& e) {
    std::printf("refused: %s\n", e.what());
  }
}
