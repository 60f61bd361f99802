// Program: the part of a graph that a set of outputs needs, with constants folded and passes applied.
// Independent of extents.
#pragma once

#include <deque>
#include <numeric>
#include <set>

#include "tenon/base/lasting.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/graph/graph.hpp"
#include "tenon/graph/limits.hpp"
#include "tenon/graph/pass.hpp"

namespace tenon::TENON_ABI {

class Program;

namespace detail {

/// An aligned copy of the tensor's bytes, which may be unaligned. Pages of a mapped file are released after
/// copying.
inline AnyTensor aligned_copy(const AnyTensor& from) {
  constexpr int64_t step = int64_t{1} << 22;
  AnyTensor to = AnyTensor::uninitialized(from.dtype(), from.extents(), lasting_allocator());
  const auto* source = static_cast<const std::byte*>(from.storage().data());
  auto* target = static_cast<std::byte*>(to.out().data());
  const bool in_file = from.storage().file_part() != nullptr;
  parallel_for(from.bytes(), step, [&](int64_t begin, int64_t end) {
    for (; begin < end; begin += step) {
      const auto size = static_cast<std::size_t>(std::min(step, end - begin));
      std::memcpy(target + begin, source + begin, size);
      if (in_file) forget_pages(source + begin, size);
    }
  });
  return to;
}

}  // namespace detail

struct ProgramOptions {
  bool fold = true;  ///< compute nodes over constants when the program is made
  /// Memory for computed constants. A node whose results no longer fit is computed in the run. Null:
  /// max_folded_bytes of the default allocator.
  Allocator* folded = nullptr;
  int64_t max_folded_bytes = int64_t{1} << 30;
  std::span<const Pass> passes{};
  std::vector<PassReport>* reports = nullptr;  ///< receives the passes' reports; null: not requested
  std::string where{};                         ///< prefix of nodes in reports
  const detail::Budget* budget = nullptr;      ///< bounds the compilation time; null: unbounded
};

namespace detail {

/// Rethrows an Error with the node's description prepended to where().
[[noreturn]] inline void rethrow_at(const Graph::Node& n, const Error& e) {
  const bool itself = e.where().empty() || e.where() == n.op.spec().name;
  throw Error(e.code(), itself ? describe(n) : str_cat(describe(n), ": ", e.where()), e.message());
}

/// A body that records the inputs of the last `infer`. The rule of a loop calls `infer` until the result
/// holds for every iteration, so the last inputs hold for every run.
class Probe final : public op::Body {
 public:
  Probe(std::shared_ptr<const op::Body> body, std::vector<op::Info>& asked)
      : body_(std::move(body)), asked_(asked) {}
  int inputs() const override { return body_->inputs(); }
  int outputs() const override { return body_->outputs(); }
  std::vector<op::Info> infer(std::span<const op::Info> inputs) const override {
    asked_.assign(inputs.begin(), inputs.end());
    return body_->infer(inputs);
  }
  std::vector<Value> run(op::Context& scope, std::span<const Value> inputs) const override {
    return body_->run(scope, inputs);
  }

