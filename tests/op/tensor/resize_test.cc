#include "tenon/op/tensor/resize.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

namespace {
Value floats(std::initializer_list<float> v) { return t<float>({static_cast<int64_t>(v.size())}, v); }
Value sizes(std::initializer_list<int64_t> v) { return t<int64_t>({static_cast<int64_t>(v.size())}, v); }

/// The extent of a vector after it is resized by a scale, and its elements.
struct Line {
  op::Resize op;
  std::vector<float> in;
  float scale;
  std::vector<float> out;
};
Value vec(const std::vector<float>& v) {
  return Tensor<float>({static_cast<int64_t>(v.size())}, v.begin(), v.end());
}
}  // namespace

TEST_CASE("Resize: nearest on one axis") {
  const std::vector<float> x{1, 2, 3, 4};
  const Line rows[] = {
      {{}, x, 2, {1, 1, 2, 2, 3, 3, 4, 4}},
      {{}, x, 0.5f, {1, 3}},
      {{.nearest_mode = "round_prefer_ceil"}, x, 0.5f, {2, 4}},
      {{.nearest_mode = "floor"}, x, 2, {1, 1, 1, 2, 2, 3, 3, 4}},
      {{.nearest_mode = "ceil"}, x, 2, {1, 2, 2, 3, 3, 4, 4, 4}},
      {{.coordinate_transformation_mode = "asymmetric", .nearest_mode = "floor"},
       x,
       1.5f,
       {1, 1, 2, 3, 3, 4}},
      {{.coordinate_transformation_mode = "asymmetric", .nearest_mode = "ceil"}, x, 0.6f, {1, 3}},
      {{.coordinate_transformation_mode = "align_corners"}, x, 1.75f, {1, 1, 2, 2, 3, 3, 4}},
      {{.coordinate_transformation_mode = "pytorch_half_pixel"}, x, 0.25f, {1}},
      {{}, x, 1, x},
      {{}, x, 0.1f, {}},
      {{}, {}, 3, {}},
  };
  for (const Line& row : rows) {
    CAPTURE(row.scale);
    check(row.op, {vec(row.in), Value(), floats({row.scale})}, {vec(row.out)});
    check(row.op, {vec(row.in), floats({}), floats({row.scale}), sizes({})}, {vec(row.out)}, 0, 0, 11);
  }
}

TEST_CASE("Resize: linear and cubic on one axis") {
  const std::vector<float> x{1, 2, 3, 4}, steep{0, 4, 8, 100};
  const Line rows[] = {
      {{.mode = "linear"}, x, 2, {1, 1.25f, 1.75f, 2.25f, 2.75f, 3.25f, 3.75f, 4}},
      {{.mode = "linear"}, x, 0.5f, {1.5f, 3.5f}},
      {{.coordinate_transformation_mode = "asymmetric", .mode = "linear"},
       x,
       2,
       {1, 1.5f, 2, 2.5f, 3, 3.5f, 4, 4}},
      {{.coordinate_transformation_mode = "align_corners", .mode = "linear"}, x, 0.6f, {1, 3.142857f}},
      {{.coordinate_transformation_mode = "align_corners", .mode = "linear"}, x, 0.25f, {1}},
      {{.coordinate_transformation_mode = "pytorch_half_pixel", .mode = "linear"}, x, 0.25f, {1}},
      {{.coordinate_transformation_mode = "half_pixel_symmetric", .mode = "linear"},
       x,
       0.6f,
       {1.666667f, 3.333333f}},
      {{.exclude_outside = 1, .mode = "linear"}, x, 2, {1, 1.25f, 1.75f, 2.25f, 2.75f, 3.25f, 3.75f, 4}},
      // The mean of the elements that each covers: weights 1/8, 3/8, 3/8, 1/8 with edges repeated, and
      // without.
      {{.antialias = 1, .mode = "linear"},
       steep,
       0.5f,
       {(3 * 0 + 0 + 3 * 4 + 8) / 8.f, (4 + 3 * 8 + 4 * 100) / 8.f}},
      {{.antialias = 1, .exclude_outside = 1, .mode = "linear"},
       steep,
       0.5f,
       {(3 * 0 + 3 * 4 + 8) / 7.f, (4 + 3 * 8 + 3 * 100) / 7.f}},
      {{.antialias = 1, .mode = "linear"}, x, 2, {1, 1.25f, 1.75f, 2.25f, 2.75f, 3.25f, 3.75f, 4}},
      {{.mode = "cubic"}, x, 0.5f, {1.40625f, 3.59375f}},
      {{.cubic_coeff_a = -0.5f, .mode = "cubic"}, x, 0.5f, {1.4375f, 3.5625f}},
      {{.cubic_coeff_a = -0.5f, .exclude_outside = 1, .mode = "cubic"},
       x,
       0.5f,
       {(0.5625f * 3 - 0.0625f * 3) / 1.0625f, (0.5625f * 7 - 0.0625f * 2) / 1.0625f}},
      {{.mode = "cubic"}, x, 1, x},
  };
  for (const Line& row : rows) {
    CAPTURE(row.scale);
    check(row.op, {vec(row.in), Value(), floats({row.scale})}, {vec(row.out)}, 1e-5, 1e-6);
  }
}

