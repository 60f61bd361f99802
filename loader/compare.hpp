// Where the runs of two graphs diverge.
#pragma once

#include <string>
#include <vector>

#include "tenon/graph/session.hpp"
#include "tenon/tensor/difference.hpp"

namespace tenon::TENON_ABI::loader {

/// How a value that two runs share differs. The figures cover elements that are finite in both.
struct ValueDifference {
  std::string name;
  std::string node;       ///< of the first graph: "node 'conv1' (Conv-11)"; "" if no node produces the value
  std::string type;       ///< in the first run: "tensor(float) (1,64)"
  int64_t elements = 0;   ///< of a tensor
  int64_t differing = 0;  ///< elements beyond the tolerance
  double absolute = 0;    ///< the greatest |first - second|
  double relative = 0;    ///< the greatest |first - second| / |first|
  int64_t ulp = 0;  ///< the greatest distance in representable numbers of the element type; 0 for non-floats
  std::string
      reason;  ///< "" within the tolerance, else the worst element, or what else is not the same, in words

  bool within() const { return reason.empty(); }
};

/// Compares two values; the tolerance applies to the first's elements.
ValueDifference compare(const Value& first, const Value& second, Tolerance tolerance);

struct CompareOptions {
  Tolerance tolerance{.rtol = 1e-3, .atol = 1e-5};
  /// Compare only values that both sessions' programs compute for their outputs anyway, because requesting
  /// other values keeps passes from fusing the nodes around them. Where a value differs, the values before it
  /// that fusion hides are searched by bisection, in separate runs.
  bool computed_only = false;
};

/// The names to compare: outputs, and results of nodes that have the same names in both graphs, in the order
/// in which the first computes them.
std::vector<std::string> common_values(const Session& first, const Session& second,
                                       const CompareOptions& options = {});

/// Runs both sessions and compares the values whose names both have, in the first graph's order, then the
/// outputs with differing names by position. The runs diverge at the first value that is not within().
///
///     for (const ValueDifference& d : compare(a, b, {{"x", image}}, {{"x", image}}))
///       if (!d.within()) std::puts(d.name.c_str());
///
/// Errors of the runs propagate. Error{invalid_argument} if the graphs have no value in common.
std::vector<ValueDifference> compare(const Session& first, const Session& second, const Feeds& first_feeds,
                                     const Feeds& second_feeds, const CompareOptions& options = {});

/// The nodes that produce the values, as in ValueDifference::node.
std::vector<std::string> makers_of(const Graph& graph, std::span<const std::string> names);

}  // namespace tenon::TENON_ABI::loader
