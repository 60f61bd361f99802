#include <cmath>
#include <limits>

#include "tenon/op/com.microsoft/conv_transpose_with_dynamic_pads.hpp"
#include "tenon/op/com.microsoft/crop_and_resize.hpp"
#include "tenon/op/com.microsoft/maxpool_with_mask.hpp"
#include "tenon/op/com.microsoft/unfold_tensor.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;
using op::com_microsoft::ConvTransposeWithDynamicPads, op::com_microsoft::CropAndResize,
    op::com_microsoft::MaxpoolWithMask, op::com_microsoft::UnfoldTensor;

TEST_CASE("Operators of com.microsoft on windows: results of ONNX Runtime") {
  check_recorded("com.microsoft/windows.txt",
                 {&operator_class<ConvTransposeWithDynamicPads>, &operator_class<CropAndResize>,
                  &operator_class<MaxpoolWithMask>, &operator_class<UnfoldTensor>});
}

TEST_CASE("com.microsoft.UnfoldTensor: types, what it refuses, symbols, typed") {
  check(UnfoldTensor{.size = 2}, {t<std::string>({3}, {"a", "b", "c"})},
        {t<std::string>({2, 2}, {"a", "b", "b", "c"})});
  check(UnfoldTensor{.size = 2, .step = 2}, {t<bool>({5}, {true, false, false, true, true})},
        {t<bool>({2, 2}, {true, false, false, true})});
  check(UnfoldTensor{.dim = 1, .size = 2}, {t<float>({0, 2}, {})}, {t<float>({0, 1, 2}, {})});
  const Value x = t<float>({3}, {1, 2, 3});
  check_fails(UnfoldTensor{}, {x}, "size");
  check_fails(UnfoldTensor{.size = 0}, {x}, "size: 0");
  check_fails(UnfoldTensor{.size = 1, .step = 0}, {x}, "step: 0");
  check_fails(UnfoldTensor{.dim = 1, .size = 1}, {x}, "axis 1 outside of [-1, 0]");
  check_fails(UnfoldTensor{.size = 4}, {x}, "windows of 4 do not fit into an extent of 3");
  check_fails(UnfoldTensor{.size = 1}, {t<float>({}, {1})}, "rank 0, expected at least 1");
  const auto n = Dim::symbol(1);
  CHECK(infer(UnfoldTensor{.dim = 1, .size = 3, .step = 2}, {info(DType::float32, {n, 8, 4})})[0].dims ==
        Dims{n, 3, 4, 3});
  CHECK(infer(UnfoldTensor{.dim = 0, .size = 3}, {info(DType::float32, {n, 8})})[0].dims ==
        Dims{Dim(), 8, 3});
  const Value y = UnfoldTensor{.size = 2}(Tensor<float>({3}, {5, 6, 7}));
  CHECK(y.view<float>()[3] == 7);
}

TEST_CASE("com.microsoft.MaxpoolWithMask: NaN, what it refuses, symbols, typed") {
  const MaxpoolWithMask pool{.kernel_shape = {2}};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Value x = t<float>({1, 1, 3}, {1, nan, 3}), m = t<int32_t>({1, 1, 3}, {1, 1, -1});
  check(pool, {x, m}, {t<float>({1, 1, 2}, {1, 3})});
  check(pool, {t<float>({0, 1, 3}, {}), m}, {t<float>({0, 1, 2}, {})});
  check_fails(pool, {x, t<int32_t>({1, 3}, {1, 1, 1})}, "M: rank 2, expected 3");
  check_fails(pool, {x, t<int32_t>({1, 1, 2}, {1, 1})}, "extents of the mask and of X");
  check_fails(pool, {x, t<int32_t>({1, 0, 3}, {})}, "mask (1,0,3) has no elements");
  check_fails(MaxpoolWithMask{.kernel_shape = {4}}, {x, m}, "does not fit");
  check_fails(MaxpoolWithMask{.kernel_shape = {1, 1, 1, 1}},
              {t<float>({1, 1, 1, 1, 1, 1}, {1}), t<int32_t>({1, 1, 1, 1, 1, 1}, {1})},
              "4 spatial axes, expected 1 to 3");
  const auto n = Dim::symbol(1);
  CHECK(infer(pool, {info(DType::float32, {n, 3, 8}), info(DType::int32, {1, 1, 8})})[0].dims ==
        Dims{n, 3, 7});
  const Value y = pool(Tensor<float>({1, 1, 2}, {5, 6}), Tensor<int32_t>({1, 1, 2}, {1, 0}));
  CHECK(y.view<float>()[0] == 5);
}

