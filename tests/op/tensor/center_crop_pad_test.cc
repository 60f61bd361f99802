#include "tenon/op/tensor/center_crop_pad.hpp"

#include "tests/op/movement.hpp"

namespace tenon {
using namespace test;

TEST_CASE("CenterCropPad: cases") {
  const Value x = t<int32_t>({4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  struct Row {
    Ints axes;
    Value in, shape, out;
  } rows[] = {
      {{}, x, t<int64_t>({2}, {2, 3}), t<int32_t>({2, 3}, {4, 5, 6, 7, 8, 9})},
      {{}, x, t<int32_t>({2}, {1, 1}), t<int32_t>({1, 1}, {5})},
      {{1}, x, t<int64_t>({1}, {2}), t<int32_t>({4, 2}, {1, 2, 4, 5, 7, 8, 10, 11})},
      {{-2}, x, t<int64_t>({1}, {1}), t<int32_t>({1, 3}, {4, 5, 6})},
      {{1, 0}, x, t<int64_t>({2}, {4, 1}), t<int32_t>({1, 4}, {4, 5, 6, 0})},
      {{}, x, t<int64_t>({2}, {2, 6}), t<int32_t>({2, 6}, {0, 4, 5, 6, 0, 0, 0, 7, 8, 9, 0, 0})},
      {{}, x, t<int64_t>({2}, {0, 6}), t<int32_t>({0, 6}, {})},
      {{}, t<float>({0}, {}), t<int64_t>({1}, {2}), t<float>({2}, {0, 0})},
      {{},
       t<float>({int64_t{1} << 62, int64_t{1} << 62, 0}, {}),
       t<int64_t>({3}, {1, 1, 1}),
       t<float>({1, 1, 1}, {0})},
      {{}, t<float>({}, {5}), t<int64_t>({0}, {}), t<float>({}, {5})},
      {{}, t<std::string>({1}, {"a"}), t<int64_t>({1}, {3}), t<std::string>({3}, {"", "a", ""})},
  };
  for (const Row& row : rows) check(op::CenterCropPad{.axes = row.axes}, {row.in, row.shape}, {row.out});
}

TEST_CASE("CenterCropPad: every type") {
  const Extents in{5, 4, 3};
  for_types(op::CenterCropPad::spec.types[0], [&](DType d) {
    const Value x = pattern(d, in);
    check_moved(run(op::CenterCropPad{}, {x, t<int64_t>({3}, {2, 3, 1})})[0].tensor(), x.tensor(), {2, 3, 1},
                [&](Extents i) { return place(in, {i[0] + 1, i[1], i[2] + 1}); });
  });
}

TEST_CASE("CenterCropPad: errors, symbols, typed") {
  const Value x = t<float>({2, 1}, {1, 2});
  check_fails(op::CenterCropPad{}, {x, t<int64_t>({1}, {1})}, "shape has 1 elements for 2 axes");
  check_fails(op::CenterCropPad{.axes = {0}}, {x, t<int64_t>({2}, {1, 1})},
              "shape has 2 elements for 1 axes");
  check_fails(op::CenterCropPad{.axes = {0, -2}}, {x, t<int64_t>({2}, {1, 1})}, "axis -2 is named twice");
  check_fails(op::CenterCropPad{.axes = {2}}, {x, t<int64_t>({1}, {1})}, "axis 2 outside");
  check_fails(op::CenterCropPad{}, {x, t<int64_t>({2}, {1, -1})}, "extent: -1, expected at least 0");
  check_fails(op::CenterCropPad{}, {x, t<int64_t>({}, {1})}, "shape: rank 0, expected 1");
  check_fails(op::CenterCropPad{}, {x, t<int64_t>({2}, {INT64_MAX, INT64_MAX})}, "overflow");
  const auto n = Dim::symbol(1);
  CHECK(infer(op::CenterCropPad{.axes = {1}}, {info(DType::float32, {n, 2}), info(DType::int64, {1}, {7})})[0]
            .dims == Dims{n, 7});
  CHECK(infer(op::CenterCropPad{.axes = {1}}, {info(DType::float32, {n, 2}), info(DType::int64, {1})})[0]
            .dims == Dims{n, Dim()});
  auto y = op::CenterCropPad{}(Tensor<float, Shape<3>>{1, 2, 3}, constant<int64_t, 1>);
  CHECK(y[0] == 2);
}
}  // namespace tenon
