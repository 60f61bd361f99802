// ArrayFeatureExtractor: columns by index.   onnx.ai/onnx/operators/onnx_aionnxml_ArrayFeatureExtractor.html
#pragma once

#include "tenon/kernels/move/gather.hpp"
#include "tenon/op/families/features.hpp"

namespace tenon::TENON_ABI::op {

/// Z (…, K) holds the columns of X (…, C) that the K elements of Y name, whatever extents Y has. A vector X
/// is one row. Error{out_of_range} for an index outside of [0, C). op::ArrayFeatureExtractor{}(x, y) of (3,4)
/// and (2) gives (3,2).
struct ArrayFeatureExtractor {
  static constexpr Spec spec{.name = "ArrayFeatureExtractor",
                             .domain = "ai.onnx.ml",
                             .since = {1},
                             .inputs = {{"X", "T"}, {"Y", "tensor(int64)"}},
                             .outputs = {{"Z", "T"}},
                             .types = {{"T", feature_types | types::string}}};

  constexpr void infer(Infer& i) const {
    if (!i.expect_rank_at_least(0, 1) || !i.ranked(0)) return;
    Dims z = i.dims(0);
    if (z.rank() == 1) z.insert(0, 1);
    z[z.rank() - 1] = i.dims(1).count();
    i.out(0, z);
  }
  void compute(AnyView x, TensorView<const int64_t> y, AnyOut z) const {
    const int64_t extent = x.extent(-1);
    for (int64_t k = 0; k < y.size(); ++k)
      if (y[k] < 0 || y[k] >= extent)
        raise(ErrorCode::out_of_range, spec.name, "index ", y[k], " outside of [0, ", extent - 1, "]");
    if (!z.empty())
      kernels::gather(x.dtype(), z.data(), x.data(), y.data(), y.size(), x.size() / extent, extent, 1);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ArrayFeatureExtractor)