TEST_CASE("Resize: cases") {
  const Value x = t<float>({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), m = t<float>({2, 2}, {1, 2, 3, 4});
  struct Row {
    op::Resize op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{.mode = "linear"},
       {x, Value(), floats({1, 1, 0.6f, 0.6f})},
       t<float>({1, 1, 1, 2}, {2.6666665f, 4.3333331f})},
      {{}, {x, Value(), Value(), sizes({1, 1, 1, 3})}, t<float>({1, 1, 1, 3}, {1, 2, 4})},
      {{.axes = {-1, 0}}, {m, Value(), floats({2, 0.5f})}, t<float>({1, 4}, {1, 1, 2, 2})},
      {{.axes = {1}, .mode = "linear"},
       {m, Value(), Value(), sizes({3})},
       t<float>({2, 3}, {1, 1.5f, 2, 3, 3.5f, 4})},
      {{.keep_aspect_ratio_policy = "not_larger"},
       {m, Value(), Value(), sizes({4, 7})},
       t<float>({4, 4}, {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4})},
      {{.axes = {0, 1}, .keep_aspect_ratio_policy = "not_smaller"},
       {m, Value(), Value(), sizes({1, 3})},
       t<float>({3, 3}, {1, 1, 2, 1, 1, 2, 3, 3, 4})},
      {{.coordinate_transformation_mode = "tf_crop_and_resize", .extrapolation_value = 10, .mode = "linear"},
       {t<float>({4}, {1, 2, 3, 4}), floats({0.5f, 1.5f}), Value(), sizes({3})},
       t<float>({3}, {2.5f, 4, 10})},
      {{.coordinate_transformation_mode = "tf_crop_and_resize", .extrapolation_value = -1},
       {m, t<double>({4}, {0, -1, 1, 1}), Value(), sizes({2, 3})},
       t<float>({2, 3}, {-1, 1, 2, -1, 3, 4})},
      {{.coordinate_transformation_mode = "tf_crop_and_resize", .mode = "linear"},
       {m, cast<float16>({4}, {0, 0.5, 1, 0.5}), Value(), sizes({2, 1})},
       t<float>({2, 1}, {1.5f, 3.5f})},
      {{.coordinate_transformation_mode = "tf_crop_and_resize"}, {m, Value(), Value(), sizes({2, 2})}, m},
      // The roi does not change the extents that scales give.
      {{.coordinate_transformation_mode = "tf_crop_and_resize", .mode = "linear"},
       {t<float>({4}, {1, 2, 3, 4}), floats({0, 0.5f}), floats({1})},
       t<float>({4}, {1, 1.5f, 2, 2.5f})},
      {{.mode = "linear"}, {t<int32_t>({2}, {-1, 2}), Value(), floats({2})}, t<int32_t>({4}, {-1, 0, 1, 2})},
      {{.antialias = 1, .mode = "linear"},
       {t<uint8_t>({2}, {1, 4}), Value(), floats({2})},
       t<uint8_t>({4}, {1, 1, 3, 4})},
      {{.mode = "linear"},
       {t<bool>({2}, {false, true}), Value(), floats({2})},
       t<bool>({4}, {false, true, true, true})},
      {{.mode = "linear"},
       {cast<float16>({2}, {1, 3}), Value(), floats({2})},
       cast<float16>({4}, {1, 1.5, 2.5, 3})},
      {{.mode = "linear"}, {t<double>({2}, {1, 3}), Value(), floats({2})}, t<double>({4}, {1, 1.5, 2.5, 3})},
      {{},
       {t<std::string>({2}, {"a", "b"}), Value(), floats({2})},
       t<std::string>({4}, {"a", "a", "b", "b"})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out}, 1e-5, 1e-6);
  const Value z =
      run(op::Resize{.mode = "linear"}, {t<complex64>({2}, {{1, 2}, {3, 6}}), Value(), floats({2})})[0];
  CHECK(z.view<complex64>()[1] == complex64(1.5f, 3));
  for (int version : {11, 13, 18, 19})
    check(stated<op::Resize>(version, {{"mode", std::string("linear")}}), {m, floats({}), floats({1, 2})},
          {t<float>({2, 4}, {1, 1.25f, 1.75f, 2, 3, 3.25f, 3.75f, 4})});
  for (int version : {11, 13})
    check(stated<op::Resize>(version,
                             {{"coordinate_transformation_mode", std::string("tf_half_pixel_for_nn")}}),
          {vec({1, 2, 3, 4}), floats({}), floats({0.5f})}, {floats({2, 4})});
}

