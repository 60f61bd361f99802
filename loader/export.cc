#include "loader/export.hpp"

#include <set>

#include "loader/attribute.hpp"
#include "loader/check.hpp"
#include "loader/convert.hpp"
#include "loader/convert_step.hpp"
#include "loader/infer.hpp"
#include "loader/names.hpp"
#include "loader/opsets.hpp"
#include "loader/order.hpp"

namespace tenon::loader {
namespace {

using op::AttributeInfo;
using op::AttributeValue;
using op::BodyRef;

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

const CapturingBody* graph_of(const AttributeValue& value) {
  const auto* body = std::get_if<BodyRef>(&value);
  return body != nullptr && *body ? (*body)->capturing() : nullptr;
}

// The values that outputs depend on.
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

// A graph, the message that it becomes, and the names that its values have there.
struct Scope {
  const Graph& graph;
  Scope* outer;
  onnx::GraphProto& out;
  std::vector<bool> read;
  std::vector<std::string> names;
  std::vector<std::string> outputs{};
  std::map<const void*, ValueId> constants{};  // by their elements
  std::set<int32_t> symbols{};                 // that an input states

  Scope(const Graph& g, Scope* around, onnx::GraphProto& to)
      : graph(g), outer(around), out(to), read(values_read(g)), names(g.values().size()) {}
};

class Exporter {
 public:
  Exporter(const Graph& graph, int opset) : graph_(graph), opset_(opset), registry_(standard_registry()) {
    for (NameSet* names : {&names_, &nodes_}) names->add("");
  }

  onnx::ModelProto run() {
    onnx::ModelProto model;
    model.set_ir_version(onnx::IR_VERSION);
    model.set_producer_name("tenon");
    model.set_producer_version(library_version);
    find_domains(graph_);
    domains_[""] = opset_;
    for (const auto& [domain, version] : domains_) {
      auto& import = *model.add_opset_import();
      import.set_domain(domain);
      import.set_version(version);
    }
    Scope main(graph_, nullptr, *model.mutable_graph());
    write_graph(main);
    return model;
  }

 private:
  [[noreturn]] static void refuse(const Graph::Node& n, const std::string& why) {
    throw Error(ErrorCode::not_supported, detail::describe(n), why);
  }

  // A node's own version, unless inputs are attributes there.
  static int stated_version(const Graph::Node& n) {
    const op::Spec& spec = n.op.spec();
    for (int k = 0; k < std::min(static_cast<int>(n.inputs.size()), spec.inputs.size()); ++k)
      if (n.inputs[static_cast<std::size_t>(k)] >= 0 && !spec.input(k, n.op.version()).in(n.op.version()))
        return spec.latest();
    return n.op.version();
  }
  void find_domains(const Graph& g) {
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

  // --- graphs ---

  void write_graph(Scope& s) {
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
      write_info(g.entry(v).info, s, *info.mutable_type());
    }
    const std::set<std::string_view> results(s.outputs.begin(), s.outputs.end());
    std::set<std::string_view> read = results;
    for (const auto& n : s.out.node()) read.merge(names_read(n));
    for (std::size_t k = 0; k < s.names.size(); ++k) {
      const Graph::ValueEntry& e = g.values()[k];
      if (s.names[k].empty()) continue;
      if (e.source == Graph::Source::constant) {
        // Conversion may have made it an attribute.
        if (read.contains(s.names[k])) write_constant(e, s.names[k], s);
      } else if (e.source == Graph::Source::input && e.content) {
        if (!e.content.is_tensor() && !e.content.is_sparse_tensor())
          throw Error(ErrorCode::not_supported, concat("input '", e.name, "'"),
                      concat("its own value is ", to_string(e.content.type()), ", and can only be a tensor"));
        write_constant(e, s.names[k], s);
      } else if (e.source == Graph::Source::node && e.info.type && e.info.type.kind != Kind::unknown &&
                 !results.contains(s.names[k])) {
        onnx::ValueInfoProto& info = *s.out.add_value_info();
        info.set_name(s.names[k]);
        write_info(e.info, s, *info.mutable_type());
      }
    }
  }

