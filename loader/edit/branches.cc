#include "loader/edit/branches.hpp"

#include <map>
#include <optional>

#include "loader/convert/convert.hpp"
#include "loader/edit/names.hpp"
#include "loader/format/tensor.hpp"
#include "loader/opsets.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

// The constants of a graph that can be conditions.
struct Conditions {
  const Conditions* outer = nullptr;
  std::map<std::string, bool, std::less<>> known{};
  std::set<std::string, std::less<>> others{};  // values of the graph that are no constants

  std::optional<bool> find(const std::string& name) const {
    if (const auto it = known.find(name); it != known.end()) return it->second;
    if (outer == nullptr || others.contains(name)) return std::nullopt;
    return outer->find(name);
  }
  void add(const std::string& name, const onnx::TensorProto& t) {
    if (t.data_type() != onnx::TensorProto::BOOL || is_external(t)) return;
    try {
      const AnyTensor tensor = read_tensor(t);
      if (tensor.size() == 1) known[name] = tensor.view().as<bool>()[0];
    } catch (const Error&) {  // the run reports it
    }
  }
};

class Branches {
 public:
  Branches(onnx::ModelProto& model, const std::set<std::string, std::less<>>& changing)
      : model_(model), changing_(changing) {
    names_.add_all(model.graph());
    each_definition(model.graph(), [this](const std::string& name) { ++definitions_[name]; });
    for (const auto& f : model.functions()) functions_.insert(key_of(f));
  }

  bool run() {
    graph(*model_.mutable_graph(), nullptr);
    return taken_;
  }

 private:
  void graph(onnx::GraphProto& g, const Conditions* outer) {
    Conditions conditions{.outer = outer};
    for (const auto& v : g.input()) conditions.others.insert(v.name());
    for (const auto& n : g.node()) conditions.others.insert(n.output().begin(), n.output().end());
    for (const auto& t : g.initializer()) {
      const bool changes =
          conditions.others.contains(t.name()) || (outer == nullptr && changing_.contains(t.name()));
      if (changes) conditions.others.insert(t.name());
      else conditions.add(t.name(), t);
    }
    NodeList nodes;
    nodes.Swap(g.mutable_node());
    place(nodes, g, conditions);
  }

  // Moves nodes to the end of a graph's.
  void place(NodeList& nodes, onnx::GraphProto& g, Conditions& conditions) {
    for (onnx::NodeProto& n : nodes) {
      if (onnx::GraphProto* const branch = branch_of(n, conditions)) {
        taken_ = true;
        take(n, *branch, g, conditions);
        continue;
      }
      for (auto& a : *n.mutable_attribute()) {
        if (a.has_g()) graph(*a.mutable_g(), &conditions);
        for (auto& body : *a.mutable_graphs()) graph(body, &conditions);
      }
      if (is_standard(n, "Constant") && n.output_size() == 1 && n.attribute_size() == 1 &&
          n.attribute(0).has_t())
        conditions.add(n.output(0), n.attribute(0).t());
      g.add_node()->Swap(&n);
    }
  }

  // Null if the node is no If of a constant, or its branch is not in the form that the operator demands.
  onnx::GraphProto* branch_of(onnx::NodeProto& n, const Conditions& conditions) const {
    if (!is_standard(n, "If") || functions_.contains(key_of(n)) || n.input_size() != 1) return nullptr;
    const std::optional<bool> condition = conditions.find(n.input(0));
    if (!condition) return nullptr;
    for (auto& a : *n.mutable_attribute())
      if (a.name() == (*condition ? "then_branch" : "else_branch") && a.has_g() && a.g().input_size() == 0 &&
          a.g().output_size() >= n.output_size())
        return a.mutable_g();
    return nullptr;
  }

  void take(const onnx::NodeProto& n, onnx::GraphProto& branch, onnx::GraphProto& g, Conditions& conditions) {
    std::set<std::string> constants, computed;
    for (const auto& t : branch.initializer()) constants.insert(t.name());
    for (const auto& t : branch.sparse_initializer()) constants.insert(t.values().name());
    for (const auto& inner : branch.node())
      for (const std::string& name : inner.output())
        if (!name.empty()) computed.insert(name);

    // A result of a node takes the name of the If's result, and other results are copies: constants, values
    // from outside the branch, results that are listed twice, and names that a body hides.
    std::map<std::string, std::string, std::less<>> renamed;
    NodeList copies;
    for (int k = 0; k < n.output_size(); ++k) {
      const std::string &result = n.output(k), inner = branch.output(k).name();
      if (result.empty()) continue;
      if (computed.contains(inner) && definitions_[result] == 1 && renamed.emplace(inner, result).second)
        continue;
      onnx::NodeProto& copy = *copies.Add();
      copy.set_op_type("Identity");
      copy.add_input(inner);
      copy.add_output(result);
    }
    for (const auto* list : {&constants, &computed})
      for (const std::string& name : *list)
        if (definitions_[name] > 1 && !renamed.contains(name)) renamed.emplace(name, names_.fresh(name));
    const auto change = [&](std::string& name) {
      if (const auto it = renamed.find(name); it != renamed.end()) name = it->second;
    };
    change_names(branch, change);
    for (auto& copy : copies) change(*copy.mutable_input(0));

    std::set<std::string> described;
    for (const auto* list : {&g.output(), &g.value_info()})
      for (const auto& v : *list) described.insert(v.name());
    for (auto& v : *branch.mutable_value_info())
      if (described.insert(v.name()).second) g.add_value_info()->Swap(&v);
    for (auto& q : *branch.mutable_quantization_annotation()) g.add_quantization_annotation()->Swap(&q);
    for (auto& t : *branch.mutable_sparse_initializer()) g.add_sparse_initializer()->Swap(&t);
    for (auto& t : *branch.mutable_initializer()) {
      conditions.add(t.name(), t);
      if (model_.ir_version() >= ir_of_plain_initializers) g.add_initializer()->Swap(&t);
      else add_constant(t, g);
    }
    place(*branch.mutable_node(), g, conditions);
    for (auto& copy : copies) g.add_node()->Swap(&copy);
  }

  static void add_constant(onnx::TensorProto& t, onnx::GraphProto& g) {
    onnx::NodeProto& n = *g.add_node();
    n.set_op_type("Constant");
    n.add_output(t.name());
    onnx::AttributeProto& a = *n.add_attribute();
    a.set_name("value");
    a.set_type(onnx::AttributeProto::TENSOR);
    a.mutable_t()->Swap(&t);
  }

  onnx::ModelProto& model_;
  const std::set<std::string, std::less<>>& changing_;
  NameSet names_;
  std::map<std::string, int, std::less<>> definitions_;
  std::set<FunctionKey> functions_;
  bool taken_ = false;
};

}  // namespace

bool take_branches(onnx::ModelProto& model, const std::set<std::string, std::less<>>& changing) {
  return Branches(model, changing).run();
}

}  // namespace tenon::TENON_ABI::loader
