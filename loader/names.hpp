// The names in a graph or function, and new ones.
#pragma once

#include <functional>
#include <string>
#include <unordered_set>

#include "loader/order.hpp"

namespace tenon::TENON_ABI::loader {

enum class NameOf : uint8_t { value, node, extent };

/// Calls visit(name, of) with each name in a graph or function and its bodies, as often as it stands there.
/// "" is left out. Error{invalid_model} for bodies that are too deep.
using VisitName = std::function<void(const std::string& name, NameOf of)>;
void each_name(const onnx::GraphProto& g, const VisitName& visit, int depth = 0);
void each_name(const onnx::FunctionProto& f, const VisitName& visit);

/// Calls visit(name) with the name of each value that a graph or a body in it defines.
void each_definition(const onnx::GraphProto& g, const std::function<void(const std::string&)>& visit);

/// Calls change(name) with the name of a value wherever it stands in a graph and its bodies, and node(n) with
/// each node. Error{invalid_model} for bodies that are too deep.
void change_names(onnx::GraphProto& g, const std::function<void(std::string&)>& change,
                  const std::function<void(onnx::NodeProto&)>& node = {}, int depth = 0);

/// The inputs of a body that its node, of the operator's version, gives. Before IR 4 each initializer is an
/// input too; some may stand behind those.
int body_inputs(const onnx::GraphProto& body, const onnx::NodeProto& n, int version);

/// The node's name; without one, its first result identifies it.
const std::string& node_name(const onnx::NodeProto& n);
/// "node 'conv1' (Conv)", for errors
std::string node_place(const onnx::NodeProto& n);

/// Names that are taken.
class NameSet {
 public:
  void add(const std::string& name) { names_.insert(name); }
  /// All names in a graph or function, whatever they are of.
  template <class Scope>
  void add_all(const Scope& scope) {
    each_name(scope, [this](const std::string& name, NameOf) { names_.insert(name); });
  }
  bool contains(const std::string& name) const { return names_.contains(name); }
  /// A name that is new, and taken from now on: `wanted`, or with a number behind it. Numbers only rise, so
  /// that names which look generated cost the search no more than once each.
  std::string fresh(const std::string& wanted);

 private:
  std::unordered_set<std::string> names_;
  int64_t next_ = 0;
};

}  // namespace tenon::TENON_ABI::loader
