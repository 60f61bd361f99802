// lay_out_trees: a tree ensemble becomes a node whose trees are laid out for the kernel.
#pragma once

#include "tenon/graph/passes/packed.hpp"
#include "tenon/op/traditionalml/tree_ensemble.hpp"
#include "tenon/op/traditionalml/tree_ensemble_classifier.hpp"
#include "tenon/op/traditionalml/tree_ensemble_regressor.hpp"

namespace tenon::passes {

/// The results of Op, one of the tree ensembles, from the trees that it lays out once.
template <class Op>
struct LaidOutTrees {
  Op op{};
  DType element = DType::undefined;  ///< of X
  std::shared_ptr<const op::TreeModel<float>> narrow{};
  std::shared_ptr<const op::TreeModel<double>> wide{};  ///< where features are compared as doubles

  static constexpr op::Spec spec = [] {
    op::Spec s = Op::spec;
    s.name = "LaidOutTrees";
    s.domain = "tenon";
    s.since = {1};
    s.until = op::always;
    return s;
  }();
  static constexpr op::Attributes attributes{};

  void infer(op::Infer& i) const {
    if (i.dtype(0) != element) return i.fail("X is ", i.dtype(0), ", the trees are for ", element);
    op.infer(i);
  }
  template <class T, class... Out>
  void compute(TensorView<const T> x, Out... out) const {
    if (x.extent(0) == 0) return;
    if constexpr (!std::is_same_v<T, float16>)
      if (wide) return op.predict(*wide, x, out...);
    if constexpr (std::is_same_v<op::model_t<T>, float>) op.predict(*narrow, x, out...);
  }
};

namespace detail {

template <class Op>
void lay_out(Program& program) {
  program.for_each<Op>([&](int number, const Op& op) {
    const Graph::Node& n = program.node(number);
    if (!fits(program, number)) return program.skipped(number, "X is not known, or it does not fit");
    LaidOutTrees<Op> laid_out{.op = op, .element = program.info(n.inputs[0]).type.element};
    try {
      if (op.in_double(laid_out.element))
        laid_out.wide = std::make_shared<const op::TreeModel<double>>(op.template model<double>());
      else laid_out.narrow = std::make_shared<const op::TreeModel<float>>(op.template model<float>());
    } catch (const Error& e) {
      return program.skipped(number, e.message());  // the run will say so
    }
    program.applied(number, "laid out");
    program.replace(number, AnyOperator::make(laid_out), {n.inputs[0]});
  });
}

}  // namespace detail

inline void apply_lay_out_trees(Program& program) {
  detail::lay_out<op::TreeEnsemble>(program);
  detail::lay_out<op::TreeEnsembleClassifier>(program);
  detail::lay_out<op::TreeEnsembleRegressor>(program);
}

inline constexpr Pass lay_out_trees{"lay_out_trees", apply_lay_out_trees};

}  // namespace tenon::passes
