// Operators whose work on attributes alone (laying out trees, building tables of keys) is already done.
#pragma once

#include "tenon/op/framework/registry.hpp"

namespace tenon::TENON_ABI::op {

/// The results of Op, whose compute is op.compute_with(op.prepare<T>(), x, results…), with the model that
/// prepare made for X's type.
template <class Op>
struct PreparedModel {
  std::shared_ptr<const Op> op{};    ///< the model may refer to its attributes
  DType element = DType::undefined;  ///< of X
  std::shared_ptr<const void> model{};

  static constexpr Spec spec = [] {
    Spec s = own_spec("PreparedModel", Op::spec);
    s.workspace = Workspace::heap;
    return s;
  }();

  void infer(Infer& i) const {
    if (i.dtype(0) != element) return i.fail_type("X is ", i.dtype(0), ", the model is for ", element);
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
constexpr bool prepares() {
  if constexpr (Op::spec.types.size() == 0) return false;
  else return requires(const Op& op) { op.template prepare<sample_t<Op, 0>>(); };
}
}  // namespace detail

template <class Op, uint32_t Filter>
constexpr auto prepare_function() -> AnyOperator (*)(const std::shared_ptr<const void>&, DType) {
  if constexpr (!detail::prepares<Op>()) return nullptr;
  else
    return [](const std::shared_ptr<const void>& object, DType x) {
      PreparedModel<Op> prepared{.op = {object, static_cast<const Op*>(object.get())}, .element = x};
      detail::dispatch_mask<Op::spec.types[0].any().tensor & Filter>(x, [&]<class T>() {
        prepared.model = tenon::detail::shared_object(prepared.op->template prepare<T>());
      });
      return AnyOperator::make<PreparedModel<Op>, Filter>(prepared);
    };
}

}  // namespace tenon::TENON_ABI::op
