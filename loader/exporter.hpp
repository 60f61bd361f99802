// Graphs written as messages, node by node, at one opset. See to_model.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loader/names.hpp"
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
    std::map<const void*, ValueId> constants{};  // by their elements
    std::set<int32_t> symbols{};                 // that an input states

    Scope(const Graph& g, Scope* around, onnx::GraphProto& to);
  };

  void find_domains(const Graph& g);

  // --- graphs ---

  void write_graph(Scope& s);
  void name_values(Scope& s);
  // Outputs of the main graph have their names, outputs of bodies their places. A value has one name: an
  // output of another is made by an Identity.
  void name_output(const std::string& stated, ValueId v, bool first, Scope& s);
  static std::string& name(ValueId v, Scope& s) { return s.names[static_cast<std::size_t>(v)]; }

  // A constant that a graph around has too: bodies copy constants that they capture.
  static std::pair<Scope*, ValueId> find_shared(ValueId v, const Scope& s);

  // The name of a value that a node reads.
  std::string operand(ValueId v, Scope& s);

  void write_info(const op::Info& info, const Scope& s, onnx::TypeProto& t) const;

  // --- constants ---

  static void write_initializer(const AnyTensor& tensor, const std::string& name, Scope& s);
  static void write_constant(const Graph::ValueEntry& e, const std::string& name, Scope& s);
  // Nodes for a constant that no initializer can hold.
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
  // A node of ai.onnx: as it is where the opset has its version, else from the newest form of its operator.
  void write_standard(const Graph::Node& n, onnx::NodeProto& p, Scope& s);
  bool known(const std::string& domain, std::string_view name) const;
  // Whether a function says what the node is; its nodes are then written in the node's place.
  bool write_function(const Graph::Node& n, const onnx::NodeProto& p, Scope& s);
  // Adds the nodes of a model that says what a node is. `names`: what its values are called here; others get
  // new names.
  void adopt(const Graph::Node& n, onnx::GraphProto& g, std::map<std::string, std::string> names,
             std::map<std::string, onnx::GraphProto>& bodies, Scope& s);

  // The attributes of a version, where they differ from its defaults. Without a class the defaults are not
  // known.
  void write_attributes(const Graph::Node& n, int version, const OperatorClass* op_class, onnx::NodeProto& p,
                        Scope& s);

  // States defaults and names of an old version as the newest form has them.
  void amend(const Graph::Node& n, onnx::NodeProto& p, Scope& s);

  // The operands and results of a node, as a model that states another opset.
  onnx::ModelProto around(const Graph::Node& n, const onnx::NodeProto& p, int stated_at, Scope& s);
  // The nodes for one of another opset: converted as a model of its own. Its body, if it has one, is written
  // already.
  void write_converted(const Graph::Node& n, onnx::NodeProto& p, int stated_at, Scope& s);

  // Operators of this library, by operators of ONNX.
  void write_internal(const Graph::Node& n, const onnx::NodeProto& p, Scope& s);
  // The axes that extents `like` lack, or have as 1 where `shape` has more: counted from behind.
  void write_stretched_axes(const std::string& shape, const std::string& like, const std::string& axes,
                            Scope& s);

  const Graph& graph_;
  const int opset_;
  const Registry& registry_;
  std::map<std::string, int> domains_;
  NameSet names_, nodes_;
  std::set<std::string> made_;  // constants that nodes make, as far as these are written
};

/// The graph that an attribute is, if it is one.
const CapturingBody* graph_of(const op::AttributeValue& value);
/// A node's own version, unless inputs are attributes there.
int stated_version(const Graph::Node& n);

}  // namespace tenon::TENON_ABI::loader