 private:
  std::shared_ptr<const op::Body> body_;
  std::vector<op::Info>& asked_;
};

}  // namespace detail

/// The context of a body: the enclosing program, and the types and extents of the body's inputs.
struct ProgramScope {
  const Program& around;
  std::span<const op::Info> inputs;
};

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
          const ProgramOptions& options, const ProgramScope* scope = nullptr, Graph* drained = nullptr)
      : outputs_(std::move(outputs)), fold_(options.fold), folded_(options.folded), budget_(options.budget) {
    detail::Meter::Owner own;
    if (folded_ == nullptr)
      folded_ = (own = detail::Meter::make(default_allocator(), options.max_folded_bytes)).get();
    if (!options.passes.empty()) {
      edit_ = std::make_unique<Edit>();
      edit_->names_extents = scope == nullptr;
    }
    add_values(graph, replaced, scope);
    if (drained != nullptr) drained->drop_contents();
    const std::vector<bool> needed = find_needed(graph);
    for (std::size_t n = 0; n < needed.size(); ++n)
      if (needed[n]) add_from(graph, graph.nodes()[n], graph.nodes()[n], options);
    if (edit_) rewrite(options);
    finish();
  }

  /// The graph's values with the same ids, then values that passes added.
  const std::deque<ValueEntry>& values() const { return values_; }
  const ValueEntry& entry(ValueId v) const { return values_[static_cast<std::size_t>(v)]; }
  /// The nodes of a run, in order. While a pass runs, nodes are ordered by number: removed nodes have no
  /// operator, added nodes come last.
  const std::deque<Node>& nodes() const { return nodes_; }
  /// The graph's inputs in order, then the captures in use.
  const std::vector<Given>& given() const { return given_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  /// The value if it does not depend on a run, else empty. The first call for an unaligned tensor copies it;
  /// runs of a finished program see only the tensors that `stored` returns.
  const Value& constant(ValueId v) const {
    Value& c = entry(v).constant;
    if (c.is_tensor() && !c.tensor().aligned()) c = detail::aligned_copy(c.tensor());
    return c;
  }
  /// The same as stored. A tensor may be unaligned: only its bytes may be read.
  const Value& stored(ValueId v) const { return entry(v).constant; }
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
  void name_extents(ValueId v, op::Info& i) const {
    constexpr int64_t first = int64_t{1} << 30;  // graphs have fewer names
    if (!edit_->names_extents || i.type.kind != Kind::tensor || !i.dims.ranked() || v >= first / max_rank)
      return;
    for (int k = 0; k < i.dims.rank(); ++k)
      if (!i.dims[k].known() && !i.dims[k].symbolic())
        i.dims[k] = Dim::symbol(static_cast<int32_t>(first + int64_t{v} * max_rank + k));
  }
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
  /// Adds a node and returns its results. A node over constants is computed at once, which makes its results
  /// constants.
  std::vector<ValueId> add_node(std::string name, AnyOperator op, std::vector<ValueId> inputs,
                                int results = 1) {
    Node n{std::move(name), std::move(op), std::move(inputs), {}, {}};
    n.captures = detail::outer_values(n.op);
    for (int k = 0; k < results; ++k) n.outputs.push_back(add_value({}));
    const std::vector<ValueId> outputs = n.outputs;
    if (fold_ && fold(n)) return outputs;
    edit_->changed = true;
    nodes_.push_back(std::move(n));
    link(static_cast<int>(nodes_.size()) - 1);
    update(static_cast<int>(nodes_.size()) - 1);
    return outputs;
  }
  /// Replaces a node's operator and inputs; its results keep their ids.
  void replace(int number, AnyOperator op, std::vector<ValueId> inputs) {
    Node& n = at(number);
    edit_->changed = true;
    std::vector<ValueId> left;
    for_each_operand(n, [&](ValueId v) { left.push_back(v); });
    edit_->removed.push_back(std::exchange(n.op, std::move(op)));
    n.inputs = std::move(inputs);
    n.captures = detail::outer_values(n.op);
    for_each_operand(n, [&](ValueId v) { uses(v).readers.push_back(number); });
    for (ValueId v : left) unlink(v, number);
    update(number);
    remove_unread(std::move(left));
  }
  /// Makes a node read `to` in place of `from`.
  void redirect(int reader, ValueId from, ValueId to) {
    if (from == to || std::ranges::count(node(reader).inputs, from) == 0) return;
    for (ValueId& v : at(reader).inputs)
      if (v == from) {
        unlink(from, reader);
        v = to;
        uses(to).readers.push_back(reader);
      }
    if (info(from) != info(to)) update(reader);
    remove_unread({from});
  }
  /// Makes all nodes but the maker of `to` read `to` in place of `from`, and likewise the program's outputs.
  /// Bodies still read `from`.
  void redirect(ValueId from, ValueId to) {
    for (ValueId& v : outputs_)
      if (v == from) v = to, --uses(from).outputs, ++uses(to).outputs, edit_->changed = true;
    for (int n : std::vector<int>(readers(from).begin(), readers(from).end()))
      if (n != maker(to)) redirect(n, from, to);
    remove_unread({from});
  }

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

  // --- from the graph ---

  void add_values(const Graph& graph, std::span<const ValueId> replaced, const ProgramScope* scope) {
    for (const Graph::ValueEntry& e : graph.values()) values_.push_back({e.name, e.content});
    for (ValueId v : replaced) value(v).constant = {};
    for (ValueId v : graph.inputs()) given_.push_back({v, -1, graph.entry(v).info});
    for (std::size_t k = 0; scope && edit_ && k < given_.size(); ++k) {
      op::Info& i = given_[k].info;  // a run enforces the types that a body declares, not the extents
      i.dims = k < scope->inputs.size() ? scope->inputs[k].dims : Dims{};
      if (k < scope->inputs.size() && (!i.type || i.type.kind == Kind::unknown))
        i.type = scope->inputs[k].type;
    }
    for (ValueId v : graph.captures()) {
      const ValueId outer = graph.entry(v).outer;
      if (scope && scope->around.constant(outer)) value(v).constant = scope->around.constant(outer);
      else
        given_.push_back(
            {v, outer, scope && edit_ ? shape_of(scope->around.info(outer)) : graph.entry(v).info});
    }
    if (!edit_) return;
    edit_->infos.resize(values_.size());
    edit_->uses.resize(values_.size());
    for (const Given& g : given_) edit_->infos[static_cast<std::size_t>(g.value)] = g.info;
    for (std::size_t v = 0; v < values_.size(); ++v)
      if (values_[v].constant) edit_->infos[v] = op::info_of(values_[v].constant);
  }
  static op::Info shape_of(op::Info i) {
    i.propagated = {};
    i.data = nullptr;
    return i;
  }

  std::vector<bool> find_needed(const Graph& graph) {
    for (ValueId v : outputs_) value(v).used = true;
    std::vector<bool> needed(graph.nodes().size());
    for (std::size_t n = needed.size(); n-- > 0;) {
      const Node& node = graph.nodes()[n];
      for (ValueId v : node.outputs)
        if (used(v)) needed[n] = true;
      if (needed[n]) for_each_operand(node, [&](ValueId v) { value(v).used = true; });
    }
    return needed;
  }

  /// Adds a graph's node. `n` is the same node over the program's values.
  void add_from(const Graph& graph, const Node& from, Node n, const ProgramOptions& options) {
    check_time(n);
    compile_bodies(n, options);
    if (fold_ && fold(n, options.passes)) return;
    if (n.op.is_function() && expand(graph, from, n, options)) return;
    nodes_.push_back(std::move(n));
    if (edit_) infer(static_cast<int>(nodes_.size()) - 1);
  }

  /// Replaces a node with the nodes of its operator's function. False if these are unknown before the run, or
  /// a result is not made by a node of its own.
  bool expand(const Graph& graph, const Node& from, const Node& n, const ProgramOptions& options) {
    const auto content = [&](std::size_t k) { return stored(n.inputs[k]); };
    const std::optional<Graph> body = graph.function_of(from, content);
    if (!body) return false;
    std::vector<ValueId> here(body->values().size(), -1);
    auto input = body->inputs().begin();
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (n.inputs[k] >= 0 && !content(k)) here[static_cast<std::size_t>(*input++)] = n.inputs[k];
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      const ValueId v = body->outputs()[k].second;
      ValueId& result = here[static_cast<std::size_t>(v)];
      if (body->entry(v).source != Graph::Source::node || result >= 0) return false;
      result = n.outputs[k];
    }
    for (std::size_t v = 0; v < here.size(); ++v) {
      if (here[v] >= 0) continue;
      here[v] = add_value({});
      if (body->values()[v].content) set_constant(here[v], body->values()[v].content);
    }
    for (const Node& of_body : body->nodes()) {
      Node m = of_body;
      for (auto* list : {&m.inputs, &m.outputs})
        for (ValueId& v : *list)
          if (v >= 0) v = here[static_cast<std::size_t>(v)];
      add_from(*body, of_body, std::move(m), options);
    }
    return true;
  }

  void check_time(const Node& n) const {
    if (budget_ == nullptr) return;
    try {
      budget_->check();
    } catch (const Error& e) {
      detail::rethrow_at(n, e);
    }
  }

  /// Compiles a node's graph attributes to programs of their own, with this program's constants and options.
  void compile_bodies(Node& n, const ProgramOptions& options) {
    std::map<std::string_view, std::vector<op::Info>> asked;
    const AnyOperator probing = detail::with_bodies(
        n.op, [&](std::string_view name, const std::shared_ptr<const op::Body>& body, const CapturingBody&) {
          return std::make_shared<const detail::Probe>(body, asked[name]);
        });
    if (asked.empty()) return;
    if (edit_) inferred(probing, n);
    n.op = detail::with_bodies(n.op, [&](std::string_view name, const auto&, const CapturingBody& body) {
      ProgramOptions inner = options;
      inner.folded = folded_;
      inner.where = str_cat(options.where, detail::describe(n), ", ", name, ": ");
      return body.compiled({*this, asked[name]}, inner);
    });
    n.captures = detail::outer_values(n.op);
  }

  /// Computes a node over constants and makes its results constants. False if the node cannot be folded, or a
  /// later pass needs to see it.
  bool fold(const Node& n, std::span<const Pass> passes = {}) {
    bool all = n.op && n.op.spec().deterministic && n.captures.empty();
    for_each_operand(n, [&](ValueId v) { all &= static_cast<bool>(stored(v)); });
    const auto keeps = [&](const Pass& pass) { return pass.keeps != nullptr && pass.keeps(*this, n); };
    if (!all || std::ranges::any_of(passes, keeps)) return false;
    std::vector<const Value*> in;
    for (ValueId v : n.inputs) in.push_back(v < 0 ? nullptr : &constant(v));
    const auto longest = [](std::size_t most, const Value* v) {
      return v == nullptr ? most : std::max(most, longest_text(*v));
    };
    const std::size_t characters = std::accumulate(in.begin(), in.end(), std::size_t{0}, longest);
    if (characters > 128) return false;
    std::vector<Value> out;
    // Errors are not raised here, but in the run if it executes the node: the branch of an If may never be
    // taken. A few bytes of a file may request a huge constant, whose memory is refused before the operator
    // computes it.
    try {
      detail::Meter::Owner few;
      if (characters > 0) few = detail::Meter::make(*folded_, int64_t{1} << 20);
      op::Context context(few ? *few : *folded_);
      out = op::evaluate(n.op, context, in, n.outputs.size());
    } catch (const Error&) {
      return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
    for (std::size_t k = 0; k < out.size(); ++k)
      if (!out[k] && used(n.outputs[k])) return false;
    for (std::size_t k = 0; k < out.size(); ++k) set_constant(n.outputs[k], std::move(out[k]));
    return true;
  }
  /// The length of the longest string in a value. The bound on folding does not include characters, and each
  /// node of a chain can double them. So only nodes that read short strings and make few are folded.
  static std::size_t longest_text(const Value& v) {
    std::size_t most = 0;
    if (v.is_sequence())
      for (const Value& item : v.sequence().items) most = std::max(most, longest_text(item));
    if (v.is_optional() && v.optional().value != nullptr) most = longest_text(*v.optional().value);
    if (v.is_tensor() && v.tensor().dtype() == DType::string)
      for (int64_t k = 0; k < v.tensor().size(); ++k)
        most = std::max(most, static_cast<const std::string*>(v.tensor().data())[k].size());
    return most;
  }
  void set_constant(ValueId v, Value constant) {
    value(v).constant = std::move(constant);
    if (edit_ && entry(v).constant)
      edit_->infos[static_cast<std::size_t>(v)] = op::info_of(entry(v).constant);
  }

  // --- passes ---

  void rewrite(const ProgramOptions& options) {
    edit_->options = &options;
    index();
    for (std::size_t k = 0; k < options.passes.size(); ++k) {
      const Pass& pass = options.passes[k];
      edit_->pass = pass.name;
      pass.apply(*this);
      if ((tidy() || pass.keeps != nullptr) && fold_) fold_all(options.passes.subspan(k + 1));
    }
  }
  /// Computes the nodes whose operands a pass made constant, or that it needed to see first.
  void fold_all(std::span<const Pass> passes) {
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
      check_time(node(n));
      if (!fold(node(n), passes)) continue;
      edit_->changed = true;  // a node without operands may have had no memory before
      edit_->removed.push_back(std::exchange(at(n).op, {}));
      for_each_operand(node(n), [&](ValueId v) { unlink(v, n); });
      for (ValueId v : node(n).outputs) {
        uses(v).maker = -1;
        for (int reader : std::vector<int>(readers(v).begin(), readers(v).end())) update(reader);
      }
    }
    tidy();
  }
  void index() {
    for (Uses& u : edit_->uses) u.maker = -1, u.outputs = 0, u.readers.clear();
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) link(n);
    for (ValueId v : outputs_) ++uses(v).outputs;
  }
  /// Registers a node as the maker of its results and a reader of its operands.
  void link(int n) {
    for (ValueId v : node(n).outputs) uses(v).maker = n;
    for_each_operand(node(n), [&](ValueId v) { uses(v).readers.push_back(n); });
  }
  void unlink(ValueId v, int reader) {
    edit_->changed = true;
    edit_->left.push_back(v);
    std::vector<int>& readers = uses(v).readers;
    readers.erase(std::ranges::find(readers, reader));
  }
  void drop_unread() {
    for (ValueId v : edit_->left)
      if (unread(v) && stored(v)) value(v).constant = {}, edit_->infos[static_cast<std::size_t>(v)] = {};
    edit_->left.clear();
    edit_->removed.clear();
  }
  bool unread(ValueId v) const { return readers(v).empty() && !is_output(v); }
  /// Removes the makers of values that are no longer read, and then the makers of values that only they read.
  void remove_unread(std::vector<ValueId> values) {
    while (!values.empty()) {
      const int n = maker(values.back());
      values.pop_back();
      if (n < 0 || !node(n).op || !std::ranges::all_of(node(n).outputs, [&](ValueId v) { return unread(v); }))
        continue;
      edit_->removed.push_back(std::exchange(at(n).op, {}));
      for_each_operand(node(n), [&](ValueId v) {
        unlink(v, n);
        values.push_back(v);
      });
    }
  }

  ValueId add_value(std::string name) {
    values_.push_back({std::move(name), {}, true});
    if (edit_) {
      edit_->infos.emplace_back();
      edit_->uses.emplace_back();
    }
    return static_cast<ValueId>(values_.size()) - 1;
  }
  std::vector<op::Info> inferred(const AnyOperator& op, const Node& n) const {
    std::vector<op::Info> in, out(n.outputs.size());
    for (ValueId v : n.inputs) in.push_back(v < 0 ? op::Info{} : info(v));
    bool fits = false;
    try {
      fits = op.infer(in, out).empty();
    } catch (const Error&) {
    }
    if (!fits) out.assign(out.size(), {});
    for (op::Info& i : out) i.data = nullptr;
    return out;
  }
  /// Infers a node's results. Returns whether their infos changed.
  bool infer(int n) {
    std::vector<op::Info> out = inferred(node(n).op, node(n));
    bool changed = false;
    for (std::size_t k = 0; k < out.size(); ++k) {
      name_extents(node(n).outputs[k], out[k]);
      op::Info& i = edit_->infos[static_cast<std::size_t>(node(n).outputs[k])];
      changed |= i != out[k];
      i = out[k];
    }
    return changed;
  }
  /// Infers a node. If its results' infos changed, infers their readers, and so on.
  void update(int number) {
    std::set<int> pending{number};
    while (!pending.empty()) {
      const int n = pending.extract(pending.begin()).value();
      if (!node(n).op || !infer(n)) continue;
      for (ValueId v : node(n).outputs) pending.insert(readers(v).begin(), readers(v).end());
    }
  }
  /// Keeps only the nodes that the outputs need, each after the makers of its operands, in an otherwise
  /// unchanged order. Returns whether the pass changed anything.
  bool tidy() {
    if (!std::exchange(edit_->changed, false)) return false;
    enum : char { unneeded, needed, open, done };
    std::vector<char> state(nodes_.size(), unneeded);
    std::vector<int> stack;
    const auto push_maker = [&](ValueId v) {
      if (const int n = maker(v); n >= 0 && state[static_cast<std::size_t>(n)] != done) stack.push_back(n);
    };
    for (ValueId v : outputs_) push_maker(v);
    while (!stack.empty()) {
      const int n = stack.back();
      stack.pop_back();
      if (std::exchange(state[static_cast<std::size_t>(n)], needed) == unneeded)
        for_each_operand(node(n), push_maker);
    }
    std::deque<Node> ordered;
    for (int first = 0; first < static_cast<int>(nodes_.size()); ++first) {
      if (state[static_cast<std::size_t>(first)] == needed) stack.push_back(first);
      while (!stack.empty()) {
        const int n = stack.back();
        char& s = state[static_cast<std::size_t>(n)];
        if (s == needed) {
          s = open;
          for_each_operand(node(n), [&](ValueId v) {
            if (const int m = maker(v); m >= 0 && state[static_cast<std::size_t>(m)] == open)
              throw Error(ErrorCode::invalid_model, std::string(edit_->pass),
                          str_cat(label(m), " depends on itself"));
            push_maker(v);
          });
          continue;
        }
        stack.pop_back();
        if (std::exchange(s, done) == open) ordered.push_back(std::move(at(n)));
      }
    }
    nodes_ = std::move(ordered);
    index();
    edit_->left.resize(values_.size());
    std::iota(edit_->left.begin(), edit_->left.end(), 0);
    drop_unread();
    return true;
  }

  void report(int n, bool applied, const auto&... text) const {
    const ProgramOptions& o = *edit_->options;
    if (o.reports)
      o.reports->push_back({o.where + detail::describe(node(n)), edit_->pass, applied, str_cat(text...)});
  }

  /// Aligns the constants, except where only operators that move bytes read them.
  void settle() const {
    for (const Node& n : nodes_) {
      for (std::size_t k = 0; k < n.inputs.size(); ++k)
        if (n.inputs[k] >= 0 && !(k == 0 && n.op.spec().memory == op::Memory::moved)) constant(n.inputs[k]);
      for (ValueId v : n.captures) constant(v);
    }
    for (ValueId v : outputs_) constant(v);
  }

  /// Marks used values. Frees constants that only folded nodes read.
  void finish() {
    folded_ = nullptr, budget_ = nullptr;
    edit_.reset();
    for (ValueEntry& e : values_) e.used = false;
    for (ValueId v : outputs_) value(v).used = true;
    for (const Node& n : nodes_) for_each_operand(n, [&](ValueId v) { value(v).used = true; });
    for (ValueEntry& e : values_)
      if (!e.used) e.constant = {};
    settle();
    std::erase_if(given_, [&](const Given& g) { return g.outer >= 0 && !used(g.value); });
  }

  std::vector<ValueId> outputs_;
  bool fold_;
  // Only during construction:
  Allocator* folded_;
  const detail::Budget* budget_;
  std::deque<ValueEntry> values_;
  std::deque<Node> nodes_;
  std::vector<Given> given_;
  std::unique_ptr<Edit> edit_;
};

}  // namespace tenon::TENON_ABI
