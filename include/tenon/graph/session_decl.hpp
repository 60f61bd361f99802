// Declarations of sessions, which may be compiled elsewhere: Session, Binding, their arguments and results.
// session.hpp also has the graphs that sessions are made of.
#pragma once

#include <optional>

#include "tenon/graph/pass.hpp"
#include "tenon/graph/run_options.hpp"
#include "tenon/tensor/value.hpp"

namespace tenon::TENON_ABI {

class Executor;     // base/parallel.hpp
class Graph;        // graph.hpp
class PackedStore;  // shared_constants.hpp

/// The source of a graph, from which it can be read again.
class GraphSource {
 public:
  virtual ~GraphSource() = default;
  /// May be called by concurrent runs.
  [[nodiscard]] virtual Graph read() const = 0;
};

/// How a graph is made ready to run.
struct SessionOptions {
  int threads = 1;  ///< of the session's own pool, including the calling thread; at most 4096
  /// The caller's pool, used instead of the session's own. It must outlive the session and its Bindings.
  /// Null: the session's own or, if `threads` is 1, the pool in force on the calling thread (ScopedPool),
  /// which a Binding then keeps using.
  Executor* executor = nullptr;
  /// Allocates the values that runs make; null: aligned operator new. Results return their memory to it, so
  /// it must outlive the session, its Bindings, and all Outputs and copies of their values.
  Allocator* allocator = nullptr;
  /// Computes nodes over constants once, when the session is created. A node that runs bodies is computed if
  /// each body runs at most 1,024 times and its operands, constants and values take at most 64 KiB each.
  bool fold_constants = true;
  /// Bytes that computed constants may take; nodes whose results would take more are left to the runs. If not
  /// set: 1 GiB plus 16 times the graph's constants, because an element of 2 bits may become a float.
  std::optional<int64_t> max_folded_bytes{};
  /// Rewrites of the graph. When not set, `load` applies standard_passes() (graph/passes.hpp) and a Session
  /// applies none.
  std::optional<std::vector<Pass>> passes{};
  /// If set, the session's own program is made for runs with states of these pairs. Otherwise the first such
  /// run compiles a second one, which shares packed matrices with the first. Inputs that choose branches,
  /// such as use_cache_branch, are true in it. Read by the constructor alone.
  const State* state = nullptr;
  LastSteps last{};      ///< likewise for runs with RunOptions::last of this output
  bool explain = false;  ///< keep the passes' reports for Session::reports
  /// If set, the session keeps only small constants, and those that its runs read, in the kernels' layouts.
  /// It reads the graph again for a run that requests other values by name, or overrides inputs that have
  /// default values.
  std::shared_ptr<const GraphSource> source{};
  /// Where the session finds matrices of integers in the kernels' layouts, and leaves those that it has
  /// packed: LoadOptions::packed_file. Null: it packs all of them.
  std::shared_ptr<PackedStore> packed{};
  /// The number of programs kept in addition to the graph's own, with which they share packed matrices: one
  /// for each list of RunOptions::outputs, each set of overridden inputs and, in runs with a state, each
  /// choice of branches by inputs. The least recently used one is dropped first, as soon as no run and no
  /// Binding uses it.
  int max_programs = 16;
};

/// The inputs of a run, by name. The names are read only during the call and need not outlive it. Values
/// share the tensors' elements, which must stay valid until the run ends. A Binding keeps the values;
/// elements that a value only borrows (a view's) must outlive the Binding's runs.
using Feeds = std::vector<std::pair<std::string_view, Value>>;

/// The results of a run, by name and in the order requested. They belong to the caller and outlive the
/// session. Error{invalid_argument} for an unknown name or an index out of range.
class Outputs {
 public:
  [[nodiscard]] Value& operator[](std::string_view name) & { return values_[number(name)]; }
  [[nodiscard]] const Value& operator[](std::string_view name) const& { return values_[number(name)]; }
  [[nodiscard]] Value& operator[](std::size_t k) & { return values_[number(k)]; }
  [[nodiscard]] const Value& operator[](std::size_t k) const& { return values_[number(k)]; }
  /// Of a temporary, s.run(feeds)["y"], the value itself: it outlives the other outputs, and `as` moves it.
  [[nodiscard]] Value operator[](std::string_view name) && { return std::move(values_[number(name)]); }
  [[nodiscard]] Value operator[](std::size_t k) && { return std::move(values_[number(k)]); }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::vector<Value>& values() { return values_; }
  [[nodiscard]] const std::vector<Value>& values() const { return values_; }

