#include "loader/edit/diff.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>

#include "loader/check/findings.hpp"
#include "loader/format/tensor.hpp"
#include "loader/text/print_text.hpp"
#include "tenon/base/convert.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

template <class Message>
bool equal(const Message& a, const Message& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

// The type of a value, in ONNX's textual syntax: "float[N,3]".
std::string text_of(const onnx::TypeProto& type) {
  if (type.value_case() == onnx::TypeProto::VALUE_NOT_SET) return "no type";
  onnx::GraphProto g;
  *g.add_input()->mutable_type() = type;
  const std::string text = print_text(g);
  const std::size_t first = text.find('(') + 1, last = text.find(") =>");
  if (last == text.npos || last < first) return "another type";
  std::string inner = text.substr(first, last - first);
  while (inner.ends_with(' ') || inner.ends_with('"')) inner.pop_back();
  return inner;
}

class Differences {
  auto whole() {
    return [this](const std::string& at, const auto& a, const auto& b) {
      if (!equal(a, b)) line(at, "differs");
    };
  }
  auto entry() {
    return [this](const std::string& at, const auto& a, const auto& b) {
      if (a.value() != b.value()) line(at, shown(a.value()), ", and ", shown(b.value()));
    };
  }

 public:
  Differences(int most, const std::filesystem::path& folder_a, const std::filesystem::path& folder_b)
      : most_(most), sources_{source_of(folder_a), source_of(folder_b)} {}

  void compare(const onnx::ModelProto& a, const onnx::ModelProto& b) {
    const std::string_view place = "model";
    field(place, "ir_version", a.ir_version(), b.ir_version());
    field(place, "producer_name", a.producer_name(), b.producer_name());
    field(place, "producer_version", a.producer_version(), b.producer_version());
    field(place, "domain", a.domain(), b.domain());
    field(place, "model_version", a.model_version(), b.model_version());
    field(place, "doc_string", a.doc_string(), b.doc_string());
    imports(place, a.opset_import(), b.opset_import());
    metadata(place, a.metadata_props(), b.metadata_props());
    by_key(place, "device configuration", a.configuration(), b.configuration(), by_name, whole());
    graph("main", a.graph(), b.graph(), 0);
    by_key(
        "", "function", a.functions(), b.functions(),
        [](const onnx::FunctionProto& f) {
          return str_cat(f.domain(), ".", f.name(), f.overload().empty() ? "" : ":", f.overload());
        },
        [this](const std::string& at, const auto& x, const auto& y) { function(at, x, y); });
    field("training", "stages", a.training_info_size(), b.training_info_size());
    for (int k = 0; k < std::min(a.training_info_size(), b.training_info_size()); ++k) {
      const auto &x = a.training_info(k), &y = b.training_info(k);
      const std::string at = str_cat("training ", k);
      graph(str_cat(at, ".initialization"), x.initialization(), y.initialization(), 0);
      graph(str_cat(at, ".algorithm"), x.algorithm(), y.algorithm(), 0);
      by_key(at, "initialization binding", x.initialization_binding(), y.initialization_binding(), by_entry,
             entry());
      by_key(at, "update binding", x.update_binding(), y.update_binding(), by_entry, entry());
    }
  }

  std::vector<std::string> take() {
    if (left_out_ > 0) lines_.push_back(str_cat(left_out_, " more differences"));
    return std::move(lines_);
  }

 private:
  template <class... Parts>
  void line(std::string_view place, const Parts&... parts) {
    if (static_cast<int>(lines_.size()) < most_) lines_.push_back(str_cat(place, ": ", parts...));
    else ++left_out_;
  }
  static std::string display_of(const std::string& text) { return shown(text); }
  template <class Number>
  static std::string display_of(Number n) {
    return str_cat(n);
  }
  template <class T>
  void field(std::string_view place, std::string_view what, const T& a, const T& b) {
    if (a != b) line(str_cat(place, place.empty() ? "" : ", ", what), display_of(a), ", and ", display_of(b));
  }

  // Compares members of two lists that are identified by a key; compare_members(place, a, b).
  template <class List, class Key, class Compare>
  void by_key(std::string_view place, std::string_view what, const List& a, const List& b, Key key,
              Compare compare_members) {
    using Member = typename List::value_type;
    const auto at = [&](const std::string& name) {
      return str_cat(place, place.empty() ? "" : ", ", what, " ", shown(name));
    };
    std::map<std::string, std::vector<const Member*>> others;  // those with the same key in reverse order
    for (auto it = b.rbegin(); it != b.rend(); ++it) others[key(*it)].push_back(&*it);
    for (const Member& m : a) {
      const std::string name = key(m);
      const auto it = others.find(name);
      if (it == others.end() || it->second.empty()) {
        line(at(name), "only in the first");
        continue;
      }
      const Member* other = it->second.back();
      it->second.pop_back();
      compare_members(at(name), m, *other);
    }
    for (const Member& m : b) {
      const std::string name = key(m);
      auto& rest = others[name];  // still unmatched, in the list's order from the back
      if (rest.empty() || rest.back() != &m) continue;
      rest.pop_back();
      line(at(name), "only in the second");
    }
  }
  static constexpr auto by_name = [](const auto& m) { return m.name(); };
  static constexpr auto by_entry = [](const onnx::StringStringEntryProto& e) { return e.key(); };
  template <class List>
  void metadata(std::string_view place, const List& a, const List& b) {
    by_key(place, "metadata", a, b, by_entry, entry());
  }
  template <class List>
  void imports(std::string_view place, const List& a, const List& b) {
    by_key(
        place, "opset", a, b, [](const auto& i) { return display(canonical(i.domain())); },
        [this](const std::string& at, const auto& x, const auto& y) {
          if (x.version() != y.version()) this->line(at, x.version(), ", and ", y.version());
        });
  }

  void function(const std::string& place, const onnx::FunctionProto& a, const onnx::FunctionProto& b) {
    names(place, "inputs", a.input(), b.input());
    names(place, "outputs", a.output(), b.output());
    names(place, "attributes", a.attribute(), b.attribute());
    by_key(place, "attribute", a.attribute_proto(), b.attribute_proto(), by_name,
           [this](const std::string& at, const auto& x, const auto& y) { attribute(at, x, y, 0); });
    field(place, "doc_string", a.doc_string(), b.doc_string());
    imports(place, a.opset_import(), b.opset_import());
    metadata(place, a.metadata_props(), b.metadata_props());
    value_infos(place, "value info", a.value_info(), b.value_info());
    nodes(place, a.node(), b.node(), 0);
  }
  template <class List>
  void names(std::string_view place, std::string_view what, const List& a, const List& b) {
    const auto joined = [](const List& list) {
      std::string text;
      for (const auto& name : list) text += str_cat(text.empty() ? "" : ", ", shown(name));
      return str_cat("(", text, ")");
    };
    if (!std::equal(a.begin(), a.end(), b.begin(), b.end()))
      line(str_cat(place, ", ", what), joined(a), ", and ", joined(b));
  }

  template <class List>
  void value_infos(std::string_view place, std::string_view what, const List& a, const List& b) {
    by_key(place, what, a, b, by_name, [this](const std::string& at, const auto& x, const auto& y) {
      if (!equal(x.type(), y.type())) {
        const std::string first = text_of(x.type()), second = text_of(y.type());
        line(at, first, ", and ", second, first == second ? " with another denotation" : "");
      }
      field(at, "doc_string", x.doc_string(), y.doc_string());
      metadata(at, x.metadata_props(), y.metadata_props());
    });
  }
  void interface(std::string_view place, std::string_view what, const auto& a, const auto& b) {
    value_infos(place, what, a, b);
    if (a.size() != b.size()) return;
    for (int k = 0; k < a.size(); ++k)
      if (a[k].name() != b[k].name())
        return line(str_cat(place, ", ", what, " ", k), shown(a[k].name()), ", and ", shown(b[k].name()));
  }

  void graph(const std::string& place, const onnx::GraphProto& a, const onnx::GraphProto& b, int depth) {
    field(place, "name", a.name(), b.name());
    field(place, "doc_string", a.doc_string(), b.doc_string());
    metadata(place, a.metadata_props(), b.metadata_props());
    interface(place, "input", a.input(), b.input());
    interface(place, "output", a.output(), b.output());
    by_key(place, "initializer", a.initializer(), b.initializer(), by_name,
           [this](const std::string& at, const auto& x, const auto& y) { tensor(at, x, y); });
    by_key(
        place, "sparse initializer", a.sparse_initializer(), b.sparse_initializer(),
        [](const auto& t) { return t.values().name(); }, whole());
    value_infos(place, "value info", a.value_info(), b.value_info());
    by_key(
        place, "quantization annotation", a.quantization_annotation(), b.quantization_annotation(),
        [](const auto& q) { return q.tensor_name(); }, whole());
    nodes(place, a.node(), b.node(), depth);
  }

  static std::string key_of_node(const onnx::NodeProto& n) {
    for (const auto& name : n.output())
      if (!name.empty()) return name;
    return str_cat(n.name(), " (", n.op_type(), ") without outputs");
  }
  template <class List>
  void nodes(const std::string& place, const List& a, const List& b, int depth) {
    std::map<const onnx::NodeProto*, int> numbers;
    for (int k = 0; k < b.size(); ++k) numbers[&b[k]] = k;
    int last = -1;
    bool in_order = true;
    by_key(place, "node of", a, b, key_of_node, [&](const std::string& at, const auto& x, const auto& y) {
      in_order = in_order && numbers[&y] > last;
      last = numbers[&y];
      node(at, x, y, depth);
    });
    if (!in_order) line(place, "the nodes stand in another order");
  }
  void node(const std::string& of, const onnx::NodeProto& a, const onnx::NodeProto& b, int depth) {
    const std::string place = str_cat(of, " (", std::string_view(a.op_type()).substr(0, 80), ")");
    field(place, "operator", a.op_type(), b.op_type());
    field(place, "domain", std::string(canonical(a.domain())), std::string(canonical(b.domain())));
    field(place, "overload", a.overload(), b.overload());
    field(place, "name", a.name(), b.name());
    names(place, "inputs", a.input(), b.input());
    names(place, "outputs", a.output(), b.output());
    field(place, "doc_string", a.doc_string(), b.doc_string());
    metadata(place, a.metadata_props(), b.metadata_props());
    by_key(
        place, "device configuration", a.device_configurations(), b.device_configurations(),
        [](const auto& d) { return d.configuration_id(); }, whole());
    by_key(place, "attribute", a.attribute(), b.attribute(), by_name,
           [&](const std::string& at, const auto& x, const auto& y) { attribute(at, x, y, depth); });
  }
  void attribute(const std::string& place, const onnx::AttributeProto& a, const onnx::AttributeProto& b,
                 int depth) {
    if (a.type() != b.type())
      return line(place, onnx::AttributeProto::AttributeType_Name(a.type()), ", and ",
                  onnx::AttributeProto::AttributeType_Name(b.type()));
    if (depth < max_nesting && (a.has_g() || a.graphs_size() > 0) && a.has_g() == b.has_g() &&
        a.graphs_size() == b.graphs_size()) {
      if (a.has_g()) graph(place, a.g(), b.g(), depth + 1);
      for (int k = 0; k < a.graphs_size(); ++k)
        graph(str_cat(place, "[", k, "]"), a.graphs(k), b.graphs(k), depth + 1);
      return;
    }
    const std::size_t before = lines_.size();
    const int64_t left_out_before = left_out_;
    field(place, "reference to", a.ref_attr_name(), b.ref_attr_name());
    field(place, "doc_string", a.doc_string(), b.doc_string());
    if (a.has_t() && b.has_t()) tensor(place, a.t(), b.t());
    else if (a.has_i() && b.has_i() && a.i() != b.i()) line(place, a.i(), ", and ", b.i());
    else if (a.has_f() && b.has_f() && std::bit_cast<uint32_t>(a.f()) != std::bit_cast<uint32_t>(b.f()))
      line(place, convert<std::string>(a.f()), ", and ",
           convert<std::string>(b.f()));  // by their bits: NaN differs from itself
    else if (a.has_s() && b.has_s() && a.s() != b.s()) line(place, shown(a.s()), ", and ", shown(b.s()));
    if (lines_.size() == before && left_out_ == left_out_before && !equal(a, b)) line(place, "differs");
  }
  static DataSource source_of(const std::filesystem::path& folder) {
    DataSource source;
    if (!folder.empty()) source.external = std::make_shared<ExternalFiles>(folder);
    return source;
  }
  // None if one of them cannot be read.
  std::optional<bool> equal_values(const onnx::TensorProto& a, const onnx::TensorProto& b) const {
    try {
      const AnyTensor x = read_tensor(a, sources_[0]), y = read_tensor(b, sources_[1]);
      if (x.dtype() == DType::string)
        return std::ranges::equal(x.view().as<std::string>().span(), y.view().as<std::string>().span());
      return x.bytes() == 0 || std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.bytes())) == 0;
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  void tensor(const std::string& place, const onnx::TensorProto& a, const onnx::TensorProto& b) {
    if (equal(a, b)) return;
    const std::size_t before = lines_.size();
    const int64_t left_out_before = left_out_;
    field(place, "doc_string", a.doc_string(), b.doc_string());
    metadata(place, a.metadata_props(), b.metadata_props());
    const auto type = [](const onnx::TensorProto& t) {
      std::string text =
          onnx::TensorProto::DataType_IsValid(t.data_type())
              ? onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(t.data_type()))
              : str_cat("type ", t.data_type());
      for (int k = 0; k < std::min(t.dims_size(), 16); ++k) text += str_cat(k == 0 ? "[" : ",", t.dims(k));
      return str_cat(text, t.dims_size() > 16 ? ",…" : "", t.dims_size() > 0 ? "]" : "");
    };
    const std::string first = type(a), second = type(b);
    if (first != second) return line(place, first, ", and ", second);
    const std::optional<bool> same = equal_values(a, b);
    const bool alike = a.data_location() == b.data_location() && a.has_raw_data() == b.has_raw_data();
    const bool told = lines_.size() != before || left_out_ != left_out_before;
    if (!same) line(place, "the data, or how it is stored, differs");
    else if (!*same) line(place, "the values differ");
    else if (!alike || !told) line(place, "values equal, storage differs");
  }

  int most_;
  std::array<DataSource, 2> sources_;
  int64_t left_out_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> differences(const onnx::ModelProto& a, const onnx::ModelProto& b, int most,
                                     const std::filesystem::path& folder_a,
                                     const std::filesystem::path& folder_b) {
  Differences d(most, folder_a, folder_b);
  d.compare(a, b);
  return d.take();
}

}  // namespace tenon::TENON_ABI::loader
