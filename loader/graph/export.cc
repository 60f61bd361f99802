#include "loader/graph/export.hpp"

#include "loader/check/check.hpp"
#include "loader/convert/convert.hpp"
#include "loader/edit/order.hpp"
#include "loader/format/tensor.hpp"
#include "loader/graph/exporter.hpp"
#include "loader/opsets.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using op::AttributeInfo;

int64_t ir_version_of(int opset) {
  constexpr struct {
    int opset;
    int64_t ir;
  } rows[] = {{27, 14}, {25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9},
              {15, 8},  {12, 7},  {11, 6},  {10, 5},  {9, 4}};
  for (const auto& row : rows)
    if (opset >= row.opset) return row.ir;
  return oldest_ir_version;
}

// Whether any output depends on a value, for each value.
std::vector<bool> values_read(const Graph& g) {
  std::vector<bool> read(g.values().size());
  const auto mark = [&](ValueId v) {
    if (v >= 0) read[static_cast<std::size_t>(v)] = true;
  };
  for (const auto& [name, v] : g.outputs()) mark(v);
  for (std::size_t k = g.nodes().size(); k-- > 0;) {
    const Graph::Node& n = g.nodes()[k];
    if (std::ranges::none_of(n.outputs, [&](ValueId v) { return read[static_cast<std::size_t>(v)]; }))
      continue;
    for (ValueId v : n.inputs) mark(v);
    if (n.captures.empty()) continue;
    for (const AttributeInfo& a : n.op.attributes())
      if (const CapturingBody* body = graph_of(a.value)) {
        const std::vector<bool> inner = values_read(body->graph());
        for (ValueId v : body->graph().captures())
          if (inner[static_cast<std::size_t>(v)]) mark(body->graph().entry(v).outer);
      }
  }
  return read;
}

}  // namespace

const CapturingBody* graph_of(const op::AttributeValue& value) {
  const auto* body = std::get_if<op::BodyRef>(&value);
  return body != nullptr && *body ? (*body)->capturing() : nullptr;
}

Exporter::Scope::Scope(const Graph& g, Scope* around, onnx::GraphProto& to)
    : graph(g), outer(around), out(to), read(values_read(g)), names(g.values().size()) {}

onnx::ModelProto Exporter::run() {
  onnx::ModelProto model;
  model.set_ir_version(onnx::IR_VERSION);
  model.set_producer_name("tenon");
  model.set_producer_version(library_version);
  find_domains(graph_);
  domains_[""] = opset_;
  Scope main(graph_, nullptr, *model.mutable_graph());
  write_graph(main);
  for (const auto& [domain, version] : domains_) {
    auto& import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  }
  return model;
}

int stated_version(const Graph::Node& n) {
  const op::Spec& spec = n.op.spec();
  for (int k = 0; k < std::min(static_cast<int>(n.inputs.size()), spec.inputs.size()); ++k)
    if (n.inputs[static_cast<std::size_t>(k)] >= 0 && !spec.input(k, n.op.version()).in(n.op.version()))
      return spec.latest();
  return n.op.version();
}

void Exporter::find_domains(const Graph& g) {
  for (const Graph::Node& n : g.nodes()) {
    const std::string domain(canonical(n.op.spec().domain));
    if (!domain.empty() && domain != "tenon") {
      int& version = domains_[domain];
      version = std::max(version, stated_version(n));
    }
    for (const AttributeInfo& a : n.op.attributes())
      if (const CapturingBody* body = graph_of(a.value)) find_domains(body->graph());
  }
}

