// Program: the part of a graph that a set of outputs needs, with constants folded and passes applied.
// Independent of extents.
#pragma once

#include <deque>
#include <map>
#include <set>

#include "tenon/graph/graph.hpp"
#include "tenon/graph/program_options.hpp"
#include "tenon/graph/text.hpp"

namespace tenon::TENON_ABI {

class Program {
 public:
  using Node = Graph::Node;

  struct ValueEntry {
    std::string name;
    mutable Value constant;  ///< the value, if it does not depend on a run; see stored()
    bool used = false;       ///< a node or an output reads it
  };
  /// A value that a run gives: an input or a capture.
  struct Given {
    ValueId value = -1;
    ValueId outer = -1;  ///< of a capture: the value of the enclosing program
    op::Info info;       ///< type and extents, as far as they are known before a run
  };
  /// `outputs` are values of the graph. `replaced` are inputs whose default values the run overrides.
  /// `drained` is the graph itself if it may lose its constants, so that weights with a new layout are not
  /// held in memory twice.
  Program(const Graph& graph, std::vector<ValueId> outputs, std::span<const ValueId> replaced,
          const ProgramOptions& options, const ProgramScope* scope = nullptr, Graph* drained = nullptr);

  /// The graph's values with the same ids, then values that passes added.
  const std::deque<ValueEntry>& values() const { return values_; }
  const ValueEntry& entry(ValueId v) const { return values_[static_cast<std::size_t>(v)]; }
  /// The nodes of a run, in order. While a pass runs, nodes are ordered by number: removed nodes have no
  /// operator, added nodes come last.
  const std::deque<Node>& nodes() const { return nodes_; }
  /// The graph's inputs in order, then the captures in use.
  const std::vector<Given>& given() const { return given_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  /// The outputs as the program was asked for them. Passes may replace a value by an equal one.
  const std::vector<ValueId>& requested() const { return requested_; }
  /// The graph that the program was made of, or another one with the same nodes and values, by which errors
  /// are described. Null if it no longer exists.
  std::shared_ptr<const Graph> origin() const { return origin_.lock(); }
  /// The value if it does not depend on a run, else empty. The first call for an unaligned tensor copies it;
  /// runs of a finished program see only the tensors that `stored` returns.
  const Value& constant(ValueId v) const;
  /// The same as stored. A tensor may be unaligned: only its bytes may be read.
  const Value& stored(ValueId v) const { return entry(v).constant; }
  /// The memory of the constants that the program was made with and has computed.
  int64_t constant_bytes() const { return constant_bytes_; }
  /// Whether a node or an output reads the value.
  bool used(ValueId v) const { return entry(v).used; }

  // --- queries of passes ---
  // Node numbers and references to nodes stay valid until the pass ends.

  const Node& node(int n) const { return nodes_[static_cast<std::size_t>(n)]; }
  /// Calls f(number, node) for each node. Nodes that f adds or removes are skipped. When f returns, operators
  /// that it replaced or removed are destroyed, as are constants without readers.
  template <class F>
  void for_each_node(F f) {
    for (int n = 0, count = static_cast<int>(nodes_.size()); n < count; ++n) {
      if (!node(n).op) continue;
      f(n, node(n));
      drop_unread();
    }
  }
  /// The same for each node whose operator is an Op: f(number, operator).
  template <class Op, class F>
  void for_each(F f) {
    for_each_node([&](int n, const Node& node) {
      if (const Op* op = node.op.template as<Op>()) f(n, *op);
    });
  }
  /// The type and extents of a value, as far as they are known before a run. Not present() if a node's rule
  /// forbids its operands; the plan raises that error.
  const op::Info& info(ValueId v) const { return edit_->infos[static_cast<std::size_t>(v)]; }
  /// Gives each unknown extent a symbol of its own, so that passes see which values downstream have the same
  /// extent. Not in bodies: their symbols would be confused with the enclosing program's.
  void name_extents(ValueId v, op::Info& i) const;
  /// The node that makes a value, or -1.
  int maker(ValueId v) const { return uses(v).maker; }
  /// The nodes that read a value directly or in a body. A node that reads it twice is listed twice.
  std::span<const int> readers(ValueId v) const { return uses(v).readers; }
  bool is_output(ValueId v) const { return uses(v).outputs > 0; }
  /// Whether a body reads the value, which must then stay unchanged.
  bool is_captured(ValueId v) const {
    return std::ranges::any_of(readers(v),
                               [&](int n) { return std::ranges::count(node(n).captures, v) > 0; });
  }
  /// The pairs of inputs and outputs that a State may keep; see passes/keep_caches.hpp.
  std::span<CachePair> caches() const { return edit_->options->caches; }
  /// What the session's programs share; null: the program has no session.
  SharedConstants* shared() const { return edit_->options->shared; }
  /// The index of the output of which runs want the last steps only; see passes/keep_last_steps.hpp.
  std::optional<std::size_t> last_steps_of() const { return edit_->options->last_steps_of; }
  /// The value's only reader, if it reads the value once and not in a body. Else, or if the value is an
  /// output, -1.
  int only_reader(ValueId v) const {
    return readers(v).size() == 1 && !is_output(v) && !is_captured(v) ? readers(v)[0] : -1;
  }

  // --- edits of passes ---
  // Infos are up to date after each edit. A node whose results lose their last reader is removed at once, a
  // constant when the next node is visited. At the end of the pass, the topological order of nodes is
  // restored, and nodes whose operands became constant are computed.

  ValueId add_constant(std::string name, Value value) {
    const ValueId v = add_value(std::move(name));
    set_constant(v, std::move(value));
    return v;
  }
  /// Adds a node and returns its results. Errors and reports call it by the name and the operator of node
  /// `of`, part of whose work it does. A node over constants is computed at once, which makes its results
  /// constants.
  std::vector<ValueId> add_node(int of, AnyOperator op, std::vector<ValueId> inputs, int results = 1);
  /// Replaces a node's operator and inputs; its results keep their ids. Errors and reports call it by the
  /// name and the operator of node `of`, or as before.
  void replace(int number, AnyOperator op, std::vector<ValueId> inputs, int of = -1);
  /// Makes a node read `to` in place of `from`.
  void redirect(int reader, ValueId from, ValueId to);
  /// Makes all nodes but the maker of `to` read `to` in place of `from`, and likewise the program's outputs.
  /// Bodies still read `from`.
  void redirect(ValueId from, ValueId to);

  /// Makes output `k` another value.
  void set_output(std::size_t k, ValueId to);
  /// Adds a value that runs give after the graph's inputs. Not in bodies, whose captures follow these.
  ValueId add_given(std::string name, op::Info info);

  // --- reports of passes ---

  /// "Relu 'relu1'", for reports
  std::string label(int n) const { return str_cat(node(n).op.spec().name, " '", node(n).name, "'"); }
  /// Reports that the pass is about to rewrite a node.
  void applied(int n, const auto&... text) const { report(n, true, text...); }
  /// Reports why the pass leaves a node alone although it handles the node's operator.
  void skipped(int n, const auto&... text) const { report(n, false, text...); }

 private:
  struct Uses {
    int maker = -1;
    int outputs = 0;
    std::vector<int> readers;
  };
  /// State that exists only while passes work.
  struct Edit {
    std::deque<op::Info> infos;
    std::deque<Uses> uses;
    std::vector<AnyOperator> removed;  // kept, because the visitor of a node may still refer to them
    std::vector<ValueId> left;         // values that lost a reader
    bool changed = true;               // whether nodes changed since they were last sorted
    bool names_extents = false;        // see name_extents
    std::map<ValueId, Given> copied;   // results of copied nodes, see copy_makers, and the captures they are
    std::string_view pass;
    const ProgramOptions* options = nullptr;
  };

  Node& at(int n) { return nodes_[static_cast<std::size_t>(n)]; }
  ValueEntry& value(ValueId v) { return values_[static_cast<std::size_t>(v)]; }
  Uses& uses(ValueId v) { return edit_->uses[static_cast<std::size_t>(v)]; }
  const Uses& uses(ValueId v) const { return edit_->uses[static_cast<std::size_t>(v)]; }

  template <class F>
  static void for_each_operand(const Node& n, F f) {
    for (ValueId v : n.inputs)
      if (v >= 0) f(v);
    for (ValueId v : n.captures) f(v);
  }

  /// A graph whose nodes the program takes over.
  struct Origin {
    const Graph& graph;
    std::vector<ValueId> here;  ///< the program's values for the graph's
  };

  // --- from the graph ---

  void add_values(const Graph& graph, std::span<const ValueId> replaced,
                  std::span<const Condition> conditions, const ProgramScope* scope);
  std::vector<bool> find_needed(const Graph& graph);
  /// The nodes, not yet computed, that make a value from constants. Empty if it depends on anything else, or
  /// if they read more operands than passes look at.
  std::set<int> makers_over_constants(ValueId v) const;
  /// Copies such nodes of captured values into a body, where its passes see them. The constants are shared.
  void copy_makers(const Program& around);
  /// Removes the copies that passes have left. Their results, which the enclosing program computes once for
  /// all bodies, become captures again.
  void capture_again();
  /// Adds a node after its operands' makers.
  void append(Node n);
  /// Adds a node of the graph.
  void add_from(Origin& from, const Node& of_graph, const ProgramOptions& options);
  /// Gives each of the graph's values without one a value of the program.
  void add_values_of(Origin& from);
  /// Replaces a node with the nodes of its operator's function. False if these are unknown before the run, or
  /// a result is not made by a node of its own. `n` is the same node over the program's values.
  bool expand(const Graph& graph, const Node& of_graph, const Node& n, const ProgramOptions& options);
  /// Replaces a node with the nodes of the body that a pass requests. False if there is none. A result that
  /// no node of the body makes for itself becomes another name of the value that it equals.
  bool expand_body(Origin& from, const Node& of_graph, const Node& n, const ProgramOptions& options);
  void check_time(const Node& n) const;
  /// Compiles a node's graph attributes to programs of their own, with this program's constants and options.
  void compile_bodies(Node& n, std::span<const ValueId> here, const ProgramOptions& options);
  /// Marks used values. Frees constants that only folded nodes read.
  void finish();

  // --- constants ---

  static bool may_fold(const Node& n) { return n.captures.empty() && detail::may_fold(n.op); }
  /// Computes a node over constants and makes its results constants. False if the node cannot be folded, or a
  /// later pass needs to see it.
  bool fold(const Node& n, std::span<const Pass> passes = {});
  void set_constant(ValueId v, Value constant);
  /// Computes the nodes whose operands a pass made constant, or that it needed to see first.
  void fold_all(std::span<const Pass> passes);
  /// Aligns the constants, except where only operators that move bytes read them.
  void settle() const;

  // --- passes ---

  void rewrite(const ProgramOptions& options);
  void index();
  /// Registers a node as the maker of its results and a reader of its operands.
  void link(int n);
  void unlink(ValueId v, int reader);
  void drop_unread();
  bool unread(ValueId v) const { return readers(v).empty() && !is_output(v); }
  /// Removes the makers of values that are no longer read, and then the makers of values that only they read.
  void remove_unread(std::vector<ValueId> values);

  ValueId add_value(std::string name);
  AnyOperator standing_for(int of, AnyOperator op) const {
    return node(of).op ? op.in_place_of(node(of).op) : op;  // else it was removed
  }
  std::vector<op::Info> inferred(const AnyOperator& op, const Node& n) const;
  /// Infers a node's results. Returns whether their infos changed.
  bool infer(int n);
  /// Infers a node. If its results' infos changed, infers their readers, and so on.
  void update(int number);
  /// Keeps only the nodes that the outputs need, each after the makers of its operands, in an otherwise
  /// unchanged order. Returns whether the pass changed anything.
  bool tidy();

  void report(int n, bool applied, const auto&... text) const {
    const ProgramOptions& o = *edit_->options;
    if (o.reports)
      o.reports->push_back({o.where + detail::describe(node(n)), edit_->pass, applied, str_cat(text...)});
  }

  std::vector<ValueId> outputs_, requested_;
  std::weak_ptr<const Graph> origin_;
  bool fold_;
  int64_t constant_bytes_ = 0;
  // Only during construction:
  Allocator* folded_;
  const detail::Budget* budget_;
  std::deque<ValueEntry> values_;
  std::deque<Node> nodes_;
  std::vector<Given> given_;
  std::unique_ptr<Edit> edit_;
};

}  // namespace tenon::TENON_ABI

#include "tenon/graph/program_compile.hpp"
#include "tenon/graph/program_constants.hpp"
#include "tenon/graph/program_edit.hpp"