  void name_values(Scope& s) {
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
  // Outputs of the main graph have their names, outputs of bodies their places. A value has one name: an
  // output of another is made by an Identity.
  void name_output(const std::string& stated, ValueId v, bool first, Scope& s) {
    const bool made_here =
        s.graph.entry(v).source != Graph::Source::capture && find_shared(v, s).first == nullptr;
    std::string& own = name(v, s);
    if (s.outer != nullptr) {
      if (made_here && first && own.empty()) own = names_.fresh(stated);
      s.outputs.push_back(made_here && first ? own : names_.fresh(stated));
      return;
    }
    if (own != stated && names_.contains(stated))
      throw Error(ErrorCode::invalid_argument, concat("output '", stated, "'"),
                  "an input has this name, and is another value");
    names_.add(stated);
    if (own.empty()) own = stated;
    s.outputs.push_back(stated);
  }
  static std::string& name(ValueId v, Scope& s) { return s.names[static_cast<std::size_t>(v)]; }

  // A constant that a graph around has too: bodies copy constants that they capture.
  static std::pair<Scope*, ValueId> find_shared(ValueId v, const Scope& s) {
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

  // The name of a value that a node reads.
  std::string operand(ValueId v, Scope& s) {
    if (v < 0) return "";
    if (const auto [around, same] = find_shared(v, s); around != nullptr) return operand(same, *around);
    std::string& n = name(v, s);
    const Graph::ValueEntry& e = s.graph.entry(v);
    if (n.empty()) n = names_.fresh(e.name.empty() ? "constant" : e.name);
    if (e.source == Graph::Source::constant && !e.content.is_tensor() && made_.insert(n).second)
      make_value(e.content, n, s);
    return n;
  }

  void write_info(const op::Info& info, const Scope& s, onnx::TypeProto& t) const {
    Dims dims = info.dims;
    for (int k = 0; k < dims.rank(); ++k)
      if (dims[k].symbolic() && !s.symbols.contains(dims[k].symbol())) dims[k] = Dim::unknown();
    write_type(info.type, dims, [&](Dim d) { return std::string(s.graph.symbol_name(d)); }, t);
  }

  // --- constants ---

  static void write_initializer(const AnyTensor& tensor, const std::string& name, Scope& s) {
    onnx::TensorProto& t = *s.out.add_initializer();
    t.set_name(name);
    write_tensor(tensor, t);
  }
  static void write_constant(const Graph::ValueEntry& e, const std::string& name, Scope& s) {
    if (e.content.is_tensor()) return write_initializer(e.content.tensor(), name, s);
    if (!e.content.is_sparse_tensor()) return;  // nodes make it
    onnx::SparseTensorProto& t = *s.out.add_sparse_initializer();
    write_sparse_tensor(e.content.sparse_tensor(), t);
    t.mutable_values()->set_name(name);
  }
  // Nodes for a constant that no initializer can hold.
  void make_value(const Value& value, const std::string& name, Scope& s) {
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
        add(s, "SequenceEmpty", {}, {{"dtype", static_cast<int64_t>(value.sequence().element.element)}},
            name);
      else add(s, "SequenceConstruct", items, {}, name);
    } else if (value.is_optional()) {
      if (const auto& v = value.optional().value) add(s, "Optional", {part(*v)}, {}, name);
      else add(s, "Optional", {}, {{"type", value.optional().element}}, name);
    } else {
      throw Error(ErrorCode::not_supported, concat("constant '", name, "'"),
                  concat(value ? to_string(value.type()) : "nothing", " cannot be written"));
    }
  }

  // --- nodes ---

  using NamedAttributes = std::vector<std::pair<const char*, AttributeValue>>;
  onnx::NodeProto make(const char* op, const std::vector<std::string>& inputs,
                       const NamedAttributes& attributes, const std::string& output) {
    onnx::NodeProto n;
    n.set_op_type(op);
    n.set_name(nodes_.fresh(output));
    for (const std::string& name : inputs) n.add_input(name);
    for (const auto& [name, value] : attributes) set_attribute(n, name, value);
    n.add_output(output);
    return n;
  }
  /// A node of ai.onnx with one result, whose name is returned.
  std::string add(Scope& s, const char* op, const std::vector<std::string>& inputs,
                  const NamedAttributes& attributes, std::string output) {
    *s.out.add_node() = make(op, inputs, attributes, output);
    return output;
  }
  std::string add(Scope& s, const char* op, const std::vector<std::string>& inputs,
                  const NamedAttributes& attributes = {}) {
    return add(s, op, inputs, attributes, names_.fresh(concat(op, "_out")));
  }
  std::string add_constant(Scope& s, const AnyTensor& tensor) {
    const std::string n = names_.fresh("constant");
    write_initializer(tensor, n, s);
    return n;
  }

  void write_node(const Graph::Node& n, Scope& s) {
    const op::Spec& spec = n.op.spec();
    onnx::NodeProto p;
    p.set_name(nodes_.fresh(n.name));
    p.set_op_type(std::string(spec.name));
    const std::string domain(canonical(spec.domain));
    if (!domain.empty()) p.set_domain(domain);
    for (ValueId v : n.inputs) p.add_input(operand(v, s));
    while (p.input_size() > 0 && p.input(p.input_size() - 1).empty()) p.mutable_input()->RemoveLast();
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      std::string& output = name(n.outputs[k], s);
      const bool optional = spec.output(static_cast<int>(k), n.op.version()).arity == op::Arity::optional;
      if (output.empty() && (s.read[static_cast<std::size_t>(n.outputs[k])] || !optional))
        output = names_.fresh(n.name);
      p.add_output(output);
    }
    while (p.output_size() > 0 && p.output(p.output_size() - 1).empty()) p.mutable_output()->RemoveLast();
    if (domain == "tenon") return write_internal(n, p, s);
    if (domain.empty()) return write_standard(n, p, s);
    const Registry::Found found = registry_.find(domain, spec.name, domains_[domain]);
    const bool same = found.op_class != nullptr && found.op_class->spec == &spec;
    if (!same && known(domain, spec.name))
      refuse(n, concat("other nodes need version ", domains_[domain], " of ", domain,
                       ", where the operator is another"));
    write_attributes(n, same ? found.version : domains_[domain], found.op_class, p, s);
    *s.out.add_node() = std::move(p);
  }
  // A node of ai.onnx: as it is where the opset has its version, else from the newest form of its operator.
  void write_standard(const Graph::Node& n, onnx::NodeProto& p, Scope& s) {
    const op::Spec& spec = n.op.spec();
    const auto implements = [&](const Registry::Found& f) {
      return f.op_class != nullptr && f.op_class->spec == &spec;
    };
    const Registry::Found found = registry_.find("", spec.name, opset_),
                          newest = registry_.find("", spec.name, newest_opset());
    int stated_at = opset_;
    if (implements(found) && found.version == n.op.version() && is_stated(n)) {
      write_attributes(n, found.version, found.op_class, p, s);
    } else if (implements(newest)) {
      stated_at = newest_opset();
      write_attributes(n, newest.version, newest.op_class, p, s);
      if (n.op.version() != newest.version) {
        amend(n, p, s);
        check_newest(n, newest, p, s.graph);
      }
    } else {
      stated_at = n.op.version();
      const Registry::Found own = registry_.find("", spec.name, stated_at, true);
      if (!implements(own)) refuse(n, "opsets of ai.onnx have no such operator");
      write_attributes(n, stated_at, own.op_class, p, s);
    }
    if (stated_at == opset_) *s.out.add_node() = std::move(p);
    else write_converted(n, p, stated_at, s);
  }
  // Whether the operator object holds everything that its version states as attributes, so that no input of
  // the node stands for one.
  static bool is_stated(const Graph::Node& n) {
    const int version = n.op.version();
    return stated_version(n) == version &&
           std::ranges::none_of(n.op.attributes(), [&](const AttributeInfo& a) {
             return a.required && a.in(version) && a.value.index() == 0;
           });
  }
  bool known(const std::string& domain, std::string_view name) const {
    return registry_.operators().contains({domain, std::string(name)});
  }

