// Checks of a model as a whole: symbols of extents, calls of functions, training.
#include <unordered_set>

#include "loader/check/findings.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

// Some writers use -1 for an unknown extent.
bool is_known(const onnx::TensorShapeProto::Dimension& d) { return d.has_dim_value() && d.dim_value() >= 0; }

template <class List>
void collect_calls(const List& list, const Functions& functions,
                   std::vector<const onnx::FunctionProto*>& calls, int depth) {
  if (depth > max_nesting) return;
  for (const auto& n : list) {
    if (const auto it = functions.find(key_of(n)); it != functions.end()) calls.push_back(it->second);
    for (const auto& a : n.attribute()) {
      if (a.has_g()) collect_calls(a.g().node(), functions, calls, depth + 1);
      for (const auto& g : a.graphs()) collect_calls(g.node(), functions, calls, depth + 1);
    }
  }
}

}  // namespace

void Symbols::check(const onnx::GraphProto& g, Findings& findings) {
  std::unordered_map<std::string_view, const onnx::TensorProto*> tensors;
  for (const auto& t : g.initializer()) tensors.emplace(t.name(), &t);
  std::unordered_map<std::string_view, const onnx::TensorShapeProto*> shapes;
  const auto same = [&](std::string_view value, const auto& a, const auto& b) {
    bind(b.dim_param(), a, value, findings);
    bind(a.dim_param(), b, value, findings);
    if (is_known(a) && is_known(b) && a.dim_value() != b.dim_value())
      findings.error("dim-param", shown(value), " has an axis of ", a.dim_value(), " and of ", b.dim_value());
  };
  for (const auto* list : {&g.input(), &g.value_info(), &g.output()})
    for (const auto& v : *list) {
      const auto& type = v.type();
      if (!type.has_tensor_type() || !type.tensor_type().has_shape()) continue;
      const auto& shape = type.tensor_type().shape();
      if (const auto it = tensors.find(v.name()); it != tensors.end())
        check_initial_value(v.name(), *it->second, type.tensor_type(), findings);
      const auto [it, added] = shapes.emplace(v.name(), &shape);
      if (added) continue;
      if (it->second->dim_size() != shape.dim_size())
        findings.error("dim-param", shown(v.name()), " has ", it->second->dim_size(), " and ",
                       shape.dim_size(), " axes");
      else
        for (int k = 0; k < shape.dim_size(); ++k) same(v.name(), it->second->dim(k), shape.dim(k));
    }
}
// Inference refuses an initializer whose type differs from its input's; ONNX's checker without inference does
// not.
void Symbols::check_initial_value(const std::string& name, const onnx::TensorProto& t,
                                  const onnx::TypeProto::Tensor& declared, Findings& findings) {
  const auto& shape = declared.shape();
  bool fits = t.dims_size() == shape.dim_size() &&
              (declared.elem_type() == 0 || declared.elem_type() == t.data_type());
  for (int k = 0; fits && k < t.dims_size(); ++k) {
    onnx::TensorShapeProto::Dimension extent;
    extent.set_dim_value(t.dims(k));
    fits = !is_known(shape.dim(k)) || shape.dim(k).dim_value() == t.dims(k);
    bind(shape.dim(k).dim_param(), extent, name, findings);
  }
  if (!fits) findings.warn("initializer", "initializer ", shown(name), " is not of the declared type");
}
void Symbols::bind(const std::string& symbol, const onnx::TensorShapeProto::Dimension& extent,
                   std::string_view value, Findings& findings) {
  if (symbol.empty() || !is_known(extent)) return;
  const int64_t other = extents_.emplace(symbol, extent.dim_value()).first->second;
  if (other != extent.dim_value())
    findings.error("dim-param", shown(symbol), " is ", extent.dim_value(), " at ", shown(value), ", and ",
                   other, " elsewhere");
}

void check_cycles(const onnx::ModelProto& m, const Functions& functions, Findings& findings) {
  using Function = const onnx::FunctionProto*;
  std::unordered_map<Function, std::vector<Function>> calls;
  for (const auto& f : m.functions()) collect_calls(f.node(), functions, calls[&f], 0);
  enum class State { unseen, open, done };
  std::unordered_map<Function, State> states;
  for (const auto& f : m.functions()) {
    std::vector<std::pair<Function, std::size_t>> path;
    const auto open = [&](Function next) {
      states[next] = State::open;
      path.emplace_back(next, 0);
    };
    if (states[&f] == State::unseen) open(&f);
    while (!path.empty()) {
      const Function at = path.back().first;
      if (path.back().second == calls[at].size()) {
        states[at] = State::done;
        path.pop_back();
        continue;
      }
      const Function next = calls[at][path.back().second++];
      if (states[next] == State::unseen) open(next);
      else if (states[next] == State::open)
        findings.error(
            "function", "function ", shown(str_cat(next->domain(), ".", next->name())), " calls itself",
            next == at ? "" : str_cat(", through ", shown(str_cat(at->domain(), ".", at->name()))));
    }
  }
}

void check_bindings(const onnx::TrainingInfoProto& t, const onnx::GraphProto& main, Findings& findings) {
  Names variables;
  for (const auto* g : {&main, &t.algorithm()})
    for (const auto& i : g->initializer()) variables.insert(i.name());
  const auto bindings = [&](std::string_view what, const auto& list,
                            std::initializer_list<const onnx::GraphProto*> graphs) {
    Names keys, outputs;
    for (const auto* g : graphs)
      for (const auto& v : g->output()) outputs.insert(v.name());
    for (const auto& b : list) {
      if (!keys.insert(b.key()).second)
        findings.error("training", what, " has the key ", shown(b.key()), " twice");
      if (!variables.contains(b.key()))
        findings.error("training", what, " has the key ", shown(b.key()), ", which is no initializer");
      if (!outputs.contains(b.value()))
        findings.error("training", what, " has the value ", shown(b.value()),
                       ", which is no output of its graph");
    }
  };
  bindings("initialization_binding", t.initialization_binding(), {&t.initialization()});
  // A step runs the algorithm and the main graph.
  bindings("update_binding", t.update_binding(), {&t.algorithm(), &main});
}

void check_updates(const onnx::ModelProto& m, Findings& findings) {
  std::unordered_map<std::string_view, int> stages;
  for (int k = 0; k < m.training_info_size(); ++k)
    for (const auto& b : m.training_info(k).update_binding())
      if (const int first = stages.emplace(b.key(), k).first->second; first != k)
        findings.error("training", "update_binding has the key ", shown(b.key()), " in training ", first,
                       " and ", k);
}

}  // namespace tenon::TENON_ABI::loader
