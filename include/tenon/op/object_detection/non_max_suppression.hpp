// NonMaxSuppression: the best boxes of each class, without boxes that overlap better ones.
// onnx.ai/onnx/operators/onnx__NonMaxSuppression.html
#pragma once

#include "tenon/base/convert.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/kernels/suppress.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// selected_indices (K, 3), rows (image, class, box), from boxes (N, B, 4) and scores (N, classes, B), best
/// scores first for each class of each image: at most max_output_boxes_per_class boxes, none if it is left
/// out, each with a score above score_threshold, if given, and the intersection of none with a better one
/// more than iou_threshold of the union. An empty tensor counts as absent. A box is (y1, x1, y2, x2) of two
/// opposite corners, with center_point_box 1 (x of the centre, y of the centre, width, height). Boxes with
/// NaN scores are left out. The text removes scores less than the threshold, the reference also those equal
/// to it, as runtimes do: detectors give many boxes a score of 0 and a threshold of 0.
/// op::NonMaxSuppression{}(boxes, scores, int64_t{3}, 0.5f) of (1,6,4) and (1,1,6) gives (K,3), K at most 3.
struct NonMaxSuppression {
  int64_t center_point_box = 0;

  static constexpr Spec spec{
      .name = "NonMaxSuppression",
      .since = {10, 11},
      .inputs = {{"boxes", "tensor(float)"},
                 {"scores", "tensor(float)"},
                 {.name = "max_output_boxes_per_class", .type = "tensor(int64)", .arity = optional},
                 {.name = "iou_threshold", .type = "tensor(float)", .arity = optional},
                 {.name = "score_threshold", .type = "tensor(float)", .arity = optional}},
      .outputs = {{"selected_indices", "tensor(int64)"}},
      .types = {}};
  static constexpr Attributes attributes{attr("center_point_box", &NonMaxSuppression::center_point_box)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("center_point_box", center_point_box, {0, 1})) return;
    if (!i.expect_rank(0, 3) || !i.expect_rank(1, 3)) return;
    for (int k : {2, 3, 4})
      if (!i.dims(k).count().is(0) && !i.expect_one(k)) return;
    const Dims &boxes = i.dims(0), &scores = i.dims(1);
    if (boxes.ranked() && boxes[2].differs(4))
      return i.fail("boxes ", boxes, " does not have rows of 4 numbers");
    i.for_runs([&] {
      if (!i.ranked(0, 1)) return;
      i.unify(boxes[0], scores[0], "images of boxes and scores");
      i.unify(boxes[1], scores[2], "numbers of boxes and scores");
    });
    i.out(0, Dims{Dim(), 3});
  }
  /// Error{invalid_argument} for an iou_threshold outside of [0, 1].
  Tensor<int64_t> compute(TensorView<const float> boxes, TensorView<const float> scores,
                          TensorView<const int64_t> max_output_boxes_per_class,
                          TensorView<const float> iou_threshold,
                          TensorView<const float> score_threshold) const {
    const int64_t most = max_output_boxes_per_class.empty() ? 0 : max_output_boxes_per_class[0];
    const float overlap = iou_threshold.empty() ? 0 : iou_threshold[0];
    if (!(overlap >= 0 && overlap <= 1))
      raise(ErrorCode::invalid_argument, spec.name, "iou_threshold ", convert<std::string>(overlap),
            " outside of [0, 1]");
    const int64_t classes = scores.extent(1), n = boxes.extent(1),
                  tasks = most > 0 ? scores.extent(0) * classes : 0;
    std::vector<std::vector<int64_t>> selected(static_cast<std::size_t>(n > 0 ? tasks : 0));
    parallel_for(static_cast<int64_t>(selected.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        selected[static_cast<std::size_t>(t)] =
            kernels::suppress([&](int64_t k) { return corners_of(boxes.data() + 4 * (t / classes * n + k)); },
                              scores.data() + t * n, n, most, overlap,
                              score_threshold.empty() ? 0 : score_threshold[0], !score_threshold.empty());
    });
    int64_t count = 0;
    for (const auto& s : selected) count += static_cast<int64_t>(s.size());
    Tensor<int64_t> indices(Extents{count, 3});
    int64_t* to = indices.data();
    for (std::size_t t = 0; t < selected.size(); ++t)
      for (int64_t box : selected[t]) {
        *to++ = static_cast<int64_t>(t) / classes;
        *to++ = static_cast<int64_t>(t) % classes;
        *to++ = box;
      }
    return indices;
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  kernels::Box corners_of(const float* p) const {
    if (center_point_box != 0) {
      const float x = p[2] / 2, y = p[3] / 2;
      return {p[1] - y, p[0] - x, p[1] + y, p[0] + x};
    }
    return {std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3])};
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::NonMaxSuppression)
