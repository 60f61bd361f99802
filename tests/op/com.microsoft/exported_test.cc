#include <algorithm>
#include <cmath>
#include <complex>

#include "tenon/op/com.microsoft/expand_dims.hpp"
#include "tenon/op/com.microsoft/gather_nd.hpp"
#include "tenon/op/com.microsoft/grid_sample.hpp"
#include "tenon/op/com.microsoft/inverse.hpp"
#include "tenon/op/com.microsoft/mat_mul_integer16.hpp"
#include "tenon/op/com.microsoft/pad.hpp"
#include "tenon/op/com.microsoft/range.hpp"
#include "tenon/op/com.microsoft/trilu.hpp"
#include "tenon/op/com.microsoft/unique.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;
using op::com_microsoft::ExpandDims, op::com_microsoft::GatherND, op::com_microsoft::GridSample,
    op::com_microsoft::Inverse, op::com_microsoft::MatMulInteger16, op::com_microsoft::Pad,
    op::com_microsoft::Range, op::com_microsoft::Trilu, op::com_microsoft::Unique;

TEST_CASE("Operators that exporters write to com.microsoft: results of ONNX Runtime") {
  check_recorded("com.microsoft/exported.txt",
                 {&operator_class<ExpandDims>, &operator_class<GatherND>, &operator_class<GridSample>,
                  &operator_class<Inverse>, &operator_class<MatMulInteger16>, &operator_class<Pad>,
                  &operator_class<Range>, &operator_class<Trilu>, &operator_class<Unique>});
}

TEST_CASE("com.microsoft.Inverse: types, singular matrices, nothing, symbols") {
  check(Inverse{}, {t<double>({2, 2}, {1, 2, 3, 4})}, {t<double>({2, 2}, {-2, 1, 1.5, -0.5})}, 1e-12);
  check(Inverse{}, {cast<float16>({2, 2}, {2, 0, 0, 4})}, {cast<float16>({2, 2}, {0.5, 0, 0, 0.25})});
  const Value singular = run(Inverse{}, {t<float>({2, 2}, {1, 2, 2, 4})})[0];
  for (int k = 0; k < 4; ++k) CHECK_FALSE(std::isfinite(singular.view<float>()[k]));
  check(Inverse{}, {t<float>({0, 2, 2}, {})}, {t<float>({0, 2, 2}, {})});
  check(Inverse{}, {t<float>({3, 0, 0}, {})}, {t<float>({3, 0, 0}, {})});
  // More matrices than one thread takes.
  constexpr int64_t count = 50'000;
  Tensor<float> x(Extents{count, 2, 2});
  for (int64_t k = 0; k < count; ++k) {
    const auto a = static_cast<float>(k % 7 + 1), b = static_cast<float>(k % 5);
    const float m[] = {1, b, 0, 1 / a};
    std::copy_n(m, 4, x.data() + 4 * k);
  }
  const Value y = run(Inverse{}, {x})[0];
  bool right = true;
  for (int64_t k = 0; k < count; ++k) {
    const float a = static_cast<float>(k % 7 + 1), b = static_cast<float>(k % 5),
                *m = y.view<float>().data() + 4 * k;
    right = right && m[0] == 1 && m[2] == 0 && std::abs(m[1] + a * b) < 1e-4f && std::abs(m[3] - a) < 1e-5f;
  }
  CHECK(right);
  check_fails(Inverse{}, {t<float>({2, 3}, {1, 2, 3, 4, 5, 6})}, "rows and columns differ: 2 and 3");
  check_fails(Inverse{}, {t<float>({2}, {1, 2})}, "X: rank 1, expected at least 2");
  check_fails(Inverse{}, {t<int32_t>({1, 1}, {1})}, "X cannot be tensor(int32)");
  const auto n = Dim::symbol(1);
  CHECK(infer(Inverse{}, {info(DType::float32, {n, 3, Dim()})})[0].dims == Dims{n, 3, 3});
}

