// Where the runs of two graphs part.
#pragma once

#include <string>
#include <vector>

#include "tenon/graph/session.hpp"
#include "tenon/tensor/difference.hpp"

namespace tenon::TENON_ABI::loader {

/// How a value that two runs have differs. Numbers are of the elements that are finite in both.
struct ValueDifference {
  std::string name;
  std::string node;       ///< of the first graph: "node 'conv1' (Conv-11)"; "" if no node makes the value
  std::string type;       ///< in the first run: "tensor(float) (1,64)"
  int64_t elements = 0;   ///< of a tensor
  int64_t differing = 0;  ///< elements beyond the tolerance
  double absolute = 0;    ///< the greatest |first - second|
  double relative = 0;    ///< the greatest |first - second| / |first|
  int64_t ulp = 0;  ///< the greatest distance in numbers of the element type; 0 of types that are no floats
  std::string
      reason;  ///< "" within the tolerance, else the worst element, or what else is not the same, in words

  bool within() const { return reason.empty(); }
};

/// Compares two values; the tolerance is of the first's elements.
ValueDifference compare(const Value& first, const Value& second, Tolerance tolerance);

struct CompareOptions {
  Tolerance tolerance{.rtol = 1e-3, .atol = 1e-5};
  /// Compare only values that the programs of both sessions compute for the outputs alone, because asking for
  /// other values keeps passes from fusing the nodes around them. Where a value differs, the values that
  /// fusion hides in front of it are searched by halves, in runs of their own.
  bool computed_only = false;
};

/// The names to compare: outputs and results of nodes that both graphs name alike, in the order in which the
/// first makes them.
std::vector<std::string> common_values(const Session& first, const Session& second,
                                       const CompareOptions& options = {});

/// Runs both sessions and compares the values that both have by name, in the first graph's order, then the
/// outputs that have other names by their positions. The first that is not within() is where the runs part.
///
///     for (const ValueDifference& d : compare(a, b, {{"x", image}}, {{"x", image}}))
///       if (!d.within()) std::puts(d.name.c_str());
///
/// Errors of the runs go through. Error{invalid_argument} where the graphs have no value in common.
std::vector<ValueDifference> compare(const Session& first, const Session& second, const Feeds& first_feeds,
                                     const Feeds& second_feeds, const CompareOptions& options = {});

/// The nodes that make values, as ValueDifference::node.
std::vector<std::string> makers_of(const Graph& graph, std::span<const std::string> names);

}  // namespace tenon::TENON_ABI::loader
