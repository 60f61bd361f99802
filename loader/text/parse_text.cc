#include "loader/text/parse_text.hpp"

#include <charconv>
#include <limits>
#include <string>

#include "loader/text/text_reader.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using Attribute = onnx::AttributeProto;

// The maximum nesting of a graph or a type in messages: including the messages within, files stay below the
// depth that can be read back.
constexpr int max_depth = 88;

// The element type of a list type; any other type unchanged.
Attribute::AttributeType element_of(Attribute::AttributeType type) {
  switch (type) {
    case Attribute::FLOATS: return Attribute::FLOAT;
    case Attribute::INTS: return Attribute::INT;
    case Attribute::STRINGS: return Attribute::STRING;
    case Attribute::TENSORS: return Attribute::TENSOR;
    case Attribute::GRAPHS: return Attribute::GRAPH;
    case Attribute::SPARSE_TENSORS: return Attribute::SPARSE_TENSOR;
    case Attribute::TYPE_PROTOS: return Attribute::TYPE_PROTO;
    default: return type;
  }
}

// Appends a message's one value to the list of another.
void append(Attribute& value, Attribute& list) {
  switch (value.type()) {
    case Attribute::FLOAT: list.set_type(Attribute::FLOATS), list.add_floats(value.f()); break;
    case Attribute::INT: list.set_type(Attribute::INTS), list.add_ints(value.i()); break;
    case Attribute::STRING:
      list.set_type(Attribute::STRINGS), list.add_strings()->swap(*value.mutable_s());
      break;
    case Attribute::TENSOR:
      list.set_type(Attribute::TENSORS), list.add_tensors()->Swap(value.mutable_t());
      break;
    case Attribute::GRAPH:
      list.set_type(Attribute::GRAPHS), list.add_graphs()->Swap(value.mutable_g());
      break;
    default: list.set_type(Attribute::TYPE_PROTOS), list.add_type_protos()->Swap(value.mutable_tp()); break;
  }
}

class Parser : public TextReader {
 public:
  using TextReader::TextReader;

  void read(onnx::ModelProto& model) {
    read_header([&](std::string_view key) {
      if (key == "ir_version") model.set_ir_version(read_number<int64_t>());
      else if (key == "opset_import") read_opsets(*model.mutable_opset_import());
      else if (key == "producer_name") model.set_producer_name(read_string());
      else if (key == "producer_version") model.set_producer_version(read_string());
      else if (key == "domain") model.set_domain(read_string());
      else if (key == "model_version") model.set_model_version(read_number<int64_t>());
      else if (key == "doc_string") model.set_doc_string(read_string());
      else if (key == "metadata_props") expect('['), read_entries(*model.mutable_metadata_props());
      else return false;
      return true;
    });
    read(*model.mutable_graph());
    while (!at_end()) read(*model.add_functions());
  }

  void read(onnx::GraphProto& graph) { read_graph(read_name(), graph); }

  void read(onnx::FunctionProto& f) {
    read_header([&](std::string_view key) {
      if (key == "opset_import") read_opsets(*f.mutable_opset_import());
      else if (key == "doc_string") f.set_doc_string(read_string());
      else if (key == "domain") f.set_domain(read_string());
      else if (key == "overload") f.set_overload(read_string());
      else return false;
      return true;
    });
    f.set_name(read_name());
    if (take('<')) {
      do {
        std::string name = read_name();
        if (peek() == ':' || peek() == '=') read_attribute(std::move(name), *f.add_attribute_proto());
        else f.add_attribute(std::move(name));
      } while (take(','));
      expect('>');
    }
    read_parameters(*f.mutable_input(), f);
    expect_arrow();
    read_parameters(*f.mutable_output(), f);
    if (take('<')) read_list('>', [&] { read_value_info(*f.add_value_info()); });
    read_nodes(*f.mutable_node());
  }

  void read(onnx::NodeProto& n) {
    if (take('[')) {
      n.set_name(peek() == ']' ? std::string() : read_name());
      expect(']');
    }
    read_names(*n.mutable_output());
    expect('=');
    std::string domain, name = read_word();
    while (take('.')) {
      domain += str_cat(domain.empty() ? "" : ".", name);
      name = read_word();
    }
    n.set_domain(std::move(domain));
    n.set_op_type(std::move(name));
    if (take(':')) n.set_overload(read_name());
    read_attributes(n);
    expect('(');
    read_names(*n.mutable_input());
    expect(')');
    if (n.attribute_size() == 0) read_attributes(n);
  }

