#include "tenon/op/com.microsoft/grid_sample.hpp"

#include <algorithm>
#include <cmath>

#include "tenon/op/com.microsoft/inverse.hpp"
#include "tenon/op/com.microsoft/trilu.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;
using namespace op::com_microsoft;

TEST_CASE("com.microsoft.GridSample, Inverse, Trilu: results of ONNX Runtime") {
  check_recorded("com.microsoft/exported.txt", {&operator_class<GridSample>, &operator_class<Inverse>,
                                                &operator_class<op::com_microsoft::Trilu>});
}

TEST_CASE("com.microsoft.Inverse: types, singular matrices, nothing, symbols") {
  check(Inverse{}, {t<double>({2, 2}, {1, 2, 3, 4})}, {t<double>({2, 2}, {-2, 1, 1.5, -0.5})}, 1e-12);
  check(Inverse{}, {cast<float16>({2, 2}, {2, 0, 0, 4})}, {cast<float16>({2, 2}, {0.5, 0, 0, 0.25})});
  const Value singular = run(Inverse{}, {t<float>({2, 2}, {1, 2, 2, 4})})[0];
  for (int k = 0; k < 4; ++k) CHECK_FALSE(std::isfinite(singular.view<float>()[k]));
  check(Inverse{}, {t<float>({0, 2, 2}, {})}, {t<float>({0, 2, 2}, {})});
  check(Inverse{}, {t<float>({3, 0, 0}, {})}, {t<float>({3, 0, 0}, {})});
  // More matrices than one thread takes.
  constexpr int64_t count = 50'000;
  Tensor<float> x(Extents{count, 2, 2});
  for (int64_t k = 0; k < count; ++k) {
    const auto a = static_cast<float>(k % 7 + 1), b = static_cast<float>(k % 5);
    const float m[] = {1, b, 0, 1 / a};
    std::copy_n(m, 4, x.data() + 4 * k);
  }
  const Value y = run(Inverse{}, {x})[0];
  bool right = true;
  for (int64_t k = 0; k < count; ++k) {
    const float a = static_cast<float>(k % 7 + 1), b = static_cast<float>(k % 5),
                *m = y.view<float>().data() + 4 * k;
    right = right && m[0] == 1 && m[2] == 0 && std::abs(m[1] + a * b) < 1e-4f && std::abs(m[3] - a) < 1e-5f;
  }
  CHECK(right);
  check_fails(Inverse{}, {t<float>({2, 3}, {1, 2, 3, 4, 5, 6})}, "rows and columns differ: 2 and 3");
  check_fails(Inverse{}, {t<float>({2}, {1, 2})}, "X: rank 1, expected at least 2");
  check_fails(Inverse{}, {t<int32_t>({1, 1}, {1})}, "X cannot be tensor(int32)");
  const auto n = Dim::symbol(1);
  CHECK(infer(Inverse{}, {info(DType::float32, {n, 3, Dim()})})[0].dims == Dims{n, 3, 3});
}

TEST_CASE("com.microsoft.GridSample, Trilu: what they refuse, symbols") {
  using op::com_microsoft::Trilu;
  const Value x = t<float>({1, 1, 2, 2}, {1, 2, 3, 4}), grid = t<float>({1, 1, 1, 2}, {0, 0});
  check(GridSample{}, {x, grid}, {t<float>({1, 1, 1, 1}, {2.5})});
  check_fails(GridSample{.mode = "linear"}, {x, grid}, "mode: 'linear', expected bilinear");
  check_fails(GridSample{.padding_mode = "wrap"}, {x, grid}, "padding_mode: 'wrap'");
  check_fails(GridSample{}, {t<float>({1, 1, 1, 2, 2}, {1, 2, 3, 4}), grid}, "X: rank 5, expected 4");
  check_fails(Trilu{}, {t<float>({2}, {1, 2})}, "rank 1, expected at least 2");
  check_fails(Trilu{.upper = 2}, {x}, "upper");
  const auto n = Dim::symbol(1);
  CHECK(infer(Trilu{}, {info(DType::float32, {n, 3})})[0].dims == Dims{n, 3});
  CHECK(
      infer(GridSample{}, {info(DType::float32, {n, 3, 8, 8}), info(DType::float32, {n, 4, 5, 2})})[0].dims ==
      Dims{n, 3, 4, 5});
}
}  // namespace tenon