  // The attributes of a version, where they differ from its defaults. Without a class the defaults are not
  // known.
  void write_attributes(const Graph::Node& n, int version, const OperatorClass* op_class, onnx::NodeProto& p,
                        Scope& s) {
    std::vector<AttributeInfo> defaults;
    if (op_class != nullptr) defaults = op_class->attributes(op_class->create(version).get());
    const std::vector<AttributeInfo> attributes = n.op.attributes();
    for (std::size_t k = 0; k < attributes.size(); ++k) {
      const AttributeInfo& a = attributes[k];
      if (!a.in(version) || a.value.index() == 0) continue;
      if (const auto* body = std::get_if<BodyRef>(&a.value)) {
        const CapturingBody* capturing = graph_of(a.value);
        if (!*body) continue;
        if (capturing == nullptr) refuse(n, concat("the body '", a.name, "' is no graph"));
        onnx::AttributeProto& g = *p.add_attribute();
        g.set_name(std::string(a.name));
        g.set_type(onnx::AttributeProto::GRAPH);
        Scope inner(capturing->graph(), &s, *g.mutable_g());
        write_graph(inner);
      } else if (a.required || k >= defaults.size() || !equal(a.value, defaults[k].value)) {
        set_attribute(p, a.name, a.value);
      }
    }
  }