 private:
  // Calls read_inner for a part that is nested `depth` messages deeper.
  template <class Read>
  void read_nested(int depth, Read read_inner) {
    if ((depth_ += depth) > max_depth) fail(str_cat("nested more than ", max_depth, " deep"));
    read_inner();
    depth_ -= depth;
  }

  // "<key: value, …>", if present; set(key) reads the value and returns false for unknown keys.
  template <class Set>
  void read_header(Set set) {
    if (!take('<')) return;
    do {
      skip_space();
      const std::size_t start = at_;
      const std::string key = read_word("a key");
      expect(':');
      if (!set(key)) fail(start, str_cat("no key '", shown(key), "' is known here"));
    } while (take(','));
    expect('>');
  }
  template <class Opsets>
  void read_opsets(Opsets& opsets) {
    expect('[');
    read_list(']', [&] {
      auto* opset = opsets.Add();
      opset->set_domain(read_string());
      expect(':');
      opset->set_version(read_number<int64_t>());
    });
  }
  template <class Entries>
  void read_entries(Entries& entries) {
    read_list(']', [&] {
      auto* entry = entries.Add();
      entry->set_key(read_string());
      expect(':');
      entry->set_value(read_string());
    });
  }

  void read_type(onnx::TypeProto& t) {
    const std::string word = read_word("a type");
    if (const DType element = dtype_from_name(word); element != DType::undefined)
      return read_tensor_type(element, *t.mutable_tensor_type());
    if (!begins_type(word)) at_ -= word.size(), fail_to_find("a type");
    const auto read_inner = [&](onnx::TypeProto& inner) { read_nested(2, [&] { read_type(inner); }); };
    expect('(');
    if (word == "seq") read_inner(*t.mutable_sequence_type()->mutable_elem_type());
    else if (word == "optional") read_inner(*t.mutable_optional_type()->mutable_elem_type());
    else if (word == "sparse_tensor") read_tensor_type(read_element_type(), *t.mutable_sparse_tensor_type());
    else if (word == "map") {
      t.mutable_map_type()->set_key_type(static_cast<int>(read_element_type()));
      expect(',');
      read_inner(*t.mutable_map_type()->mutable_value_type());
    } else {
      auto* opaque = t.mutable_opaque_type();
      if (take(')')) return;
      opaque->set_name(read_qualified_name());
      if (take(',')) opaque->set_domain(opaque->name()), opaque->set_name(read_qualified_name());
    }
    expect(')');
  }
  DType read_element_type() {
    const DType element = dtype_from_name(find_word());
    if (element == DType::undefined) fail_to_find("an element type");
    at_ += find_word().size();
    return element;
  }
  // "float" is a scalar's type, "float[]" the type of a tensor of any rank.
  template <class Tensor>
  void read_tensor_type(DType element, Tensor& t) {
    t.set_elem_type(static_cast<int>(element));
    if (!take('[')) return void(t.mutable_shape());
    read_list(']', [&] {
      auto* dim = t.mutable_shape()->add_dim();
      if (take('?')) return;
      if (peek() == '"' || begins_name(peek())) dim->set_dim_param(read_name());
      else dim->set_dim_value(read_number<int64_t>());
    });
  }
  void read_value_info(onnx::ValueInfoProto& v) {
    const std::string_view word = find_word();
    if (begins_type(word)) read_type(*v.mutable_type());
    v.set_name(read_name());
    if (v.name() == word && (peek() == '[' || begins_name(peek())))
      fail(str_cat("there is no type '", shown(word), "'"));
  }

