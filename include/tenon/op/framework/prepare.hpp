// Operators whose work on attributes and constants (laying out trees, building tables of keys, packing
// weights) is already done.
#pragma once

#include "tenon/op/framework/registry.hpp"

namespace tenon::TENON_ABI {

namespace op {

/// An operator in place of another, and the operands of the other that it reads, in its order.
struct Prepared {
  AnyOperator op;  ///< or nothing: the operands do not allow it
  std::vector<int> inputs{};
};

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
/// Whether Op has `prepare<T>()`, of its attributes alone, T being its first operand's type.
template <class Op>
constexpr bool prepares_model() {
  if constexpr (Op::spec.types.size() == 0) return false;
  else return requires(const Op& op) { op.template prepare<sample_t<Op, 0>>(); };
}
}  // namespace detail

/// An operator prepares a model by `prepare<T>()`, see PreparedModel, or itself says what stands in its place
/// by `prepare<Filter>(const KnownOperands&)`, Filter being operator_class's.
template <class Op, uint32_t Filter>
constexpr auto prepare_function() -> Prepared (*)(const std::shared_ptr<const void>&, const KnownOperands&) {
  if constexpr (detail::prepares_model<Op>())
    return [](const std::shared_ptr<const void>& object, const KnownOperands& in) {
      const DType x = in.infos[0].type.element;
      PreparedModel<Op> prepared{.op = {object, static_cast<const Op*>(object.get())}, .element = x};
      detail::dispatch_mask<Op::spec.types[0].any().tensor & Filter>(x, [&]<class T>() {
        prepared.model = tenon::detail::shared_object(prepared.op->template prepare<T>());
      });
      return Prepared{AnyOperator::make<PreparedModel<Op>, Filter>(prepared), {0}};
    };
  else if constexpr (requires(const Op& op, const KnownOperands& in) { op.template prepare<Filter>(in); })
    return [](const std::shared_ptr<const void>& object, const KnownOperands& in) -> Prepared {
      return static_cast<const Op*>(object.get())->template prepare<Filter>(in);
    };
  else return nullptr;
}

}  // namespace op

inline op::Prepared AnyOperator::prepared(const op::KnownOperands& in) const {
  return class_->prepare(object_, in);
}

}  // namespace tenon::TENON_ABI
