// OneHot: indices as vectors with one element that is on.   onnx.ai/onnx/operators/onnx__OneHot.html
#pragma once

#include "tenon/base/convert.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/move/one_hot.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// indices have at least one axis, as ONNX's inference demands. A new axis of extent depth before `axis`:
/// along it, values is (off, on), and on stands at the index. Since 11 indices from -depth on count from the
/// end; an index outside leaves all off. Before, ONNX's inference refuses constants below 0. Numbers of other
/// types are truncated to int64. op::OneHot{}(indices, depth, values) of (2), 3 and (2) gives (2,3).
struct OneHot {
  int64_t axis = -1;
  bool negative = true;  ///< whether negative indices count from the end; not before 11

  static constexpr Spec spec{.name = "OneHot",
                             .since = {9, 11},
                             .inputs = {{"indices", "T1"}, {"depth", "T2"}, {"values", "T3"}},
                             .outputs = {{"output", "T3"}},
                             .types = {{"T1", types::numeric}, {"T2", types::numeric}, {"T3", types::all}}};
  static constexpr Attributes attributes{attr("axis", &OneHot::axis),
                                         initially(&OneHot::negative, false).until(10)};

 private:
  /// The depth, as far as it is known.
  static constexpr Dim depth_of(const Infer& i) {
    if (i.dtype(1) == DType::int64 || i.dtype(1) == DType::int32) return i.item(1);
    Dim depth;
    if (i.dims(1).count().differs(1)) return depth;
    visit_types(number_types{}, i.dtype(1), [&]<class T>() {
      if (const T* p = i.data<T>(1)) depth = convert<int64_t>(*p);
    });
    return depth;
  }

 public:
  constexpr void infer(Infer& i) const {
    i.for_runs([&] { i.expect_one(1); });
    if (!i.expect_rank(2, 1) || !i.expect_rank_at_least(0, 1)) return;
    if (!negative && i.propagates(0))
      i.for_files([&] {
        for (int64_t k = 0; k < i.element_count(0) && !i.failed(); ++k)
          i.expect_at_least("indices", i.propagated(0, k), 0);
      });
    if (Dim(1).below(i.dims(1).rank())) return i.fail("depth: rank ", i.dims(1).rank(), ", expected 0 or 1");
    if (i.dims(2).ranked() && i.dims(2)[0].differs(2))
      return i.fail("values: ", i.dims(2), ", expected off and on");
    const Dim depth = depth_of(i);
    if (!i.expect_at_least("depth", depth, 1)) return;
    Dims y = i.dims(0);
    if (!y.ranked()) return;
    const int at = i.axis(axis, y.rank() + 1);
    if (i.failed()) return;
    if (y.rank() == max_rank) return i.fail("the result has a rank above ", max_rank);
    y.insert(at, depth);
    i.out(0, y);
  }
  void compute(AnyView indices, AnyView, AnyView values, AnyOut output) const {
    if (output.empty()) return;
    const auto [outer, depth, inner] = split_at(output.extents(), resolve_axis(axis, output.rank()));
    Scratch scratch;
    const auto* numbers = static_cast<const int64_t*>(indices.data());
    if (indices.dtype() != DType::int64) {
      int64_t* p = scratch.take<int64_t>(indices.size());
      convert_n(DType::int64, p, indices.dtype(), indices.data(), indices.size());
      numbers = p;
    }
    kernels::one_hot(output.dtype(), output.data(), numbers, values.data(), outer, depth, inner, negative);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::OneHot)