TEST_CASE("com.microsoft.MatMulInteger16: sums that wrap, what it refuses, symbols") {
  const Value a = t<int16_t>({1, 3}, {-32768, -32768, -32768}),
              b = t<int16_t>({3, 1}, {-32768, -32768, -32768});
  check(MatMulInteger16{}, {a, b}, {t<int32_t>({1, 1}, {-1073741824})});
  check(MatMulInteger16{}, {t<int16_t>({2, 0}, {}), t<int16_t>({0, 1}, {})}, {t<int32_t>({2, 1}, {0, 0})});
  check_fails(MatMulInteger16{}, {a, a}, "inner extents");
  check_fails(MatMulInteger16{}, {t<int8_t>({1, 1}, {1}), a}, "A cannot be tensor(int8)");
  CHECK(infer(MatMulInteger16{}, {info(DType::int16, {Dim::symbol(1), 3}), info(DType::int16, {3, 4})})[0]
            .dims == Dims{Dim::symbol(1), 4});
}

TEST_CASE("com.microsoft.GridSample, Trilu: what they refuse, symbols") {
  const Value x = t<float>({1, 1, 2, 2}, {1, 2, 3, 4}), grid = t<float>({1, 1, 1, 2}, {0, 0});
  check(GridSample{}, {x, grid}, {t<float>({1, 1, 1, 1}, {2.5})});
  check_fails(GridSample{.mode = "linear"}, {x, grid}, "mode: 'linear', expected bilinear");
  check_fails(GridSample{.padding_mode = "wrap"}, {x, grid}, "padding_mode: 'wrap'");
  check_fails(GridSample{}, {t<float>({1, 1, 1, 2, 2}, {1, 2, 3, 4}), grid}, "X: rank 5, expected 4");
  check_fails(Trilu{}, {t<float>({2}, {1, 2})}, "rank 1, expected at least 2");
  check_fails(Trilu{.upper = 2}, {x}, "upper");
  const auto n = Dim::symbol(1);
  CHECK(infer(Trilu{}, {info(DType::float32, {n, 3})})[0].dims == Dims{n, 3});
  CHECK(
      infer(GridSample{}, {info(DType::float32, {n, 3, 8, 8}), info(DType::float32, {n, 4, 5, 2})})[0].dims ==
      Dims{n, 3, 4, 5});
}

TEST_CASE("com.microsoft.Pad: types, what it refuses, symbols, typed") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4}), pads = t<int64_t>({4}, {0, 1, 0, 0});
  check(Pad{}, {x, pads}, {t<float>({2, 3}, {0, 1, 2, 0, 3, 4})});
  check(Pad{}, {x, t<int64_t>({1, 4}, {0, 1, 0, 0}), t<float>({1}, {7})},
        {t<float>({2, 3}, {7, 1, 2, 7, 3, 4})});
  check(Pad{.mode = "edge"}, {x, t<int64_t>({4}, {0, -1, 1, 0})}, {t<float>({3, 1}, {2, 4, 4})});
  check(Pad{.mode = "wrap"}, {x, pads}, {t<float>({2, 3}, {2, 1, 2, 4, 3, 4})});
  check(Pad{.mode = "edge"}, {t<float>({0, 1}, {}), pads}, {t<float>({0, 2}, {})});
  check_fails(Pad{.mode = "symmetric"}, {x, pads}, "mode: 'symmetric', expected constant");
  check_fails(Pad{}, {x, t<int64_t>({2, 2}, {0, 1, 0, 0})}, "pads: (2,2), expected one list");
  check_fails(Pad{}, {x, t<int64_t>({2}, {0, 1})}, "2 pads for 2 axes");
  check_fails(Pad{}, {x, t<int64_t>({4}, {-1, 0, -2, 0})}, "pads -1 and -2 do not fit an extent of 2");
  check_fails(Pad{}, {x, pads, t<float>({2}, {1, 2})}, "value: (2), expected one element");
  check_fails(Pad{.mode = "edge"}, {t<float>({0, 1}, {}), t<int64_t>({4}, {1, 0, 0, 0})},
              "mode 'edge' has nothing to repeat on axis 0");
  check_fails(Pad{}, {t<int32_t>({1}, {1}), t<int64_t>({2}, {0, 1})}, "data cannot be tensor(int32)");
  const auto n = Dim::symbol(1);
  const op::Info data = info(DType::float32, {n, 3});
  CHECK(infer(Pad{}, {data, info(DType::int64, {1, 4}, {0, 1, 0, 2})})[0].dims == Dims{n, 6});
  CHECK(infer(Pad{}, {data, info(DType::int64, {4})})[0].dims == Dims{Dim(), Dim()});
  CHECK(infer(Pad{}, {data, info(DType::int64, Dims{})})[0].dims.rank() == 2);
  const Value y = Pad{}(Tensor<float>({1}, {5}), Tensor<int64_t>({2}, {1, 0}));
  CHECK(y.view<float>()[1] == 5);
}

