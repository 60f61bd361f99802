// A model flattened for display: graphs, bodies and functions with numbered nodes and values, and each
// value's producer and readers.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "loader/onnx.pb.h"
#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// Refers to the model, which must outlive it. A model that breaks ONNX's rules has an outline all the same:
/// of two values with the same name the first counts, and an undefined name is a value without a producer.
struct Outline {
  enum class GraphKind : uint8_t { main, body, function, training };
  enum class Source : uint8_t { input, initializer, node, outer, nowhere };

  struct Value {
    std::string_view name;
    Source source = Source::nowhere;
    int graph = 0;
    int producer = -1;  ///< the node that makes it
    int outer = -1;     ///< for a value that a body captures: the captured value
    const onnx::TypeProto* type = nullptr;
    const onnx::TensorProto* content = nullptr;               ///< of an initializer, or an input's default
    const onnx::SparseTensorProto* sparse_content = nullptr;  ///< the same
    std::vector<int> consumers{};                             ///< nodes, of its own graph
    bool output = false;                                      ///< of its graph
  };
  struct Node {
    const onnx::NodeProto* proto = nullptr;
    int graph = 0;
    std::vector<int> inputs{}, outputs{};                    ///< values; -1: left out
    std::vector<int> captures{};                             ///< values of its graph that its bodies read
    std::vector<std::pair<std::string_view, int>> bodies{};  ///< attributes and their graphs
    int function = -1;                                       ///< the graph of the function that it calls
  };
  struct Graph {
    GraphKind kind = GraphKind::main;
    std::string title;  ///< "main", "function local.f", "then_branch of 'if1' (If)"; visible
    int parent = -1;    ///< of a body: the node
    const onnx::GraphProto* graph = nullptr;
    const onnx::FunctionProto* function = nullptr;
    std::vector<int> inputs{}, outputs{}, initializers{}, outer{};  ///< values
    std::vector<int> nodes{};
    int calls = 0;  ///< of a function: nodes that call it
  };

  explicit Outline(const onnx::ModelProto& model);

  std::vector<Graph>
      graphs;  ///< the main graph, then functions, training graphs, and bodies as they are found
  std::vector<Node> nodes;
  std::vector<Value> values;
};

/// The initializers of one element type. Numbers are doubles, because a file may claim any extents.
struct ParameterCount {
  int tensors = 0;
  double elements = 0, bytes = 0;
};
/// The initializers of all graphs by element type, "float".
std::map<std::string, ParameterCount> count_parameters(const Outline& outline);
/// "12.3 MiB"
std::string size_text(double bytes);
/// The node as text, "'conv1' (Conv)"; a node without a name is identified by its first result.
std::string node_text(const onnx::NodeProto& node);

}  // namespace tenon::TENON_ABI::loader