  // "{1, 2}" or ["location": "file"], or nothing.
  void read_data(const onnx::TypeProto& type, onnx::TensorProto& t) {
    if (!type.has_tensor_type() || !type.tensor_type().has_shape())
      fail("a constant needs a tensor type with extents");
    const DType element = dtype_from_onnx(type.tensor_type().elem_type());
    t.set_data_type(static_cast<int>(element));
    for (const auto& d : type.tensor_type().shape().dim()) {
      if (!d.has_dim_value()) fail("extents of a constant are numbers");
      t.add_dims(d.dim_value());
    }
    if (take('{')) {
      if (is_packed(element)) read_packed(element, t);
      else read_list('}', [&] { read_element(element, t); });
    } else if (take('[')) {
      t.set_data_location(onnx::TensorProto::EXTERNAL);
      read_entries(*t.mutable_external_data());
    }
  }
  void read_element(DType element, onnx::TensorProto& t) {
    switch (element) {
      case DType::string: return void(t.add_string_data(read_string()));
      case DType::float32:
      case DType::complex64: return t.add_float_data(read_number<float>());
      case DType::float64:
      case DType::complex128: return t.add_double_data(read_number<double>());
      case DType::int64: return t.add_int64_data(read_number<int64_t>());
      case DType::uint32: return t.add_uint64_data(read_number<uint32_t>());
      case DType::uint64: return t.add_uint64_data(read_number<uint64_t>());
      case DType::int32: return t.add_int32_data(read_number<int32_t>());
      case DType::int16: return t.add_int32_data(read_number<int16_t>());
      case DType::int8: return t.add_int32_data(read_number<int8_t>());
      case DType::uint16: return t.add_int32_data(read_number<uint16_t>());
      case DType::float16:
      case DType::bfloat16: return t.add_int32_data(read_bits<uint16_t>(element));
      case DType::bool_:
      case DType::uint8: return t.add_int32_data(read_number<uint8_t>());
      default: return t.add_int32_data(read_bits<uint8_t>(element));
    }
  }
  // Narrow floats are written as the bits that represent them.
  template <class Bits>
  int32_t read_bits(DType element) {
    constexpr int most = std::numeric_limits<Bits>::max();
    const Number n = find_number();
    uint64_t bits = most + 1;
    const char* const last = n.text.data() + n.text.size();
    const auto [end, code] = std::from_chars(n.text.data(), last, bits);
    if (code != std::errc() || end != last || bits > most)
      fail(n.at, str_cat("'", shown(n.text), "' is not the bits of a ", name_of(element),
                         ", a whole number from 0 to ", most));
    return static_cast<int32_t>(bits);
  }

  // Elements that share bytes: one number for each, to show whether the last byte is full.
  void read_packed(DType type, onnx::TensorProto& t) {
    const int32_t values = 1 << bits_of(type), least = is_signed_packed(type) ? -values / 2 : 0;
    int64_t element = 0;
    read_list('}', [&] {
      const Number n = find_number();
      const auto value = value_of<int32_t>(n);
      if (value < least || value >= least + values)
        fail(n.at, str_cat(value, " is no value of ", name_of(type), ": they are from ", least, " to ",
                           least + values - 1));
      const PackedPlace place(type, element++);
      if (place.shift == 0) t.add_int32_data(0);
      const int last = t.int32_data_size() - 1;
      t.set_int32_data(last, t.int32_data(last) | (value & (values - 1)) << place.shift);
    });
    if (element != elements_of(t)) fail(str_cat(element, " numbers are not what the extents want"));
  }

