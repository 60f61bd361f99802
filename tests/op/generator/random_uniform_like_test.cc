#include "tenon/op/generator/random_uniform_like.hpp"

#include "tests/op/random.hpp"

namespace tenon {
using namespace test;
using R = op::RandomUniformLike;

TEST_CASE("RandomUniformLike: numbers") {
  const Value like = Tensor<float16>(Extents{100, 100});
  for (const R& op : {R{.high = 10, .low = 9, .seed = 2.0f}, R{.high = -2, .low = -8}})
    check_moments(run(op, {like})[0], DType::float16, (op.high + op.low) / 2,
                  (op.high - op.low) / std::sqrt(12));
  check(R{.seed = 0.0f}, {t<double>({2}, {0, 0})}, {t<double>({2}, {0.5488135039273248, 0.7151893663724195})},
        1e-15, 0);
  check(R{.seed = 0.5f}, {t<float>({2}, {0, 0})}, {t<float>({2}, {0.5488135f, 0.71518934f})}, 1e-7, 0);
  const auto y = apply<R{.high = 4, .low = 4}>(Tensor<float, Shape<3>>{1, 2, 3});
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<3>>>);
  CHECK(y(2) == 4);
}

TEST_CASE("RandomUniformLike: seeds, types, extents") { check_random_like<R>(); }

}  // namespace tenon
