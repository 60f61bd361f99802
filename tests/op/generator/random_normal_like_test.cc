#include "tenon/op/generator/random_normal_like.hpp"

#include "tests/op/moments.hpp"

namespace tenon {
using namespace test;

TEST_CASE("RandomNormalLike: types, mean and scale") {
  const struct {
    op::RandomNormalLike op;
    Value like;
    DType type;
  } rows[] = {
      {{.seed = 1.0f}, Tensor<float>(Extents{100, 100}), DType::float32},
      {{.mean = 10, .scale = 0.5f, .seed = 2.0f}, Tensor<double>(Extents{100, 100}), DType::float64},
      {{.mean = -2, .scale = 3}, Tensor<float16>(Extents{10000}), DType::float16},
      {{.scale = 2}, Tensor<bfloat16>(Extents{100, 1, 100}), DType::bfloat16},
      {{.dtype = 1, .mean = 1}, Tensor<int64_t>(Extents{10000}), DType::float32},
      {{.dtype = 10}, Tensor<bool>(Extents{10000}), DType::float16},
      {{.dtype = 11, .scale = 0}, Tensor<std::string>(Extents{100}), DType::float64},
  };
  for (const auto& row : rows) {
    const Value out = run(row.op, {row.like})[0];
    CHECK(out.type() == Type(row.type));
    CHECK(out.tensor().extents() == row.like.tensor().extents());
    const auto [mean, deviation] = moments(out);
    CHECK(std::abs(mean - row.op.mean) <= 0.06 * row.op.scale);
    CHECK(std::abs(deviation - row.op.scale) <= 0.05 * row.op.scale);
  }
}

TEST_CASE("RandomNormalLike: a seed repeats, no seed does not") {
  const Value like = Tensor<float>(Extents{7});
  const op::RandomNormalLike seeded{.seed = 5.0f}, other{.seed = 6.0f}, free{};
  const Value first = run(seeded, {like})[0];
  check(seeded, {like}, {first}, 0, 0);
  const auto differ = [](const Value& a, const Value& b) {
    return !std::equal(a.view<float>().begin(), a.view<float>().end(), b.view<float>().begin());
  };
  CHECK(differ(first, run(other, {like})[0]));
  CHECK(differ(run(free, {like})[0], run(free, {like})[0]));
  CHECK_FALSE(op::RandomNormalLike::spec.deterministic);
}

TEST_CASE("RandomNormalLike: a seed's numbers are numpy's") {
  using R = op::RandomNormalLike;
  const Value f = Tensor<float>(Extents{5}), d = Tensor<double>(Extents{5});
  const Value zero = t<double>({5}, {1.764052345967664, 0.4001572083672233, 0.9787379841057392,
                                     2.240893199201458, 1.8675579901499675});
  check(R{.seed = 0.0f}, {d}, {zero}, 1e-15, 0);
  check(R{.seed = 0.9f}, {d}, {zero}, 1e-15, 0);
  check(R{.seed = -0.5f}, {d}, {zero}, 1e-15, 0);
  check(R{.seed = 42.0f}, {f}, {t<float>({5}, {0.49671414, -0.1382643, 0.64768857, 1.5230298, -0.23415338})},
        1e-7, 0);
  // Rounded after each of three steps: a tie in the last, where one rounding alone gives 1.1767578125.
  check(R{.mean = 1, .scale = 0.1f, .seed = 0.0f}, {cast<float16>({2}, {0, 0})},
        {cast<float16>({2}, {1.17578125, 1.0400390625})}, 0, 0);
  // Beyond what numpy takes a seed still repeats.
  for (float seed : {-1.0f, 0x1p32f, -INFINITY, INFINITY}) {
    const R op{.seed = seed};
    check(op, {f}, run(op, {f}), 0, 0);
  }
  CHECK(run(R{.seed = NAN}, {f})[0].view<float>()[0] != run(R{.seed = NAN}, {f})[0].view<float>()[0]);
}

TEST_CASE("RandomNormalLike: edges, refused, symbols, typed") {
  CHECK(run(op::RandomNormalLike{}, {t<float>({}, {0})})[0].tensor().rank() == 0);
  CHECK(run(op::RandomNormalLike{}, {t<float>({0, 2}, {})})[0].tensor().size() == 0);
  check_fails(op::RandomNormalLike{}, {t<int32_t>({1}, {1})}, "output cannot be tensor(int32)");
  check_fails(op::RandomNormalLike{.dtype = 6}, {t<float>({1}, {1})}, "output cannot be tensor(int32)");
  check_fails(op::RandomNormalLike{.dtype = 16}, {t<float>({1}, {1})}, "output cannot be tensor(bfloat16)", 1,
              1);
  check_fails(op::RandomNormalLike{.dtype = 99}, {t<float>({1}, {1})}, "'dtype' is 99, which is no type");
  check_fails(op::RandomNormalLike{.dtype = 1}, {cast<bfloat16>({1}, {1})},
              "input cannot be tensor(bfloat16)", 1, 1);
  const auto n = Dim::symbol(1);
  const auto out = infer(op::RandomNormalLike{.dtype = 11}, {info(DType::int8, {n, 3})});
  CHECK(out[0].dims == Dims{n, 3});
  CHECK(out[0].type == Type(DType::float64));
  auto y = apply<op::RandomNormalLike{.mean = 4, .scale = 0}>(Tensor<float, Shape<3>>{1, 2, 3});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<3>>>);
  CHECK(y(2) == 4);
}
}  // namespace tenon
