#include "tenon/op/image/crop.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Crop: cases") {
  const Value x = t<float>({1, 1, 3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  // left, top, right, bottom
  check(op::Crop{.border = {1, 0, 2, 1}}, {x}, {t<float>({1, 1, 2, 1}, {1, 5})});
  check(op::Crop{.border = {1, 1, 0, 0}, .scale = {2, 3}}, {x},
        {t<float>({1, 1, 2, 3}, {5, 6, 7, 9, 10, 11})});
  check(op::Crop{.border = {2, 1, 100, 100}, .scale = {1, 2}}, {x}, {t<float>({1, 1, 1, 2}, {6, 7})});
  check(op::Crop{.scale = {1, 2}}, {x}, {t<float>({1, 1, 1, 2}, {0, 1})});
  check(op::Crop{}, {x}, {x});
  check(op::Crop{.border = {2, 0, 2, 0}}, {x}, {t<float>({1, 1, 3, 0}, {})});
  check(stated<op::Crop>(1, {{"border", ints{0, 1, 0, 1}}}),
        {cast<float16>({2, 1, 3, 1}, {1, 2, 3, 4, 5, 6})}, {cast<float16>({2, 1, 1, 1}, {2, 5})});
}

TEST_CASE("Crop: errors, symbols, typed") {
  const Value x = t<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  check_fails(op::Crop{}, {t<float>({2}, {1, 2})}, "input: rank 1, expected 4");
  check_fails(op::Crop{.border = {1}}, {x}, "border: 1 entries, expected 4");
  check_fails(op::Crop{.scale = {1}}, {x}, "scale: 1 entries, expected 2");
  check_fails(op::Crop{.border = {-1, 0, 0, 0}}, {x}, "border: -1, expected at least 0");
  check_fails(op::Crop{.scale = {1, -1}}, {x}, "scale: -1, expected at least 0");
  check_fails(op::Crop{.border = {2, 0, 1, 0}}, {x}, "reaches beyond axis 3 of (1,1,2,2)");
  check_fails(op::Crop{.border = {0, INT64_MAX, 0, INT64_MAX}}, {x}, "reaches beyond axis 2");
  check_fails(op::Crop{.border = {0, 1, 0, 0}, .scale = {INT64_MAX, 1}}, {x}, "reaches beyond axis 2");
  const Dim n = Dim::symbol(1), h = Dim::symbol(2);
  CHECK(infer(op::Crop{.scale = {5, 6}}, {info(DType::float32, {n, 3, h, h})})[0].dims == Dims{n, 3, 5, 6});
  CHECK(infer(op::Crop{.border = {1, 0, 0, 0}}, {info(DType::float32, {n, 3, h, 4})})[0].dims ==
        Dims{n, 3, h, 3});
  CHECK(infer(op::Crop{.scale = {5, 6}}, {info(DType::float32, Dims{})})[0].dims == Dims{Dim(), Dim(), 5, 6});
  const Value y = op::Crop{.border = {1, 0, 0, 0}}(Tensor<float>(Extents{1, 1, 1, 2}, {1, 2}));
  CHECK(y.view<float>()[0] == 2);
}
}  // namespace tenon
