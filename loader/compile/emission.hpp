// The emission of a compiled model: one line for each node of the planned program, and the headers that these
// lines need.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "loader/compile/compile.hpp"
#include "loader/compile/compile_words.hpp"
#include "tenon/graph/fused/fused_elementwise.hpp"
#include "tenon/graph/session.hpp"

namespace tenon::TENON_ABI::emission {

/// Writes one program: a function for each set of extents.
class Emission {
 public:
  Emission(const Registry& registry, const Session& session, const CompileOptions& options);

  /// Adds the function for the extents of the inputs. `others` are feeds of the same extents with other
  /// numbers.
  void add(Feeds feeds, Feeds others);

  const std::set<std::string>& refused() const { return refused_; }

  ModelPart take(const std::string& name);

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

  const Plan::Entry& entry(ValueId v) const { return plan_.values[static_cast<std::size_t>(v)]; }
  static bool is_dense(const op::Info& i) {
    return i.type.kind == Kind::tensor && i.type.element != DType::string && i.dims.known();
  }
  int64_t bytes(ValueId v) const {
    return packed_bytes(element_count(entry(v).info.dims.extents()), entry(v).info.type.element);
  }

  /// Values that have memory before the first node.
  void place_values() {
    for (const Parameter& p : inputs_) operands_[static_cast<std::size_t>(p.value)] = str_cat("in", p.number);
  }

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

  /// The peak of the kernels' working memory. Zeros are refused as divisors, and ones possibly as indices.
  int64_t peak(const Feeds& zeros, const Feeds& ones);

  const Registry& registry_;
  const Session& session_;
  const Program& program_;
  Constants constants_;
  std::vector<Parameter> inputs_, outputs_;
  Plan plan_;
  std::vector<std::string> operands_;  // expressions for values' first bytes, once requested
  std::set<std::string> headers_;
  // Operators convert these by themselves.
  std::set<DType> types_{DType::float32, DType::float64, DType::int64, DType::bool_};
  std::set<std::string> refused_;
  std::vector<std::pair<std::string, std::string>> functions_;  // parameters and bodies
  std::vector<std::string> views_;
  int64_t arena_bytes_ = 0, scratch_bytes_ = 0, tile_bytes_ = 0;
  int locals_ = 0;
};

}  // namespace tenon::TENON_ABI::emission
