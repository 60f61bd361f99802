#include "tenon/op/generator/random_normal_like.hpp"

#include "tests/op/random.hpp"

namespace tenon {
using namespace test;
using R = op::RandomNormalLike;

TEST_CASE("RandomNormalLike: numbers") {
  const Value like = Tensor<float16>(Extents{100, 100});
  for (const R& op : {R{.mean = 10, .scale = 0.5f, .seed = 2.0f}, R{.mean = -2, .scale = 3}})
    check_moments(run(op, {like})[0], DType::float16, op.mean, op.scale);
  const auto y = apply<R{.mean = 4, .scale = 0}>(Tensor<float, Shape<3>>{1, 2, 3});
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<3>>>);
  CHECK(y(2) == 4);
}

TEST_CASE("RandomNormalLike: a seed's numbers are numpy's") {
  const Value f = Tensor<float>(Extents{5}), d = Tensor<double>(Extents{5});
  const Value zero = t<double>({5}, {1.764052345967664, 0.4001572083672233, 0.9787379841057392,
                                     2.240893199201458, 1.8675579901499675});
  for (float seed : {0.0f, 0.9f, -0.5f}) check(R{.seed = seed}, {d}, {zero}, 1e-15, 0);
  check(R{.seed = 42.0f}, {f}, {t<float>({5}, {0.49671414, -0.1382643, 0.64768857, 1.5230298, -0.23415338})},
        1e-7, 0);
  // Rounded after each of three steps: a tie in the last, where one rounding alone gives 1.1767578125.
  check(R{.mean = 1, .scale = 0.1f, .seed = 0.0f}, {cast<float16>({2}, {0, 0})},
        {cast<float16>({2}, {1.17578125, 1.0400390625})}, 0, 0);
}

TEST_CASE("RandomNormalLike: seeds, types, extents") { check_random_like<R>(); }

}  // namespace tenon
