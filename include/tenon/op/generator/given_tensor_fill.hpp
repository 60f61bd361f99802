// GivenTensorFill: a tensor of given numbers; experimental, withdrawn with opset 10.
// github.com/onnx/onnx/blob/v1.4.1/docs/Operators.md#experimental-giventensorfill
#pragma once

#include <vector>

#include "tenon/base/convert.hpp"
#include "tenon/op/families/fill.hpp"

namespace tenon::TENON_ABI::op {

/// `values` under the extents `shape`, or the input's followed by extra_shape, in the input's type, by
/// default float. Error{invalid_argument} unless there is a value for each element. input_as_shape is
/// refused, because the types that the input may have cannot hold extents. op::GivenTensorFill{.values = {1,
/// 2}, .shape = {1, 2}}(none) gives (1,2).
struct GivenTensorFill {
  std::vector<float> values{};
  Ints shape{};
  int64_t input_as_shape = 0;
  Ints extra_shape{};

  static constexpr Spec spec{.name = "GivenTensorFill",
                             .since = {1},
                             .inputs = {{"shape", "T", optional}},
                             .outputs = {{"X", "T"}},
                             .types = {{"T", types::floats}},
                             .until = 9};
  static constexpr Attributes attributes{attr("values", &GivenTensorFill::values),
                                         attr("shape", &GivenTensorFill::shape),
                                         attr("input_as_shape", &GivenTensorFill::input_as_shape).flag(),
                                         attr("extra_shape", &GivenTensorFill::extra_shape)};

  void infer(Infer& i) const {
    if (!i.has(0)) i.out(0).type = DType::float32;
    infer_filled(i, shape, extra_shape, input_as_shape != 0);
    const auto given = static_cast<int64_t>(values.size());
    if (!i.failed() && i.out(0).dims.count().differs(given))
      i.fail(given, " values for the extents ", i.out(0).dims);
  }
  void compute(AnyView, AnyOut x) const {
    const auto given = static_cast<int64_t>(values.size());
    if (given != x.size())
      raise(ErrorCode::invalid_argument, spec.name, given, " values for ", x.size(), " elements");
    convert_n(x.dtype(), x.data(), DType::float32, values.data(), given);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::GivenTensorFill)
