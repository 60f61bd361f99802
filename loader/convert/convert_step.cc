#include "loader/convert/convert_step.hpp"

#include <algorithm>

#include "tenon/base/convert.hpp"

namespace tenon::TENON_ABI::loader {

using onnx::AttributeProto;

Adapter find_adapter(std::span<const AdapterRow> rows, std::string_view op, int boundary) {
  for (const AdapterRow& row : rows)
    if (row.op == op && row.boundary == boundary) return row.adapter;
  return nullptr;
}

void set_attribute(onnx::NodeProto& n, std::string_view name, const op::AttributeValue& value) {
  AttributeProto* a = nullptr;
  for (auto& given : *n.mutable_attribute())
    if (given.name() == name) a = &given;
  if (a == nullptr) a = n.add_attribute();
  a->Clear();
  a->set_name(std::string(name));
  if (const auto* i = std::get_if<int64_t>(&value)) {
    a->set_type(AttributeProto::INT);
    a->set_i(*i);
  } else if (const auto* f = std::get_if<float>(&value)) {
    a->set_type(AttributeProto::FLOAT);
    a->set_f(*f);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    a->set_type(AttributeProto::STRING);
    a->set_s(*s);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    a->set_type(AttributeProto::INTS);
    a->mutable_ints()->Add(ints->begin(), ints->end());
  } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
    a->set_type(AttributeProto::FLOATS);
    a->mutable_floats()->Add(floats->begin(), floats->end());
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    a->set_type(AttributeProto::STRINGS);
    for (const std::string& text : *strings) a->add_strings(text);
  } else if (const auto* type = std::get_if<Type>(&value)) {
    a->set_type(AttributeProto::TYPE_PROTO);
    write_type(*type, {}, {}, *a->mutable_tp());
  } else if (const auto* v = std::get_if<Value>(&value); v != nullptr && v->is_tensor()) {
    a->set_type(AttributeProto::TENSOR);
    write_tensor(v->tensor(), *a->mutable_t());
  } else if (v != nullptr && v->is_sparse_tensor()) {
    a->set_type(AttributeProto::SPARSE_TENSOR);
    write_sparse_tensor(v->sparse_tensor(), *a->mutable_sparse_tensor());
  } else {
    throw Error(ErrorCode::not_supported, n.op_type(), str_cat("attribute '", name, "' cannot be written"));
  }
}

// --- operands ---

const onnx::TypeProto* Step::type(const std::string& value) const {
  for (const ConvertScope* s = &scope_; s != nullptr; s = s->outer)
    if (s->names.contains(value)) {
      const auto it = s->types.find(value);
      return it == s->types.end() ? nullptr : it->second;
    }
  return nullptr;
}

Type Step::tensor_type(const std::string& value) const {
  const onnx::TypeProto* t = type(value);
  return t == nullptr || t->value_case() == onnx::TypeProto::VALUE_NOT_SET ? Type() : read_type(*t);
}

int Step::element(int input) const {
  const onnx::TypeProto* t = has(input) ? type(node.input(input)) : nullptr;
  return t == nullptr ? 0 : t->tensor_type().elem_type();
}

std::optional<Shape> Step::shape(int input) const {
  const onnx::TypeProto* t = has(input) ? type(node.input(input)) : nullptr;
  if (t == nullptr || !t->tensor_type().has_shape()) return std::nullopt;
  Shape shape;
  for (const auto& d : t->tensor_type().shape().dim())
    shape.push_back(d.has_dim_value()       ? std::to_string(d.dim_value())
                    : d.dim_param().empty() ? "?"
                                            : str_cat("'", d.dim_param()));
  return shape;
}

int Step::rank(int input) const {
  const auto s = shape(input);
  return s ? static_cast<int>(s->size()) : -1;
}

std::optional<AnyTensor> Step::constant(int input) const {
  if (!has(input)) return std::nullopt;
  const std::string& name = node.input(input);
  for (const ConvertScope* s = &scope_; s != nullptr; s = s->outer) {
    if (!s->names.contains(name)) continue;
    if (const auto t = s->tensors.find(name); t != s->tensors.end()) {
      if (is_external(*t->second)) return std::nullopt;
      return read_tensor(*t->second);
    }
    const auto c = s->constants.find(name);
    if (c == s->constants.end()) return std::nullopt;
    const AttributeProto& a = *c->second;
    if (a.name() == "value_ints") return vector_of(std::vector<int64_t>(a.ints().begin(), a.ints().end()));
    if (a.name() == "value_floats")
      return vector_of(std::vector<float>(a.floats().begin(), a.floats().end()));
    if (a.name() == "value_int") return scalar_of(int64_t{a.i()});
    if (a.name() == "value_float") return scalar_of(a.f());
    return std::nullopt;
  }
  return std::nullopt;
}

