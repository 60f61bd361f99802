// Functions shared by passes that pack constant operands for kernels.
#pragma once

#include <cmath>
#include <limits>
#include <optional>

#include "tenon/graph/program.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/math/clip.hpp"
#include "tenon/op/math/relu.hpp"

namespace tenon::passes {

/// The value's tensor when it is a constant of floats, else null.
inline const AnyTensor* constant_floats(const Program& program, ValueId v) {
  if (v < 0 || !program.constant(v).is_tensor()) return nullptr;
  const AnyTensor& t = program.constant(v).tensor();
  return dispatch(float_types{}, t.dtype(), []<class T>() {}) ? &t : nullptr;
}

/// Whether a node's rule takes its operands, as far as they are known.
inline bool fits(const Program& program, int n) {
  const Graph::Node& node = program.node(n);
  return !node.outputs.empty() && program.info(node.outputs[0]).present();
}

/// An activation that kernels apply themselves: y = min(max(x, lo), hi), where a NaN stays.
struct Bounds {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
};

/// The bounds that a node applies to x, if it is a Relu or a Clip with constant ones.
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

}  // namespace tenon::passes
