#include "loader/text/print_text.hpp"

#include <charconv>
#include <cmath>
#include <cstring>

#include "loader/text/text_words.hpp"
#include "tenon/base/error.hpp"
#include "tenon/base/platform/overflow.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using Attribute = onnx::AttributeProto;

class Printer {
 public:
  std::string take() { return std::move(out_); }

  void print(const onnx::ModelProto& model) {
    out_ += "<\n";
    const auto print_key = [&](std::string_view key, auto print_value) {
      if (out_.size() > 2) out_ += ",\n";
      add("   ", key, ": ");
      print_value();
    };
    const auto print_text = [&](std::string_view key, bool present, const std::string& text) {
      if (present) print_key(key, [&] { print_quoted(text); });
    };
    print_key("ir_version", [&] { print_number(model.ir_version()); });
    print_key("opset_import", [&] { print_opsets(", ", model.opset_import()); });
    print_text("producer_name", model.has_producer_name(), model.producer_name());
    print_text("producer_version", model.has_producer_version(), model.producer_version());
    print_text("domain", model.has_domain(), model.domain());
    if (model.has_model_version()) print_key("model_version", [&] { print_number(model.model_version()); });
    print_text("doc_string", model.has_doc_string(), model.doc_string());
    if (model.metadata_props_size() > 0)
      print_key("metadata_props", [&] { print_entries(model.metadata_props()); });
    out_ += "\n>\n";
    print(model.graph());
    for (const auto& f : model.functions()) {
      out_ += '\n';
      print(f);
    }
  }

  void print(const onnx::GraphProto& g) {
    print_name(g.name());
    print_graph(g);
  }

  void print(const onnx::FunctionProto& f) {
    out_ += "<\n  domain: ";
    print_quoted(f.domain());
    if (!f.overload().empty()) {
      out_ += ",\n  overload: ";
      print_quoted(f.overload());
    }
    out_ += ",\n  opset_import: ";
    print_opsets(",", f.opset_import());
    if (f.has_doc_string()) {
      out_ += ",\n  doc_string: ";
      print_quoted(f.doc_string());
    }
    out_ += "\n>\n";
    print_name(f.name());
    out_ += ' ';
    if (f.attribute_size() + f.attribute_proto_size() > 0) {
      out_ += '<';
      print_list("", ",", "", f.attribute(), [&](const auto& name) { print_name(name); });
      if (f.attribute_size() > 0 && f.attribute_proto_size() > 0) out_ += ',';
      print_list("", ",", ">", f.attribute_proto(), [&](const auto& a) { print(a); });
    }
    print_list("(", ", ", ")", f.input(), [&](const auto& name) { print_untyped(name); });
    out_ += " => ";
    print_list("(", ", ", ")", f.output(), [&](const auto& name) { print_untyped(name); });
    out_ += '\n';
    // The list of all values' types includes the inputs and outputs, in any order.
    if (f.value_info_size() > 0)
      add(indent()), print_list("<", ", ", ">\n", f.value_info(), [&](const auto& v) { print(v); });
    print_nodes(f.node());
  }

  void print(const onnx::NodeProto& n) {
    add(indent());
    if (n.has_name()) {
      out_ += '[';
      print_name(n.name());
      out_ += "] ";
    }
    print_list("", ", ", "", n.output(), [&](const auto& name) { print_name(name); });
    out_ += " = ";
    if (!n.domain().empty()) print_bare(n.domain()), out_ += '.';
    print_bare(n.op_type());
    if (!n.overload().empty()) {
      out_ += ':';
      print_name(n.overload());
    }
    bool bodies = false;
    for (const auto& a : n.attribute()) bodies = bodies || a.has_g() || a.graphs_size() > 0;
    const auto print_attributes = [&] {
      if (n.attribute_size() > 0)
        print_list(" <", ", ", ">", n.attribute(), [&](const auto& a) { print(a); });
    };
    if (!bodies) print_attributes();
    print_list(" (", ", ", ")", n.input(), [&](const auto& name) { print_name(name); });
    if (bodies) print_attributes();
    out_ += '\n';
  }

