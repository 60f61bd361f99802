#include "loader/draw/outline.hpp"

#include "loader/display.hpp"
#include "loader/opsets.hpp"
#include "tenon/base/convert.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

constexpr std::size_t most_name = 120;

class Builder {
 public:
  Builder(Outline& outline, const onnx::ModelProto& model) : outline_(outline) {
    const int main = add_graph(Outline::GraphKind::main, "main");
    std::vector<int> functions;
    for (const auto& f : model.functions()) {
      const int g =
          add_graph(Outline::GraphKind::function,
                    str_cat("function ", visible(f.domain(), most_name), ".", visible(f.name(), most_name),
                            f.overload().empty() ? "" : ":", visible(f.overload(), most_name)));
      graph(g).function = &f;
      functions.push_back(g);
      functions_.emplace(key_of(f), g);
    }
    fill(main, model.graph(), nullptr);
    for (int g : functions) fill(g, *graph(g).function);
    for (int k = 0; k < model.training_info_size(); ++k) {
      const auto& t = model.training_info(k);
      // The algorithm reads the values of the main graph.
      if (t.has_initialization())
        fill(add_graph(Outline::GraphKind::training, str_cat("training ", k, ", initialization")),
             t.initialization(), nullptr);
      if (t.has_algorithm()) {
        Scope main_scope{main, nullptr, main_names_};
        fill(add_graph(Outline::GraphKind::training, str_cat("training ", k, ", algorithm")), t.algorithm(),
             &main_scope);
      }
    }
  }

 private:
  using Names = std::map<std::string_view, int>;
  struct Scope {
    int graph = 0;
    Scope* outer = nullptr;
    Names names;
  };

  Outline::Graph& graph(int g) { return outline_.graphs[static_cast<std::size_t>(g)]; }
  Outline::Node& node(int n) { return outline_.nodes[static_cast<std::size_t>(n)]; }
  Outline::Value& value(int v) { return outline_.values[static_cast<std::size_t>(v)]; }

  int add_graph(Outline::GraphKind kind, std::string title) {
    outline_.graphs.push_back({.kind = kind, .title = std::move(title)});
    return static_cast<int>(outline_.graphs.size()) - 1;
  }
  int add_value(std::string_view name, Outline::Source source, int g) {
    outline_.values.push_back({.name = name, .source = source, .graph = g});
    return static_cast<int>(outline_.values.size()) - 1;
  }
  // The value of a name that the graph itself defines.
  int define(Scope& scope, std::string_view name, Outline::Source source) {
    const auto [it, is_new] = scope.names.emplace(name, 0);
    if (is_new) it->second = add_value(name, source, scope.graph);
    return it->second;
  }
  // The value of a name that the graph reads: its own, an outer graph's, or undefined.
  int find(Scope& scope, std::string_view name) {
    if (const auto it = scope.names.find(name); it != scope.names.end()) return it->second;
    int outer = -1;
    for (Scope* s = scope.outer; s != nullptr && outer < 0; s = s->outer)
      if (s->names.contains(name)) outer = find(*scope.outer, name);
    const int v = add_value(name, outer < 0 ? Outline::Source::nowhere : Outline::Source::outer, scope.graph);
    if (outer >= 0) {
      value(v).outer = outer;
      value(v).type = value(outer).type;
      graph(scope.graph).outer.push_back(v);
    }
    scope.names.emplace(name, v);
    return v;
  }

  void fill(int g, const onnx::GraphProto& proto, Scope* outer) {
    graph(g).graph = &proto;
    Scope scope{g, outer, {}};
    const auto add_initializer = [&](const std::string& name) {
      const int v = define(scope, name, Outline::Source::initializer);
      if (value(v).source == Outline::Source::initializer) graph(g).initializers.push_back(v);
      return v;
    };
    for (const auto& i : proto.input()) {
      const int v = define(scope, i.name(), Outline::Source::input);
      if (i.has_type()) value(v).type = &i.type();
      graph(g).inputs.push_back(v);
    }
    for (const auto& t : proto.initializer()) value(add_initializer(t.name())).content = &t;
    for (const auto& t : proto.sparse_initializer())
      value(add_initializer(t.values().name())).sparse_content = &t;
    fill_nodes(scope, proto.node());
    for (const auto* list : {&proto.value_info(), &proto.output()}) set_types(scope, *list);
    for (const auto& o : proto.output()) {
      const int v = find(scope, o.name());
      value(v).output = true;
      graph(g).outputs.push_back(v);
    }
    read_nodes(scope);
    if (outer == nullptr && g == 0) main_names_ = scope.names;
  }
  void fill(int g, const onnx::FunctionProto& proto) {
    Scope scope{g, nullptr, {}};
    for (const std::string& name : proto.input())
      graph(g).inputs.push_back(define(scope, name, Outline::Source::input));
    fill_nodes(scope, proto.node());
    set_types(scope, proto.value_info());
    for (const std::string& name : proto.output()) {
      const int v = find(scope, name);
      value(v).output = true;
      graph(g).outputs.push_back(v);
    }
    read_nodes(scope);
  }

