#include "loader/display.hpp"

#include <charconv>

#include "loader/format/attribute.hpp"
#include "loader/format/tensor.hpp"
#include "loader/opsets.hpp"
#include "tenon/base/platform/overflow.hpp"
#include "tenon/base/utf8.hpp"
#include "tenon/tensor/print.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

constexpr int64_t most_elements = 8;   // of a tensor or a list
constexpr std::size_t most_text = 80;  // bytes of a string

// Direction marks and overrides: text after one may be displayed in another order than it is written in.
constexpr bool turns_text(char32_t c) {
  return c == 0x61C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}
// Control characters of ASCII and Latin 1, and line and paragraph separators.
constexpr bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || c == 0xFEFF;
}

// Appends until `out` has `most` bytes or more.
void add_visible(std::string& out, std::string_view text, std::size_t most) {
  const char *at = text.data(), *const end = at + text.size();
  while (at < end && out.size() < most) {
    const detail::CodePoint c = detail::decode_utf8(at, end);
    if (c.length == 0 || (is_control(c.value) && c.value < 0x80)) {
      out += "\\x";
      add_hex(out, static_cast<unsigned char>(*at++), 2);
      continue;
    }
    if (is_control(c.value) || turns_text(c.value)) {
      out += "\\u";
      add_hex(out, c.value, 4);
    } else {
      out.append(at, static_cast<std::size_t>(c.length));
    }
    at += c.length;
  }
}

template <class N>
std::string number_text(N number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}
std::string string_text(std::string_view text) { return str_cat("\"", visible(text, most_text), "\""); }

template <class List, class F>
std::string list_text(const List& list, F text_of) {
  std::string text = "[";
  int k = 0;
  for (const auto& element : list) {
    if (k == 2 * most_elements) return str_cat(text, ", …] (", list.size(), ")");
    text += str_cat(k++ > 0 ? ", " : "", text_of(element));
  }
  return text + "]";
}

std::string element_word(int number) {
  const DType d = dtype_from_onnx(number);
  return d == DType::undefined ? "?" : std::string(name_of(d));
}
std::string dims_text(const onnx::TensorShapeProto& shape) {
  std::string text;
  for (const auto& d : shape.dim())
    text += str_cat(text.empty() ? "[" : ",", d.has_dim_value()       ? number_text(d.dim_value())
                                              : d.dim_param().empty() ? "?"
                                                                      : visible(d.dim_param(), most_text));
  return text.empty() ? text : text + "]";
}
// The textual syntax distinguishes a scalar, "float", from a tensor of unknown rank, "float[]".
template <class Tensor>
std::string tensor_type_text(const Tensor& t) {
  return element_word(t.elem_type()) + (t.has_shape() ? dims_text(t.shape()) : "[]");
}

}  // namespace

void add_hex(std::string& out, uint64_t number, int digits) {
  for (int k = digits; k-- > 0;) out += "0123456789abcdef"[number >> (4 * k) & 15];
}

std::string visible(std::string_view text, std::size_t most) {
  std::string out;
  if (text.size() <= most) {
    add_visible(out, text, std::string::npos);
    return out;
  }
  add_visible(out, text, most / 2);
  std::string_view rest = text.substr(text.size() - most / 2);
  while (!rest.empty() && (rest.front() & 0xC0) == 0x80) rest.remove_prefix(1);
  out += "…";
  add_visible(out, rest, std::string::npos);
  return out;
}

std::string type_text(const onnx::TypeProto& type) {
  const auto inner = [](std::string_view kind, const onnx::TypeProto& t) {
    const std::string text = type_text(t);
    return str_cat(kind, text.empty() ? "?" : text, ")");
  };
  switch (type.value_case()) {
    case onnx::TypeProto::kTensorType: return tensor_type_text(type.tensor_type());
    case onnx::TypeProto::kSparseTensorType:
      return str_cat("sparse_tensor(", tensor_type_text(type.sparse_tensor_type()), ")");
    case onnx::TypeProto::kSequenceType: return inner("seq(", type.sequence_type().elem_type());
    case onnx::TypeProto::kOptionalType: return inner("optional(", type.optional_type().elem_type());
    case onnx::TypeProto::kMapType:
      return inner(str_cat("map(", element_word(type.map_type().key_type()), ", "),
                   type.map_type().value_type());
    case onnx::TypeProto::kOpaqueType:
      return str_cat("opaque(", visible(type.opaque_type().domain(), most_text), ",",
                     visible(type.opaque_type().name(), most_text), ")");
    case onnx::TypeProto::VALUE_NOT_SET: break;
  }
  return "";
}

std::string tensor_text(const onnx::TensorProto& tensor) {
  std::string text = element_word(tensor.data_type());
  int64_t count = 1;
  for (int k = 0; k < tensor.dims_size(); ++k) {
    text += str_cat(k > 0 ? "," : "[", tensor.dims(k));
    if (tenon::detail::mul_overflow(count, tensor.dims(k), &count)) count = -1;
  }
  if (tensor.dims_size() > 0) text += "]";
  if (count < 1 || count > most_elements || tensor.data_location() == onnx::TensorProto::EXTERNAL)
    return text;
  try {
    const AnyTensor t = read_tensor(tensor);
    std::string elements;
    for (int64_t k = 0; k < t.size(); ++k) {
      elements += k > 0 ? ", " : " {";
      elements += t.dtype() == DType::string ? string_text(static_cast<const std::string*>(t.data())[k])
                                             : tenon::detail::element_text(t.view(), k);
    }
    return str_cat(text, elements, "}");
  } catch (const Error&) {
    return text;
  }
}

std::string attribute_text(const onnx::AttributeProto& a) {
  if (!a.ref_attr_name().empty()) return str_cat("@", visible(a.ref_attr_name(), most_text));
  const auto sparse = [](const onnx::SparseTensorProto& s) {
    return str_cat("sparse ", element_word(s.values().data_type()),
                   list_text(s.dims(), number_text<int64_t>));
  };
  switch (type_of(a)) {
    case onnx::AttributeProto::FLOAT: return number_text(a.f());
    case onnx::AttributeProto::INT: return number_text(a.i());
    case onnx::AttributeProto::STRING: return string_text(a.s());
    case onnx::AttributeProto::TENSOR: return tensor_text(a.t());
    case onnx::AttributeProto::GRAPH: return "graph";
    case onnx::AttributeProto::SPARSE_TENSOR: return sparse(a.sparse_tensor());
    case onnx::AttributeProto::TYPE_PROTO: return type_text(a.tp());
    case onnx::AttributeProto::FLOATS: return list_text(a.floats(), number_text<float>);
    case onnx::AttributeProto::INTS: return list_text(a.ints(), number_text<int64_t>);
    case onnx::AttributeProto::STRINGS: return list_text(a.strings(), string_text);
    case onnx::AttributeProto::TENSORS: return list_text(a.tensors(), tensor_text);
    case onnx::AttributeProto::GRAPHS: return str_cat(a.graphs_size(), " graphs");
    case onnx::AttributeProto::SPARSE_TENSORS: return list_text(a.sparse_tensors(), sparse);
    case onnx::AttributeProto::TYPE_PROTOS: return list_text(a.type_protos(), type_text);
    case onnx::AttributeProto::UNDEFINED: break;
  }
  return "";
}

std::string operator_text(std::string_view domain, std::string_view name) {
  const std::string_view own = canonical(domain);
  return str_cat(visible(own), own.empty() ? "" : ".", visible(name));
}

}  // namespace tenon::TENON_ABI::loader