 private:
  template <class... Parts>
  void add(const Parts&... parts) {
    ((out_ += parts), ...);
  }
  std::string indent() const { return std::string(static_cast<std::size_t>(3 * depth_), ' '); }

  template <class List, class Print>
  void print_list(std::string_view open, std::string_view separator, std::string_view close, const List& list,
                  Print print_element) {
    out_ += open;
    bool first = true;
    for (const auto& element : list) {
      if (!first) out_ += separator;
      first = false;
      print_element(element);
    }
    out_ += close;
  }

  // The shortest text that reads back as the same number.
  template <class N>
  void print_number(N number) {
    if (number != number) {
      out_ += std::signbit(static_cast<double>(number)) ? "-nan" : "nan";
      return;
    }
    char text[32];
    out_.append(text, std::to_chars(text, text + sizeof(text), number).ptr);
  }
  void print_quoted(std::string_view text) {
    out_ += '"';
    for (char c : text) {
      if (c == '"' || c == '\\') out_ += '\\';
      out_ += c;
    }
    out_ += '"';
  }
  void print_name(const std::string& name) { is_word(name) ? add(name) : print_quoted(name); }
  // A name that the syntax cannot quote. None of its characters ends the line.
  void print_bare(std::string_view name) {
    for (char c : name) out_ += static_cast<unsigned char>(c) < ' ' || c == 127 ? '?' : c;
  }
  // A name in a position where a type is also possible.
  void print_untyped(const std::string& name) { begins_type(name) ? print_quoted(name) : print_name(name); }

  template <class Entries>
  void print_entries(const Entries& entries) {
    print_list("[", ", ", "]", entries, [&](const auto& entry) {
      print_quoted(entry.key());
      out_ += ": ";
      print_quoted(entry.value());
    });
  }
  template <class Opsets>
  void print_opsets(std::string_view separator, const Opsets& opsets) {
    print_list("[", separator, "]", opsets, [&](const auto& opset) {
      print_quoted(opset.domain());
      out_ += " : ";
      print_number(opset.version());
    });
  }

  void print(const onnx::TypeProto& t) {
    const auto print_inner = [&](std::string_view kind, const onnx::TypeProto& inner) {
      add(kind, "(");
      print(inner);
      out_ += ')';
    };
    switch (t.value_case()) {
      case onnx::TypeProto::kTensorType: return print_tensor_type(t.tensor_type());
      case onnx::TypeProto::kSparseTensorType:
        out_ += "sparse_tensor(";
        print_tensor_type(t.sparse_tensor_type());
        out_ += ')';
        return;
      case onnx::TypeProto::kSequenceType: return print_inner("seq", t.sequence_type().elem_type());
      case onnx::TypeProto::kOptionalType: return print_inner("optional", t.optional_type().elem_type());
      case onnx::TypeProto::kMapType:
        add("map(", element_word(t.map_type().key_type()), ", ");
        print(t.map_type().value_type());
        out_ += ')';
        return;
      case onnx::TypeProto::kOpaqueType: {
        const auto& opaque = t.opaque_type();
        out_ += "opaque(";
        if (!opaque.domain().empty()) print_bare(opaque.domain()), out_ += ',';
        print_bare(opaque.name());
        out_ += ')';
        return;
      }
      case onnx::TypeProto::VALUE_NOT_SET: return;
    }
  }
  static std::string_view element_word(int number) { return name_of(dtype_from_onnx(number)); }
  template <class Tensor>
  void print_tensor_type(const Tensor& t) {
    out_ += element_word(t.elem_type());
    if (!t.has_shape()) out_ += "[]";
    else if (t.shape().dim_size() > 0)
      print_list("[", ",", "]", t.shape().dim(), [&](const auto& d) {
        if (d.has_dim_value()) print_number(d.dim_value());
        else if (d.has_dim_param()) print_name(d.dim_param());
        else out_ += '?';
      });
  }
  void print(const onnx::ValueInfoProto& v) {
    print(v.type());
    out_ += ' ';
    if (v.type().value_case() == onnx::TypeProto::VALUE_NOT_SET) print_untyped(v.name());
    else print_name(v.name());
  }

