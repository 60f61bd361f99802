#include "tenon/op/quantization/dynamic_quantize_linear.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("DynamicQuantizeLinear: cases") {
  const float nan = std::nanf(""), inf = INFINITY;
  struct Row {
    Value x, y;
    float scale;
    uint8_t zero;
  } rows[] = {
      {t<float>({6}, {0, 2, -3, -2.5f, 1.34f, 0.5f}), t<uint8_t>({6}, {153, 255, 0, 26, 221, 179}),
       5.0f / 255, 153},
      {t<float>({3}, {-1, -2.1f, -1.3f}), t<uint8_t>({3}, {134, 0, 97}), 2.1f / 255, 255},
      {t<float>({2, 2}, {1, 2.1f, 1.3f, 2.5f}), t<uint8_t>({2, 2}, {102, 214, 133, 255}), 2.5f / 255, 0},
      {t<float>({3}, {0, 0, -0.0f}), t<uint8_t>({3}, {0, 0, 0}), 1, 0},
      {t<float>({}, {255}), t<uint8_t>({}, {255}), 1, 0},
      {t<float>({0, 2}, {}), t<uint8_t>({0, 2}, {}), 1, 0},
      {t<float>({2}, {inf, 1}), t<uint8_t>({2}, {0, 0}), inf, 0},
      {t<float>({2}, {nan, 1}), t<uint8_t>({2}, {0, 0}), nan, 0},
  };
  for (const Row& row : rows)
    check(op::DynamicQuantizeLinear{}, {row.x},
          {row.y, t<float>({}, {row.scale}), t<uint8_t>({}, {row.zero})});
}

TEST_CASE("DynamicQuantizeLinear: a long tensor, symbols, typed") {
  Tensor<float> x(Extents{1000});
  for (int64_t k = 0; k < 1000; ++k) x[k] = static_cast<float>(k - 500) / 100;
  const std::vector<Value> out = run(op::DynamicQuantizeLinear{}, {x}, 3);
  const float scale = out[1].view<float>()[0];
  const int zero = out[2].view<uint8_t>()[0];
  for (int64_t k = 0; k < 1000; ++k) {
    const float back = static_cast<float>(out[0].view<uint8_t>()[k] - zero) * scale;
    CHECK(std::abs(back - x[k]) <= 0.51f * scale);
  }
  // The middle of two whole numbers, and numbers close to it.
  Tensor<float> halves(Extents{2043});
  for (int64_t k = 0; k < 511; ++k) {
    const float half = static_cast<float>(k) / 2;
    halves[4 * k] = half;
    halves[4 * k + 1] = std::nextafter(half, 255.0f);
    halves[4 * k + 2] = half / 3 * (1 + 1e-7f);
    if (k < 510) halves[4 * k + 3] = half - 1e-5f * static_cast<float>(k % 7);
  }
  halves[3] = halves[7] = 0;
  const std::vector<Value> rounded = run(op::DynamicQuantizeLinear{}, {halves}, 3);
  CHECK(rounded[1].view<float>()[0] == 1);
  CHECK(rounded[2].view<uint8_t>()[0] == 0);
  for (int64_t k = 0; k < halves.size(); ++k)
    CHECK(rounded[0].view<uint8_t>()[k] == static_cast<int>(std::nearbyint(halves[k])));
  // A NaN anywhere in what threads share.
  for (const int64_t at : {0, 20000, 49999}) {
    Tensor<float> longer(Extents{50000});
    for (int64_t k = 0; k < longer.size(); ++k) longer[k] = static_cast<float>(k % 7);
    longer[at] = std::nanf("");
    CHECK(std::isnan(run(op::DynamicQuantizeLinear{}, {longer}, 3)[1].view<float>()[0]));
  }
  const auto n = Dim::symbol(1);
  const auto infos = infer(op::DynamicQuantizeLinear{}, {info(DType::float32, {n})}, 3);
  CHECK(infos[0].dims == Dims{n});
  CHECK(infos[1].dims == Dims::of_rank(0));
  CHECK(infos[2].type == Type(DType::uint8));
  const auto [y, s, z] = op::DynamicQuantizeLinear{}(Tensor<float, Shape<2>>{0, 255});
  CHECK(y(1) == 255);
  CHECK(s.item() == 1);
  CHECK(z.item() == 0);
  check_fails(op::DynamicQuantizeLinear{}, {t<double>({1}, {1})}, "x cannot be tensor(double)");
}
}  // namespace tenon