  template <class List>
  void set_types(Scope& scope, const List& infos) {
    for (const auto& i : infos)
      if (const auto it = scope.names.find(i.name()); it != scope.names.end() && i.has_type())
        if (value(it->second).type == nullptr) value(it->second).type = &i.type();
  }
  // Results first, because files do not always keep the order of nodes.
  template <class Nodes>
  void fill_nodes(Scope& scope, const Nodes& protos) {
    for (const auto& proto : protos) {
      const int n = static_cast<int>(outline_.nodes.size());
      outline_.nodes.push_back({.proto = &proto, .graph = scope.graph});
      graph(scope.graph).nodes.push_back(n);
      for (const std::string& name : proto.output()) {
        const int v = name.empty() ? -1 : define(scope, name, Outline::Source::node);
        if (v >= 0 && value(v).source == Outline::Source::node && value(v).producer < 0)
          value(v).producer = n;
        node(n).outputs.push_back(v);
      }
      if (const auto f = functions_.find(key_of(proto)); f != functions_.end()) {
        node(n).function = f->second;
        ++graph(f->second).calls;
      }
    }
  }
  void read_nodes(Scope& scope) {
    const std::vector<int> nodes = graph(scope.graph).nodes;
    for (int n : nodes) {
      for (const std::string& name : node(n).proto->input()) {
        const int v = name.empty() ? -1 : find(scope, name);
        node(n).inputs.push_back(v);
        if (v >= 0) add_consumer(v, n);
      }
      for (const auto& a : node(n).proto->attribute()) {
        if (a.has_g()) read_body(scope, n, a.name(), a.g());
        for (const auto& g : a.graphs()) read_body(scope, n, a.name(), g);
      }
    }
  }
  void read_body(Scope& scope, int n, const std::string& attribute, const onnx::GraphProto& proto) {
    const int g = add_graph(Outline::GraphKind::body,
                            str_cat(visible(attribute, most_name), " of ", node_text(*node(n).proto)));
    graph(g).parent = n;
    node(n).bodies.emplace_back(attribute, g);
    fill(g, proto, &scope);
    for (int v : graph(g).outer) {
      node(n).captures.push_back(value(v).outer);
      add_consumer(value(v).outer, n);
    }
  }
  void add_consumer(int v, int n) {
    std::vector<int>& consumers = value(v).consumers;
    if (consumers.empty() || consumers.back() != n) consumers.push_back(n);
  }

  Outline& outline_;
  std::map<FunctionKey, int> functions_;
  Names main_names_;
};

}  // namespace

Outline::Outline(const onnx::ModelProto& model) { Builder(*this, model); }

std::map<std::string, ParameterCount> count_parameters(const Outline& outline) {
  std::map<std::string, ParameterCount> counts;
  const auto add = [&](const onnx::TensorProto& t) {
    const DType type = dtype_from_onnx(t.data_type());
    ParameterCount& c = counts[std::string(name_of(type))];
    double elements = 1;
    for (int64_t d : t.dims()) elements *= static_cast<double>(d);
    ++c.tensors;
    c.elements += elements;
    if (type != DType::string) {
      c.bytes += elements * bits_of(type) / 8;
      return;
    }
    for (const std::string& s : t.string_data()) c.bytes += static_cast<double>(s.size());
  };
  for (const Outline::Value& v : outline.values) {
    if (v.content != nullptr) add(*v.content);
    if (v.sparse_content != nullptr) add(v.sparse_content->values());
  }
  return counts;
}

std::string size_text(double bytes) {
  const bool small = bytes < 1 << 20;
  return tenon::detail::format_digits(bytes / (small ? 1 << 10 : 1 << 20), std::chars_format::fixed, 1) +
         (small ? " KiB" : " MiB");
}

std::string node_text(const onnx::NodeProto& n) {
  std::string_view name = n.name();
  for (const std::string& output : n.output())
    if (name.empty()) name = output;
  return str_cat("'", visible(name, most_name), "' (", visible(n.op_type(), most_name), ")");
}

}  // namespace tenon::TENON_ABI::loader
