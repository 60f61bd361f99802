// What programs see of a session that is compiled elsewhere: Session, Binding, and what they take and give.
// session.hpp has the graphs that sessions are made of as well.
#pragma once

#include <optional>

#include "tenon/graph/pass.hpp"
#include "tenon/graph/run_options.hpp"
#include "tenon/tensor/value.hpp"

namespace tenon::TENON_ABI {

class Executor;  // base/parallel.hpp
class Graph;     // graph.hpp

/// Where a graph came from, and can be had again.
class GraphSource {
 public:
  virtual ~GraphSource() = default;
  /// Runs of several threads may call it at once.
  [[nodiscard]] virtual Graph read() const = 0;
};

struct SessionOptions {
  int threads = 1;  ///< threads of the session's own pool, the calling thread included
  /// The caller's pool, used in place of an own one. It has to outlive the session and its Bindings. Null:
  /// the session's own or, where `threads` is 1, the one in force on the thread that calls (ScopedPool),
  /// which a Binding then goes on to use.
  Executor* executor = nullptr;
  /// For the values that runs make; null: aligned operator new. Results give their memory back to it, so that
  /// it has to outlive the session, its Bindings, and all Outputs and copies of their values.
  Allocator* allocator = nullptr;
  bool fold_constants = true;  ///< compute nodes over constants once, when the session is made
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
  /// How many programs are kept besides the graph's own, each with constants as its kernels want them: one
  /// for each list of RunOptions::outputs and each set of given inputs that have values of their own. The one
  /// unused for longest goes first, as soon as no run and no Binding uses it.
  int max_programs = 16;
};

/// The inputs of a run, by name. The names are read within the call alone; the text that they point to may go
/// after it. Values share the tensors' elements, which have to stay until the run ends. A Binding keeps the
/// values; elements that a value only borrows (a view's) have to stay as long as the Binding runs.
using Feeds = std::vector<std::pair<std::string_view, Value>>;

/// The results of a run, by name and in the order asked for. They belong to the caller and outlive the
/// session. Error{invalid_argument} for a name or a number that is none.
class Outputs {
 public:
  [[nodiscard]] Value& operator[](std::string_view name) { return values_[number(name)]; }
  [[nodiscard]] const Value& operator[](std::string_view name) const { return values_[number(name)]; }
  [[nodiscard]] Value& operator[](std::size_t k) { return values_[number(k)]; }
  [[nodiscard]] const Value& operator[](std::size_t k) const { return values_[number(k)]; }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::vector<Value>& values() { return values_; }
  [[nodiscard]] const std::vector<Value>& values() const { return values_; }

 private:
  std::size_t number(std::string_view name) const {
    for (std::size_t k = 0; k < names_.size(); ++k)
      if (names_[k] == name) return number(k);
    throw Error(ErrorCode::invalid_argument, "session", str_cat("there is no output '", name, "'"));
  }
  std::size_t number(std::size_t k) const {
    if (k < values_.size()) return k;
    throw Error(ErrorCode::invalid_argument, "session",
                str_cat("there is no output ", k, ", but ", values_.size(), " outputs"));
  }

  friend class Session;
  friend class Binding;
  std::vector<std::string> names_;
  std::vector<Value> values_;
};

/// Inputs and outputs that stay the same from run to run, so that a run pays for the operators alone. It
/// reads the elements that the inputs then have, and overwrites the outputs. Outputs that are constants are
/// written by bind alone. Belongs to one thread at a time. It keeps what it needs of its Session, and may
/// outlive it; the caller's executor and allocator have to outlive both.
class Binding {
 public:
  /// Bound to nothing, until another one is assigned to it.
  Binding() noexcept;
  Binding(Binding&&) noexcept;
  Binding& operator=(Binding&&) noexcept;
  ~Binding();
  /// Errors of operators, as from Session::run. Each run has the bounds that bind was given.
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

/// The memory that a run takes, known before it.
struct MemoryPlan {
  int64_t arena_bytes = 0;      ///< one block, in which values between inputs and outputs lie
  int64_t naive_bytes = 0;      ///< the same if values did not share memory
  int64_t run_time_values = 0;  ///< values that get memory in the run, which alone knows their extents
};

/// A graph made ready to run. `run` may be called from many threads at once. A second run with inputs of the
/// same extents plans nothing and, given the same Outputs again, allocates nothing. The first run that asks
/// for other outputs, or gives inputs that have values of their own, makes a program for them, while other
/// threads run what is there; threads that ask for the same wait for the one that makes it.
///
/// A Session that was moved from has no graph: Error{invalid_argument} from whatever needs one. Bindings stay
/// what they are when their Session moves.
class Session {
 public:
  /// Error{invalid_argument} when TENON_ARCH is set but names no level that is present. Errors of passes and
  /// of folded nodes' operators go through.
  explicit Session(Graph graph, SessionOptions options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// The graph; without the contents of its constants when it has a source.
  [[nodiscard]] const Graph& graph() const;

  /// Runs the graph: s.run({{"x", batch}})["y"]. Inputs with a value of their own may be left out, and inputs
  /// on which no requested output depends. Error{invalid_argument} for unknown or missing inputs,
  /// {invalid_type, invalid_shape} for inputs that do not fit. Errors of operators go through, with the
  /// node's name. What making a new program throws reaches all runs that wait for it, but for the bounds of
  /// the run that makes it; the next run tries again.
  [[nodiscard]] Outputs run(const Feeds& feeds, const RunOptions& options = {}) const;
  /// The same, but writes into the results of an earlier run and uses their memory again.
  void run(const Feeds& feeds, Outputs& outputs, const RunOptions& options = {}) const;
  /// Binds inputs, and the memory of earlier results where it fits, for many runs:
  /// Binding b = s.bind({{"x", batch}}); b.run(); b.outputs()["y"]
  [[nodiscard]] Binding bind(const Feeds& feeds, Outputs outputs = {}, const RunOptions& options = {}) const;

  /// How a run for the graph's outputs with these inputs lays out memory; inputs that are left out are taken
  /// as they are declared. Errors of inputs as from `run`, and of operators' rules.
  [[nodiscard]] MemoryPlan plan(const Feeds& feeds) const;
  /// The program of the graph's outputs.
  [[nodiscard]] const Program& program() const;
  /// The passes' reports on the graph and its bodies, in order. Empty unless SessionOptions::explain is set.
  [[nodiscard]] const std::vector<PassReport>& reports() const;

 private:
  struct State;
  State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace tenon::TENON_ABI
