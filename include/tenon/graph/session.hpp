// Session: runs a graph. Bodies: session_impl.hpp; programs that link //loader, which has them compiled, do
// without.
#pragma once

#include <optional>

#include "tenon/base/thread_pool.hpp"
#include "tenon/graph/body.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI {

/// Where a graph came from, and can be had again.
class GraphSource {
 public:
  virtual ~GraphSource() = default;
  virtual Graph read() const = 0;
};

struct SessionOptions {
  int threads = 1;                 ///< threads of the session's own pool, the calling thread included
  Executor* executor = nullptr;    ///< the caller's pool, used in place of an own one
  Allocator* allocator = nullptr;  ///< for the values that runs make; default: aligned operator new
  bool fold_constants = true;      ///< compute nodes over constants once, when the session is made
  /// Bytes that computed constants may take; nodes whose results would take more are left to the runs. When
  /// not set: 1 GiB, and 16 times the graph's constants, for an element of 2 bits may become a float.
  std::optional<int64_t> max_folded_bytes{};
  /// Rewrites of the graph. When not set, `load` applies standard_passes() (graph/passes.hpp) and a Session
  /// applies none.
  std::optional<std::vector<Pass>> passes{};
  bool explain = false;  ///< keep the passes' reports for Session::reports
  /// When set, the session keeps only the constants that its runs read, as kernels want them. It reads the
  /// graph again for a run that asks for other values by name, or gives inputs that have values of their own.
  std::shared_ptr<const GraphSource> source{};
};

/// The inputs of a run, by name. Values share the tensors' elements.
using Feeds = std::vector<std::pair<std::string_view, Value>>;

/// The results of a run, by name and in the order asked for.
class Outputs {
 public:
  Value& operator[](std::string_view name) {
    for (std::size_t k = 0; k < names_.size(); ++k)
      if (names_[k] == name) return values_[k];
    throw Error(ErrorCode::invalid_argument, "session", concat("there is no output '", name, "'"));
  }
  Value& operator[](std::size_t k) { return values_.at(k); }
  std::size_t size() const { return values_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  std::vector<Value>& values() { return values_; }

 private:
  friend class Session;
  friend class Binding;
  std::vector<std::string> names_;
  std::vector<Value> values_;
};

/// Inputs and outputs that stay the same from run to run, so that a run pays for the operators alone. It
/// reads the elements that the inputs then have, and overwrites the outputs. Outputs that are constants are
/// written by bind alone. Belongs to a Session, which must outlive it, and to one thread at a time.
class Binding {
 public:
  /// Errors of operators, as from Session::run. Each run has the bounds that bind was given.
  void run();
  Outputs& outputs() { return outputs_; }

 private:
  friend class Session;
  std::unique_ptr<detail::Frame> frame_;
  Executor* executor_ = nullptr;
  Allocator* allocator_ = nullptr;
  RunOptions options_;
  Outputs outputs_;
};

/// A graph made ready to run. `run` may be called from many threads at once. A second run with inputs of the
/// same extents plans nothing and, given the same Outputs again, allocates nothing.
class Session {
 public:
  /// Error{invalid_argument} when TENON_ARCH is set but names no level that is present. Errors of passes and
  /// of folded nodes' operators go through.
  explicit Session(Graph graph, SessionOptions options = {});

  /// The graph; without the contents of its constants when it has a source.
  const Graph& graph() const { return graph_; }

  /// Runs the graph: s.run({{"x", batch}})["y"]. Inputs with a value of their own may be left out, and inputs
  /// on which no requested output depends. Error{invalid_argument} for unknown or missing inputs,
  /// {invalid_type, invalid_shape} for inputs that do not fit. Errors of operators go through, with the
  /// node's name.
  Outputs run(const Feeds& feeds, const RunOptions& options = {}) const {
    Outputs outputs;
    run(feeds, outputs, options);
    return outputs;
  }
  /// The same, but writes into the results of an earlier run and uses their memory again.
  void run(const Feeds& feeds, Outputs& outputs, const RunOptions& options = {}) const;
  /// Binds inputs, and the memory of earlier results where it fits, for many runs:
  /// Binding b = s.bind({{"x", batch}}); b.run(); b.outputs()["y"]
  Binding bind(const Feeds& feeds, Outputs outputs = {}, const RunOptions& options = {}) const;

  /// How a run with these inputs lays out memory.
  detail::Plan plan(const Feeds& feeds) const;
  const Program& program() const { return shared_->variants.front()->runner.program(); }
  /// The passes' reports on the graph and its bodies, in order. Empty unless SessionOptions::explain is set.
  const std::vector<PassReport>& reports() const { return reports_; }

 private:
  // The graph compiled for one set of outputs and one set of replaced inputs (inputs with a value of their
  // own that the run gives all the same).
  struct Variant {
    std::vector<std::string> outputs;
    std::vector<ValueId> given;
    std::vector<bool> needed;  // whether the outputs depend on each input of the graph
    detail::Runner runner;
  };
  struct Shared {
    std::mutex mutex;
    std::vector<std::unique_ptr<Variant>> variants;
  };

  const std::vector<std::string>& requested(const RunOptions& o) const {
    return o.outputs.empty() ? names_ : o.outputs;
  }

  Allocator& allocator() const { return options_.allocator ? *options_.allocator : default_allocator(); }

  /// Calls f(runner, inputs, budget) with the runner for the options, the inputs in the graph's order, and
  /// the bounds, null for none.
  template <class F>
  void with_inputs(const Feeds& feeds, Outputs& outputs, const RunOptions& options, F f) const;
  /// Sets the input of that name, looked for from input `first` on and then before it; returns the one behind
  /// it, where feeds in the graph's order find the next input at once.
  std::size_t feed(std::string_view name, const Value& value, std::span<const Value*> inputs,
                   std::size_t first) const;
  void check(const Graph::ValueEntry& e, const Value& v) const;

  static int64_t default_folded(const Graph& graph);
  static std::vector<bool> needed_inputs(const Graph& graph, std::span<const ValueId> outputs);
  Variant& find_variant(const RunOptions& options, std::span<const ValueId> given,
                        const detail::Budget* budget) const;
  Variant& variant(const Graph& graph, std::vector<std::string> names, std::vector<ValueId> ids,
                   std::span<const ValueId> given, const detail::Budget* budget, Graph* drained = nullptr,
                   std::vector<PassReport>* reports = nullptr) const;

  Graph graph_;
  SessionOptions options_;
  std::unique_ptr<ThreadPool> pool_;
  std::vector<std::string> names_;
  std::vector<ValueId> outputs_;
  std::vector<PassReport> reports_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace tenon::TENON_ABI

#ifndef TENON_COMPILED_SESSION
#include "tenon/graph/session_impl.hpp"
#endif