TEST_CASE("Resize: every type is moved by nearest") {
  const Extents in{2, 3, 4};
  for_types(op::Resize::spec.types[0], [&](DType d) {
    const Value x = pattern(d, in);
    check_moved(run(op::Resize{}, {x, Value(), floats({2, 1, 0.5f})})[0].tensor(), x.tensor(), {4, 3, 2},
                [&](const Extents& i) { return place(in, {i[0] / 2, i[1], i[2] * 2}); });
    check_moved(run(op::Resize{}, {x, Value(), floats({1, 2, 1})})[0].tensor(), x.tensor(), {2, 6, 4},
                [&](const Extents& i) { return place(in, {i[0], i[1] / 2, i[2]}); });
    const Extents wide{2, 37};
    const Value w = pattern(d, wide);
    for (int64_t factor : {2, 3, 4}) {
      const auto scale = static_cast<float>(factor);
      check_moved(run(op::Resize{}, {w, Value(), floats({scale, scale})})[0].tensor(), w.tensor(),
                  {2 * factor, 37 * factor},
                  [&](const Extents& i) { return place(wide, {i[0] / factor, i[1] / factor}); });
    }
  });
}

TEST_CASE("Resize: all axes at once are one axis after another") {
  const WithThreads threads;
  Tensor<float> x({3, 20, 17, 31});
  for (int64_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>((k * 7919) % 1000) / 100;
  for (const char* mode : {"linear", "cubic"})
    for (int64_t antialias : {0, 1}) {
      const op::Resize op{.antialias = antialias, .mode = mode};
      const Value together = run(op, {x.clone(), Value(), Value(), sizes({3, 11, 40, 29})})[0];
      Value y = x.clone();
      for (const auto& s : {sizes({3, 11, 17, 31}), sizes({3, 11, 40, 31}), sizes({3, 11, 40, 29})})
        y = run(op, {y, Value(), Value(), s})[0];
      check_equal(together, y, 1e-4, 1e-4);
    }
}

TEST_CASE("Resize: errors") {
  const Value m = t<float>({2, 2}, {1, 2, 3, 4}), s = floats({1, 2}), none;
  check_fails(op::Resize{.mode = "area"}, {m, none, s}, "mode: 'area', expected nearest, linear or cubic");
  check_fails(op::Resize{.coordinate_transformation_mode = "x"}, {m, none, s},
              "coordinate_transformation_mode: 'x'");
  check_fails(op::Resize{.coordinate_transformation_mode = "tf_half_pixel_for_nn"}, {m, none, s},
              "'tf_half_pixel_for_nn'");
  check_fails(op::Resize{.coordinate_transformation_mode = "half_pixel_symmetric"}, {m, none, s},
              "'half_pixel_symmetric'", 1, 18);
  check_fails(op::Resize{.nearest_mode = "x"}, {m, none, s}, "nearest_mode: 'x'");
  check_fails(op::Resize{.keep_aspect_ratio_policy = "x"}, {m, none, s}, "keep_aspect_ratio_policy: 'x'");
  check_fails(op::Resize{.keep_aspect_ratio_policy = "not_larger"}, {m, none, s}, "'not_larger' with scales");
  check_fails(op::Resize{.antialias = 1}, {m, none, s}, "mode 'nearest' has no antialias");
  check_fails(op::Resize{}, {m, none, none, none}, "neither scales nor sizes");
  check_fails(op::Resize{}, {m, none, floats({}), sizes({})}, "neither scales nor sizes");
  check_fails(op::Resize{}, {m, none, s, sizes({2, 2})}, "both scales and sizes");
  check_fails(op::Resize{}, {m, none, floats({1})}, "scales: 1 elements for 2 axes");
  check_fails(op::Resize{.axes = {1}}, {m, none, none, sizes({1, 1})}, "sizes: 2 elements for 1 axes");
  check_fails(op::Resize{.axes = {1, -1}}, {m, none, s}, "axis -1 is named twice");
  check_fails(op::Resize{.axes = {2, 0}}, {m, none, s}, "axis 2 outside");
  check_fails(op::Resize{}, {m, none, t<float>({1, 2}, {1, 2})}, "scales: rank 2, expected 1");
  for (float bad : {0.f, -1.f, std::nanf(""), HUGE_VALF})
    check_fails(op::Resize{}, {m, none, floats({1, bad})}, "a scale is");
  check_fails(op::Resize{}, {m, none, floats({1, 1e30f})}, "becomes too large");
  check_fails(op::Resize{}, {m, none, floats({1e18f, 1e18f})}, "overflow");
  check_fails(op::Resize{}, {m, none, none, sizes({1, -1})}, "size: -1, expected at least 0");
  check_fails(op::Resize{}, {t<float>({0}, {}), none, none, sizes({1})}, "has nothing to resize");
  check_fails(op::Resize{.keep_aspect_ratio_policy = "not_larger"},
              {t<float>({0}, {}), none, none, sizes({0})}, "has nothing to resize");
  check_fails(op::Resize{.keep_aspect_ratio_policy = "not_smaller"},
              {t<float>({1, 4}, {1, 2, 3, 4}), none, none, sizes({INT64_MAX, 1})}, "becomes too large");
  check_fails(op::Resize{.coordinate_transformation_mode = "tf_crop_and_resize"}, {m, s, s},
              "roi: (2), expected 4 elements");
  check_fails(op::Resize{.mode = "linear"}, {t<std::string>({1}, {"a"}), none, floats({2})},
              "strings have no 'linear'");
  check_refused<op::Resize>(13, {{"antialias", int64_t{1}}}, "has no attribute 'antialias'");
}

TEST_CASE("Resize-10: cases") {
  const Value x = t<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  check(op::Resize_10{}, {x, floats({0.6f, 0.6f})}, {t<float>({1, 2}, {1, 3})});
  check(op::Resize_10{}, {x, floats({1, 1.5f})}, {t<float>({2, 6}, {1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8})});
  check(stated<op::Resize_10>(10, {{"mode", std::string("linear")}}), {x, floats({0.5f, 2})},
        {t<float>({1, 8}, {1, 1.5f, 2, 2.5f, 3, 3.5f, 4, 4})});
  check_fails(op::Resize_10{.mode = "cubic"}, {x, floats({1, 1})},
              "mode: 'cubic', expected nearest or linear");
  check_fails(op::Resize_10{}, {x, floats({1})}, "1 scales for a rank of 2");
  check_fails(op::Resize_10{}, {x, floats({1, 0})}, "a scale is not above 0");
}

TEST_CASE("Resize: symbols, typed") {
  const auto n = Dim::symbol(1);
  const auto f = DType::float32;
  const op::Info none{};
  CHECK(infer(op::Resize{}, {info(f, {n, 2}), none, info(f, {2})})[0].dims == Dims::of_rank(2));
  CHECK(infer(op::Resize{.axes = {1}}, {info(f, {n, 2}), none, info(f, {1})})[0].dims == Dims{n, Dim()});
  CHECK(infer(op::Resize{.axes = {1}}, {info(f, {n, 2}), none, none, info(DType::int64, {1}, {7})})[0].dims ==
        Dims{n, 7});
  CHECK(infer(op::Resize{.keep_aspect_ratio_policy = "not_larger"},
              {info(f, {n, 2}), none, none, info(DType::int64, {2}, {7, 7})})[0]
            .dims == Dims::of_rank(2));
  // Constant scales leave nothing to a run.
  const float doubled[] = {1, 2};
  op::Info scales = info(f, {2});
  scales.data = doubled;
  CHECK(infer(op::Resize{}, {info(f, {3, 2}), none, scales})[0] == info(f, {3, 4}));
  CHECK(infer(op::Resize_10{}, {info(f, {3, 2}), scales})[0] == info(f, {3, 4}));
  auto y = op::Resize{}(Tensor<float, Shape<2>>{1, 2}, Tensor<float>(Extents{0}), Tensor<float, Shape<1>>{2});
  CHECK(y[1] == 1);
}
}  // namespace tenon
