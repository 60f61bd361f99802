// RunOptions: a run's outputs, bounds and profile.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tenon/base/platform/stop.hpp"

namespace tenon::TENON_ABI {

struct Pass;  // pass.hpp
class State;  // state.hpp

/// The steps of an output (batch, steps, size) that a run needs: the last ones.
struct LastSteps {
  std::string output{};        ///< by name, one that the run returns; empty: all steps of all outputs
  int64_t count = 1;           ///< steps, from 1 on
  const Pass* pass = nullptr;  ///< keep_last_steps, so that sessions of whole outputs do not compile it

  LastSteps() = default;
  /// Defined in last_steps.hpp.
  explicit LastSteps(std::string of, int64_t steps = 1);
};

/// The time of each node of a run, in microseconds.
struct Profile {
  struct Entry {
    std::string node;
    std::string op;
    double start_us = 0;  ///< since the run began
    double duration_us = 0;
  };
  std::vector<Entry> entries;
};

/// A bound on bytes or counts that nothing exceeds.
inline constexpr int64_t no_bound = std::numeric_limits<int64_t>::max();

/// A run that exceeds a bound ends with Error{limit}, a cancelled one with Error{cancelled}; where() names
/// the node. The session and its other runs go on as before. There are no bounds by default: a model from an
/// untrusted source may hold a Loop without an end, so give its runs time_limit and max_bytes: s.run(feeds,
/// {.time_limit = std::chrono::seconds(5), .max_bytes = int64_t{1} << 30})
struct RunOptions {
  std::vector<std::string> outputs{};  ///< any values of the graph by name; empty: the graph's outputs
  /// Gives the past inputs that it holds, and takes their presents; used by `run`, not by a Binding.
  State* state = nullptr;
  /// Permits the run to return fewer steps of an output than all, but no fewer than `count`. It does so where
  /// a product makes the output, or what the output is computed from step by step: the product then reads as
  /// many rows. Runs that differ in `count` alone share a program. Used by `run`, not by a Binding.
  LastSteps last{};
  Profile* profile = nullptr;  ///< receives the time of each node; used by `run`, not by a Binding
  /// Time from the call on, including the compilation for new outputs or inputs. The clock is read before
  /// each node and each iteration, so an operator that has begun is finished.
  std::chrono::steady_clock::duration time_limit = std::chrono::steady_clock::duration::max();
  /// Iterations of one node (Loop, Scan, SequenceMap), summed over all enclosing loops.
  int64_t max_iterations = no_bound;
  /// Bytes that values take at any one time: arenas, outputs, and results whose extents only the run knows,
  /// with the characters of strings. Strings that a loop's body returns are counted until the loop ends. A
  /// node whose strings would exceed the bound in the worst case, each as long as the longest it reads, does
  /// not begin. Inputs, constants and operators' working memory are not counted.
  int64_t max_bytes = no_bound;
  /// Cancels the run from any thread, before its next node or iteration. A std::stop_token, or a StopSource's
  /// where the standard library has none.
  StopToken stop{};
};

}  // namespace tenon::TENON_ABI
