// Gradient: derivatives of a value of the enclosing graph.
// onnx.ai/onnx/operators/onnx_aionnxpreviewtraining_Gradient.html
#pragma once

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// Output k is the derivative, with respect to the value that xs[k] names, of the sum of the elements of the
/// value that y names. The values named in xs and zs determine y; inputs are their replacements, xs before
/// zs. The operator is a rewrite of the graph that contains it: the loader calls `add_gradient`
/// (graph/gradient.hpp), which is also how graphs built in code are differentiated. By itself it cannot run.
struct Gradient {
  std::vector<std::string> xs{};
  Opt<std::string> y{};
  std::vector<std::string> zs{};

  static constexpr Spec spec{
      .name = "Gradient",
      .domain = "ai.onnx.preview.training",
      .since = {1},
      .inputs = {{.name = "Inputs", .type = "T1", .arity = variadic, .heterogeneous = true}},
      .outputs = {{.name = "Outputs", .type = "T2", .arity = variadic, .heterogeneous = true}},
      .types = {{"T1", types::all}, {"T2", types::floats}}};
  static constexpr Attributes attributes{attr("xs", &Gradient::xs).required(),
                                         attr("y", &Gradient::y).required(), attr("zs", &Gradient::zs)};

  void infer(Infer& i) const {
    const int wanted = static_cast<int>(xs.size());
    if (wanted == 0) return i.fail("xs names no value");
    if (!y || (*y).empty()) return i.fail("y names no value");
    if (i.inputs() != wanted + static_cast<int>(zs.size()))
      return i.fail("has ", i.inputs(), " inputs for ", wanted, " xs and ", zs.size(), " zs");
    if (i.outputs() > wanted) return i.fail("has ", i.outputs(), " outputs for ", wanted, " xs");
    for (int k = 0; k < i.inputs(); ++k)
      if (!i.has(k)) return i.fail("input ", k, " is missing");
    for (int k = 0; k < i.outputs(); ++k) {
      i.out(k).type = i.in(k).type;
      i.out(k).dims = i.dims(k);
    }
  }
  std::vector<Value> compute(std::span<const AnyView>) const {
    raise(ErrorCode::not_supported, spec.name,
          "differentiates the graph around it, and has none: ", "load the model, or call add_gradient");
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Gradient)
