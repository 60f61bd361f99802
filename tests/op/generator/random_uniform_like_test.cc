#include "tenon/op/generator/random_uniform_like.hpp"

#include "tests/op/moments.hpp"

namespace tenon {
using namespace test;
using R = op::RandomUniformLike;

TEST_CASE("RandomUniformLike: types and range") {
  const struct {
    R op;
    Value like;
    DType type;
  } rows[] = {
      {{.seed = 1.0f}, Tensor<float>(Extents{100, 100}), DType::float32},
      {{.high = 10, .low = 9, .seed = 2.0f}, Tensor<double>(Extents{100, 100}), DType::float64},
      {{.high = -2, .low = -8}, Tensor<float16>(Extents{10000}), DType::float16},
      {{.high = 2}, Tensor<bfloat16>(Extents{100, 1, 100}), DType::bfloat16},
      {{.dtype = 1}, Tensor<int64_t>(Extents{10000}), DType::float32},
      {{.dtype = 10}, Tensor<bool>(Extents{10000}), DType::float16},
      {{.dtype = 11}, Tensor<std::string>(Extents{10000}), DType::float64},
  };
  for (const auto& row : rows) {
    const Value out = run(row.op, {row.like})[0];
    CHECK(out.type() == Type(row.type));
    CHECK(out.tensor().extents() == row.like.tensor().extents());
    const auto [mean, deviation] = moments(out);
    const double span = row.op.high - row.op.low;
    CHECK(std::abs(mean - (row.op.high + row.op.low) / 2) <= 0.02 * span);
    CHECK(std::abs(deviation - span / std::sqrt(12)) <= 0.02 * span);
  }
}

TEST_CASE("RandomUniformLike: seeds, edges, refused, symbols, typed") {
  const Value d = Tensor<double>(Extents{2}), f = Tensor<float>(Extents{2});
  check(R{.seed = 0.0f}, {d}, {t<double>({2}, {0.5488135039273248, 0.7151893663724195})}, 1e-15, 0);
  check(R{.seed = 0.5f}, {f}, {t<float>({2}, {0.5488135f, 0.71518934f})}, 1e-7, 0);
  for (float seed : {-1.0f, 0x1p32f, INFINITY}) check(R{.seed = seed}, {f}, run(R{.seed = seed}, {f}), 0, 0);
  CHECK(run(R{.seed = NAN}, {f})[0].view<float>()[0] != run(R{.seed = NAN}, {f})[0].view<float>()[0]);
  CHECK(run(R{}, {t<float>({}, {0})})[0].tensor().rank() == 0);
  CHECK(run(R{}, {t<float>({0, 2}, {})})[0].tensor().size() == 0);
  check_fails(R{}, {t<int32_t>({1}, {1})}, "output cannot be tensor(int32)");
  check_fails(R{.dtype = 16}, {t<float>({1}, {1})}, "output cannot be tensor(bfloat16)", 1, 1);
  check_fails(R{.dtype = 99}, {t<float>({1}, {1})}, "'dtype' is 99, which is no type");
  check_fails(R{.dtype = 1}, {cast<bfloat16>({1}, {1})}, "input cannot be tensor(bfloat16)", 1, 1);
  const auto n = Dim::symbol(1);
  CHECK(infer(R{.dtype = 11}, {info(DType::int8, {n, 3})})[0].dims == Dims{n, 3});
  auto y = apply<R{.high = 4, .low = 4}>(Tensor<float, Shape<3>>{1, 2, 3});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<3>>>);
  CHECK(y(2) == 4);
}
}  // namespace tenon
