// Shape: the extents of a tensor.   onnx.ai/onnx/operators/onnx__Shape.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// The extents of axes [start, end), as int64; both count from the end if negative, and are clamped to the
/// rank. op::Shape{.start = 1}(x) of (2,3,4) gives (3,4).
struct Shape {
  Opt<int64_t> end{};  ///< past the last axis unless stated
  int64_t start = 0;

  static constexpr Spec spec{.name = "Shape",
                             .since = {1, 13, 15, 19, 21, 23, 24, 25},
                             .inputs = {{"data", "T"}},
                             .outputs = {{"shape", "T1"}},
                             .types = {every_type("T"), {"T1", types::int64}}};
  static constexpr Attributes attributes{attr("end", &Shape::end).since(15),
                                         attr("start", &Shape::start).since(15)};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (!x.ranked()) return i.out(0, Dims::of_rank(1));
    const int first = axis(start, x.rank()), last = axis(end.value_or(x.rank()), x.rank());
    i.out(0, Dims{std::max(0, last - first)});
    PropagatedData& v = i.out(0).propagated;
    v.begin(std::max(0, last - first));
    for (int d = first; d < last; ++d) v.push_back(x[d]);
  }
  void compute(AnyView data, TensorView<int64_t> shape) const {
    const int first = axis(start, data.rank());
    for (int64_t k = 0; k < shape.size(); ++k) shape[k] = data.extent(first + static_cast<int>(k));
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  static constexpr int axis(int64_t a, int rank) {
    return static_cast<int>(std::clamp<int64_t>(a < 0 ? a + rank : a, 0, rank));
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Shape)