namespace {
template <class To>
std::optional<std::vector<To>> numbers(const std::optional<AnyTensor>& t) {
  if (!t || t->dtype() == DType::string || is_packed(t->dtype())) return std::nullopt;
  std::vector<To> list;
  visit_dtype(t->dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, std::string> && !is_packed(dtype_of<T>) && !is_complex(dtype_of<T>)) {
      const auto in = t->view().as<T>();
      for (int64_t k = 0; k < in.size(); ++k) list.push_back(convert<To>(in[k]));
    }
  });
  return list;
}
}  // namespace

std::optional<std::vector<int64_t>> Step::integers(int input) const {
  return numbers<int64_t>(constant(input));
}
std::optional<std::vector<float>> Step::reals(int input) const { return numbers<float>(constant(input)); }

void Step::drop_input(int input) {
  if (!has(input)) return;
  names_.promoted.insert(node.input(input));
  node.set_input(input, "");
}

void Step::set_input(int input, const std::string& name) {
  while (node.input_size() <= input) node.add_input("");
  node.set_input(input, name);
}

void Step::trim_inputs() {
  while (node.input_size() > 0 && node.input(node.input_size() - 1).empty())
    node.mutable_input()->RemoveLast();
}

// --- attributes ---

AttributeProto* Step::attribute(std::string_view name) const {
  for (auto& a : *node.mutable_attribute()) {
    if (a.name() != name) continue;
    if (!a.ref_attr_name().empty()) refuse_reference(name);
    return &a;
  }
  return nullptr;
}

void Step::erase(std::string_view name) {
  for (int k = 0; k < node.attribute_size(); ++k)
    if (node.attribute(k).name() == name) node.mutable_attribute()->DeleteSubrange(k--, 1);
}

int64_t Step::integer(std::string_view name, int64_t fallback) const {
  const AttributeProto* a = attribute(name);
  return a == nullptr ? fallback : a->i();
}

std::string Step::text(std::string_view name, const std::string& fallback) const {
  const AttributeProto* a = attribute(name);
  return a == nullptr ? fallback : a->s();
}

void Step::set(std::string_view name, const op::AttributeValue& value) { set_attribute(node, name, value); }

// --- other nodes ---

std::string Step::add(const char* op, std::initializer_list<std::string> inputs,
                      std::initializer_list<std::pair<const char*, op::AttributeValue>> attributes) {
  onnx::NodeProto& n = before.emplace_back();
  n.set_op_type(op);
  for (const auto& name : inputs) n.add_input(name);
  for (const auto& [name, value] : attributes) set_attribute(n, name, value);
  n.add_output(names_.used.fresh(node.output_size() > 0 ? node.output(0) : node.op_type()));
  return n.output(0);
}

std::string Step::add_constant(const AnyTensor& tensor) {
  return add("Constant", {}, {{"value", Value(tensor)}});
}

void Step::follow(int output, const char* op, std::initializer_list<std::string> more,
                  std::initializer_list<std::pair<const char*, op::AttributeValue>> attributes) {
  onnx::NodeProto& n = after.emplace_back();
  n.set_op_type(op);
  n.add_output(node.output(output));
  node.set_output(output, names_.used.fresh(node.output(output)));
  n.add_input(node.output(output));
  for (const auto& name : more) n.add_input(name);
  for (const auto& [name, value] : attributes) set_attribute(n, name, value);
}

Rest one_hot_11(Step& s) {
  constexpr int64_t int64 = onnx::TensorProto::INT64;
  switch (s.element(0)) {
    case onnx::TensorProto::UINT8:
    case onnx::TensorProto::UINT16:
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::UINT64: return Rest::all;
  }
  if (const auto indices = s.integers(0);
      indices && std::ranges::all_of(*indices, [](int64_t i) { return i >= 0; }))
    return Rest::all;
  const std::string index = s.add("Cast", {s.node.input(0)}, {{"to", int64}});
  const std::string depth =
      s.add("Reshape", {s.add("Cast", {s.node.input(1)}, {{"to", int64}}), s.add_integers({})});
  const std::string plain = s.add("Greater", {index, s.add_constant(scalar_of(int64_t{-1}))});
  s.set_input(0, s.add("Where", {plain, index, s.up() ? depth : s.add("Add", {index, depth})}));
  return Rest::all;
}

}  // namespace tenon::TENON_ABI::loader
