// Graphs written as messages, node by node, at one opset. See to_model.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loader/edit/names.hpp"
#include "loader/onnx.pb.h"
#include "tenon/graph/graph.hpp"

namespace tenon::TENON_ABI::loader {

/// Writes one graph at one opset of ai.onnx. Error{not_supported} for a node that the opset cannot express.
class Exporter {
 public:
  Exporter(const Graph& graph, int opset, const Registry& registry)
      : graph_(graph), opset_(opset), registry_(registry) {
    for (NameSet* names : {&names_, &nodes_}) names->add("");
  }

  onnx::ModelProto run();

 private:
  // A graph, the message that it becomes, and the names that its values have there.
  struct Scope {
    const Graph& graph;
    Scope* outer;
    onnx::GraphProto& out;
    std::vector<bool> read;
    std::vector<std::string> names;
    std::vector<std::string> outputs{};
    std::map<const void*, ValueId> constants{};  // by the address of their elements
    std::set<int32_t> symbols{};                 // stated by an input

    Scope(const Graph& g, Scope* around, onnx::GraphProto& to);
  };

  void find_domains(const Graph& g);

  // --- graphs ---

  void write_graph(Scope& s);
  void name_values(Scope& s);
  // Outputs of the main graph keep their names, outputs of bodies are named by position. A value has one
  // name: an output that repeats another is the result of an Identity.
  void name_output(const std::string& stated, ValueId v, bool first, Scope& s);
  static std::string& name(ValueId v, Scope& s) { return s.names[static_cast<std::size_t>(v)]; }

  // A constant that an enclosing graph also has: bodies copy constants that they capture.
  static std::pair<Scope*, ValueId> find_shared(ValueId v, const Scope& s);

  // The name of a value that a node reads.
  std::string operand(ValueId v, Scope& s);

  void write_info(const op::Info& info, const Scope& s, onnx::TypeProto& t) const;

  // --- constants ---

  static void write_initializer(const AnyTensor& tensor, const std::string& name, Scope& s);
  static void write_constant(const Graph::ValueEntry& e, const std::string& name, Scope& s);
  // Nodes for a constant that an initializer cannot hold.
  void make_value(const Value& value, const std::string& name, Scope& s);

  // --- nodes ---

  using NamedAttributes = std::vector<std::pair<const char*, op::AttributeValue>>;
  /// A node of ai.onnx with one result, whose name is returned.
  std::string add(Scope& s, const char* op, const std::vector<std::string>& inputs,
                  const NamedAttributes& attributes, std::string output);
  std::string add(Scope& s, const char* op, const std::vector<std::string>& inputs,
                  const NamedAttributes& attributes = {});
  std::string add_constant(Scope& s, const AnyTensor& tensor);

  void write_node(const Graph::Node& n, Scope& s);
  // Writes a node of ai.onnx: unchanged if the opset has its version, else from the newest form of its
  // operator.
  void write_standard(const Graph::Node& n, onnx::NodeProto& p, Scope& s);
  bool known(const std::string& domain, std::string_view name) const;
  // Whether the node is defined by a function; its nodes are then written in the node's place.
  bool write_function(const Graph::Node& n, const onnx::NodeProto& p, Scope& s);
  // Adds the nodes of a model that defines a node. `names`: the names of its values here; other values get
  // new names.
  void adopt(const Graph::Node& n, onnx::GraphProto& g, std::map<std::string, std::string> names,
             std::map<std::string, onnx::GraphProto>& bodies, Scope& s);

  // The attributes of a version, where they differ from its defaults. Without a class the defaults are
  // unknown.
  void write_attributes(const Graph::Node& n, int version, const OperatorClass* op_class, onnx::NodeProto& p,
                        Scope& s);

  // Restates defaults and names of an old version as the newest form has them.
  void amend(const Graph::Node& n, onnx::NodeProto& p, Scope& s);

  // The node with its operands and results, as a model that states another opset.
  onnx::ModelProto around(const Graph::Node& n, const onnx::NodeProto& p, int stated_at, Scope& s);
  // Writes a node of another opset: converted as a separate model. Its body, if any, has already been
  // written.
  void write_converted(const Graph::Node& n, onnx::NodeProto& p, int stated_at, Scope& s);

  // Expresses this library's own operators by operators of ONNX.
  void write_internal(const Graph::Node& n, const onnx::NodeProto& p, Scope& s);
  // The axes, counted from the end, that extents `like` lack, or that are 1 there and greater in `shape`.
  void write_stretched_axes(const std::string& shape, const std::string& like, const std::string& axes,
                            Scope& s);

  const Graph& graph_;
  const int opset_;
  const Registry& registry_;
  std::map<std::string, int> domains_;
  NameSet names_, nodes_;
  std::set<std::string> made_;  // constants that are made by nodes, as far as written
};

/// The graph that an attribute holds; null if it holds none.
const CapturingBody* graph_of(const op::AttributeValue& value);
/// The node's own version, unless inputs are attributes there.
int stated_version(const Graph::Node& n);

}  // namespace tenon::TENON_ABI::loader
