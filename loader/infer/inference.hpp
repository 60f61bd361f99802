// Types and extents of the values of a model's graphs, node by node. See infer_shapes.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loader/depth.hpp"
#include "loader/edit/node_count.hpp"
#include "loader/edit/order.hpp"
#include "loader/format/attribute.hpp"
#include "loader/format/large_data.hpp"
#include "loader/infer/infer.hpp"
#include "loader/infer/infer_types.hpp"
#include "loader/infer/symbol_names.hpp"
#include "loader/opsets.hpp"
#include "tenon/loader.hpp"

namespace tenon::TENON_ABI::loader {

/// Infers the graphs of one model.
class Inference {
 public:
  // The values of one graph, and the graph around it.
  struct Scope {
    const Scope* outer = nullptr;
    const Opsets* opsets = nullptr;
    const AttributesByName* attributes = nullptr;  // of the function's call
    const GivenBy<Scope>* given = nullptr;         // of the same call
    const Scope* caller = nullptr;                 // of a function
    bool from_call = false;                        // whether this is a graph that a function's call gave
    mutable std::map<std::string, op::Info, std::less<>> infos{};
    std::set<std::string, std::less<>> sparse{};  // constants; their infos are of the dense form
    // Values of which more is known than by ONNX's inference, by a branch that extents choose.
    std::set<std::string, std::less<>> chosen{};
    bool hides_chosen = false;  // whether their types alone are seen from here

    // `asked`: the request comes from a graph that a call gave, which also reads values of the caller.
    const Scope* owner(std::string_view name, bool asked = false) const {
      if (infos.contains(name)) return this;
      if (outer == nullptr) return asked && caller != nullptr ? caller->owner(name, true) : nullptr;
      const Scope* const found = outer->owner(name, asked || from_call);
      if (!hides_chosen || found == nullptr || !found->chosen.contains(name)) return found;
      infos[std::string(name)].type = found->infos.find(name)->second.type;
      return this;
    }
    const op::Info* find(std::string_view name) const {
      const Scope* scope = owner(name);
      return scope == nullptr ? nullptr : &scope->infos.find(name)->second;
    }
    bool is_sparse(std::string_view name) const {
      const Scope* scope = owner(name);
      return scope != nullptr && scope->sparse.contains(name);
    }
    bool is_chosen(std::string_view name) const {
      const Scope* scope = owner(name);
      return scope != nullptr && scope->chosen.contains(name);
    }
  };

  Inference(const onnx::ModelProto& model, InferOptions options);

  void run(onnx::GraphProto& g, const VisitInfo* visit = nullptr);
  // From now on, collects the values of functions.
  void note_functions() { noted_ = true; }
  // Sets the value infos of a function to the types on which all calls so far agree.
  void write_value_infos(onnx::FunctionProto& f) const;

  // The infos of the outputs. `given` has the infos of the inputs; `owner` is the scope whose opsets and
  // attributes the graph is written for.
  std::vector<op::Info> infer_graph(onnx::GraphProto& g, const Scope& around, const Scope& owner,
                                    std::span<const op::Info> given, const VisitInfo* visit = nullptr);

 private:
  Depth deeper();
  // An error that stops even inference that is not strict.
  [[noreturn]] void give_up(const std::string& why);

  // Error{invalid_model} for recursive functions, and for calls nested deeper than any model needs.
  void check_calls(const onnx::FunctionProto& f, std::map<const onnx::FunctionProto*, bool>& finished,
                   int depth) const;
  void check_calls(const NodeList& nodes, std::map<const onnx::FunctionProto*, bool>& finished,
                   int depth) const;

  // A graph attribute, as the rules of If, Loop and Scan see it.
  class BodyOfFile;
  using Bodies = std::vector<std::shared_ptr<const BodyOfFile>>;

  template <class Info>
  void add_constant(Scope& scope, const std::string& name, Info given) {
    op::Info& info = scope.infos[name];
    if (!info.present()) info = unknown();
    try {
      info = merged(info, given(), str_cat("initializer '", name, "'"));
    } catch (const Error&) {
      if (options_.strict || given_up_) throw;
    }
  }
  // Data that is large, or outside of the message, is not read: inference uses its type and extents.
  static bool is_read(const onnx::TensorProto& t) { return !is_external(t) && !is_large(t); }
  op::Info info_of(const onnx::TensorProto& t);
  // A few bytes can represent any number of zeros: inference reads small tensors only.
  op::Info info_of(const onnx::SparseTensorProto& t);
  op::Info constant(Value value);
  // A sparse constant's info, made from the info of its dense form.
  static op::Info sparse(const op::Info& dense) {
    op::Info info;
    info.type = Type(Kind::sparse_tensor, dense.type.element);
    info.dims = dense.dims;
    return info;
  }

  void infer_node(onnx::NodeProto& n, Scope& scope,
                  const std::map<std::string, op::Info, std::less<>>& declared);

  void infer_results(onnx::NodeProto& n, const Scope& scope, const std::string& place,
                     std::vector<op::Info> in, std::vector<op::Info>& results);

  // The type that an attribute states may have extents, which Type lacks: an empty Optional's.
  void add_stated_extents(const onnx::NodeProto& n, std::vector<op::Info>& results);

  AnyOperator operator_of(onnx::NodeProto& n, const Registry::Found& found, const Scope& scope,
                          Bodies& bodies);

  void infer_function(const onnx::NodeProto& n, const onnx::FunctionProto& f, const Scope& scope,
                      const std::vector<op::Info>& in, std::vector<op::Info>& results);
  void note(const onnx::FunctionProto& f, const Scope& call);

  // Writes every result of a node that is not an output of the graph.
  void write_value_infos(onnx::GraphProto& g, const Scope& scope);

  InferOptions options_;
  const Registry& registry_;
  bool constants_are_inputs_;  // every initializer is an input as well
  Opsets opsets_;
  FunctionsByKey functions_;
  SymbolNames symbols_;
  bool noted_ = false;
  // The values of functions on which all calls so far agree.
  std::map<const onnx::FunctionProto*, std::map<std::string, op::Info, std::less<>>> agreed_;
  std::deque<Value> constants_;         // Info refers to their elements
  int64_t constant_bytes_;              // that may still be added
  int64_t nodes_ = options_.max_nodes;  // that may still be inferred
  int depth_ = 0;
  bool given_up_ = false;
  bool chosen_ = false;             // whether extents chose a branch of the node that is inferred
  bool any_chosen_ = false;         // or of a node before
  bool unknown_operators_ = false;  // their results have no types
};

}  // namespace tenon::TENON_ABI::loader
