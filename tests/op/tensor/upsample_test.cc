#include "tenon/op/tensor/upsample.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Upsample: cases") {
  const Value x = t<float>({1, 1, 2, 2}, {1, 2, 3, 4}), scales = t<float>({4}, {1, 1, 1, 2});
  const Value nearest = t<float>({1, 1, 2, 4}, {1, 1, 2, 2, 3, 3, 4, 4}),
              linear = t<float>({1, 1, 2, 4}, {1, 1.5f, 2, 2, 3, 3.5f, 4, 4});
  for (int version : {9, 10}) {
    check(op::Upsample{}, {x, scales}, {nearest}, 0, 0, version);
    check(op::Upsample{.mode = "linear"}, {x, scales}, {linear}, 1e-6, 0, version);
  }
  check(stated<op::Upsample>(9), {x, scales}, {nearest});
  const std::vector<float> list{1, 1, 1, 2};
  check(stated<op::Upsample_7>(7, {{"scales", list}}), {x}, {nearest});
  check(stated<op::Upsample_7>(7, {{"scales", list}, {"mode", std::string("linear")}}), {x}, {linear});
  const auto stated_1 = [](const char* mode) {
    return stated<op::Upsample_1>(1,
                                  {{"height_scale", 1.f}, {"width_scale", 2.f}, {"mode", std::string(mode)}});
  };
  check(stated_1("nearest"), {x}, {nearest});
  check(stated_1("bilinear"), {x}, {linear});
  check(op::Upsample{}, {t<int32_t>({2}, {1, 2}), t<float>({1}, {1.5f})}, {t<int32_t>({3}, {1, 1, 2})});
  // The float 1.3 is less than 1.3: 10 * 1.3 is 13 only when rounded to a float.
  CHECK(run(op::Upsample{}, {Tensor<float>(Extents{10}), t<float>({1}, {1.3f})})[0].tensor().extents()[0] ==
        12);
  for_types(op::Upsample::spec.types[0], [&](DType d) {
    const Value v = pattern(d, {3, 2});
    check_moved(run(op::Upsample{}, {v, t<float>({2}, {2, 1})})[0].tensor(), v.tensor(), {6, 2},
                [](const Extents& i) { return i[0] / 2 * 2 + i[1]; });
  });
}

TEST_CASE("Upsample: errors, symbols, typed") {
  const Value x = t<float>({1, 1, 1, 2}, {1, 2}), scales = t<float>({4}, {1, 1, 1, 0.5f});
  check_fails(op::Upsample{}, {x, scales}, "a scale is below 1");
  check_fails(op::Upsample{}, {x, t<float>({1}, {1})}, "1 scales for a rank of 4");
  check_fails(op::Upsample{.mode = "cubic"}, {x, scales}, "mode: 'cubic', expected nearest or linear");
  check_fails(op::Upsample{.mode = "linear"}, {t<std::string>({1}, {"a"}), t<float>({1}, {1})},
              "strings have no");
  check_fails(op::Upsample_7{.scales = {1, 1}}, {x}, "2 scales for a rank of 4");
  check_fails(op::Upsample_1{.height_scale = 1.f}, {x}, "a scale is below 1");
  check_fails(op::Upsample_1{.height_scale = 1.f, .width_scale = 1.f}, {t<float>({1}, {1})},
              "X: rank 1, expected 4");
  Registry registry;
  registry.add<op::Upsample>();
  CHECK(registry.find("", "Upsample", 9).version == 9);
  CHECK(registry.find("", "Upsample", 10).op_class == nullptr);
  const auto n = Dim::symbol(1);
  CHECK(infer(op::Upsample_7{.scales = {1, 2}}, {info(DType::float32, {n, 3})})[0].dims == Dims{n, 6});
  CHECK(infer(op::Upsample{}, {info(DType::float32, {n, 3}), info(DType::float32, {2})})[0].dims ==
        Dims::of_rank(2));
  CHECK(op::Upsample{}(Tensor<float, Shape<2>>{1, 2}, Tensor<float, Shape<1>>{2})[1] == 1);
}
}  // namespace tenon