  void read_attributes(onnx::NodeProto& n) {
    if (!take('<')) return;
    do read_attribute(read_name(), *n.add_attribute());
    while (take(','));
    expect('>');
  }
  // An attribute after its name: ": type = value".
  void read_attribute(std::string name, Attribute& a) {
    a.set_name(std::move(name));
    if (take(':')) a.set_type(read_attribute_type());
    expect('=');
    if (!take('[')) return read_value(a.type(), a);
    Attribute::AttributeType type = element_of(a.type());
    if (peek() == ']' && (type == Attribute::UNDEFINED || type == a.type()))
      fail("an empty list needs a type of lists, as in 'name: ints = []'");
    read_list(']', [&] {
      Attribute value;
      read_value(type, value);
      if (value.has_ref_attr_name()) fail("a list holds no references");
      type = value.type();
      append(value, a);
    });
  }
  Attribute::AttributeType read_attribute_type() {
    const std::string_view word = find_word();
    for (int k = Attribute::FLOAT; k <= Attribute::TYPE_PROTOS; ++k)
      if (word == attribute_type_words[k]) {
        at_ += word.size();
        return static_cast<Attribute::AttributeType>(k);
      }
    fail_to_find("a type of attributes");
  }
  // One value, of the type `wanted` unless that is UNDEFINED.
  void read_value(Attribute::AttributeType wanted, Attribute& a) {
    if (take('@')) {
      if (peek() == '"' && text_.substr(at_, 2) == "\"\"") fail_to_find("a name");
      return a.set_ref_attr_name(read_name());
    }
    skip_space();
    const std::size_t start = at_;
    const std::string_view word = find_word();
    if (begins_type(word)) {
      read_tensor_or_type(a);
    } else if (!word.empty() && !is_number_word(word)) {
      read_body(read_name(), a);
    } else if (peek() == '"') {
      std::string text = read_string();
      if (peek() == '(' || peek() == '=') read_body(std::move(text), a);
      else a.set_type(Attribute::STRING), a.set_s(std::move(text));
    } else if (const Number n = find_number(); n.whole && wanted != Attribute::FLOAT) {
      a.set_type(Attribute::INT), a.set_i(value_of<int64_t>(n));
    } else {
      a.set_type(Attribute::FLOAT), a.set_f(value_of<float>(n));
    }
    if (wanted != Attribute::UNDEFINED && wanted != a.type())
      fail(start, str_cat("the value is of type ", attribute_type_words[a.type()], ", not ",
                          attribute_type_words[wanted]));
  }
  void read_tensor_or_type(Attribute& a) {
    onnx::TypeProto type;
    read_type(type);
    if (const char next = peek();
        next != '{' && next != '=' && next != '[' && next != '"' && !begins_name(next))
      return a.set_type(Attribute::TYPE_PROTO), a.mutable_tp()->Swap(&type);
    a.set_type(Attribute::TENSOR);
    a.mutable_t()->set_name(peek() == '"' || begins_name(peek()) ? read_name() : std::string());
    take('=');
    read_data(type, *a.mutable_t());
  }
  void read_body(std::string name, Attribute& a) {
    a.set_type(Attribute::GRAPH);
    read_nested(3, [&] { read_graph(std::move(name), *a.mutable_g()); });
  }

  // A graph after its name.
  void read_graph(std::string name, onnx::GraphProto& g) {
    g.set_name(std::move(name));
    if (take('('))
      read_list(')', [&] {
        auto* input = g.add_input();
        read_value_info(*input);
        if (take('=')) read_initializer(*input, g);
      });
    expect_arrow();
    expect('(');
    read_list(')', [&] { read_value_info(*g.add_output()); });
    if (take('<'))
      read_list('>', [&] {
        onnx::ValueInfoProto value;
        read_value_info(value);
        if (take('=')) read_initializer(value, g);
        else g.add_value_info()->Swap(&value);
      });
    read_nodes(*g.mutable_node());
  }
  void read_initializer(const onnx::ValueInfoProto& value, onnx::GraphProto& g) {
    auto* t = g.add_initializer();
    t->set_name(value.name());
    read_data(value.type(), *t);
  }
  template <class Nodes>
  void read_nodes(Nodes& nodes) {
    expect('{');
    while (!take('}')) {
      if (at_end()) fail_to_find("'}'");
      read(*nodes.Add());
    }
  }
  // Inputs or outputs of a function; stated types go to its value infos.
  template <class Names>
  void read_parameters(Names& names, onnx::FunctionProto& f) {
    expect('(');
    read_list(')', [&] {
      onnx::ValueInfoProto value;
      read_value_info(value);
      *names.Add() = value.name();
      if (value.has_type()) f.add_value_info()->Swap(&value);
    });
  }

  int depth_ = 0;
};

}  // namespace

template <class Message>
Message parse_text(std::string_view text) {
  Message message;
  Parser parser(text);
  parser.read(message);
  if (!parser.at_end()) parser.fail("text follows the end");
  return message;
}
template onnx::ModelProto parse_text(std::string_view text);
template onnx::GraphProto parse_text(std::string_view text);
template onnx::FunctionProto parse_text(std::string_view text);
template onnx::NodeProto parse_text(std::string_view text);

}  // namespace tenon::TENON_ABI::loader
