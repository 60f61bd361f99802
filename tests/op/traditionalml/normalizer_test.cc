#include "tenon/op/traditionalml/normalizer.hpp"

#include <cmath>

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Normalizer: cases") {
  const float nan = std::nanf("");
  struct Row {
    const char* norm;
    Value x, y;
  } rows[] = {
      {"MAX", t<float>({2, 3}, {-4, 1, 2, 0, 0, 0}), t<float>({2, 3}, {-2, 0.5f, 1, 0, 0, 0})},
      {"MAX", t<float>({1, 2}, {-4, -2}), t<float>({1, 2}, {2, 1})},
      {"MAX", t<float>({1, 2}, {-4, 0}), t<float>({1, 2}, {-4, 0})},
      {"L1", t<float>({2, 2}, {-1, 3, 0, 0}), t<float>({2, 2}, {-0.25f, 0.75f, 0, 0})},
      {"L2", t<float>({2, 2}, {-3, 4, 0, 0}), t<float>({2, 2}, {-0.6f, 0.8f, 0, 0})},
      {"L2", t<double>({2}, {3e200, 4e200}), t<float>({2}, {0.6f, 0.8f})},
      {"L1", t<double>({2}, {1e308, 1e308}), t<float>({2}, {0.5f, 0.5f})},
      {"L1", t<int32_t>({1, 2}, {INT32_MIN, INT32_MIN}), t<float>({1, 2}, {-0.5f, -0.5f})},
      {"MAX", t<int64_t>({3}, {1, 2, 4}), t<float>({3}, {0.25f, 0.5f, 1})},
      {"L2", t<int64_t>({2}, {3, 4}), t<float>({2}, {0.6f, 0.8f})},
      {"MAX", t<float>({2, 2}, {nan, 1, 1, 2}), t<float>({2, 2}, {nan, nan, 0.5f, 1})},
      {"L1", t<float>({2}, {1, nan}), t<float>({2}, {nan, nan})},
      {"L2", t<float>({0, 3}, {}), t<float>({0, 3}, {})},
      {"L2", t<float>({3, 0}, {}), t<float>({3, 0}, {})},
  };
  for (const Row& row : rows) check(op::Normalizer{.norm = row.norm}, {row.x}, {row.y});
  check(op::Normalizer{}, {t<float>({2}, {1, 2})}, {t<float>({2}, {0.5f, 1})});
  check_fails(op::Normalizer{.norm = "L3"}, {t<float>({1}, {1})}, "norm: 'L3', expected MAX, L1 or L2");
  check_fails(op::Normalizer{}, {t<float>({}, {1})}, "X: rank 0, expected 1 or 2");
  check_fails(op::Normalizer{}, {t<float>({1, 1, 1}, {1})}, "X: rank 3, expected 1 or 2");
}

TEST_CASE("Normalizer: symbols, typed") {
  const Dims d{Dim::symbol(1), 3};
  const auto out = infer(op::Normalizer{}, {info(DType::int64, d)});
  CHECK(out[0].dims == d);
  CHECK(out[0].type == Type(DType::float32));
  const Tensor<float, Shape<2>> y = apply<op::Normalizer{.norm = "L1"}>(Tensor<double, Shape<2>>{1, 3});
  CHECK(y(1) == 0.75f);
}
}  // namespace tenon