  // States defaults and names of an old version as the newest form has them.
  void amend(const Graph::Node& n, onnx::NodeProto& p, Scope& s) {
    const std::string& type = p.op_type();
    const int version = n.op.version();
    const auto text = [&](std::string_view name) -> std::string {
      for (const auto& a : p.attribute())
        if (a.name() == name) return a.s();
      return "";
    };
    const auto stated = [&](std::string_view name) {
      return std::ranges::any_of(p.attribute(), [&](const auto& a) { return a.name() == name; });
    };
    if (type == "Concat" && !stated("axis")) set_attribute(p, "axis", int64_t{1});
    if (type == "Split" && version < 18 && p.input_size() < 2 && !stated("num_outputs"))
      set_attribute(p, "num_outputs", int64_t{p.output_size()});
    if (type == "GRU" && text("direction") == "foward") set_attribute(p, "direction", std::string("forward"));
    if (type == "GridSample" && version < 20) {
      const std::string mode = text("mode");
      if (mode == "bilinear") set_attribute(p, "mode", std::string("linear"));
      if (mode == "bicubic") set_attribute(p, "mode", std::string("cubic"));
    }
    if (type == "OneHot" && version < 11) {
      // Negative indices were outside of all; now they count from the end.
      const std::string index = add(s, "Cast", {p.input(0)}, {{"to", int64_t{onnx::TensorProto::INT64}}});
      const std::string negative = add(s, "Less", {index, add_constant(s, scalar_of(int64_t{0}))});
      p.set_input(0, add(s, "Where", {negative, add_constant(s, scalar_of(INT64_MAX)), index}));
    }
    if (type == "Attention" && s.graph.entry(n.inputs[0]).info.dims.rank() == 4)
      // The extents tell the heads, and alone may.
      p.mutable_attribute()->erase(
          std::remove_if(
              p.mutable_attribute()->begin(), p.mutable_attribute()->end(),
              [](const auto& a) { return a.name() == "q_num_heads" || a.name() == "kv_num_heads"; }),
          p.mutable_attribute()->end());
    if (type == "Attention" && version < 24 && p.input_size() > 3 && !p.input(3).empty()) {
      // A mask of one key was for all keys; now keys behind its end are masked.
      const Dims& mask = s.graph.entry(n.inputs[3]).info.dims;
      if (mask.ranked() && mask.rank() > 0 && mask[mask.rank() - 1].known() && !mask[mask.rank() - 1].is(1))
        return;
      const auto keys = [&](const std::string& of) {
        return add(s, "Shape", {of}, {{"start", int64_t{-2}}, {"end", int64_t{-1}}});
      };
      std::string all = keys(p.input(1));
      if (p.input_size() > 4 && !p.input(4).empty()) all = add(s, "Add", {keys(p.input(4)), all});
      p.set_input(3, add(s, "Expand", {p.input(3), all}));
    }
  }

