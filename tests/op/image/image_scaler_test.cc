#include "tenon/op/image/image_scaler.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ImageScaler: cases") {
  for (DType d : {DType::float16, DType::float32, DType::float64}) {
    const Value x = cast(d, {2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, NAN});
    const op::ImageScaler scaler{.bias = {1, -1}, .scale = 2};
    check(scaler, {x}, {cast(d, {2, 2, 1, 2}, {3, 5, 5, 7, 11, 13, 13, NAN})});
    check_in_place(scaler, {x}, 0);
    check(op::ImageScaler{}, {x}, {x});
  }
  check(stated<op::ImageScaler>(1, {{"bias", std::vector<float>{10}}}), {t<float>({1, 1, 1, 1}, {1})},
        {t<float>({1, 1, 1, 1}, {11})});
  check(op::ImageScaler{.bias = {1}}, {t<float>({0, 1, 2, 2}, {})}, {t<float>({0, 1, 2, 2}, {})});
  check_fails(op::ImageScaler{}, {t<float>({2}, {1, 2})}, "input: rank 1, expected 4");
  check_fails(op::ImageScaler{.bias = {1, 2}}, {t<float>({1, 1, 1, 1}, {1})},
              "numbers of channels and of biases differ: 1 and 2");
  const Dims symbols{Dim::symbol(1), Dim::symbol(2), 3, Dim()};
  CHECK(infer(op::ImageScaler{.bias = {1}}, {info(DType::float32, symbols)})[0].dims == symbols);
}
}  // namespace tenon
