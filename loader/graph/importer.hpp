// Graphs read from messages, node by node. See import_graph.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "loader/depth.hpp"
#include "loader/edit/node_count.hpp"
#include "loader/format/attribute.hpp"
#include "loader/format/tensor.hpp"
#include "loader/opsets.hpp"
#include "tenon/graph/graph.hpp"
#include "tenon/model.hpp"
#include "tenon/op/training/gradient.hpp"

namespace tenon::TENON_ABI::loader {

/// Reads one model into a graph. Error{invalid_model, not_supported, limit} with the node.
class Importer {
 public:
  Importer(const onnx::ModelProto& model, const LoadOptions& options, DataSource source, Placement placement)
      : model_(model),
        registry_(registry_of(options.registry)),
        source_(std::move(source)),
        placement_(placement),
        options_(options) {
    source_.small = &small_;
  }

  Graph run();

 private:
  static constexpr std::size_t max_prefix = 500;  // of names

  // Names to values. A scope of a graph attribute sees its outer scope through captures. A function sees
  // nothing outside, but a graph that its call gives also reads names of the caller, as bodies read names
  // around them. A sparse constant stays sparse for operators that take sparse tensors; for all others it is
  // made dense when the first of them requests it.
  struct Scope {
    Graph* graph = nullptr;
    Scope* outer = nullptr;
    std::map<std::string, ValueId, std::less<>> names;
    std::string prefix;  // before the names of a function's values
    const Opsets* opsets = nullptr;
    const AttributesByName* attributes = nullptr;  // of the function's call
    const GivenBy<Scope>* given = nullptr;         // of the same call
    Scope* caller = nullptr;                       // of a function
    bool from_call = false;                        // whether this is a graph that a function's call gave
    const NodeList* nodes = nullptr;               // of the graph or the function

    std::map<std::string, ValueId, std::less<>> sparse{};       // constants, by the same names
    std::map<std::string, std::string, std::less<>> results{};  // of a function: their names in the graph

    // The name of a node's result in the graph: a function's outputs take the names that the call gives them.
    std::string name_of(const std::string& result) const {
      const auto it = results.find(result);
      return it != results.end() ? it->second : result.empty() ? result : prefix + result;
    }

    static constexpr ValueId missing = -2;
  };

  // --- missing operators, types and opsets, all in one error ---

  void report_missing();
  void check_opset(const std::string& domain, int version);
  template <class F>
  void note_unsupported(F f) {
    try {
      f();
    } catch (const Error& e) {
      if (e.code() != ErrorCode::not_supported) throw;
      missing_.insert(e.message());
    }
  }
  void scan(const onnx::GraphProto& g, const Opsets& opsets);
  void scan_type(int32_t number);
  void scan(const onnx::NodeProto& n, const Opsets& opsets);
  const onnx::FunctionProto* find_function(const onnx::NodeProto& n) const;
  // A domain other than ONNX's that is not imported has its newest version, as in ONNX Runtime: its tools
  // write nodes of such domains without importing them.
  Registry::Found find_operator(const onnx::NodeProto& n, const Opsets& opsets) const;

  // --- graphs ---

  // `inputs`: the number of inputs a body is given, or all of the main graph's.
  void read_graph(const onnx::GraphProto& g, int inputs, Scope& scope);

  static void check_fallback(const std::string& name, Type type, const Dims& dims, const Value& fallback);

  // `from_call`: the request comes from a graph that a call gave.
  ValueId find(Scope& scope, std::string_view name, bool from_call = false);
  /// The sparse constant of that name, or -1.
  static ValueId find_sparse(Scope& scope, std::string_view name);

  static void demand_new(const Scope& scope, const std::string& name);
  /// The same of a node's results. The graph would refuse them too, by the names of nodes that it makes of n.
  static void demand_new_results(const onnx::NodeProto& n, const Scope& scope);
  static void define(Scope& scope, const std::string& name, ValueId id);

  static Dims read_dims(const onnx::TypeProto& t, Graph& graph);
  /// The same for an input of the main graph; of a sequence or an optional value, its elements' extents.
  static Dims read_input_dims(const onnx::TypeProto& t, Graph& graph);

  // Counts memory of constants that the file's size does not bound.
  void count_bytes(int64_t bytes);
  // Counts a constant that a function's call reads anew. Outside of functions the file's size bounds all of
  // them.
  AnyTensor counted(AnyTensor t);
  AnyTensor dense(const SparseTensor& s);

  // --- nodes ---

  void read_node(const onnx::NodeProto& n, Scope& scope);

  // Replaces a Gradient, whose attributes name values of the scope, with the derivatives' nodes.
  void differentiate(const onnx::NodeProto& n, const AnyOperator& op, const op::Gradient& gradient,
                     const std::vector<ValueId>& inputs, Scope& scope);

  Registry::Found find_class(const onnx::NodeProto& n, const Scope& scope) const;
  AnyOperator make_operator(const onnx::NodeProto& n, const Registry::Found& found, const std::string& place,
                            Scope& scope);

  Depth deeper();

  // `owner`: the scope whose opsets and attributes the body is written for.
  op::BodyRef read_body(const onnx::GraphProto& g, int inputs, Scope& scope, const Scope& owner);

  // --- functions: their nodes take the place of the one that calls them ---

  void call_function(const onnx::NodeProto& n, const onnx::FunctionProto& f,
                     const std::vector<ValueId>& inputs, Scope& scope);

  const onnx::ModelProto& model_;
  const Registry& registry_;
  SmallBlocks small_;
  DataSource source_;
  Placement placement_;  // of the main graph's initializers
  const LoadOptions& options_;
  Opsets opsets_;
  FunctionsByKey functions_;
  std::vector<const onnx::FunctionProto*> calls_;
  std::set<std::string> missing_;
  std::set<std::string_view> advice_;  // on missing operators
  int64_t nodes_ = 0;
  int64_t bytes_ = 0;
  std::size_t walked_ = 0;
  int64_t calls_made_ = 0;
  int depth_ = 0;
};

}  // namespace tenon::TENON_ABI::loader
