// Nodes of graphs as messages: at their own version where the opset has it, else converted.
#include "loader/convert/convert.hpp"
#include "loader/convert/convert_step.hpp"
#include "loader/format/attribute.hpp"
#include "loader/format/tensor.hpp"
#include "loader/graph/exporter.hpp"
#include "loader/opsets.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using op::AttributeInfo;
using op::AttributeValue;
using op::BodyRef;

[[noreturn]] void refuse(const Graph::Node& n, const std::string& why) {
  throw Error(ErrorCode::not_supported, detail::describe(n), why);
}

// Error{not_supported} for a node that only an older version allows.
void check_newest(const Graph::Node& n, const Registry::Found& found, const onnx::NodeProto& p,
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
    const op::Message m = make_operator(*found.op_class, found.version, std::move(attributes)).infer(in, out);
    if (!m.empty()) refuse(n, str_cat("at version ", found.version, ": ", m.view()));
  } catch (const Error& e) {
    if (e.code() == ErrorCode::not_supported) throw;
    refuse(n, str_cat("at version ", found.version, ": ", e.message()));
  }
}

// Only the inputs and outputs of a body, the outputs as constants.
onnx::GraphProto without_nodes(const onnx::GraphProto& body) {
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

// Whether the operator object holds everything that its version states as attributes, so that no input of the
// node represents one.
bool is_stated(const Graph::Node& n) {
  const int version = n.op.version();
  return stated_version(n) == version && std::ranges::none_of(n.op.attributes(), [&](const AttributeInfo& a) {
           return a.required && a.in(version) && a.value.index() == 0;
         });
}

}  // namespace

std::string Exporter::add(Scope& s, const char* op, const std::vector<std::string>& inputs,
                          const NamedAttributes& attributes, std::string output) {
  onnx::NodeProto& n = *s.out.add_node();
  n.set_op_type(op);
  n.set_name(nodes_.fresh(output));
  for (const std::string& name : inputs) n.add_input(name);
  for (const auto& [name, value] : attributes) set_attribute(n, name, value);
  n.add_output(output);
  return output;
}

std::string Exporter::add(Scope& s, const char* op, const std::vector<std::string>& inputs,
                          const NamedAttributes& attributes) {
  return add(s, op, inputs, attributes, names_.fresh(str_cat(op, "_out")));
}

std::string Exporter::add_constant(Scope& s, const AnyTensor& tensor) {
  const std::string n = names_.fresh("constant");
  write_initializer(tensor, n, s);
  return n;
}

void Exporter::write_node(const Graph::Node& n, Scope& s) {
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
  const bool same = found.op_class != nullptr && found.op_class->same_operator(n.op.op_class());
  if (!same && known(domain, spec.name)) {
    if (write_function(n, p, s)) return;
    refuse(n, str_cat("other nodes need version ", domains_[domain], " of ", domain,
                      ", where the operator is another"));
  }
  write_attributes(n, same ? found.version : domains_[domain], found.op_class, p, s);
  *s.out.add_node() = std::move(p);
}

void Exporter::write_standard(const Graph::Node& n, onnx::NodeProto& p, Scope& s) {
  const op::Spec& spec = n.op.spec();
  const auto implements = [&](const Registry::Found& f) {
    return f.op_class != nullptr && f.op_class->same_operator(n.op.op_class());
  };
  const Registry::Found found = registry_.find("", spec.name, opset_),
                        newest = registry_.find("", spec.name, registry_.newest(""));
  int stated_at = opset_;
  if (implements(found) && found.version == n.op.version() && is_stated(n)) {
    write_attributes(n, found.version, found.op_class, p, s);
  } else if (implements(newest)) {
    stated_at = registry_.newest("");
    write_attributes(n, newest.version, newest.op_class, p, s);
    if (n.op.version() != newest.version) {
      amend(n, p, s);
      check_newest(n, newest, p, s.graph);
    }
  } else {
    stated_at = n.op.version();
    const Registry::Found own = registry_.find("", spec.name, stated_at, true);
    if (!implements(own)) {
      if (write_function(n, p, s)) return;
      refuse(n, "opsets of ai.onnx have no such operator");
    }
    write_attributes(n, stated_at, own.op_class, p, s);
  }
  if (stated_at == opset_) *s.out.add_node() = std::move(p);
  else write_converted(n, p, stated_at, s);
}

