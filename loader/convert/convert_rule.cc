#include "loader/convert/convert_rule.hpp"

#include <map>

#include "loader/format/attribute.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using op::AttributeInfo;
using op::AttributeValue;

AttributeValue value_of(const onnx::AttributeProto& a) {
  return read_attribute(a, {}, [](const onnx::GraphProto&) { return op::BodyRef(); });
}

// A hint, or a list without content.
bool says_nothing(const onnx::AttributeProto& a) {
  return a.name() == "consumed_inputs" || a.name() == "output_sequence" ||
         (a.name() == "dilations" &&
          std::all_of(a.ints().begin(), a.ints().end(), [](int64_t d) { return d == 1; }));
}

void state_as_input(Step& s, const Form& to, int input, const AttributeValue& value) {
  const op::Param& p = to.spec().input(input, to.version);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value);
      list != nullptr && list->empty() && p.arity == op::Arity::optional)
    return;
  DType element = DType::undefined;
  if (!std::holds_alternative<float>(value)) element = DType::int64;
  else if (to.spec().variable(p.type) < 0) element = to.spec().permits(p, to.version).single().element;
  else
    for (int k = 0; k < s.node.input_size() && element == DType::undefined; ++k)
      if (to.spec().input(k, to.version).type == p.type) element = dtype_from_onnx(s.element(k));
  if (!to.spec().permits(p, to.version).contains(element)) element = DType::undefined;
  if (element == DType::undefined)
    s.refuse("the attribute '", p.name, "' is an input there, of a type that is not known");
  s.set_input(input, s.add_constant(op::input_from_attribute(value, element)));
}

void state_as_attribute(Step& s, const AttributeInfo& a, int input) {
  if (!s.has(input)) return;
  const auto constant = s.constant(input);
  if (!constant)
    s.refuse("the input '", s.node.input(input), "' has to be a constant: it is an attribute there");
  const bool whole = a.type == op::AttributeType::integers || a.type == op::AttributeType::integer;
  const auto integers = whole ? s.integers(input) : std::nullopt;
  const auto reals = whole ? std::nullopt : s.reals(input);
  if (whole ? !integers || !is_integer(constant->dtype()) : !reals || is_integer(constant->dtype()))
    s.refuse("the input '", s.node.input(input), whole ? "' is no integer" : "' is no float");
  if (a.type == op::AttributeType::integers) {
    s.set(a.name, *integers);
  } else {
    if ((whole ? integers->size() : reals->size()) != 1)
      s.refuse("the input '", s.node.input(input), "' is not one number");
    if (whole) s.set(a.name, integers->front());
    else s.set(a.name, reals->front());
  }
  s.drop_input(input);
}

// `bound` holds the types of the type variables so far.
template <class Param>
void check_operands(Step& s, std::string_view what,
                    const google::protobuf::RepeatedPtrField<std::string>& names, int params, int least,
                    const Form& to, std::map<std::string_view, Type>& bound, Param param) {
  if (names.size() < least) s.refuse(least, " ", what, "s are needed");
  const bool variadic = params > 0 && param(params - 1).arity == op::Arity::variadic;
  for (int k = 0; k < names.size(); ++k) {
    if (k >= params && !variadic) s.refuse("there are only ", params, " ", what, "s");
    const op::Param& p = param(k);
    if (names[k].empty()) {
      if (p.in(to.version) && p.arity == op::Arity::single)
        s.refuse("the ", what, " '", p.name, "' is required");
      continue;
    }
    if (!p.in(to.version)) s.refuse("the ", what, " '", p.name, "' has no counterpart");
    if (s.up()) continue;
    const Type type = s.tensor_type(names[k]);
    if (!type || type.kind == Kind::unknown) continue;
    if (!to.spec().permits(p, to.version).contains(type))
      s.refuse("the ", what, " '", p.name, "' cannot be ", to_string(type));
    if (p.heterogeneous) continue;
    const Type first = bound.emplace(p.type, type).first->second;
    if (!(first == type))
      s.refuse("the ", what, " '", p.name, "' cannot be ", to_string(type), " where ", p.type, " is ",
               to_string(first));
  }
}

}  // namespace

