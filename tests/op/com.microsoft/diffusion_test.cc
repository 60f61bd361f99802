// Operators that ONNX Runtime computes only on graphics processors: expected are ONNX's own operators.
#include "tenon/op/com.microsoft/bias_add.hpp"
#include "tenon/op/com.microsoft/bias_split_gelu.hpp"
#include "tenon/op/com.microsoft/group_norm.hpp"
#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using namespace op::com_microsoft;

TEST_CASE("com.microsoft.BiasAdd: cases") {
  const Value x = t<float>({1, 2, 2}, {1, 2, 3, 4}), bias = t<float>({2}, {10, 20});
  check(BiasAdd{}, {x, bias, x}, {t<float>({1, 2, 2}, {12, 24, 16, 28})});
  check_fails(BiasAdd{}, {x, t<float>({1}, {1}), x}, "bias: (1), expected (2)");
  check_fails(BiasAdd{}, {x, bias, t<float>({1, 1, 2}, {1, 2})}, "extents of X and skip");
  check_fails(BiasAdd{}, {bias, bias, bias}, "X: rank 1, expected 3");
}

TEST_CASE("com.microsoft.BiasSplitGelu: cases") {
  const Value right = run(op::Gelu{}, {t<float>({1, 1, 2}, {0.5f, -1})})[0];
  const float* gelu = right.view<float>().data();
  check(BiasSplitGelu{}, {t<float>({1, 1, 4}, {1, 2, 0, -3}), t<float>({4}, {1, 1, 0.5f, 2})},
        {t<float>({1, 1, 2}, {2 * gelu[0], 3 * gelu[1]})});
  check_fails(BiasSplitGelu{}, {t<float>({1, 1, 3}, {1, 2, 3}), t<float>({3}, {1, 2, 3})}, "has no halves");
  check_fails(BiasSplitGelu{}, {t<float>({1, 1, 2}, {1, 2}), t<float>({3}, {1, 2, 3})}, "last extents");
  CHECK(infer(BiasSplitGelu{}, {info(DType::float32, {Dim::symbol(1), 2, 8}), info(DType::float32, {8})})[0]
            .dims == Dims{Dim::symbol(1), 2, 4});
}

TEST_CASE("com.microsoft.GroupNorm: cases") {
  const Value x = t<float>({1, 1, 2, 4}, {1, 2, 3, 5, 8, 13, 21, 34}), gamma = t<float>({4}, {1, 2, 3, 4}),
              beta = t<float>({4}, {1, 0, -1, 2});
  const op::Transpose first{.perm = {0, 3, 1, 2}}, last{.perm = {0, 2, 3, 1}};
  const Value turned = run(first, {x})[0];
  const Value y = run(op::GroupNormalization{.num_groups = 2}, {turned, gamma, beta})[0];
  const Value silu = run(op::Swish{}, {y})[0];
  check(GroupNorm{.activation = 0, .channels_last = 0, .groups = 2}, {turned, gamma, beta}, {y}, 1e-5);
  check(GroupNorm{.activation = 0, .groups = 2}, {x, gamma, beta}, run(last, {y}), 1e-5);
  check(GroupNorm{.activation = 1, .groups = 2}, {x, gamma, beta}, run(last, {silu}), 1e-5);
  check_fails(GroupNorm{.activation = 2, .groups = 2}, {x, gamma, beta}, "activation: 2, expected 0 or 1");
  check_fails(GroupNorm{.activation = 0, .groups = 3}, {x, gamma, beta}, "4 channels do not divide into 3");
  check_fails(GroupNorm{.activation = 0, .groups = 2}, {x, t<float>({2}, {1, 2}), beta},
              "gamma: (2), expected (4)");
  check_fails(GroupNorm{.activation = 0, .groups = 2}, {gamma, gamma, beta}, "X: rank 1, expected 4");
}
}  // namespace tenon
