#include "tenon/op/object_detection/non_max_suppression.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("NonMaxSuppression: cases") {
  const Value boxes = t<float>({1, 4, 4}, {0, 0, 1, 1, 0, 0.25f, 1, 1.25f, 0, 2, 1, 3, 5, 5, 4, 4});
  const Value scores = t<float>({1, 1, 4}, {0.8f, 0.9f, 0.5f, 0.5f}), none_;
  const float nan = std::nanf(""), inf = INFINITY;
  const auto f = [](float v) { return t<float>({1}, {v}); };
  const auto most = [](int64_t v) { return t<int64_t>({}, {v}); };
  const auto found = [](std::initializer_list<int64_t> v) {
    return t<int64_t>({static_cast<int64_t>(v.size()) / 3, 3}, v);
  };
  struct Row {
    op::NonMaxSuppression op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {boxes, scores, most(9)}, found({0, 0, 1, 0, 0, 2, 0, 0, 3})},
      {{}, {boxes, scores, most(9), f(0.7f)}, found({0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 3})},
      // 0.75 over 1.25 is not above itself.
      {{}, {boxes, scores, most(9), f(0.75f / 1.25f)}, found({0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 3})},
      {{}, {boxes, scores, most(2), f(0.5f)}, found({0, 0, 1, 0, 0, 2})},
      {{}, {boxes, scores, most(9), f(0.5f), f(0.5f)}, found({0, 0, 1})},
      {{}, {boxes, scores, most(9), none_, f(0.4f)}, found({0, 0, 1, 0, 0, 2, 0, 0, 3})},
      // A score is above the threshold, not equal to it.
      {{}, {boxes, t<float>({1, 1, 4}, {0, 0, 0.5f, 0}), most(9), f(0.5f), f(0)}, found({0, 0, 2})},
      {{}, {boxes, scores, most(9), f(1)}, found({0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 3})},
      // No number of boxes is none.
      {{}, {boxes, scores}, found({})},
      {{}, {boxes, scores, none_, f(0.5f)}, found({})},
      {{}, {boxes, scores, t<int64_t>({0}, {})}, found({})},
      {{},
       {boxes, scores, most(9), t<float>({0}, {}), t<float>({0}, {})},
       found({0, 0, 1, 0, 0, 2, 0, 0, 3})},
      {{}, {boxes, scores, most(0)}, found({})},
      {{}, {boxes, scores, most(-3)}, found({})},
      // Corners may be any two opposite ones.
      {{},
       {t<float>({1, 2, 4}, {1, 1, 0, 0, 0, 1, 1, 0}), t<float>({1, 1, 2}, {1, 2}), most(9), f(0.5f)},
       found({0, 0, 1})},
      {{.center_point_box = 1},
       {t<float>({1, 3, 4}, {0.5f, 0.5f, 1, 1, 0.5f, 0.75f, 1, 1, 0.5f, 10, 1, 1}),
        t<float>({1, 1, 3}, {1, 2, 3}), most(9), f(0.5f)},
       found({0, 0, 2, 0, 0, 1})},
      {{.center_point_box = 1},
       {t<float>({1, 2, 4}, {0.5f, 0.5f, 1, 1, 0.5f, 0.5f, -1, -1}), t<float>({1, 1, 2}, {1, 2}), most(9)},
       found({0, 0, 1, 0, 0, 0})},
      // Images and classes.
      {{},
       {t<float>({2, 1, 4}, {0, 0, 1, 1, 0, 0, 1, 1}), t<float>({2, 2, 1}, {1, 2, 3, 4}), most(1)},
       found({0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0})},
      // Scores and coordinates that are no numbers, boxes without an area, infinite ones.
      {{}, {boxes, t<float>({1, 1, 4}, {nan, -inf, inf, nan}), most(9)}, found({0, 0, 2, 0, 0, 1})},
      {{},
       {t<float>({1, 4, 4}, {nan, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, -inf, 0, inf, 1}),
        t<float>({1, 1, 4}, {1, 2, 3, 4}), most(9)},
       found({0, 0, 3, 0, 0, 2, 0, 0, 1, 0, 0, 0})},
      {{}, {t<float>({1, 0, 4}, {}), t<float>({1, 2, 0}, {}), most(9)}, found({})},
      {{}, {t<float>({0, 2, 4}, {}), t<float>({0, 2, 2}, {}), most(9)}, found({})},
      {{}, {boxes, t<float>({1, 0, 4}, {}), most(9)}, found({})},
  };
  for (const Row& row : rows) {
    CAPTURE(&row - rows);
    check(row.op, row.in, {row.out});
    check(row.op, row.in, {row.out}, 0, 0, 10);
  }
}

