// Models, their functions and their training; names that should be C identifiers.
#include <utility>

#include "loader/check/checker.hpp"
#include "loader/display.hpp"
#include "tenon/base/utf8.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

void Checker::model(const onnx::ModelProto& m) {
  findings_.ir_version = m.ir_version();
  if (m.ir_version() < 1) error("ir-version", "the model has no IR version");
  if (m.ir_version() > onnx::IR_VERSION)
    error("ir-version", "IR ", m.ir_version(), " is later than ", static_cast<int>(onnx::IR_VERSION),
          ", the newest that is known");
  check_keys(m.metadata_props(), "the model", findings_);
  given_ = read_imports(m.opset_import(), "the model");
  if (m.ir_version() >= 3 && m.opset_import_size() == 0) error("opset-import", "the model imports no opset");
  if (m.ir_version() < 3 && m.opset_import_size() > 0)
    error("opset-import", "opsets are imported, which IR ", m.ir_version(), " cannot");
  if (m.opset_import_size() == 0) given_[""] = 1;
  if (options_.pedantic && m.domain().empty()) findings_.warn("names", "the model has no domain");
  configurations_ = check_configurations(m, findings_);
  known_configurations_ = &configurations_;
  const bool has_functions = m.ir_version() >= 8;
  if (!has_functions && m.functions_size() > 0)
    findings_.warn("ir-version", "functions are a part of IR 8 and later");
  if (has_functions) collect_functions(m);

  outside_functions_ = true;
  Scope main;
  {
    const Within within(findings_, {.what = "main"});
    graph(m.graph(), main, Role::main);
  }
  for (const auto& t : m.training_info()) training(t, m.graph(), main);
  check_updates(m, findings_);
  report_names();
  outside_functions_ = false;
  check_stages(m, functions_, findings_);
  if (!has_functions) return;
  // A domain that only functions import has the version of the first of these functions.
  Opsets all = given_;
  for (const auto& f : m.functions())
    for (const auto& i : f.opset_import())
      all.emplace(std::string(canonical(i.domain())),
                  static_cast<int>(std::clamp<int64_t>(i.version(), 0, 1 << 30)));
  given_ = std::move(all);
  for (const auto& f : m.functions()) function(f);
  check_cycles(m, functions_, findings_);
}

void Checker::function(const onnx::FunctionProto& f) {
  const std::string name = str_cat(f.domain(), f.domain().empty() ? "" : ".", f.name());
  const Within within(findings_, {.what = "function", .name = name});
  if (f.name().empty()) error("required", "a function has no name");
  check_text("the function's name", name);
  for (const auto& i : f.input()) check_text("input", i);
  if (findings_.ir_version >= 8 && !f.has_domain()) error("required", "the function has no domain");
  check_keys(f.metadata_props(), "the function", findings_);
  const Opsets own = read_imports(f.opset_import(), "the function");
  const Opsets* const around = std::exchange(opsets_, &own);
  Names outputs, parameters;
  Scope scope;
  for (const auto& i : f.input())
    if (!scope.names.insert(i).second) error("ssa", "input ", shown(i), " is there twice");
  for (const auto& o : f.output())
    if (!outputs.insert(o).second) error("function", "output ", shown(o), " is there twice");
  const auto parameter = [&](const std::string& p) {
    if (p.empty()) error("function", "an attribute has no name");
    else if (!parameters.insert(p).second) error("function", "attribute ", shown(p), " is declared twice");
  };
  for (const auto& a : f.attribute()) parameter(a);
  for (const auto& a : f.attribute_proto()) {
    parameter(a.name());
    if (!a.ref_attr_name().empty())
      error("function", "the default of attribute ", shown(a.name()), " refers to another attribute");
    attribute(a, scope);
  }
  parameters_ = &parameters;
  symbols_ = {};  // a function's extents are its own
  check_value_infos(f.value_info());
  note_extents(f, scope);
  nodes(f.node(), scope, [&](const onnx::NodeProto& n) { check_compatibility(n, own, *around); });
  for (const auto& o : f.output())
    if (!scope.has_here(o)) error("outputs", "output ", shown(o), " is given by no node");
  parameters_ = nullptr;
  opsets_ = around;
}

void Checker::note_names(const onnx::GraphProto& g) {
  const auto note = [&](const std::string& name) {
    if (name.empty() || is_identifier(name)) return;
    if (odd_names_++ == 0) first_odd_name_ = shown(name);
  };
  note(g.name());
  const auto note_value = [&](const onnx::ValueInfoProto& v) {
    note(v.name());
    for (const auto& d : v.type().tensor_type().shape().dim()) note(d.dim_param());
  };
  for (const auto& v : g.input()) note_value(v);
  for (const auto& v : g.output()) note_value(v);
  for (const auto& t : g.initializer()) note(t.name());
  Names names;
  for (const auto& n : g.node()) {
    note(n.name());
    for (const auto& o : n.output()) note(o);
    if (!n.name().empty() && !names.insert(n.name()).second)
      findings_.warn("names", "several nodes have the name ", shown(n.name()));
  }
}

void Checker::check_text(std::string_view what, std::string_view name) {
  if (!detail::is_utf8(name)) error("names", what, " ", shown(loader::visible(name)), " is not UTF-8");
}

void Checker::report_unchecked() {
  for (const auto& [domain, nodes] : unchecked_)
    findings_.warn("operator", "the operators of ", shown(domain), " are not known: ", nodes,
                   nodes == 1 ? " node is" : " nodes are", " not checked against them");
}

void Checker::report_names() {
  if (odd_names_ > 0)
    findings_.warn("names", odd_names_, " names are no C identifiers, the first of them ", first_odd_name_);
}

void Checker::training(const onnx::TrainingInfoProto& t, const onnx::GraphProto& main,
                       const Scope& main_scope) {
  {
    const Within within(findings_, {.what = "initialization"});
    Scope scope;
    if (t.initialization().input_size() > 0) error("training", "the initialization has inputs");
    graph(t.initialization(), scope, Role::training);
  }
  {
    const Within within(findings_, {.what = "algorithm"});
    Scope scope{.outer = &main_scope};
    graph(t.algorithm(), scope, Role::training);
  }
  check_bindings(t, main, findings_);
}

void Checker::collect_functions(const onnx::ModelProto& m) {
  for (const auto& f : m.functions())
    if (!functions_.emplace(key_of(f), &f).second)
      error("function", "function ", shown(str_cat(f.domain(), ".", f.name())), " is there twice");
}

void Checker::call(const onnx::NodeProto& n, const onnx::FunctionProto& f) {
  if (n.input_size() > f.input_size())
    error("arity", n.input_size(), " inputs, but the function has ", f.input_size());
  if (n.output_size() > f.output_size())
    error("arity", n.output_size(), " outputs, but the function has ", f.output_size());
}

void Checker::check_compatibility(const onnx::NodeProto& n, const Opsets& own, const Opsets& model) {
  if (options_.skip_opset_compatibility) return;
  const auto a = own.find(canonical(n.domain())), b = model.find(canonical(n.domain()));
  if (a == own.end() || b == model.end() || same_operator(n, a->second, b->second, findings_.registry))
    return;
  error("opset-import", n.op_type(), " is another operator in opset ", a->second,
        " of the function than in opset ", b->second, " of the model");
}

}  // namespace tenon::TENON_ABI::loader