  // Error{not_supported} for a node that only an older version allows.
  static void check_newest(const Graph::Node& n, const Registry::Found& found, const onnx::NodeProto& p,
                           const Graph& graph) {
    if (std::ranges::any_of(p.attribute(), [](const auto& a) { return a.has_g(); })) return;
    std::vector<std::pair<std::string, AttributeValue>> attributes;
    for (const auto& a : p.attribute()) attributes.emplace_back(a.name(), read_attribute(a, {}, {}));
    std::vector<op::Info> in, out(n.outputs.size());
    for (ValueId v : n.inputs) {
      const Graph::ValueEntry* e = v < 0 ? nullptr : &graph.entry(v);
      const bool constant = e != nullptr && e->source == Graph::Source::constant;
      in.push_back(e == nullptr ? op::Info{} : constant ? op::info_of(e->content) : e->info);
    }
    try {
      const op::Message m =
          make_operator(*found.op_class, found.version, std::move(attributes)).infer(in, out);
      if (!m.empty()) refuse(n, concat("at version ", found.version, ": ", m.view()));
    } catch (const Error& e) {
      if (e.code() == ErrorCode::not_supported) throw;
      refuse(n, concat("at version ", found.version, ": ", e.message()));
    }
  }

  // The nodes for one of another opset: converted as a model of its own. Its body, if it has one, is written
  // already.
  void write_converted(const Graph::Node& n, onnx::NodeProto& p, int stated_at, Scope& s) {
    constexpr int64_t max_elements = 4096;  // of constants that conversion may want to read
    onnx::ModelProto m;
    m.set_ir_version(onnx::IR_VERSION);
    m.add_opset_import()->set_version(stated_at);
    onnx::GraphProto& g = *m.mutable_graph();
    g.set_name("node");
    std::set<std::string_view> named;
    for (int k = 0; k < p.input_size(); ++k) {
      if (p.input(k).empty() || !named.insert(p.input(k)).second) continue;
      const ValueId operand = n.inputs[static_cast<std::size_t>(k)];
      const Graph::ValueEntry& e = s.graph.entry(operand);
      if (e.source == Graph::Source::constant && e.content.is_tensor() &&
          e.content.tensor().size() <= max_elements && p.input(k) == this->operand(operand, s)) {
        onnx::TensorProto& t = *g.add_initializer();
        t.set_name(p.input(k));
        write_tensor(e.content.tensor(), t);
      } else {
        onnx::ValueInfoProto& v = *g.add_input();
        v.set_name(p.input(k));
        // The type is unknown where another node's result takes the operand's place.
        if (p.input(k) == this->operand(operand, s)) write_info(e.info, s, *v.mutable_type());
      }
    }
    for (int k = 0; k < p.output_size(); ++k) {
      if (p.output(k).empty()) continue;
      onnx::ValueInfoProto& v = *g.add_output();
      v.set_name(p.output(k));
      write_info(s.graph.entry(n.outputs[static_cast<std::size_t>(k)]).info, s, *v.mutable_type());
    }
    std::map<std::string, onnx::GraphProto> bodies;
    for (auto& a : *p.mutable_attribute())
      if (a.has_g()) {
        a.mutable_g()->Swap(&bodies[a.name()]);
        *a.mutable_g() = without_nodes(bodies[a.name()]);
      }
    *g.add_node() = p;
    try {
      convert_opset(m, opset_);
      // Versions may also differ in the types that go together. Bodies are not there to be asked.
      onnx::ModelProto typed;
      if (bodies.empty()) infer_shapes(typed = m, {.strict = true, .check_types = true});
    } catch (const Error& e) {
      refuse(n, e.message());
    }
    for (const std::string& output : p.output()) named.insert(output);
    std::map<std::string, std::string> renamed;
    const auto rename = [&](std::string& name) {
      if (name.empty() || named.contains(name)) return;
      std::string& now = renamed[name];
      if (now.empty()) now = names_.fresh(n.name);
      name = now;
    };
    for (onnx::NodeProto& made : *m.mutable_graph()->mutable_node()) {
      for (auto& name : *made.mutable_input()) rename(name);
      for (auto& name : *made.mutable_output()) rename(name);
      for (auto& a : *made.mutable_attribute())
        if (a.has_g()) a.mutable_g()->Swap(&bodies[a.name()]);
      if (made.op_type() == "Constant" && made.attribute(0).has_t() && made.input_size() == 0) {
        onnx::TensorProto& t = *s.out.add_initializer();
        t.Swap(made.mutable_attribute(0)->mutable_t());
        t.set_name(made.output(0));
        continue;
      }
      if (made.name().empty()) made.set_name(nodes_.fresh(n.name));
      *s.out.add_node() = std::move(made);
    }
  }
  // Inputs and outputs of a body alone, the outputs as constants.
  static onnx::GraphProto without_nodes(const onnx::GraphProto& body) {
    onnx::GraphProto g;
    g.set_name(body.name());
    *g.mutable_input() = body.input();
    *g.mutable_output() = body.output();
    for (const auto& v : body.output())
      if (std::ranges::none_of(body.input(), [&](const auto& i) { return i.name() == v.name(); })) {
        onnx::TensorProto& t = *g.add_initializer();
        t.set_name(v.name());
        t.set_data_type(v.type().tensor_type().elem_type());
        t.add_dims(0);
      }
    return g;
  }

