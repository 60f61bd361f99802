// If: one of two graphs.   onnx.ai/onnx/operators/onnx__If.html
#pragma once

#include <algorithm>

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/op/families/control_flow.hpp"

namespace tenon::TENON_ABI::op {

/// Runs then_branch if cond holds, else else_branch. Neither takes inputs; both give the same number of
/// values, of equal types. Only the branch that runs must fit the operands of the run. op::If{one, two}(true)
/// gives the results of `two`.
struct If {
  BodyRef else_branch{};
  BodyRef then_branch{};

  static constexpr Spec spec{.name = "If",
                             .since = {1, 11, 13, 16, 19, 21, 23, 24, 25},
                             .inputs = {{"cond", "B"}},
                             .outputs = {{"outputs", "V", variadic, 1, true}},
                             .types = {control_flow_types, {"B", types::boolean}},
                             .deterministic = false};
  static constexpr Attributes attributes{attr("else_branch", &If::else_branch).required(),
                                         attr("then_branch", &If::then_branch).required()};

  void infer(Infer& i) const {
    if (!then_branch || !else_branch) return i.fail("a branch is missing");
    if (then_branch->inputs() != 0 || else_branch->inputs() != 0) return i.fail("a branch takes inputs");
    if (then_branch->outputs() != else_branch->outputs() || then_branch->outputs() < i.outputs())
      return i.fail("has ", i.outputs(), " outputs, then_branch ", then_branch->outputs(), ", else_branch ",
                    else_branch->outputs());
    if (!i.expect_one(0)) return;
    if (const Dim cond = i.item(0); cond.known()) {
      const std::vector<Info> taken = infer_body(cond.is(0) ? else_branch : then_branch, {});
      for (int k = 0; k < i.outputs(); ++k) i.out(k) = taken[static_cast<std::size_t>(k)];
      return;
    }
    // A branch that does not fit is no error if it never runs; its results are unknown then.
    std::vector<Info> of_then, of_else;
    const bool fits = infer_branch(then_branch, of_then);
    if (!infer_branch(else_branch, of_else)) {
      if (!fits) of_then = infer_body(then_branch, {});
      of_else.resize(of_then.size());
    }
    of_then.resize(of_else.size());
    for (int k = 0; k < i.outputs(); ++k) {
      const Info &a = of_then[static_cast<std::size_t>(k)], &b = of_else[static_cast<std::size_t>(k)];
      const bool has_a = a.type && a.type.kind != Kind::unknown,
                 has_b = b.type && b.type.kind != Kind::unknown;
      if (has_a && has_b && !(a.type == b.type))
        return i.fail_type("the types of output ", k, " differ in the branches");
      if (has_a || has_b) i.out(k).type = has_a ? a.type : b.type;
      i.out(k, common(a.dims, b.dims));
    }
  }
  std::vector<Value> compute(Context& c, TensorView<const bool> cond) const {
    const BodyRef& branch = cond.item() ? then_branch : else_branch;
    return run_body(spec.name, branch, c, {}, static_cast<std::size_t>(branch->outputs()));
  }
  template <class L>
  double multiplications(const L& l) const {
    return std::max(l.body(then_branch), l.body(else_branch));
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  static bool infer_branch(const BodyRef& branch, std::vector<Info>& out) {
    const auto infer = [&] {
      out = infer_body(branch, {});
      return true;
    };
    return tenon::detail::attempt<Error>(infer, [](const Error&) { return false; });
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::If)
