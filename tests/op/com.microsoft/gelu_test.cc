#include "tenon/op/com.microsoft/gelu.hpp"

#include "tenon/op/com.microsoft/bias_gelu.hpp"
#include "tenon/op/com.microsoft/fast_gelu.hpp"
#include "tenon/op/com.microsoft/quick_gelu.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;
using namespace op::com_microsoft;

TEST_CASE("com.microsoft.Gelu, FastGelu, BiasGelu, QuickGelu: results of ONNX Runtime") {
  check_recorded("com.microsoft/gelu.txt", {&operator_class<Gelu>, &operator_class<FastGelu>,
                                            &operator_class<BiasGelu>, &operator_class<QuickGelu>});
}

TEST_CASE("com.microsoft.Gelu, FastGelu, BiasGelu, QuickGelu: cases") {
  const Value x = t<float>({2}, {0.5, -1}), b = t<float>({2}, {1, 2});
  check(Gelu{}, {x}, {t<float>({2}, {0.34573123063700656f, -0.15865525393145707f})});
  check(FastGelu{}, {x}, {t<float>({2}, {0.34571400982514394f, -0.15880800939172324f})});
  check(QuickGelu{.alpha = 0}, {x}, {t<float>({2}, {0.25f, -0.5f})});
  check(BiasGelu{}, {x, b}, run(op::Gelu{}, {t<float>({2}, {1.5f, 1})}));
  check(FastGelu{}, {x, b}, run(op::Gelu{.approximate = "tanh"}, {t<float>({2}, {1.5f, 1})}));
  check_fails(BiasGelu{}, {x, t<float>({3}, {1, 2, 3})}, "B: (3), expected (2)");
  check_fails(BiasGelu{}, {x, t<float>({1, 2}, {1, 2})}, "B: rank 2, expected 1");
  check_fails(FastGelu{}, {t<float>({}, {1}), b}, "X: rank 0, expected at least 1");
  CHECK(infer(FastGelu{}, {info(DType::float32, {2, Dim::symbol(1)}), info(DType::float32, {3})})[0].dims ==
        Dims{2, Dim::symbol(1)});
}

TEST_CASE("com.microsoft.Gelu, FastGelu, BiasGelu, QuickGelu: typed") {
  const Value y = Gelu{}(Tensor<float, Shape<2>>{-1, 0.5f});
  CHECK(y.view<float>()[1] == doctest::Approx(0.34573123063700656));
}
}  // namespace tenon