  // Operators of this library, by operators of ONNX.
  void write_internal(const Graph::Node& n, const onnx::NodeProto& p, Scope& s) {
    if (const auto* element = n.op.as<detail::AttributeElement>()) {
      add(s, "CastLike", {add_constant(s, scalar_of(element->value)), p.input(0)}, {}, p.output(0));
    } else if (n.op.spec().name == "StretchedAxes") {
      write_stretched_axes(p.input(0), p.input(1), p.output(0), s);
    } else {
      refuse(n, "the operator is none of ONNX");
    }
  }
  // The axes that extents `like` lack, or have as 1 where `shape` has more: counted from behind.
  void write_stretched_axes(const std::string& shape, const std::string& like, const std::string& axes,
                            Scope& s) {
    const auto vector = [&](int64_t v) { return add_constant(s, vector_of<int64_t>({v})); };
    const std::string one = vector(1), lacking = vector(-1);
    const std::string rank = add(s, "Shape", {shape});
    const std::string lacks = add(s, "Expand", {lacking, add(s, "Sub", {rank, add(s, "Shape", {like})})});
    const std::string aligned = add(s, "Concat", {lacks, like}, {{"axis", int64_t{0}}});
    const std::string longer = add(s, "Not", {add(s, "Equal", {shape, one})});
    const std::string stretched = add(s, "And", {add(s, "Equal", {aligned, one}), longer});
    const std::string mask = add(s, "Or", {add(s, "Equal", {aligned, lacking}), stretched});
    const std::string positions = add(s, "Reshape", {add(s, "NonZero", {mask}), lacking});
    add(s, "Sub", {positions, rank}, {}, axes);
  }

  const Graph& graph_;
  const int opset_;
  const Registry& registry_;
  std::map<std::string, int> domains_;
  NameSet names_, nodes_;
  std::set<std::string> made_;  // constants that nodes make, as far as these are written
};

}  // namespace

onnx::ModelProto to_model(const Graph& graph, const ExportOptions& options) {
  const int opset = options.opset.value_or(newest_opset());
  if (opset < 1 || opset > newest_opset())
    throw Error(ErrorCode::invalid_argument, "to_model",
                concat("opset ", opset, ": there are 1 to ", newest_opset()));
  onnx::ModelProto model = Exporter(graph, opset).run();
  model.set_ir_version(onnx::IR_VERSION);
  convert_ir_version(model, options.ir_version.value_or(ir_version_of(opset)));
  // Inputs and outputs of unknown types break the rule "type", and run.
  for (const Diagnostic& d : check(model))
    if (d.severity == Severity::error && d.rule != "type")
      throw Error(ErrorCode::not_supported, concat("opset ", opset), to_string(d));
  return model;
}

}  // namespace tenon::loader
