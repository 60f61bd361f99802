// A network of convolutions in the making, for tests of passes that rewrite several.
#pragma once

#include "tenon/op/nn/conv.hpp"
#include "tests/graph/passes/check.hpp"

namespace tenon::passes::test {

/// A graph with a new constant for each seed.
struct Network {
  Graph g;
  int seed = 0;

  ValueId constant(const Extents& extents) { return g.add_constant({}, floats<float>(extents, ++seed)); }
  ValueId conv(ValueId x, int64_t in, int64_t out, Ints kernel, const op::Conv& attributes = {}) {
    Extents w{out, in / attributes.group};
    for (int64_t k : kernel) w.push_back(k);
    return node(g, attributes, {x, constant(w), constant({out})});
  }
};

}  // namespace tenon::passes::test
