// The names in a graph or function, and new ones.
#pragma once

#include <functional>
#include <string>
#include <unordered_set>

#include "loader/edit/order.hpp"

namespace tenon::TENON_ABI::op {
struct Spec;
}

namespace tenon::TENON_ABI::loader {

enum class NameOf : uint8_t { value, node, extent };

/// Calls visit(name, of) with each name in a graph or function and its bodies, once for each occurrence. ""
/// is skipped. Error{invalid_model} for bodies that are nested too deeply.
using VisitName = std::function<void(const std::string& name, NameOf of)>;
void each_name(const onnx::GraphProto& g, const VisitName& visit, int depth = 0);
void each_name(const onnx::FunctionProto& f, const VisitName& visit);

/// Calls visit(name) with the name of each value that a graph or a body in it defines.
void each_definition(const onnx::GraphProto& g, const std::function<void(const std::string&)>& visit);

/// Calls change(name) with each occurrence of a value's name in a graph and its bodies, and node(n) with each
/// node. Error{invalid_model} for bodies that are nested too deeply.
void change_names(onnx::GraphProto& g, const std::function<void(std::string&)>& change,
                  const std::function<void(onnx::NodeProto&)>& node = {}, int depth = 0);

/// The number of a body's inputs that are given by its node, of the operator's version. Before IR 4
/// initializers are inputs too; some may follow the given ones.
int body_inputs(const onnx::GraphProto& body, const onnx::NodeProto& n, int version);

/// The node's name; without one, its first result identifies it.
const std::string& node_name(const onnx::NodeProto& n);
/// "node 'conv1' (Conv)", for errors
std::string node_place(const onnx::NodeProto& n);
/// The number of results that a node asks for: trailing ones without a name are the same as absent ones,
/// unless the operator's results vary in number.
int wanted_outputs(const onnx::NodeProto& n, const op::Spec& spec, int version);

/// Names that are taken.
class NameSet {
 public:
  void add(const std::string& name) { names_.insert(name); }
  /// All names in a graph or function, of any kind.
  template <class Scope>
  void add_all(const Scope& scope) {
    each_name(scope, [this](const std::string& name, NameOf) { names_.insert(name); });
  }
  bool contains(const std::string& name) const { return names_.contains(name); }
  /// A new name, reserved from now on: `wanted`, or `wanted` with a number appended. Numbers only increase,
  /// so that names which look generated cost the search at most one step each.
  std::string fresh(const std::string& wanted);

 private:
  std::unordered_set<std::string> names_;
  int64_t next_ = 0;
};

}  // namespace tenon::TENON_ABI::loader
