// Edges: the values of a graph that is built in code.
#pragma once

#include "tenon/graph/node.hpp"

namespace tenon::TENON_ABI {

class Graph;

/// A tensor of a graph that is built in code. The compiler checks element type and extents as far as they are
/// part of the type; the operators' rules check them when nodes are added.
template <class T, class S = AnyShape>
struct Edge {
  Graph* graph = nullptr;
  ValueId id = -1;

  template <class To>
    requires(widens<S, To>())
  operator Edge<T, To>() const {
    return {graph, id};
  }
};

/// A value of any type.
struct AnyEdge {
  Graph* graph = nullptr;
  ValueId id = -1;

  AnyEdge() = default;
  AnyEdge(Graph& g, ValueId i) : graph(&g), id(i) {}
  template <class T, class S>
  AnyEdge(Edge<T, S> e) : graph(e.graph), id(e.id) {}
};

}  // namespace tenon::TENON_ABI
