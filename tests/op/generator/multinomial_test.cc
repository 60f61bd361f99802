#include "tenon/op/generator/multinomial.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using M = op::Multinomial;

TEST_CASE("Multinomial: types and frequencies") {
  // Log-probabilities up to a constant: the second row states 0, 1/8, 3/8, 1/2, far from 0.
  const double ln2 = std::log(2.0), ln3 = std::log(3.0);
  const double expected[2][4] = {{0.25, 0.25, 0.25, 0.25}, {0, 0.125, 0.375, 0.5}};
  for (DType d : {DType::float16, DType::float32, DType::float64, DType::bfloat16})
    for (const M& op : {M{.sample_size = 20001, .seed = 5.0f}, M{.dtype = 7, .sample_size = 20001}}) {
      const Value x = cast(d, {2, 4}, {-9, -9, -9, -9, -INFINITY, 8, 8 + ln3, 8 + 2 * ln2});
      const Value out = run(op, {x})[0];
      CHECK(out.type() == Type(dtype_from_onnx(op.dtype)));
      CHECK(Dims(out.tensor().extents()) == Dims{2, 20001});
      double counts[2][4]{};
      for (int64_t k = 0; k < 2 * 20001; ++k) {
        const auto c = static_cast<int64_t>(as_double(out.tensor().view(), k));
        REQUIRE((c >= 0 && c < 4));
        counts[k / 20001][c] += 1.0 / 20001;
      }
      const double tolerance = d == DType::bfloat16 ? 0.04 : 0.015;  // of the rounded log-probabilities
      for (int r = 0; r < 2; ++r)
        for (int c = 0; c < 4; ++c) CHECK(std::abs(counts[r][c] - expected[r][c]) <= tolerance);
      CHECK(counts[1][0] == 0);
    }
}

TEST_CASE("Multinomial: seeds") {
  const Value x = t<float>({3, 5}, {1, 2, 3, 4, 5, 1, 1, 1, 1, 1, 5, 4, 3, 2, 1});
  const M op{.sample_size = 40, .seed = 2.0f}, other{.sample_size = 40, .seed = 3.0f},
      free{.sample_size = 40};
  const Value first = run(op, {x})[0];
  for (int version : {7, 22}) check(op, {x}, {first}, 0, 0, version);
  const auto differ = [](const Value& a, const Value& b) {
    return !std::equal(a.view<int32_t>().begin(), a.view<int32_t>().end(), b.view<int32_t>().begin());
  };
  CHECK(differ(first, run(other, {x})[0]));
  CHECK(differ(run(free, {x})[0], run(free, {x})[0]));
  CHECK_FALSE(M::spec.deterministic);
}

TEST_CASE("Multinomial: edges, refused, symbols, typed") {
  check(M{.sample_size = 3}, {t<float>({1, 1}, {-70000})}, {t<int32_t>({1, 3}, {0, 0, 0})}, 0, 0);
  check(M{.sample_size = 0}, {t<float>({2, 0}, {})}, {t<int32_t>({2, 0}, {})}, 0, 0);
  check(M{}, {t<float>({0, 3}, {})}, {t<int32_t>({0, 1}, {})}, 0, 0);
  for (float wrong : {NAN, INFINITY})
    check_fails(M{}, {t<float>({2, 2}, {0, 0, 0, wrong})}, "holds no probabilities");
  check_fails(M{}, {t<float>({1, 2}, {-INFINITY, -INFINITY})}, "holds no probabilities");
  check_fails(M{}, {t<float>({1, 0}, {})}, "holds no probabilities");
  check_fails(M{}, {t<float>({2}, {1, 2})}, "input: rank 1, expected 2");
  check_fails(M{.sample_size = -1}, {t<float>({1, 1}, {1})}, "sample_size: -1, expected at least 0");
  check_fails(M{.dtype = 1}, {t<float>({1, 1}, {1})}, "output cannot be tensor(float)");
  check_fails(M{}, {cast<bfloat16>({1, 1}, {1})}, "input cannot be tensor(bfloat16)", 1, 7);
  const auto n = Dim::symbol(1);
  CHECK(infer(M{.sample_size = 4}, {info(DType::float32, {n, 3})})[0].dims == Dims{n, 4});
  CHECK(infer(M{.dtype = 7}, {info(DType::float32, Dims())})[0].dims == Dims{Dim(), 1});
  const auto y = apply<M{.sample_size = 2}>(Tensor<float, Shape<1, 2>>{{0, -INFINITY}});
  CHECK((y.extents()[1] == 2 && y.view()[1] == 0));
}
}  // namespace tenon
