#include "tenon/op/nn/lrn.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("LRN: cases") {
  const float nan = std::nanf("");
  const Value x = t<float>({1, 4, 2}, {1, -1, 2, 0, 3, 1, -4, 2});
  struct Row {
    op::LRN op;
    Value in, out;
  } rows[] = {
      // With alpha = size, beta = 1 and bias = 0 the divisor is the plain sum of squares.
      {{.alpha = 1, .beta = 1, .bias = 0, .size = 1},
       t<float>({1, 2, 1}, {2, 4}),
       t<float>({1, 2, 1}, {0.5f, 0.25f})},
      {{.alpha = 3, .beta = 1, .bias = 0, .size = 3},
       x,
       t<float>({1, 4, 2}, {1 / 5.0f, -1, 2 / 14.0f, 0, 3 / 29.0f, 1 / 5.0f, -4 / 25.0f, 2 / 5.0f})},
      // An even size reaches one channel further up than down.
      {{.alpha = 2, .beta = 1, .bias = 0, .size = 2},
       x,
       t<float>({1, 4, 2}, {1 / 5.0f, -1, 2 / 13.0f, 0, 3 / 25.0f, 1 / 5.0f, -4 / 16.0f, 2 / 4.0f})},
      {{.alpha = 5, .beta = 0.5f, .bias = 4, .size = 5},
       t<float>({1, 1}, {3}),
       t<float>({1, 1}, {3 / std::sqrt(13.0f)})},
      {{.alpha = 2, .beta = 1, .bias = 1, .size = INT64_MAX},
       t<float>({1, 2}, {3, 4}),
       t<float>({1, 2}, {3, 4})},
      {{.size = 3}, t<float>({1, 2}, {nan, 1}), t<float>({1, 2}, {nan, nan})},
      {{.size = 3}, t<float>({2, 0, 3}, {}), t<float>({2, 0, 3}, {})},
      {{.size = 3}, t<double>({1, 1}, {0}), t<double>({1, 1}, {0})},
  };
  for (const Row& row : rows) check(row.op, {row.in}, {row.out});
  check(op::LRN{.size = 3}, {t<double>({1, 1}, {1})}, {t<double>({1, 1}, {0.999975000729144})});
  check(op::LRN{.size = 3}, {t<float>({1, 1}, {1})}, {t<float>({1, 1}, {0.999975f})}, 1e-6, 0, 1);
  const op::LRN half{.alpha = 1, .beta = 1, .bias = 0, .size = 1};
  check(half, {cast<float16>({1, 2}, {2, 4})}, {cast<float16>({1, 2}, {0.5, 0.25})});
  check(half, {cast<bfloat16>({1, 2}, {2, 4})}, {cast<bfloat16>({1, 2}, {0.5, 0.25})});
}

TEST_CASE("LRN: wide windows") {
  constexpr int64_t channels = 100, spatial = 3;
  Tensor<double> x(Extents{1, channels, spatial});
  for (int64_t k = 0; k < x.size(); ++k) x[k] = static_cast<double>(k * 7 % 23) - 11;
  for (int64_t size : {32, 33, 34, 49, 50, 51, 99, 100, 101, 150, 199, 200, 1000}) {
    CAPTURE(size);
    Tensor<double> y(Extents{1, channels, spatial});
    for (int64_t k = 0; k < y.size(); ++k) {
      double sum = 0;
      for (int64_t c = 0; c < channels; ++c)
        if (c - k / spatial >= -((size - 1) / 2) && c - k / spatial <= size / 2)
          sum += x[c * spatial + k % spatial] * x[c * spatial + k % spatial];
      y[k] = x[k] / std::sqrt(1 + 2 * sum / static_cast<double>(size));
    }
    check(op::LRN{.alpha = 2, .beta = 0.5f, .size = size}, {x.clone()}, {std::move(y)}, 1e-12);
  }
  // The time does not grow with the size.
  Tensor<float> ones(Extents{1, 1 << 20});
  std::fill(ones.begin(), ones.end(), 1.0f);
  const Value out = run(op::LRN{.alpha = 2, .beta = 1, .bias = 0, .size = 1 << 20}, {std::move(ones)})[0];
  CHECK(out.view<float>()[1 << 19] == doctest::Approx(0.5));
}

TEST_CASE("LRN: errors and symbols") {
  check_fails(op::LRN{.size = 0}, {t<float>({1, 1}, {1})}, "size: 0, expected at least 1");
  check_fails(op::LRN{}, {t<float>({1, 1}, {1})}, "size: 0, expected at least 1");
  check_fails(op::LRN{.size = 3}, {t<float>({1}, {1})}, "X: rank 1, expected at least 2");
  check_fails(op::LRN{.size = 3}, {cast<bfloat16>({1, 1}, {1})}, "input X cannot be tensor(bfloat16)", 1, 1);
  const auto n = Dim::symbol(1);
  CHECK(infer(op::LRN{.size = 3}, {info(DType::float32, {n, 3, n})})[0].dims == Dims{n, 3, n});
}

TEST_CASE("LRN: typed") {
  Tensor<float, Shape<1, 2>> x{{2, 4}};
  const auto y = apply<op::LRN{.alpha = 1, .beta = 1, .bias = 0, .size = 1}>(x);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 2>>>);
  CHECK(y(0, 1) == 0.25f);
}
}  // namespace tenon