TEST_CASE("com.microsoft.ConvTransposeWithDynamicPads: types, what it refuses, symbols") {
  const ConvTransposeWithDynamicPads c{.strides = {2}};
  const Value x = t<float>({1, 1, 2}, {1, 2}), w = t<float>({1, 1, 2}, {1, 10});
  const auto pads = [](int64_t a, int64_t b) { return t<int64_t>({2}, {a, b}); };
  check(c, {x, w, pads(0, 0)}, {t<float>({1, 1, 4}, {1, 10, 2, 20})});
  check(c, {x, w, pads(1, 0), t<float>({1}, {5})}, {t<float>({1, 1, 3}, {15, 7, 25})});
  check(c, {x, w, t<int64_t>({0}, {})}, {t<float>({1, 1, 4}, {1, 10, 2, 20})});
  check(ConvTransposeWithDynamicPads{.auto_pad = "VALID"}, {x, w, pads(1, 1)},
        {t<float>({1, 1, 3}, {1, 12, 20})});
  check_fails(c, {x, w}, "Pads are missing");
  check_fails(c, {x, w, pads(-1, 0)}, "pads holds -1");
  check_fails(c, {x, w, t<int64_t>({3}, {0, 0, 0})}, "pads");
  check_fails(c, {x, w, pads(0, 0), t<float>({2}, {1, 2})}, "B's extent and the output channels");
  check_fails(c, {x, w, t<int64_t>({1, 2}, {0, 0})}, "Pads: rank 2, expected 1");
  const auto n = Dim::symbol(1);
  const op::Info data = info(DType::float32, {n, 2, 5}), weights = info(DType::float32, {2, 3, 4});
  CHECK(infer(c, {data, weights, info(DType::int64, {2}, {1, 1})})[0].dims == Dims{n, 3, 10});
  CHECK(infer(c, {data, weights, info(DType::int64, {2})})[0].dims == Dims{n, 3, Dim()});
}

TEST_CASE("com.microsoft.CropAndResize: types, what it refuses, symbols, typed") {
  const Value x = t<float>({1, 1, 2, 2}, {1, 2, 3, 4}), box = t<float>({1, 4}, {0, 0, 1, 1}),
              image = t<int32_t>({1}, {0});
  const auto size = [](int32_t a, int32_t b) { return t<int32_t>({2}, {a, b}); };
  check(CropAndResize{}, {x, box, image, size(3, 1)}, {t<float>({1, 1, 3, 1}, {1.5, 2.5, 3.5})});
  check(CropAndResize{},
        {t<double>({1, 1, 1, 2}, {1, 2}), t<double>({1, 4}, {0, 0, 0, 1}), image, size(1, 3)},
        {t<double>({1, 1, 1, 3}, {1, 1.5, 2})});
  check(CropAndResize{.extrapolation_value = 7}, {x, t<float>({1, 4}, {NAN, 0, NAN, 1}), image, size(1, 2)},
        {t<float>({1, 1, 1, 2}, {7, 7})});
  check(CropAndResize{}, {x, t<float>({0, 4}, {}), t<int32_t>({0}, {}), size(2, 2)},
        {t<float>({0, 1, 2, 2}, {})});
  check_fails(CropAndResize{.mode = "cubic"}, {x, box, image, size(2, 2)},
              "mode: 'cubic', expected bilinear");
  check_fails(CropAndResize{}, {x, box, t<int32_t>({1}, {1}), size(2, 2)}, "batch index 1 outside of [0, 0]");
  check_fails(CropAndResize{}, {x, box, image, size(2, 0)}, "crop_size holds 0");
  check_fails(CropAndResize{}, {x, box, image, t<int32_t>({1}, {2})}, "crop_size");
  check_fails(CropAndResize{}, {x, t<float>({1, 3}, {0, 0, 1}), image, size(2, 2)}, "rows of 4 numbers");
  check_fails(CropAndResize{}, {x, box, t<int32_t>({2}, {0, 0}), size(2, 2)},
              "numbers of rois and of batch_indices");
  const auto n = Dim::symbol(1);
  const op::Info images = info(DType::float32, {2, 3, 8, 8}), boxes = info(DType::float32, {n, 4}),
                 numbers = info(DType::int32, {n});
  CHECK(infer(CropAndResize{}, {images, boxes, numbers, info(DType::int32, {2}, {5, 6})})[0].dims ==
        Dims{n, 3, 5, 6});
  CHECK(infer(CropAndResize{}, {images, boxes, numbers, info(DType::int32, {2})})[0].dims ==
        Dims{n, 3, Dim(), Dim()});
  const Value y = CropAndResize{}(Tensor<float>({1, 1, 1, 1}, {5}), Tensor<float>({1, 4}, {0, 0, 0, 0}),
                                  Tensor<int32_t>({1}, {0}), Tensor<int32_t>({2}, {1, 1}));
  CHECK(y.view<float>()[0] == 5);
}
}  // namespace tenon
