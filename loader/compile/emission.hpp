// The emission of a compiled model: one line for each node of the planned program, and the headers that these
// lines need.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "loader/compile/body_plan.hpp"
#include "loader/compile/compile.hpp"
#include "loader/compile/compile_words.hpp"
#include "tenon/graph/fused/fused_elementwise.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/op/controlflow/scan.hpp"

namespace tenon::TENON_ABI::emission {

/// Writes one program: a function for each set of extents. The nodes of bodies are written where the node is
/// that runs them.
class Emission {
 public:
  Emission(const Registry& registry, const Session& session, const CompileOptions& options);

  /// Adds the function for the extents of the inputs. `others` are feeds of the same extents with other
  /// numbers.
  void add(Feeds feeds, Feeds others);

  const std::set<std::string>& refused() const { return refused_; }

  ModelPart part(const std::string& name);

 private:
  using Action = tenon::detail::Action;
  using Place = tenon::detail::Place;
  using Plan = tenon::detail::Plan;
  /// The inputs and outputs of `run`.
  struct Parameter {
    std::string name;  ///< in the text
    ValueId value = -1;
    int number = 0;  ///< among the inputs or outputs
  };
  /// Where a result of a program goes.
  struct Target {
    std::string at{};    ///< an expression for its first byte; empty: in memory of its own
    bool anyhow = true;  ///< else a result that has memory already stays there, and `at` becomes that
  };
  class Inner;
  class Steps;

  Plan plan_with(const Feeds& feeds) const;
  const Plan::Entry& entry(ValueId v) const { return plan_.values[static_cast<std::size_t>(v)]; }
  static bool is_dense(const op::Info& i) {
    return i.type.kind == Kind::tensor && i.type.element != DType::string && i.dims.known();
  }
  static int64_t bytes_of(const op::Info& i) {
    return packed_bytes(element_count(i.dims.extents()), i.type.element);
  }
  int64_t bytes(ValueId v) const { return bytes_of(entry(v).info); }
  /// A name for a variable of the text.
  std::string local(std::string_view stem) { return str_cat(stem, locals_++); }

  /// Values that have memory before the first node.
  void place_values() {
    for (const Parameter& p : inputs_) operands_[static_cast<std::size_t>(p.value)] = str_cat("in", p.number);
    targets_.clear();
    for (const Parameter& p : outputs_) targets_.push_back({str_cat("out", p.number)});
  }
  /// Refuses a node whose memory would have no address.
  void expect_room(int64_t bytes) const {
    if (bytes > INT64_MAX / 4 - free_) throw Refused{"its values are larger than memory"};
  }
  /// Memory for the node that is written, apart from its operands and results.
  std::string take(int64_t bytes) {
    expect_room(bytes);
    const int64_t from = std::exchange(free_, free_ + (bytes + 63) / 64 * 64);
    arena_bytes_ = std::max(arena_bytes_, free_);
    return str_cat("(arena + ", from, ")");
  }
  /// The text of all nodes; false if one is refused.
  bool nodes(std::string& text);
  /// The statements that put a program's results where they go.
  std::string results();

  /// An expression for a value's first byte.
  std::string pointer(ValueId v);
  std::string constant(ValueId v);

  void note_type(ValueId v) {
    if (entry(v).info.type.kind == Kind::tensor) types_.insert(entry(v).info.type.element);
  }
  void expect_dense(ValueId v) const;

  std::string view_type(ValueId v, bool input) const;
  std::string view(ValueId v, bool input);

  /// The name of a node's operator. An operator that cannot be constexpr is made at run time, in `before`.
  std::string operator_name(const AnyOperator& op, std::string& before);

  std::string node(const Graph::Node& n, Action action);

  /// The statements of a node, as a function of their own if they work for long.
  std::string apart(const Graph::Node& n, const std::string& text) const;

  // --- nodes that run bodies ---

  std::string with_bodies(const Graph::Node& n);
  /// The text of a body. `in` are expressions for its inputs, `out` are its results.
  std::string body(const Graph::Node& n, std::string_view attribute, const std::vector<std::string>& in,
                   std::vector<Target>& out);
  Plan plan_of_body(const Graph::Node& n, std::string_view attribute) const;
  /// Refuses a node with results whose extents are known in the run only, with the reason.
  void expect_placed(const Graph::Node& n) const;
  std::string branches(const Graph::Node& n);
  /// The info of a state in all runs of a body, whose input it is.
  const op::Info& given_state(const Graph::Node& n, std::size_t input, std::size_t state);
  /// An expression for the memory of a result; empty if the node leaves it out.
  std::string result_of(const Graph::Node& n, std::size_t k);
  static std::string indented(std::string_view text);
  /// A block, with the node in a comment.
  static std::string braced(const Graph::Node& n, std::string_view text);
  std::string loop(const Graph::Node& n);
  std::string scan(const Graph::Node& n, const op::Scan& s);
  std::string batch_scan(const Graph::Node& n, const op::Scan_8& s);

  /// The text of a product whose kernel is already known, or nothing.
  std::string small_product(const Graph::Node& n);

  /// Identity passes its input through.
  std::string fresh(const Graph::Node& n);

  /// The loop over tiles that FusedElementwise runs, with its steps' operators by name.
  std::string elementwise(const Graph::Node& n, const passes::FusedElementwise& f);
  std::string chain(const std::vector<passes::FusedElementwise::Link>& links,
                    const std::vector<std::string>& in, const std::string& to);
  static std::string joined(const std::vector<std::string>& parts);
  std::string tile(const passes::FusedElementwise& f, int buffer, int64_t first, bool input,
                   const Graph::Node& n);

  const Parameter* parameter(ValueId v) const;
  /// Attention's nonpad_kv_seqlen, the number of keys to attend to; or -1.
  static ValueId key_count(const Graph::Node& n);
  /// Working memory grows with the number of keys attended to: this takes all.
  void feed_lengths(Feeds& feeds) const;
  /// Whether an operator that may draw random numbers draws none, or draws the same in each run.
  bool is_repeatable(const Graph::Node& n) const;

  /// The peak of the kernels' working memory. Zeros are refused as divisors, and ones possibly as indices. If
  /// neither are, the larger peak counts: weights that a run gives are laid out by what they are.
  int64_t peak(const Feeds& zeros, const Feeds& ones);

  const Registry& registry_;
  const Session& session_;
  const Program* program_;
  Constants constants_;
  std::vector<Parameter> inputs_, outputs_;
  Plan plan_;
  std::vector<std::string> operands_;  // expressions for values' first bytes, once requested
  std::vector<Target> targets_;        // of the program's results
  std::string where_;                  // the nodes whose bodies contain the program
  int64_t base_ = 0;                   // where its arena begins in Memory's
  int64_t free_ = 0;                   // the end of the memory in use while a node is written
  BodyPlans bodies_;
  std::vector<std::pair<const Program*, Plan>> written_;  // the bodies' programs
  std::set<std::string> headers_;
  // Operators convert these by themselves.
  std::set<DType> types_{DType::float32, DType::float64, DType::int64, DType::bool_};
  std::set<std::string> refused_;
  std::vector<std::pair<std::string, std::string>> functions_;  // parameters and bodies
  std::vector<std::string> views_;
  kernels::Variants variants_{};  // of kernels that the runs for `peak` used
  int64_t arena_bytes_ = 0, scratch_bytes_ = 0;
  int locals_ = 0;
};

}  // namespace tenon::TENON_ABI::emission