bool Exporter::known(const std::string& domain, std::string_view name) const {
  return registry_.operators().contains({domain, std::string(name)});
}

void Exporter::write_attributes(const Graph::Node& n, int version, const OperatorClass* op_class,
                                onnx::NodeProto& p, Scope& s) {
  std::vector<AttributeInfo> defaults;
  if (op_class != nullptr) defaults = op_class->attributes(op_class->create(version).get());
  const std::vector<AttributeInfo> attributes = n.op.attributes();
  for (std::size_t k = 0; k < attributes.size(); ++k) {
    const AttributeInfo& a = attributes[k];
    if (!a.in(version) || a.value.index() == 0) continue;
    if (const auto* body = std::get_if<BodyRef>(&a.value)) {
      const CapturingBody* capturing = graph_of(a.value);
      if (!*body) continue;
      if (capturing == nullptr) refuse(n, str_cat("the body '", a.name, "' is no graph"));
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

void Exporter::amend(const Graph::Node& n, onnx::NodeProto& p, Scope& s) {
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
    // Negative indices used to be out of range; now they count from the end.
    const std::string index = add(s, "Cast", {p.input(0)}, {{"to", int64_t{onnx::TensorProto::INT64}}});
    const std::string negative = add(s, "Less", {index, add_constant(s, scalar_of(int64_t{0}))});
    p.set_input(0, add(s, "Where", {negative, add_constant(s, scalar_of(INT64_MAX)), index}));
  }
  if (type == "Attention" && s.graph.entry(n.inputs[0]).info.dims.rank() == 4)
    // The extents imply the number of heads, and must be the only source.
    p.mutable_attribute()->erase(
        std::remove_if(p.mutable_attribute()->begin(), p.mutable_attribute()->end(),
                       [](const auto& a) { return a.name() == "q_num_heads" || a.name() == "kv_num_heads"; }),
        p.mutable_attribute()->end());
  if (type == "Attention" && version < 24 && p.input_size() > 3 && !p.input(3).empty()) {
    // A mask for one key used to apply to all keys; now keys past its end are masked.
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

onnx::ModelProto Exporter::around(const Graph::Node& n, const onnx::NodeProto& p, int stated_at, Scope& s) {
  constexpr int64_t max_elements = 4096;  // of constants that conversion may need to read
  onnx::ModelProto m;
  m.set_ir_version(onnx::IR_VERSION);
  m.add_opset_import()->set_version(stated_at);
  onnx::GraphProto& g = *m.mutable_graph();
  g.set_name("node");
  std::set<std::string_view> named;
  for (int k = 0; k < p.input_size(); ++k) {
    if (p.input(k).empty() || !named.insert(p.input(k)).second) continue;
    const ValueId v = n.inputs[static_cast<std::size_t>(k)];
    const Graph::ValueEntry& e = s.graph.entry(v);
    // If another node's result has replaced the operand, its type is unknown.
    const bool own = p.input(k) == operand(v, s);
    if (own && e.source == Graph::Source::constant && e.content.is_tensor() &&
        e.content.tensor().size() <= max_elements) {
      onnx::TensorProto& t = *g.add_initializer();
      t.set_name(p.input(k));
      write_tensor(e.content.tensor(), t);
    } else {
      onnx::ValueInfoProto& info = *g.add_input();
      info.set_name(p.input(k));
      if (own) write_info(e.info, s, *info.mutable_type());
    }
  }
  for (int k = 0; k < p.output_size(); ++k) {
    if (p.output(k).empty()) continue;
    onnx::ValueInfoProto& info = *g.add_output();
    info.set_name(p.output(k));
    write_info(s.graph.entry(n.outputs[static_cast<std::size_t>(k)]).info, s, *info.mutable_type());
  }
  return m;
}

void Exporter::write_converted(const Graph::Node& n, onnx::NodeProto& p, int stated_at, Scope& s) {
  onnx::ModelProto m = around(n, p, stated_at, s);
  std::map<std::string, onnx::GraphProto> bodies;
  for (auto& a : *p.mutable_attribute())
    if (a.has_g()) {
      a.mutable_g()->Swap(&bodies[a.name()]);
      *a.mutable_g() = without_nodes(bodies[a.name()]);
    }
  *m.mutable_graph()->add_node() = p;
  try {
    convert_opset(m, opset_, registry_);
  } catch (const Error& e) {
    if (bodies.empty() && write_function(n, p, s)) return;
    refuse(n, e.message());
  }
  // The node's operands and results keep their names.
  std::map<std::string, std::string> names;
  for (const auto* kept : {&p.input(), &p.output()})
    for (const std::string& name : *kept) names[name] = name;
  adopt(n, *m.mutable_graph(), std::move(names), bodies, s);
}

bool Exporter::write_function(const Graph::Node& n, const onnx::NodeProto& p, Scope& s) {
  const std::optional<Graph> f = s.graph.function_of(n);
  if (!f) return false;
  onnx::ModelProto m = Exporter(*f, opset_, registry_).run();
  for (const auto& i : m.opset_import())
    if (const int version = static_cast<int>(i.version());
        domains_.try_emplace(i.domain(), version).first->second != version)
      return false;
  onnx::GraphProto& g = *m.mutable_graph();
  for (auto& made : *g.mutable_node()) {
    if (std::ranges::any_of(made.attribute(), [](const auto& a) { return a.has_g(); })) return false;
    made.clear_name();
  }
  std::map<std::string, std::string> names;
  auto input = g.input().begin();
  for (std::size_t k = 0; k < n.inputs.size(); ++k)
    if (n.inputs[k] >= 0 && s.graph.entry(n.inputs[k]).source != Graph::Source::constant)
      names[input++->name()] = operand(n.inputs[k], s);
  for (int k = 0; k < p.output_size(); ++k)
    if (!p.output(k).empty()) names[g.output(k).name()] = p.output(k);
  for (auto& t : *g.mutable_initializer()) {
    std::string& name = names[t.name()] = names_.fresh(n.name);
    t.set_name(name);
    s.out.add_initializer()->Swap(&t);
  }
  std::map<std::string, onnx::GraphProto> none;
  adopt(n, g, std::move(names), none, s);
  return true;
}

void Exporter::adopt(const Graph::Node& n, onnx::GraphProto& g, std::map<std::string, std::string> names,
                     std::map<std::string, onnx::GraphProto>& bodies, Scope& s) {
  const auto rename = [&](std::string& name) {
    if (name.empty()) return;
    std::string& now = names[name];
    if (now.empty()) now = names_.fresh(n.name);
    name = now;
  };
  for (onnx::NodeProto& made : *g.mutable_node()) {
    for (auto& name : *made.mutable_input()) rename(name);
    for (auto& name : *made.mutable_output()) rename(name);
    for (auto& a : *made.mutable_attribute())
      if (a.has_g()) a.mutable_g()->Swap(&bodies[a.name()]);
    if (is_standard(made, "Constant") && made.attribute(0).has_t()) {
      onnx::TensorProto& t = *s.out.add_initializer();
      t.Swap(made.mutable_attribute(0)->mutable_t());
      t.set_name(made.output(0));
      continue;
    }
    if (made.name().empty()) made.set_name(nodes_.fresh(n.name));
    *s.out.add_node() = std::move(made);
  }
}

void Exporter::write_internal(const Graph::Node& n, const onnx::NodeProto& p, Scope& s) {
  if (const auto* element = n.op.as<detail::AttributeElement>()) {
    add(s, "CastLike", {add_constant(s, scalar_of(element->value)), p.input(0)}, {}, p.output(0));
  } else if (n.op.spec().name == "StretchedAxes") {
    write_stretched_axes(p.input(0), p.input(1), p.output(0), s);
  } else {
    refuse(n, "the operator is not ONNX's");
  }
}

void Exporter::write_stretched_axes(const std::string& shape, const std::string& like,
                                    const std::string& axes, Scope& s) {
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

}  // namespace tenon::TENON_ABI::loader