void convert_attributes(Step& s, const Form& from, const Form& to) {
  std::set<std::string> given;
  for (const auto& a : s.node.attribute()) given.insert(a.name());
  // Attributes that become inputs, and inputs that become attributes, on the other side.
  for (const AttributeInfo& a : from.rows) {
    const int input = a.in(from.version) ? from.input_of(a) : -1;
    if (input < 0 || to.attribute_for(input) != nullptr) continue;
    const onnx::AttributeProto* stated = s.attribute(a.name);
    const AttributeValue value = stated != nullptr ? value_of(*stated) : a.value;
    if (stated != nullptr &&
        (a.type == op::AttributeType::integer ? !std::holds_alternative<int64_t>(value)
         : a.type == op::AttributeType::real  ? !std::holds_alternative<float>(value)
                                              : !std::holds_alternative<std::vector<int64_t>>(value)))
      s.refuse("the attribute '", a.name, "' is of another type");
    s.erase(a.name);
    if (value.index() != 0) state_as_input(s, to, input, value);
  }
  for (int k = 0; k < std::min(s.node.input_size(), to.spec().inputs.size()); ++k)
    if (const AttributeInfo* a = to.attribute_for(k); a != nullptr && from.attribute_for(k) == nullptr)
      state_as_attribute(s, *a, k);
  s.trim_inputs();

  for (int k = 0; k < s.node.attribute_size(); ++k) {
    const onnx::AttributeProto& a = s.node.attribute(k);
    if (to.find(a.name()) != nullptr || a.name().starts_with("__")) continue;
    const AttributeInfo* now = to.find(a.name(), true);
    if (!says_nothing(a) && (now == nullptr || !equal(value_of(a), now->value)))
      s.refuse("the attribute '", a.name(), "' has no counterpart");
    s.node.mutable_attribute()->DeleteSubrange(k--, 1);
  }
  // Absent attributes have the defaults of their version.
  for (const AttributeInfo& a : to.rows) {
    if (!a.in(to.version) || given.contains(std::string(a.name)) || to.input_of(a) >= 0) continue;
    const AttributeInfo* was = from.find(a.name, true);
    if (was == nullptr || was->type != a.type || equal(was->value, a.value) || a.name == "direction") {
      if (a.required && a.value.index() != 0) s.set(a.name, a.value);
      else if (a.required) s.refuse("the attribute '", a.name, "' is required");
    } else if (was->value.index() != 0) {
      s.set(a.name, was->value);
    } else {
      s.refuse("the attribute '", a.name, "' has another default");
    }
  }
  for (const AttributeInfo& a : from.rows)
    if (const AttributeInfo* now = to.find(a.name, true);
        a.in(from.version) && now != nullptr && !now->in(to.version) &&
        !given.contains(std::string(a.name)) && !equal(a.value, now->value))
      s.refuse("the attribute '", a.name, "' has another default, and cannot be stated");
}

void require_operands(Step& s, const Form& from) {
  const op::Spec& spec = from.spec();
  const auto require = [&](const char* what, const auto& names, int least, auto param) {
    if (names.size() < least) s.refuse(least, " ", what, "s are needed");
    for (int k = 0; k < least; ++k)
      if (const op::Param& p = param(k);
          names[k].empty() && p.in(from.version) && p.arity == op::Arity::single)
        s.refuse("the ", what, " '", p.name, "' is required");
  };
  require("input", s.node.input(), spec.min_inputs(from.version),
          [&](int k) -> const op::Param& { return spec.input(k, from.version); });
  require("output", s.node.output(), spec.min_outputs(from.version),
          [&](int k) -> const op::Param& { return spec.output(k, from.version); });
}

void check_operands(Step& s, const Form& to) {
  std::map<std::string_view, Type> bound;
  check_operands(s, "input", s.node.input(), to.spec().inputs.size(), to.spec().min_inputs(to.version), to,
                 bound, [&](int k) -> const op::Param& { return to.spec().input(k, to.version); });
  check_operands(s, "output", s.node.output(), to.spec().outputs.size(), to.spec().min_outputs(to.version),
                 to, bound, [&](int k) -> const op::Param& { return to.spec().output(k, to.version); });
}

void check_references(Step& s, const Form& from, const Form& to) {
  for (const auto& a : s.node.attribute()) {
    if (a.ref_attr_name().empty()) continue;
    const AttributeInfo *const was = from.find(a.name()), *const is = to.find(a.name());
    if (was == nullptr || is == nullptr || was->type != is->type || !equal(was->value, is->value))
      s.refuse_reference(a.name());
  }
}

void count_axes_from_front(Step& s) {
  for (const char* name : {"axis", "axes"}) {
    onnx::AttributeProto* a = s.attribute(name);
    if (a == nullptr) continue;
    const auto negative = [](int64_t v) { return v < 0; };
    if (a->i() >= 0 && std::none_of(a->ints().begin(), a->ints().end(), negative)) continue;
    int64_t rank = s.rank(0);
    if (rank < 0) s.refuse("a negative '", name, "' of a tensor whose rank is not known");
    if (s.node.op_type() == "Unsqueeze") rank += a->ints_size();
    if (s.node.op_type() == "OneHot") ++rank;
    if (a->i() < 0) a->set_i(a->i() + rank);
    for (auto& v : *a->mutable_ints()) v += v < 0 ? rank : 0;
  }
}

}  // namespace tenon::TENON_ABI::loader
