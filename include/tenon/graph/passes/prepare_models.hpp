// prepare_models: what an operator makes of its attributes alone (trees laid out, tables of keys) is made
// once.
#pragma once

#include "tenon/graph/passes/packed.hpp"
#include "tenon/op/nn/tf_idf_vectorizer.hpp"
#include "tenon/op/traditionalml/category_mapper.hpp"
#include "tenon/op/traditionalml/label_encoder.hpp"
#include "tenon/op/traditionalml/linear_classifier.hpp"
#include "tenon/op/traditionalml/linear_regressor.hpp"
#include "tenon/op/traditionalml/one_hot_encoder.hpp"
#include "tenon/op/traditionalml/svm_classifier.hpp"
#include "tenon/op/traditionalml/svm_regressor.hpp"
#include "tenon/op/traditionalml/tree_ensemble.hpp"
#include "tenon/op/traditionalml/tree_ensemble_classifier.hpp"
#include "tenon/op/traditionalml/tree_ensemble_regressor.hpp"

namespace tenon::passes {

/// The results of Op, whose compute is op.compute_with(op.prepare<T>(), x, results…), with the model that
/// prepare made for X's type.
template <class Op>
struct PreparedModel {
  std::shared_ptr<const Op> op{};    ///< the model may refer to its attributes
  DType element = DType::undefined;  ///< of X
  std::shared_ptr<const void> model{};

  static constexpr op::Spec spec = [] {
    op::Spec s = Op::spec;
    s.name = "PreparedModel";
    s.domain = "tenon";
    s.until = op::always;
    return s;
  }();

  void infer(op::Infer& i) const {
    if (i.dtype(0) != element) return i.fail("X is ", i.dtype(0), ", the model is for ", element);
    op->infer(i);
  }
  template <class T, class... Out>
  void compute(TensorView<const T> x, Out... out) const {
    using Model = decltype(op->template prepare<T>());
    op->compute_with(*static_cast<const Model*>(model.get()), x, out...);
  }
};

namespace detail {

template <class Op>
void prepare(Program& program) {
  program.for_each<Op>([&](int number, const Op& op) {
    const Graph::Node& n = program.node(number);
    if (!fits(program, number)) return program.skipped(number, "X is not known, or it does not fit");
    PreparedModel<Op> prepared{.op = std::make_shared<const Op>(op),
                               .element = program.info(n.inputs[0]).type.element};
    try {
      dispatch(all_types{}, prepared.element, [&]<class T>() {
        if constexpr (Op::spec.types[0].any().contains(dtype_of<T>)) {
          using Model = decltype(op.template prepare<T>());
          prepared.model = std::make_shared<const Model>(prepared.op->template prepare<T>());
        }
      });
    } catch (const Error& e) {
      return program.skipped(number, e.message());  // the run will say so
    }
    program.applied(number, "prepared");
    program.replace(number, AnyOperator::make(prepared), {n.inputs[0]});
  });
}

}  // namespace detail

inline void apply_prepare_models(Program& program) {
  detail::prepare<op::CategoryMapper>(program);
  detail::prepare<op::LabelEncoder>(program);
  detail::prepare<op::LinearClassifier>(program);
  detail::prepare<op::LinearRegressor>(program);
  detail::prepare<op::OneHotEncoder>(program);
  detail::prepare<op::SVMClassifier>(program);
  detail::prepare<op::SVMRegressor>(program);
  detail::prepare<op::TfIdfVectorizer>(program);
  detail::prepare<op::TreeEnsemble>(program);
  detail::prepare<op::TreeEnsembleClassifier>(program);
  detail::prepare<op::TreeEnsembleRegressor>(program);
}

inline constexpr Pass prepare_models{"prepare_models", apply_prepare_models};

}  // namespace tenon::passes
