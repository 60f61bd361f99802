// The optimizers share operands, the shape rule, and the walk over the tensors that they optimize. The
// operands after the learning rate R and the update count T are groups with an entry for each optimized
// tensor: values, gradients, and one or two groups of states; results are the new values and states.
// Arithmetic is in double.
#pragma once

#include "tenon/kernels/elementwise/step.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// The specification of an optimizer.
constexpr Spec optimizer_spec(std::string_view name) {
  constexpr TypeSet reals = types::float32 | types::float64;
  return {.name = name,
          .domain = "ai.onnx.preview.training",
          .since = {1},
          .inputs = {{"R", "T1"},
                     {"T", "T2"},
                     {.name = "inputs", .type = "T3", .arity = variadic, .heterogeneous = true}},
          .outputs = {{.name = "outputs", .type = "T3", .arity = variadic, .heterogeneous = true}},
          .types = {{"T1", reals}, {"T2", types::int64}, {"T3", reals}}};
}

/// The rule of an optimizer that keeps `states` states for each tensor: gradients and states have the
/// tensor's extents, results the extents and types of the operands that they replace.
constexpr void infer_optimizer(Infer& i, int states) {
  const int each = 2 + states, given = i.inputs() - 2, n = given / each;
  if (given % each != 0) return i.fail("takes a multiple of ", each, " tensors after R and T, not ", given);
  if (i.outputs() != n * (1 + states))
    return i.fail("has ", i.outputs(), " outputs, expected ", n * (1 + states));
  if (!i.expect_one(0) || !i.expect_one(1)) return;
  for (int k = 2; k < i.inputs(); ++k)
    if (!i.has(k)) return i.fail("input ", k, " is missing");
  for (int k = 2; k < 2 + n; ++k) {
    Dims x = i.dims(k);
    for (int group = 1; group < each; ++group)
      x = i.unify(x, i.dims(k + group * n), "extents of a tensor, its gradient and its states");
    for (int group = 0; group <= states; ++group) {
      Info& result = i.out(k - 2 + group * n);
      result.type = i.in(group == 0 ? k : k + (1 + group) * n).type;
      result.dims = x;
    }
  }
}

/// Calls f(x, g, states...) with the numbers at each element of each tensor. The values that f leaves in x
/// and the states are the results.
template <int states, class F>
void optimize(std::span<const AnyView> in, std::span<const AnyOut> out, F f) {
  constexpr std::size_t each = 2 + states;
  const std::size_t n = in.size() / each;
  for (std::size_t k = 0; k < n; ++k) {
    std::array<kernels::Reals<const void>, each> from;
    std::array<kernels::Reals<void>, each> to;
    for (std::size_t group = 0; group < each; ++group) {
      const AnyView& v = in[k + group * n];
      from[group] = {v.data(), v.dtype() == DType::float64};
      if (group == 1) continue;
      const AnyOut& y = out[k + (group == 0 ? 0 : group - 1) * n];
      if (y) to[group] = {y.data(), y.dtype() == DType::float64};
    }
    kernels::step(from, to, in[k].size(), [&](std::array<double, each>& v) { std::apply(f, v); });
  }
}

/// The only element of a float or double operand.
inline double real_item(AnyView v) {
  return v.dtype() == DType::float64 ? v.as<double>().item() : static_cast<double>(v.as<float>().item());
}

}  // namespace tenon::TENON_ABI::op