TEST_CASE("com.microsoft.Range: without a delta, what it refuses, symbols, typed") {
  check(Range{}, {t<float>({}, {1}), t<float>({}, {3})}, {t<float>({2}, {1, 2})});
  check(Range{}, {t<int64_t>({}, {3}), t<int64_t>({}, {1}), t<int64_t>({}, {-1})}, {t<int64_t>({2}, {3, 2})});
  const Value one = t<int32_t>({}, {1});
  check_fails(Range{}, {one, one, t<int32_t>({}, {0})}, "delta is 0, or there is no end");
  check_fails(Range{}, {t<float>({}, {0}), t<float>({}, {HUGE_VALF})}, "delta is 0, or there is no end");
  check_fails(Range{}, {t<int32_t>({2}, {1, 2}), one}, "start: (2), expected one element");
  check_fails(Range{}, {one, t<int64_t>({}, {1})}, "limit");
  check_fails(Range{}, {cast<float16>({}, {1}), cast<float16>({}, {1})}, "start cannot be tensor(float16)");
  const auto scalar = Dims::of_rank(0);
  const auto l = DType::int64;
  CHECK(infer(Range{}, {info(l, scalar, {2}), info(l, scalar, {5})})[0].dims == Dims{3});
  CHECK(infer(Range{}, {info(l, scalar), info(l, scalar, {5})})[0].dims == Dims{Dim()});
  const Value y = Range{}(Tensor<float>({}, {1}), Tensor<float>({}, {4}));
  CHECK(y.view<float>()[2] == 3);
}

TEST_CASE("com.microsoft.GatherND: types, what it refuses, symbols, typed") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  check(GatherND{}, {x, t<int64_t>({1, 2}, {1, 0})}, {t<float>({1}, {3})});
  check(GatherND{}, {t<std::string>({2}, {"a", "b"}), t<int32_t>({2, 1}, {-1, 0})},
        {t<std::string>({2}, {"b", "a"})});
  check(GatherND{}, {x, t<int64_t>({0, 1}, {})}, {t<float>({0, 2}, {})});
  check_fails(GatherND{}, {x, t<int32_t>({1, 1}, {2})}, "2");
  check_fails(GatherND{}, {x, t<int64_t>({1, 3}, {0, 0, 0})}, "name 3 coordinates of data (2,2)");
  check_fails(GatherND{}, {x, t<int64_t>({1, 0}, {})}, "coordinates in indices: 0, expected at least 1");
  check_fails(GatherND{}, {x, t<int64_t>({}, {0})}, "indices: rank 0, expected at least 1");
  check_fails(GatherND{}, {t<float>({}, {0}), t<int64_t>({1}, {0})}, "data: rank 0, expected at least 1");
  const auto n = Dim::symbol(1);
  CHECK(infer(GatherND{}, {info(DType::float32, {2, 3, 4}), info(DType::int32, {n, 2})})[0].dims ==
        Dims{n, 4});
  const Value y = GatherND{}(Tensor<float>({2}, {5, 6}), Tensor<int32_t>({1}, {1}));
  CHECK(y.view<float>()[0] == 6);
}