  void print(const onnx::TensorProto& t, bool is_initializer) {
    out_ += element_word(t.data_type());
    if (t.dims_size() > 0) print_list("[", ",", "]", t.dims(), [&](int64_t d) { print_number(d); });
    if (is_initializer || !t.name().empty()) {
      out_ += ' ';
      print_name(t.name());
    }
    const bool external = t.data_location() == onnx::TensorProto::EXTERNAL;
    // With packed elements, braces would have to hold all of them.
    const bool absent = is_packed(dtype_from_onnx(t.data_type())) && !t.has_raw_data() &&
                        t.int32_data_size() == 0 && elements_of(t) != 0;
    if (is_initializer || external || absent) out_ += " = ";
    if (external) print_entries(t.external_data());
    else if (absent) return;
    else if (t.has_raw_data()) print_raw(t);
    else print_data(t);
  }
  template <class List>
  void print_numbers(const List& numbers) {
    print_list(" {", ",", "}", numbers, [&](auto number) { print_number(number); });
  }
  // Numbers in the fields of their types.
  void print_data(const onnx::TensorProto& t) {
    const DType type = dtype_from_onnx(t.data_type());
    switch (type) {
      case DType::undefined: add("..."); return;
      case DType::string:
        return print_list("{", ", ", "}", t.string_data(), [&](const auto& text) { print_quoted(text); });
      case DType::float32:
      case DType::complex64: return print_numbers(t.float_data());
      case DType::float64:
      case DType::complex128: return print_numbers(t.double_data());
      case DType::int64: return print_numbers(t.int64_data());
      case DType::uint32:
      case DType::uint64: return print_numbers(t.uint64_data());
      default:
        if (!is_packed(type)) return print_numbers(t.int32_data());
        // Each number is a byte; if the number of bytes is wrong, elements cannot be determined.
        if (t.int32_data_size() != packed_size(t, type)) add("...");
        else print_packed(t, type, [&](int64_t k) { return t.int32_data(static_cast<int>(k)); });
    }
  }
  // Types that are not C++ numbers are printed as their bits.
  void print_raw(const onnx::TensorProto& t) {
    const DType type = dtype_from_onnx(t.data_type());
    switch (type) {
      case DType::float32: return print_raw_as<float>(t, 1);
      case DType::float64: return print_raw_as<double>(t, 1);
      case DType::complex64: return print_raw_as<float>(t, 2);
      case DType::complex128: return print_raw_as<double>(t, 2);
      case DType::int8: return print_raw_as<int8_t>(t, 1);
      case DType::int16: return print_raw_as<int16_t>(t, 1);
      case DType::int32: return print_raw_as<int32_t>(t, 1);
      case DType::int64: return print_raw_as<int64_t>(t, 1);
      default: break;
    }
    if (is_packed(type)) {
      check_raw(t, packed_size(t, type));
      return print_packed(t, type, [&](int64_t k) { return t.raw_data()[static_cast<std::size_t>(k)]; });
    }
    switch (bits_of(type)) {
      case 8: return print_raw_as<uint8_t>(t, 1);
      case 16: return print_raw_as<uint16_t>(t, 1);
      case 32: return print_raw_as<uint32_t>(t, 1);
      case 64: return print_raw_as<uint64_t>(t, 1);
      default: add("..."); return;
    }
  }
  template <class T>
  void print_raw_as(const onnx::TensorProto& t, int numbers) {
    const std::string& bytes = t.raw_data();
    int64_t size = elements_of(t);
    if (tenon::detail::mul_overflow(size, int64_t{sizeof(T)} * numbers, &size)) size = -1;
    check_raw(t, size);
    out_ += " {";
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
      if (at > 0) out_ += ',';
      T number;
      std::memcpy(&number, bytes.data() + at, sizeof(T));
      print_number(number);
    }
    out_ += '}';
  }
  static void check_raw(const onnx::TensorProto& t, int64_t size) {
    if (static_cast<int64_t>(t.raw_data().size()) != size)
      throw Error(ErrorCode::invalid_model, str_cat("tensor '", t.name(), "'"),
                  str_cat("raw data of ", t.raw_data().size(), " bytes is not what the extents want"));
  }
  // The number of bytes of packed elements; negative for extents that no tensor has.
  static int64_t packed_size(const onnx::TensorProto& t, DType type) {
    const int64_t elements = elements_of(t), in_a_byte = 8 / bits_of(type);
    return elements < 0 ? -1 : elements / in_a_byte + (elements % in_a_byte != 0);
  }
  template <class Byte>
  void print_packed(const onnx::TensorProto& t, DType type, Byte byte_at) {
    const int32_t values = 1 << bits_of(type), least = is_signed_packed(type) ? -values / 2 : 0;
    out_ += " {";
    for (int64_t k = 0, elements = elements_of(t); k < elements; ++k) {
      if (k > 0) out_ += ',';
      const PackedPlace place(type, k);
      const int32_t bits = byte_at(place.byte) >> place.shift & (values - 1);
      print_number(bits >= least + values ? bits - values : bits);
    }
    out_ += '}';
  }

  void print(const Attribute& a) {
    const bool refers = !a.ref_attr_name().empty();
    print_name(a.name());
    if (!refers || a.type() != Attribute::UNDEFINED) add(": ", attribute_type_words[a.type()]);
    out_ += " = ";
    if (refers) {
      out_ += '@';
      return print_name(a.ref_attr_name());
    }
    const auto print_values = [&](const auto& values, auto print_value) {
      print_list("[", ", ", "]", values, print_value);
    };
    switch (a.type()) {
      case Attribute::FLOAT: return print_number(a.f());
      case Attribute::INT: return print_number(a.i());
      case Attribute::STRING: return print_quoted(a.s());
      case Attribute::TENSOR: return print(a.t(), false);
      case Attribute::GRAPH: return print_body(a.g());
      case Attribute::TYPE_PROTO: return print(a.tp());
      case Attribute::FLOATS: return print_values(a.floats(), [&](float f) { print_number(f); });
      case Attribute::INTS: return print_values(a.ints(), [&](int64_t i) { print_number(i); });
      case Attribute::STRINGS: return print_values(a.strings(), [&](const auto& s) { print_quoted(s); });
      case Attribute::TENSORS: return print_values(a.tensors(), [&](const auto& t) { print(t, false); });
      case Attribute::GRAPHS: return print_values(a.graphs(), [&](const auto& g) { print_body(g); });
      case Attribute::TYPE_PROTOS: return print_values(a.type_protos(), [&](const auto& t) { print(t); });
      case Attribute::SPARSE_TENSORS:
        if (a.sparse_tensors_size() == 0) out_ += "[]";
        return;
      default: return;
    }
  }

  // In a value's position, the name must not look like another kind of value.
  void print_body(const onnx::GraphProto& g) {
    if (begins_type(g.name()) || is_number_word(g.name())) print_quoted(g.name());
    else print_name(g.name());
    ++depth_;
    print_graph(g);
    --depth_;
  }
  // A graph after its name.
  void print_graph(const onnx::GraphProto& g) {
    const auto print_value = [&](const auto& v) { print(v); };
    print_list(" (", ", ", ")", g.input(), print_value);
    print_list(" => (", ", ", ") ", g.output(), print_value);
    if (g.initializer_size() + g.value_info_size() > 0) {
      add("\n", indent(), "<");
      print_list("", ", ", "", g.initializer(), [&](const auto& t) { print(t, true); });
      if (g.initializer_size() > 0 && g.value_info_size() > 0) out_ += ", ";
      print_list("", ", ", ">\n", g.value_info(), print_value);
    }
    print_nodes(g.node());
  }
  template <class Nodes>
  void print_nodes(const Nodes& nodes) {
    out_ += "{\n";
    for (const auto& n : nodes) print(n);
    add(indent().substr(3), "}");
  }

  std::string out_;
  int depth_ = 1;
};

template <class Message>
std::string printed(const Message& message) {
  Printer printer;
  printer.print(message);
  return printer.take();
}

}  // namespace

std::string print_text(const onnx::ModelProto& model) { return printed(model); }
std::string print_text(const onnx::GraphProto& graph) { return printed(graph); }
std::string print_text(const onnx::FunctionProto& function) { return printed(function); }
std::string print_text(const onnx::NodeProto& node) { return printed(node); }

}  // namespace tenon::TENON_ABI::loader