void Exporter::write_graph(Scope& s) {
  const Graph& g = s.graph;
  s.out.set_name(g.name().empty() ? "graph" : g.name());
  name_values(s);
  for (const Graph::Node& n : g.nodes())
    if (std::ranges::any_of(n.outputs, [&](ValueId v) { return s.read[static_cast<std::size_t>(v)]; }))
      write_node(n, s);
  for (std::size_t k = 0; k < s.outputs.size(); ++k) {
    const ValueId v = g.outputs()[k].second;
    if (const std::string value = operand(v, s); value != s.outputs[k])
      add(s, "Identity", {value}, {}, s.outputs[k]);
    onnx::ValueInfoProto& info = *s.out.add_output();
    info.set_name(s.outputs[k]);
    op::Info stated = g.entry(v).info;
    stated.dims = tenon::detail::completed(stated.dims, g.declared_outputs()[k]);
    write_info(stated, s, *info.mutable_type());
  }
  const std::set<std::string_view> results(s.outputs.begin(), s.outputs.end());
  std::set<std::string_view> read = results;
  for (const auto& n : s.out.node()) read.merge(names_read(n));
  for (std::size_t k = 0; k < s.names.size(); ++k) {
    const Graph::ValueEntry& e = g.values()[k];
    if (s.names[k].empty()) continue;
    if (e.source == Graph::Source::constant) {
      // Conversion may have turned it into an attribute.
      if (read.contains(s.names[k])) write_constant(e, s.names[k], s);
    } else if (e.source == Graph::Source::input && e.content) {
      if (!e.content.is_tensor() && !e.content.is_sparse_tensor())
        throw Error(ErrorCode::not_supported, str_cat("input '", e.name, "'"),
                    str_cat("its own value is ", to_string(e.content.type()), ", and can only be a tensor"));
      write_constant(e, s.names[k], s);
    } else if (e.source == Graph::Source::node && e.info.type && e.info.type.kind != Kind::unknown &&
               !results.contains(s.names[k])) {
      onnx::ValueInfoProto& info = *s.out.add_value_info();
      info.set_name(s.names[k]);
      write_info(e.info, s, *info.mutable_type());
    }
  }
}

void Exporter::name_values(Scope& s) {
  const Graph& g = s.graph;
  for (ValueId v : g.inputs())
    if (const std::string& stated = g.entry(v).name; !stated.empty()) name(v, s) = names_.fresh(stated);
  for (ValueId v : g.inputs()) {
    if (name(v, s).empty()) name(v, s) = names_.fresh("input");
    onnx::ValueInfoProto& info = *s.out.add_input();
    info.set_name(name(v, s));
    for (Dim d : g.entry(v).info.dims)
      if (d.symbolic()) s.symbols.insert(d.symbol());
    write_info(g.entry(v).info, s, *info.mutable_type());
  }
  if (!g.captures().empty()) s.symbols.insert(s.outer->symbols.begin(), s.outer->symbols.end());
  for (ValueId v : g.captures())
    if (s.read[static_cast<std::size_t>(v)])
      name(v, s) = s.outer->names[static_cast<std::size_t>(g.entry(v).outer)];
  for (std::size_t k = 0; k < g.values().size(); ++k)
    if (const Graph::ValueEntry& e = g.values()[k];
        e.source == Graph::Source::constant && e.content.is_tensor() && e.content.tensor().bytes() > 0)
      s.constants.emplace(e.content.tensor().data(), static_cast<ValueId>(k));
  std::set<ValueId> named;
  for (const auto& [stated, v] : g.outputs()) name_output(stated, v, named.insert(v).second, s);
  for (std::size_t k = 0; k < g.values().size(); ++k)
    if (const Graph::ValueEntry& e = g.values()[k];
        e.source == Graph::Source::node && !e.name.empty() && s.names[k].empty())
      s.names[k] = names_.fresh(e.name);
}

void Exporter::name_output(const std::string& stated, ValueId v, bool first, Scope& s) {
  const bool made_here =
      s.graph.entry(v).source != Graph::Source::capture && find_shared(v, s).first == nullptr;
  std::string& own = name(v, s);
  if (s.outer != nullptr) {
    if (made_here && first && own.empty()) own = names_.fresh(stated);
    s.outputs.push_back(made_here && first ? own : names_.fresh(stated));
    return;
  }
  if (own != stated && names_.contains(stated))
    throw Error(ErrorCode::invalid_argument, str_cat("output '", stated, "'"),
                "an input has this name, and is another value");
  names_.add(stated);
  if (own.empty()) own = stated;
  s.outputs.push_back(stated);
}

