#include "tenon/op/math/swi_glu.hpp"

#include <cmath>

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("SwiGLU: types, alpha, NaN, many elements") {
  const auto y = [](double a, double b, double alpha) { return a / (1 + std::exp(-alpha * a)) * b; };
  for (DType d : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    const double rtol = d == DType::bfloat16 ? 1e-2 : d == DType::float16 ? 1e-3 : 1e-5;
    check(op::SwiGLU{}, {cast(d, {2, 2}, {0, 1, -2, 20}), cast(d, {2, 2}, {5, 2, 3, -1})},
          {cast(d, {2, 2}, {0, y(1, 2, 1), y(-2, 3, 1), y(20, -1, 1)})}, rtol);
    check(op::SwiGLU{.alpha = 0.5f}, {cast(d, {2}, {1, -2}), cast(d, {2}, {2, 3})},
          {cast(d, {2}, {y(1, 2, 0.5), y(-2, 3, 0.5)})}, rtol);
    check(op::SwiGLU{}, {cast(d, {3}, {NAN, 1, INFINITY}), cast(d, {3}, {1, NAN, -2})},
          {cast(d, {3}, {NAN, NAN, -INFINITY})});
    check(op::SwiGLU{}, {cast(d, {}, {1}), cast(d, {}, {2})}, {cast(d, {}, {y(1, 2, 1)})}, rtol);
    check(op::SwiGLU{}, {cast(d, {0, 3}, {}), cast(d, {0, 3}, {})}, {cast(d, {0, 3}, {})});
  }
  Tensor<float> a({3, 7000}), b({3, 7000}), c({3, 7000});
  for (int64_t k = 0; k < a.size(); ++k) {
    a[k] = static_cast<float>(k % 101) / 10 - 5, b[k] = static_cast<float>(k % 7) - 3;
    c[k] = static_cast<float>(y(a[k], b[k], 1));
  }
  const Value expected = c.clone();
  check(op::SwiGLU{}, {a.clone(), b.clone()}, {expected}, 1e-5);
  // Either operand's memory may become the result's.
  Tensor<float> in_a = a.clone(), in_b = b.clone();
  op::SwiGLU{}.compute<float>(in_a, b, in_a);
  op::SwiGLU{}.compute<float>(a, in_b, in_b);
  check_equal(std::move(in_a), expected, 1e-5);
  check_equal(std::move(in_b), expected, 1e-5);
}

TEST_CASE("SwiGLU: errors, symbols, a typed call") {
  check_fails(op::SwiGLU{}, {t<float>({2}, {1, 2}), t<float>({1}, {1})}, "extents differ: 2 and 1");
  check_fails(op::SwiGLU{}, {t<float>({2}, {1, 2}), t<float>({1, 2}, {1, 2})}, "extents differ");
  check_fails(op::SwiGLU{}, {t<int32_t>({1}, {1}), t<int32_t>({1}, {1})}, "A cannot be tensor(int32)");
  const auto s = Dim::symbol(1);
  const auto out = infer(op::SwiGLU{}, {info(DType::float32, {s, Dim()}), info(DType::float32, {Dim(), 4})});
  CHECK(out[0].dims == Dims{s, 4});
  const auto one = op::SwiGLU{}(1.0f, 2.0f);
  CHECK(one[0] == doctest::Approx(1.46212));
}
}  // namespace tenon
