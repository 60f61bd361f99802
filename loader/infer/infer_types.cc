#include "loader/infer/infer_types.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

// "tensor(float) (1,?)"
std::string text_of(const op::Info& info) {
  std::string text = to_string(info.type);
  for (int k = 0; k < info.dims.rank(); ++k)
    text += str_cat(k == 0 ? " (" : ",", info.dims[k].known() ? std::to_string(info.dims[k].value()) : "?");
  return info.dims.rank() > 0 ? text + ")" : text;
}

// An operand of a known type.
struct TypedOperand {
  std::size_t index;
  const op::Param& param;
  bool taken;         // whether the operator takes the type
  const Type& first;  // of the first operand with the same type variable
  bool is_first;
};

template <class F>
void for_typed_operands(const AnyOperator& op, std::span<const op::Info> in, F f) {
  const op::Spec& spec = op.spec();
  std::map<std::string_view, Type> bound;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!known(in[k].type) || (static_cast<int>(k) >= spec.inputs.size() && !spec.variadic_inputs()))
      continue;
    const op::Param& p = spec.input(static_cast<int>(k), op.version());
    const auto [first, added] = bound.emplace(p.type, in[k].type);
    f(TypedOperand{k, p, spec.permits(p, op.version()).contains(in[k].type), first->second, added});
  }
}

}  // namespace

op::Info merged(const op::Info& declared, const op::Info& inferred, const std::string& place) {
  if (!known(declared.type)) return inferred;
  if (!known(inferred.type)) return declared;
  if (!(declared.type == inferred.type) || !declared.dims.fits(inferred.dims))
    throw Error(ErrorCode::invalid_model, place,
                str_cat("declared as ", text_of(declared), ", but is ", text_of(inferred)));
  op::Info both = inferred;
  if (!inferred.dims.ranked()) both.dims = declared.dims;
  else if (declared.dims.ranked())
    for (int k = 0; k < both.dims.rank(); ++k)
      if (!both.dims[k].known() && !(declared.dims[k] == Dim::unknown())) both.dims[k] = declared.dims[k];
  return both;
}

bool fit(const AnyOperator& op, std::span<const op::Info> in) {
  bool all = true;
  for_typed_operands(op, in, [&](const TypedOperand& x) {
    all &= x.taken && (x.param.heterogeneous || x.first == in[x.index].type);
  });
  return all;
}

WrongTypes forget_wrong_types(const AnyOperator& op, std::span<op::Info> in) {
  WrongTypes wrong;
  for_typed_operands(op, in, [&](const TypedOperand& x) {
    op::Info& info = in[x.index];
    if (x.taken && (x.first == info.type || x.param.arity != op::Arity::optional)) return;
    if (x.is_first) wrong.first.emplace(x.param.type, x.first);
    wrong.constant |= info.data != nullptr;
    info.type = unknown().type;
    info.data = nullptr;
  });
  return wrong;
}

bool is_optional(const AnyOperator& op, std::size_t input) {
  return static_cast<int>(input) < op.spec().inputs.size() &&
         op.spec().input(static_cast<int>(input), op.version()).arity == op::Arity::optional;
}

bool permitted(const AnyOperator& op, std::span<const op::Info> results) {
  for (std::size_t k = 0; k < results.size(); ++k) {
    const op::Param& p = op.spec().output(static_cast<int>(k), op.version());
    if (known(results[k].type) && !op.spec().permits(p, op.version()).contains(results[k].type)) return false;
  }
  return true;
}

}  // namespace tenon::TENON_ABI::loader
