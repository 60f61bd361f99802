// ConstantOfShape: one element throughout.   onnx.ai/onnx/operators/onnx__ConstantOfShape.html
#pragma once

#include "tenon/op/families/movement.hpp"
#include "tenon/op/framework/attribute.hpp"

namespace tenon::TENON_ABI::op {

/// A tensor of the extents `input` (none: a scalar) whose elements all equal the one in `value`, by default
/// 0.0f. op::ConstantOfShape{}(constant<int64_t, 2, 3>) gives (2,3).
struct ConstantOfShape {
  TensorAttribute value{};

 private:
  static constexpr TypeSet types_9 = types::numeric | types::boolean,
                           types_20 = types_9 | types::bfloat16 | types::float8s;

 public:
  static constexpr Spec spec{
      .name = "ConstantOfShape",
      .since = {9, 20, 21, 23, 24, 25},
      .inputs = {{"input", "T1"}},
      .outputs = {{"output", "T2"}},
      .types = {{"T1", types::int64},
                {"T2",
                 {{9, types_9},
                  {20, types_20},
                  {21, types_20 | types::int4s},
                  {23, types_20 | types::int4s | types::float4s},
                  {24, types_20 | types::int4s | types::float4s | types::float8e8m0},
                  {25, types_20 | types::int4s | types::float4s | types::float8e8m0 | types::int2s}}}}};
  static constexpr Attributes attributes{attr("value", &ConstantOfShape::value)};

  void infer(Infer& i) const {
    if (value && value.value.tensor().size() != 1)
      return i.fail("value has ", value.value.tensor().size(), " elements");
    if (value)
      i.for_files([&] {
        const int rank = value.value.tensor().rank();
        if (rank != 1) i.fail("value: rank ", rank, ", expected 1");
      });
    const DType d = value ? value.value.tensor().dtype() : DType::float32;
    i.out(0).type = d;
    const Dims r = requested_extents(i, 0);
    i.out(0, r);
    if (!r.count().known() || !value || !is_propagated(d)) return;
    PropagatedData& v = i.out(0).propagated;
    const AnyView element = value.value.tensor().view();
    if (!v.begin(r.count().value())) return;
    const Dim each = d == DType::bool_ ? *static_cast<const bool*>(element.data()) : int_at(element, 0);
    for (int64_t k = 0; k < r.count().value(); ++k) v.push_back(each);
  }
  void compute(TensorView<const int64_t>, AnyOut output) const {
    alignas(16) static constexpr char zero[16]{};
    kernels::fill(output.dtype(), output.data(), value ? value.value.tensor().data() : zero, output.size());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ConstantOfShape)