 private:
  std::size_t number(std::string_view name) const {
    for (std::size_t k = 0; k < names_.size(); ++k)
      if (names_[k] == name) return number(k);
    raise(ErrorCode::invalid_argument, "session", "there is no output '", name, "'");
  }
  std::size_t number(std::size_t k) const {
    if (k < values_.size()) return k;
    raise(ErrorCode::invalid_argument, "session", "there is no output ", k, ", but ", values_.size(),
          " outputs");
  }

  friend class Session;
  friend class Binding;
  std::vector<std::string> names_;
  std::vector<Value> values_;
};

/// Inputs and outputs that stay the same from run to run, so that a run pays for the operators alone. Each
/// run reads the current elements of the inputs and overwrites the outputs. Constant outputs are written only
/// by bind. A value that the caller has taken or replaced is there again after the next run, which writes to
/// the same memory as before. Belongs to one thread at a time. A Binding may outlive its Session; the
/// caller's executor and allocator must outlive both.
class Binding {
 public:
  /// Bound to nothing, until another one is assigned to it.
  Binding() noexcept;
  Binding(Binding&&) noexcept;
  Binding& operator=(Binding&&) noexcept;
  ~Binding();
  /// Errors of operators, as from Session::run. The bounds given to bind apply to each run.
  /// Error{invalid_argument} for a Binding that is bound to nothing, or was moved from.
  void run();
  [[nodiscard]] Outputs& outputs() { return outputs_; }
  [[nodiscard]] const Outputs& outputs() const { return outputs_; }

 private:
  friend class Session;
  struct Bound;
  std::unique_ptr<Bound> bound_;
  Outputs outputs_;
};

/// The memory that a run takes, known in advance.
struct MemoryPlan {
  int64_t arena_bytes = 0;      ///< one block that holds the values between inputs and outputs
  int64_t naive_bytes = 0;      ///< the same if values did not share memory
  int64_t run_time_values = 0;  ///< values allocated in the run, because only the run knows their extents
};

/// A graph made ready to run. `run` may be called from many threads at once. A second run with inputs of the
/// same extents plans nothing and, given the same Outputs again, allocates nothing. The first run that
/// requests other outputs, or overrides inputs that have default values, compiles a program for them.
/// Meanwhile other threads keep running existing programs; threads that need the same program wait for it.
///
/// A moved-from Session has no graph: functions that need one raise Error{invalid_argument}. Bindings stay
/// valid when their Session moves.
class Session {
 public:
  /// Error{invalid_argument} if TENON_ARCH is set but names no available level, and for more than 4096
  /// threads; {out_of_memory} if they cannot be started. Errors of passes and of folded nodes' operators are
  /// passed on.
  explicit Session(Graph graph, SessionOptions options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// The graph; without the contents of its constants when it has a source.
  [[nodiscard]] const Graph& graph() const;

  /// Runs the graph: s.run({{"x", batch}})["y"]. Inputs with default values may be omitted, and inputs on
  /// which no requested output depends. Error{invalid_argument} for unknown or missing inputs, {invalid_type,
  /// invalid_shape} for inputs that do not fit, or in which a symbolic extent differs. Errors of operators
  /// are passed on with the node's name. An error while compiling a new program reaches all runs that wait
  /// for it, unless it comes from the bounds of the compiling run; the next run tries again.
  [[nodiscard]] Outputs run(const Feeds& feeds, const RunOptions& options = {}) const;
  /// The same, but writes into the results of an earlier run, reusing their memory.
  void run(const Feeds& feeds, Outputs& outputs, const RunOptions& options = {}) const;
  /// Binds inputs, and the memory of earlier results where it fits, for many runs:
  /// Binding b = s.bind({{"x", batch}}); b.run(); b.outputs()["y"]
  /// The next elements are written as batch(all) = …, because batch = … would give the tensor other memory.
  [[nodiscard]] Binding bind(const Feeds& feeds, Outputs outputs = {}, const RunOptions& options = {}) const;

  /// The memory layout of a run for the graph's outputs with these inputs; omitted inputs are assumed to be
  /// as declared. Errors of inputs as from `run`, and of operators' rules.
  [[nodiscard]] MemoryPlan plan(const Feeds& feeds) const;
  /// The program of the graph's outputs.
  [[nodiscard]] const Program& program() const;
  /// The passes' reports on the graph and its bodies, in order. Empty unless SessionOptions::explain is set.
  [[nodiscard]] const std::vector<PassReport>& reports() const;

 private:
  struct Core;
  Core& core() const;
  std::unique_ptr<Core> core_;
};

}  // namespace tenon::TENON_ABI