TEST_CASE("NonMaxSuppression: against all pairs") {
  uint32_t state = 1;
  const auto random = [&](float below) {
    state = state * 1664525 + 1013904223;
    return static_cast<float>(state >> 8) / 16777216 * below;
  };
  for (float side : {3.0f, 30.0f}) {
    constexpr int64_t n = 2000;
    Tensor<float> boxes(Extents{1, n, 4}), scores(Extents{1, 1, n});
    for (int64_t k = 0; k < n; ++k) {
      float* b = boxes.data() + 4 * k;
      b[0] = random(100), b[1] = random(200);
      // A few large ones among small ones.
      const float scale = k % 50 == 0 ? 20 : 1;
      b[2] = b[0] + random(side) * scale, b[3] = b[1] + random(side) * scale;
      scores[k] = std::floor(random(300));
    }
    std::vector<int64_t> order, kept;
    for (int64_t k = 0; k < n; ++k) order.push_back(k);
    std::ranges::sort(
        order, [&](int64_t a, int64_t b) { return std::pair(-scores[a], a) < std::pair(-scores[b], b); });
    const float threshold = 0.2f;
    for (int64_t k : order) {
      const auto box = [&](int64_t i) {
        const float* b = boxes.data() + 4 * i;
        return kernels::Box{b[0], b[1], b[2], b[3]};
      };
      if (std::none_of(kept.begin(), kept.end(), [&](int64_t o) {
            return kernels::overlap(box(k), box(k).area(), box(o), box(o).area(), threshold);
          }))
        kept.push_back(k);
    }
    Tensor<int64_t> expected(Extents{static_cast<int64_t>(kept.size()), 3});
    for (std::size_t k = 0; k < kept.size(); ++k) {
      expected[static_cast<int64_t>(3 * k)] = expected[static_cast<int64_t>(3 * k + 1)] = 0;
      expected[static_cast<int64_t>(3 * k + 2)] = kept[k];
    }
    CHECK(kept.size() < n);
    check(op::NonMaxSuppression{},
          {std::move(boxes), std::move(scores), t<int64_t>({1}, {n}), t<float>({}, {threshold})},
          {std::move(expected)});
  }
}

TEST_CASE("NonMaxSuppression: boxes further apart than float reaches") {
  constexpr int64_t n = 1100;
  Tensor<float> boxes(Extents{1, n, 4}), scores(Extents{1, 1, n});
  for (int64_t k = 0; k < n; ++k)
    for (int64_t side : {0, 1}) boxes[4 * k + side] = -3e38f, boxes[4 * k + 2 + side] = 3e38f;
  // Areas are infinite, so none is more than a part of the union.
  CHECK(run(op::NonMaxSuppression{}, {boxes.clone(), scores.clone(), t<int64_t>({}, {n})})[0]
            .tensor()
            .extents() == Extents{n, 3});
}

TEST_CASE("NonMaxSuppression: errors, symbols, and typed") {
  const Value boxes = t<float>({1, 1, 4}, {0, 0, 1, 1}), scores = t<float>({1, 1, 1}, {1}),
              one = t<int64_t>({1}, {1});
  const op::NonMaxSuppression plain;
  for (float bad : {-0.1f, 1.5f, std::nanf("")})
    check_fails(plain, {boxes, scores, one, t<float>({}, {bad})}, "outside of [0, 1]");
  check_fails(op::NonMaxSuppression{.center_point_box = 2}, {boxes, scores},
              "center_point_box: 2, expected 0 or 1");
  check_fails(plain, {t<float>({1, 1, 5}, {0, 0, 1, 1, 1}), scores},
              "boxes (1,1,5) does not have rows of 4 numbers");
  check_fails(plain, {t<float>({1, 4}, {0, 0, 1, 1}), scores}, "boxes: rank 2, expected 3");
  check_fails(plain, {boxes, t<float>({1, 1}, {1})}, "scores: rank 2, expected 3");
  check_fails(plain, {boxes, t<float>({1, 1, 2}, {1, 2})}, "numbers of boxes and scores differ: 1 and 2");
  check_fails(plain, {boxes, t<float>({2, 1, 1}, {1, 2})}, "images of boxes and scores differ: 1 and 2");
  check_fails(plain, {boxes, scores, t<int64_t>({2}, {1, 2})},
              "max_output_boxes_per_class: (2), expected one element");
  check_fails(plain, {t<double>({1, 1, 4}, {0, 0, 1, 1}), scores}, "input boxes cannot be tensor(double)");
  const auto n = Dim::symbol(1);
  CHECK(infer(plain, {info(DType::float32, {n, 5, 4}), info(DType::float32, {n, 2, 5})})[0].dims ==
        Dims{Dim(), 3});
  Tensor<float, Shape<1, 1, 4>> b{{{0, 0, 1, 1}}};
  Tensor<float, Shape<1, 1, 1>> s{{{1}}};
  const auto y = op::NonMaxSuppression{}(b, s, int64_t{3});
  check_equal(y, t<int64_t>({1, 3}, {0, 0, 0}));
}
}  // namespace tenon