TEST_CASE("com.microsoft.ExpandDims: types, what it refuses, symbols, typed") {
  const Value x = t<float>({2}, {1, 2}), first = t<int32_t>({}, {0});
  check(ExpandDims{}, {x, t<int32_t>({}, {-1})}, {t<float>({2, 1}, {1, 2})});
  check(ExpandDims{}, {t<std::string>({}, {"a"}), first}, {t<std::string>({1}, {"a"})});
  check(ExpandDims{}, {t<bool>({0, 3}, {}), t<int32_t>({1}, {1})}, {t<bool>({0, 1, 3}, {})});
  check_fails(ExpandDims{}, {x, t<int32_t>({}, {2})}, "axis 2 outside of [-2, 1]");
  check_fails(ExpandDims{}, {x, t<int32_t>({}, {-3})}, "axis -3 outside of [-2, 1]");
  check_fails(ExpandDims{}, {x, t<int32_t>({2}, {0, 1})}, "axis: (2), expected one element");
  check_fails(ExpandDims{}, {x, t<int64_t>({}, {0})}, "axis");
  const auto n = Dim::symbol(1);
  const auto axis = [](const op::PropagatedData& values) {
    return info(DType::int32, Dims::of_rank(0), values);
  };
  CHECK(infer(ExpandDims{}, {info(DType::float32, {n, 3}), axis({1})})[0].dims == Dims{n, 1, 3});
  CHECK(infer(ExpandDims{}, {info(DType::float32, {n, 3}), axis({})})[0].dims.rank() == 3);
  const std::vector<op::Info> known = infer(ExpandDims{}, {info(DType::int64, {2}, {4, n}), axis({0})});
  CHECK(known[0].dims == Dims{1, 2});
  CHECK(known[0].propagated[1].same(n));
  const Value y = ExpandDims{}(Tensor<float>({2}, {5, 6}), Tensor<int32_t>({}, {1}));
  CHECK(y.tensor().extents() == Extents{2, 1});
}

TEST_CASE("com.microsoft.Unique: types, NaN, what it refuses, symbols") {
  using i64 = int64_t;
  check(Unique{}, {t<i64>({4}, {7, 5, 7, 6})},
        {t<i64>({3}, {7, 5, 6}), t<i64>({4}, {0, 1, 0, 2}), t<i64>({3}, {2, 1, 1})});
  check(Unique{}, {t<std::string>({3}, {"b", "a", "b"})},
        {t<std::string>({2}, {"b", "a"}), t<i64>({3}, {0, 1, 0}), t<i64>({2}, {2, 1})});
  check(Unique{}, {t<bool>({0}, {})}, {t<bool>({0}, {}), t<i64>({0}, {}), t<i64>({0}, {})});
  const double nan = std::nan("");
  for (const DType d : {DType::float16, DType::float32, DType::float64})
    check(
        Unique{}, {cast(d, {6}, {nan, 1, nan, 2, 1, nan})},
        {cast(d, {5}, {nan, 1, nan, 2, nan}), t<i64>({6}, {0, 1, 2, 3, 1, 4}), t<i64>({5}, {1, 2, 1, 1, 1})});
  // More than the shortest lists, which are sorted otherwise.
  Tensor<float> x(Extents{1000});
  for (int64_t k = 0; k < 1000; ++k) x.data()[k] = k % 3 == 0 ? std::nanf("") : static_cast<float>(k % 3);
  const std::vector<Value> y = run(Unique{}, {x}, 3);
  CHECK(y[0].tensor().extents()[0] == 334 + 2);
  CHECK(y[1].view<i64>()[999] == 335);
  CHECK(y[2].view<i64>()[1] == 333);
  check_fails(Unique{}, {t<float>({}, {1})}, "x: rank 0, expected 1", 3);
  check_fails(Unique{}, {t<float>({1, 2}, {1, 2})}, "x: rank 2, expected 1", 3);
  const auto n = Dim::symbol(1);
  const std::vector<op::Info> known = infer(Unique{}, {info(DType::float32, {n})}, 3);
  CHECK(known[0].dims == Dims{Dim()});
  CHECK(known[1].dims == Dims{n});
  CHECK(known[2].dims == Dims{Dim()});
}
}  // namespace tenon
