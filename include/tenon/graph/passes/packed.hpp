// Functions shared by passes that pack constant operands for kernels.
#pragma once

#include "tenon/graph/fused/bounds.hpp"
#include "tenon/graph/passes/match.hpp"
#include "tenon/op/math/clip.hpp"
#include "tenon/op/math/relu.hpp"

namespace tenon::TENON_ABI::passes {

/// A product of up to this many rows reads the unpacked matrix once: packing would cost memory and gain
/// nothing, unless the product had to widen it.
inline constexpr int64_t few_rows = 4;

/// The bounds that a node applies to x, if it is a Relu, or a Clip with constant bounds.
inline std::optional<Bounds> bounds_of(const Program& program, const Graph::Node& n, ValueId x) {
  if (n.inputs.empty() || n.inputs[0] != x) return {};
  Bounds b;
  if (n.op.as<op::Relu>()) {
    b.lo = 0;
  } else if (n.op.as<op::Clip>()) {
    for (std::size_t k = 1; k < n.inputs.size(); ++k) {
      if (n.inputs[k] < 0) continue;
      const AnyTensor* bound = constant_floats(program, n.inputs[k]);
      if (bound == nullptr || bound->size() != 1) return {};
      Scratch scratch;
      (k == 1 ? b.lo : b.hi) = *op::numbers<double>(scratch, bound->view());
    }
  } else {
    return {};
  }
  if (std::isnan(b.lo) || std::isnan(b.hi)) return {};
  return b;
}

/// A pool whose windows have one more axis, of extent 1, for the lanes.
inline AnyOperator with_lanes(const AnyOperator& pool) {
  return pool.with_attributes([](std::string_view name, op::AttributeValue& value) {
    auto* list = std::get_if<std::vector<int64_t>>(&value);
    if (list == nullptr || list->empty()) return false;
    if (name == "pads") list->insert(list->begin() + static_cast<std::ptrdiff_t>(list->size() / 2), 0);
    list->push_back(name == "pads" ? 0 : 1);
    return true;
  });
}

/// Concat along an axis.
inline AnyOperator along(const AnyOperator& concat, int64_t axis) {
  return concat.with_attributes([axis](std::string_view name, op::AttributeValue& value) {
    if (name != "axis") return false;
    value = axis;
    return true;
  });
}

namespace detail {

/// A constant as kernels read it.
inline Storage columns(const AnyTensor& t) {
  Storage s;
  visit_types<float, double>(compute_dtype(t.dtype()), [&]<class C>() {
    Scratch scratch;
    s = Storage::make<C>(t.size());
    std::copy_n(op::numbers<C>(scratch, t.view()), t.size(), s.as<C>());
  });
  return s;
}

}  // namespace detail

}  // namespace tenon::TENON_ABI::passes
