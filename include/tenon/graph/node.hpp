// Nodes of a graph, and the numbers of values.
#pragma once

#include "tenon/op/framework/registry.hpp"

namespace tenon::TENON_ABI {

/// A value of a graph, by its number; -1 is none.
using ValueId = int32_t;

/// A node of a graph; not nested in Graph, so that headers that only name it do not need Graph.
struct GraphNode {
  std::string name;
  AnyOperator op;
  std::vector<ValueId> inputs;  ///< -1: left out
  std::vector<ValueId> outputs;
  std::vector<ValueId> captures;  ///< values that the node's graph attributes use
};

namespace detail {
/// "node 'conv1' (Conv-11)"
inline std::string describe(const GraphNode& n) {
  return str_cat("node '", n.name, "' (", n.op.stated(), ")");
}
/// Rethrows an Error with the node's description prepended to where().
[[noreturn]] inline void rethrow_at(const GraphNode& n, const Error& e) {
  const bool itself =
      e.where().empty() || e.where() == n.op.spec().name || e.where() == n.op.stated_spec().name;
  raise(e.code(), itself ? describe(n) : str_cat(describe(n), ": ", e.where()), e.message());
}
}  // namespace detail

}  // namespace tenon::TENON_ABI
