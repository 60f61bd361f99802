// How programs are compiled.
#pragma once

#include <optional>

#include "tenon/graph/limits.hpp"
#include "tenon/graph/node.hpp"
#include "tenon/graph/pass.hpp"
#include "tenon/op/framework/infer.hpp"

namespace tenon::TENON_ABI {

class Graph;
class Program;
class SharedConstants;  // shared_constants.hpp

/// A past input, and the present output that replaces it in the next run.
struct CachePair {
  static constexpr std::size_t no_output = static_cast<std::size_t>(-1);

  ValueId past = -1;               ///< -1: the graph has no such input, and makes all steps itself
  std::size_t output = no_output;  ///< the index of the present among the program's outputs
  bool constant = false;           ///< runs leave the past as it is
  // What the pass keep_caches decides:
  bool updated = false;    ///< the present is the past with some rows written
  bool dropped = false;    ///< and lacks earlier ones, so that it may not lie in the past's memory
  int64_t least_rows = 0;  ///< and has as many rows or more
  bool kept = false;     ///< the run extends a cache; the output is the number of the cache's steps, and the
                         ///< past is no input
  bool stacked = false;  ///< of (2, batch, heads, steps, size), and kept as two caches, of keys and of values
  bool columns = false;  ///< of (batch, heads, size, steps), which is the transpose of what the cache has
  bool fresh = false;    ///< its steps are the run's alone, which reads no past
  DType type = DType::undefined;  ///< of the cache's numbers
  int axis = -1;        ///< the present is the past and steps after it along this axis; -1: not known
  int64_t window = -1;  ///< steps before the last ones, of this number, are never read; -1: all may be
};

/// What an input of one bool is in every run of a program.
struct Condition {
  ValueId input = -1;
  bool value = false;
  bool operator==(const Condition&) const = default;
};

struct ProgramOptions {
  bool fold = true;  ///< compute nodes over constants when the program is made
  /// Memory for computed constants. A node whose results no longer fit is computed in the run. Null:
  /// max_folded_bytes of the default allocator.
  Allocator* folded = nullptr;
  int64_t max_folded_bytes = int64_t{1} << 30;
  std::span<const Pass> passes{};
  SharedConstants* shared = nullptr;           ///< of the session's programs; null: constants are not shared
  std::span<CachePair> caches{};               ///< pairs that a State may keep
  std::span<const Condition> conditions{};     ///< of inputs of the graph
  std::optional<std::size_t> last_steps_of{};  ///< the index of the output that needs the last steps only
  std::vector<PassReport>* reports = nullptr;  ///< receives the passes' reports; null: not requested
  std::string where{};                         ///< prefix of nodes in reports
  const detail::Budget* budget = nullptr;      ///< bounds the compilation time; null: unbounded
  std::weak_ptr<const Graph> origin{};         ///< see Program::origin
};

/// The context of a body: the enclosing program, and the types and extents of the body's inputs.
struct ProgramScope {
  const Program& around;
  std::span<const op::Info> inputs;
  std::span<const ValueId> here;  ///< the enclosing program's value for each of the enclosing graph's
};

}  // namespace tenon::TENON_ABI