auto Exporter::find_shared(ValueId v, const Scope& s) -> std::pair<Scope*, ValueId> {
  const Graph::ValueEntry& e = s.graph.entry(v);
  if (e.source != Graph::Source::constant || !e.content.is_tensor()) return {};
  const AnyTensor& t = e.content.tensor();
  for (Scope* o = s.outer; o != nullptr && t.bytes() > 0; o = o->outer)
    if (const auto it = o->constants.find(t.data()); it != o->constants.end()) {
      const AnyTensor& other = o->graph.entry(it->second).content.tensor();
      if (other.dtype() == t.dtype() && other.extents() == t.extents()) return {o, it->second};
    }
  return {};
}

std::string Exporter::operand(ValueId v, Scope& s) {
  if (v < 0) return "";
  if (const auto [around, same] = find_shared(v, s); around != nullptr) return operand(same, *around);
  std::string& n = name(v, s);
  const Graph::ValueEntry& e = s.graph.entry(v);
  if (n.empty()) n = names_.fresh(e.name.empty() ? "constant" : e.name);
  if (e.source == Graph::Source::constant && !e.content.is_tensor() && made_.insert(n).second)
    make_value(e.content, n, s);
  return n;
}

void Exporter::write_info(const op::Info& info, const Scope& s, onnx::TypeProto& t) const {
  Dims dims = info.dims;
  for (int k = 0; k < dims.rank(); ++k)
    if (dims[k].symbolic() && !s.symbols.contains(dims[k].symbol())) dims[k] = Dim::unknown();
  write_type(info.type, dims, [&](Dim d) { return std::string(s.graph.symbol_name(d)); }, t);
}

void Exporter::write_initializer(const AnyTensor& tensor, const std::string& name, Scope& s) {
  onnx::TensorProto& t = *s.out.add_initializer();
  t.set_name(name);
  write_tensor(tensor, t);
}

void Exporter::write_constant(const Graph::ValueEntry& e, const std::string& name, Scope& s) {
  if (e.content.is_tensor()) return write_initializer(e.content.tensor(), name, s);
  if (!e.content.is_sparse_tensor()) return;  // a node makes it
  onnx::SparseTensorProto& t = *s.out.add_sparse_initializer();
  write_sparse_tensor(e.content.sparse_tensor(), t);
  t.mutable_values()->set_name(name);
}

void Exporter::make_value(const Value& value, const std::string& name, Scope& s) {
  const auto part = [&](const Value& v) {
    const std::string n = names_.fresh(name);
    if (v.is_tensor()) write_initializer(v.tensor(), n, s);
    else make_value(v, n, s);
    return n;
  };
  if (value.is_sparse_tensor()) return;
  if (value.is_sequence() && value.sequence().element.kind == Kind::tensor) {
    std::vector<std::string> items;
    for (const Value& item : value.sequence().items) items.push_back(part(item));
    if (items.empty())
      add(s, "SequenceEmpty", {}, {{"dtype", static_cast<int64_t>(value.sequence().element.element)}}, name);
    else add(s, "SequenceConstruct", items, {}, name);
  } else if (value.is_optional()) {
    if (const auto& v = value.optional().value) add(s, "Optional", {part(*v)}, {}, name);
    else add(s, "Optional", {}, {{"type", value.optional().element}}, name);
  } else {
    throw Error(ErrorCode::not_supported, str_cat("constant '", name, "'"),
                str_cat(value ? to_string(value.type()) : "nothing", " cannot be written"));
  }
}

onnx::ModelProto to_model(const Graph& graph, const ExportOptions& options) {
  const Registry& registry = registry_of(options.registry);
  const int newest = registry.newest(""), opset = options.opset.value_or(newest);
  if (opset < 1 || opset > newest)
    throw Error(ErrorCode::invalid_argument, "to_model",
                str_cat("opset ", opset, ": there are 1 to ", newest));
  onnx::ModelProto model = Exporter(graph, opset, registry).run();
  model.set_ir_version(onnx::IR_VERSION);
  convert_ir_version(model, options.ir_version.value_or(ir_version_of(opset)));
  // Inputs and outputs of unknown types break the rule "type", but run.
  for (const Diagnostic& d : check(model, {.registry = &registry}))
    if (d.severity == Severity::error && d.rule != "type")
      throw Error(ErrorCode::not_supported, str_cat("opset ", opset), to_string(d));
  return model;
}

}  // namespace tenon::TENON_ABI::loader
