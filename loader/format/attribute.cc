#include "loader/format/attribute.hpp"

namespace tenon::TENON_ABI::loader {

onnx::AttributeProto::AttributeType type_of(const onnx::AttributeProto& a) {
  if (a.type() != onnx::AttributeProto::UNDEFINED) return a.type();
  if (a.has_f()) return onnx::AttributeProto::FLOAT;
  if (a.has_i()) return onnx::AttributeProto::INT;
  if (a.has_s()) return onnx::AttributeProto::STRING;
  if (a.has_t()) return onnx::AttributeProto::TENSOR;
  if (a.has_g()) return onnx::AttributeProto::GRAPH;
  if (a.has_sparse_tensor()) return onnx::AttributeProto::SPARSE_TENSOR;
  if (a.has_tp()) return onnx::AttributeProto::TYPE_PROTO;
  if (a.floats_size() > 0) return onnx::AttributeProto::FLOATS;
  if (a.strings_size() > 0) return onnx::AttributeProto::STRINGS;
  return onnx::AttributeProto::INTS;
}

const onnx::AttributeProto* resolve(const onnx::AttributeProto& a, const AttributesByName* call) {
  if (a.ref_attr_name().empty()) return &a;
  if (call == nullptr)
    throw Error(ErrorCode::invalid_model, {},
                str_cat("attribute '", a.name(), "' refers to one of a function, outside of any"));
  const auto it = call->find(a.ref_attr_name());
  return it == call->end() ? nullptr : it->second;
}

AttributesByName attributes_of_call(const onnx::NodeProto& n, const onnx::FunctionProto& f,
                                    const AttributesByName* around) {
  AttributesByName attributes;
  for (const auto& a : f.attribute_proto()) attributes[a.name()] = &a;
  // Attributes that the function does not declare are passed too, because its nodes may refer to them
  // (refeval/test_concat_in_a_function).
  for (const auto& a : n.attribute())
    if (const auto* value = resolve(a, around)) attributes[a.name()] = value;
  return attributes;
}

op::AttributeValue read_attribute(const onnx::AttributeProto& a, const DataSource& source,
                                  const std::function<op::BodyRef(const onnx::GraphProto&)>& body) {
  const onnx::AttributeProto::AttributeType type = type_of(a);
  switch (type) {
    case onnx::AttributeProto::FLOAT: return a.f();
    case onnx::AttributeProto::INT: return static_cast<int64_t>(a.i());
    case onnx::AttributeProto::STRING: return std::string(a.s());
    case onnx::AttributeProto::FLOATS: return std::vector<float>(a.floats().begin(), a.floats().end());
    case onnx::AttributeProto::INTS: return std::vector<int64_t>(a.ints().begin(), a.ints().end());
    case onnx::AttributeProto::STRINGS:
      return std::vector<std::string>(a.strings().begin(), a.strings().end());
    case onnx::AttributeProto::TENSOR: return Value(read_tensor(a.t(), source));
    case onnx::AttributeProto::SPARSE_TENSOR: return Value(read_sparse_tensor(a.sparse_tensor(), source));
    case onnx::AttributeProto::TYPE_PROTO: return read_type(a.tp());
    case onnx::AttributeProto::GRAPH: return body(a.g());
    default: break;
  }
  throw Error(ErrorCode::not_supported, {},
              str_cat("attribute '", a.name(), "' of type ", onnx::AttributeProto::AttributeType_Name(type)));
}

bool equal(const op::AttributeValue& a, const op::AttributeValue& b) {
  if (a.index() != b.index()) {
    const auto empty = [](const op::AttributeValue& v) {
      const auto* list = std::get_if<std::vector<int64_t>>(&v);
      return v.index() == 0 || (list != nullptr && list->empty());
    };
    return empty(a) && empty(b);
  }
  return std::visit(
      [&]<class T>(const T& x) {
        if constexpr (std::is_same_v<T, Value> || std::is_same_v<T, op::BodyRef>)
          return !x && !std::get<T>(b);
        else return x == std::get<T>(b);
      },
      a);
}

}  // namespace tenon::TENON_ABI::loader
