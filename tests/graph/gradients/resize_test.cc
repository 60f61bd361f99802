#include "tests/graph/gradients/check.hpp"

namespace tenon::test {

inline Given scales(std::initializer_list<float> list) {
  return constant(Tensor<float>(Extents{static_cast<int64_t>(list.size())}, list));
}

TEST_CASE("Resize: every mode, up and down") {
  const Given x = reals({1, 2, 3, 4}), up = scales({1, 1, 1.7f, 2}), down = scales({1, 1, 0.7f, 0.5f});
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const Given& by : {up, down, late(up)}) {
      check_op(op::Resize{.mode = mode}, {x, none(), by});
      check_op(op::Resize{.coordinate_transformation_mode = "align_corners", .mode = mode}, {x, none(), by});
    }
  check_op(op::Resize{.antialias = 1, .mode = "linear"}, {x, none(), down});
  check_op(op::Resize{.exclude_outside = 1, .mode = "cubic"}, {x, none(), up});
  check_op(op::Resize{.axes = {-1, 0}, .mode = "linear"}, {reals({2, 3}), none(), none(), ints({5, 3})});
  check_op(op::Resize{.axes = {1}, .keep_aspect_ratio_policy = "not_larger"},
           {reals({2, 3}), none(), none(), ints({5})});
  check_op(op::Resize{.mode = "linear"}, {reals({2, 3}), none(), none(), late(ints({2, 5}))});
  check_op(op::Resize{.mode = "linear"}, {reals({0, 3}), none(), none(), ints({0, 5})});
  check_twice(op::Resize{.mode = "linear"}, {reals({2, 3}), none(), none(), ints({3, 5})});
}

TEST_CASE("Resize: crops beyond the edges, and old versions") {
  const Given roi = scales({0.2f, -0.5f, 1, 1.3f}), sizes = ints({3, 5});
  for (const char* mode : {"nearest", "linear"})
    check_op(
        op::Resize{
            .coordinate_transformation_mode = "tf_crop_and_resize", .extrapolation_value = 9, .mode = mode},
        {reals({4, 3}), roi, none(), sizes});
  check_operator(old("Resize", 11, {{"coordinate_transformation_mode", std::string("tf_half_pixel_for_nn")}}),
                 {reals({2, 3}), scales({}), scales({1, 2.5f})});
  check_operator(old("Resize", 11, {{"mode", std::string("linear")}}),
                 {reals({2, 3}), scales({}), scales({}), ints({2, 5})});
  const Value x = Tensor<double>(Extents{2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
              by = Tensor<float>(Extents{2}, {1.5f, 0.7f});
  CHECK(slopes(old("Resize", 10), {x, by}) == std::vector<double>{4, 0, 6, 0, 5, 0, 6, 0});
  check_operator(old("Resize", 10, {{"mode", std::string("linear")}}), {reals({2, 3}), scales({1, 2})});
  for (const char* mode : {"nearest", "linear"}) {
    check_operator(old("Upsample", 9, {{"mode", std::string(mode)}}), {reals({2, 3}), scales({1, 2.5f})});
    check_operator(old("Upsample", 7, {{"mode", std::string(mode)}, {"scales", std::vector<float>{1.5f, 2}}}),
                   {reals({2, 3})});
  }
}

TEST_CASE("Upsample by the scales of two axes") {
  for (const char* mode : {"nearest", "bilinear"})
    check_operator(
        old("Upsample", 1, {{"height_scale", 1.5f}, {"mode", std::string(mode)}, {"width_scale", 2.0f}}),
        {reals({1, 2, 2, 3})});
}

TEST_CASE("Resize: what has no derivative") {
  const auto check_refused = [](const op::Resize& op, bool sized, std::string_view text) {
    Graph g;
    const ValueId x = g.add_input("x", DType::float64, {2, 3}), by = g.add_input("by", DType::float32, {2});
    const ValueId sizes = g.add_input("sizes", DType::int64, {2});
    const ValueId y = g.add_node({}, any(op), {x, -1, sized ? -1 : by, sized ? sizes : -1}, {})[0];
    try {
      (void)add_gradient(g, {.xs = {sized ? x : by}, .y = y}, standard_registry());
      FAIL_CHECK("no error");
    } catch (const Error& e) {
      CHECK_MESSAGE(std::string_view(e.what()).find(text) != std::string_view::npos, std::string(e.what()));
    }
  };
  check_refused({.mode = "linear"}, false, "Gradient: no derivative of Resize with respect to scales");
  check_refused({.keep_aspect_ratio_policy = "not_larger", .mode = "cubic"}, true,
                "Gradient: no derivative of Resize with keep_aspect_ratio_policy not_larger");
}

TEST_CASE("CenterCropPad") {
  check_op(op::CenterCropPad{}, {reals({4, 3}), ints({2, 6})});
  check_op(op::CenterCropPad{.axes = {-1}}, {reals({2, 2}), late(ints({5}))});
  check_op(op::CenterCropPad{}, {reals({2, 0}), ints({1, 2})});
}

}  // namespace tenon::test
