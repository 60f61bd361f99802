// Uses of operators, with attributes and operands drawn at random, for the tests that run every operator.
#pragma once

#include <algorithm>

#include "tenon/graph/body.hpp"
#include "tenon/loader.hpp"
#include "tests/loader/draw_values.hpp"

namespace tenon::test {

/// Memory for results of moderate size.
class Moderate final : public Allocator {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) override {
    return bytes > std::size_t{1} << 24 ? nullptr : default_allocator().allocate(bytes, alignment);
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    default_allocator().deallocate(memory, bytes, alignment);
  }
};

/// A body that gives up in the end, for loops that have none.
class Limited final : public CapturingBody {
 public:
  explicit Limited(std::shared_ptr<const CapturingBody> body) : body_(std::move(body)) {}
  int inputs() const override { return body_->inputs(); }
  int outputs() const override { return body_->outputs(); }
  std::vector<op::Info> infer(std::span<const op::Info> in) const override { return body_->infer(in); }
  const Graph& graph() const override { return body_->graph(); }
  std::vector<ValueId> outer_values() const override { return body_->outer_values(); }
  std::shared_ptr<const CapturingBody> moved(Graph& outer, std::span<const ValueId> here) const override {
    return std::make_shared<const Limited>(body_->moved(outer, here));
  }
  std::shared_ptr<const CapturingBody> compiled(const ProgramScope& scope,
                                                const ProgramOptions& options) const override {
    return std::make_shared<const Limited>(body_->compiled(scope, options));
  }
  std::vector<Value> run(op::Context& scope, std::span<const Value> in) const override {
    if (++runs_ > 20) throw Error(ErrorCode::not_supported, "body", "too many runs");
    return body_->run(scope, in);
  }

 private:
  std::shared_ptr<const CapturingBody> body_;
  mutable int runs_ = 0;
};

/// A few nodes over the inputs, a constant, and values of the graph around; no nodes for a pair of types,
/// which not all of them suit. Result k is input k + skip half of the time.
inline op::BodyRef draw_body(Draw& draw, Graph& outer, std::span<const Value> inputs, int results, int skip,
                             DType wanted) {
  Graph g = Graph::inside(outer);
  std::vector<ValueId> values;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    values.push_back(
        g.add_input(str_cat("in", k), draw.one_in(2) ? Type(Kind::unknown, {}) : inputs[k].type(), {}));
  values.push_back(g.add_constant(
      {}, draw.tensor(draw.pair() ? wanted : draw.type(types::all.tensor), draw.extents({}, 1))));
  for (const ValueId v : outer.inputs())
    if (draw.one_in(2)) values.push_back(g.capture(v));
  const auto any = [&] {
    return values[static_cast<std::size_t>(draw.below(static_cast<int64_t>(values.size())))];
  };
  for (int64_t n = draw.pair() ? 0 : draw.below(5); n > 0; --n) {
    static constexpr std::string_view names[] = {"Identity", "Add", "Mul", "Neg", "Not", "Less", "Shape"};
    const auto [c, version] = standard_registry().find("", draw.of(names), 25);
    std::vector<ValueId> in(static_cast<std::size_t>(c->spec->inputs.size()));
    std::generate(in.begin(), in.end(), any);
    try {
      values.push_back(g.add_node({}, make_operator(*c, version, {}), in, std::vector<std::string>(1))[0]);
    } catch (const Error&) {  // a node that its operands do not suit
    }
  }
  for (int k = 0; k < results; ++k) {
    const bool through = k + skip < static_cast<int>(inputs.size()) && draw.one_in(2);
    g.add_output(str_cat("out", k), through ? g.inputs()[static_cast<std::size_t>(k + skip)] : any());
  }
  return {std::make_shared<const Limited>(std::make_shared<const GraphBody>(std::move(g)))};
}

/// The element type that the operands of a type variable are to have, and whether one had it.
struct WantedType {
  int variable = -1;
  DType type = DType::undefined;
  bool met = false;
};

inline std::vector<Value> draw_operands(Draw& draw, const op::Spec& spec, int version, WantedType& wanted) {
  DType usual[5]{};
  for (int v = 0; v < spec.types.size(); ++v)
    if (const uint32_t mask = spec.types[v].at(version).tensor; mask != 0) usual[v] = draw.type(mask);
  if (wanted.variable >= 0) usual[wanted.variable] = wanted.type;
  const bool brief = draw.tame() && draw.one_in(2);  // optional operands are left out
  std::vector<Value> in;
  int64_t n = spec.inputs.size();
  if (spec.variadic_inputs()) {
    const int64_t hinted = Draw::hinted_operands(spec.name);
    n = hinted > 0 ? hinted : n + draw.below(4) - 1;
  }
  for (int64_t k = 0; k < n; ++k) {
    const op::Param& p = spec.input(static_cast<int>(k), version);
    if (!p.in(version)) continue;
    if (p.arity == op::Arity::optional && (brief || draw.one_in(3))) {
      in.emplace_back();
      continue;
    }
    const int v = spec.variable(p.type);
    if (Value hinted = draw.hinted(spec.name, spec.permits(p, version))) {
      in.push_back(std::move(hinted));
      wanted.met |= v >= 0 && v == wanted.variable && in.back().type() == Type(wanted.type);
      continue;
    }
    in.push_back(draw.value(spec.permits(p, version), v < 0 ? DType::undefined : usual[v],
                            draw.extents(spec.name, k), wanted.type));
    wanted.met |= v >= 0 && v == wanted.variable && in.back().type() == Type(wanted.type);
  }
  return in;
}

inline int draw_results(Draw& draw, const op::Spec& spec) {
  return static_cast<int>(1 + draw.below(spec.variadic_outputs() ? 4 : spec.outputs.size()));
}

/// The operator with attributes; body() draws attributes that are graphs.
template <class Body>
AnyOperator draw_operator(Draw& draw, const OperatorClass& c, int version, const WantedType& wanted,
                          Body body) {
  const std::vector<op::AttributeInfo> known = c.attributes(c.create(version).get());
  const DType usual = draw.type(types::floats.tensor);
  const bool of_result = wanted.variable >= 0 && !c.spec->names_input(wanted.variable, version);
  const DType type = wanted.type, features = type == DType::undefined || of_result ? usual : type;
  if (Attributes model = model_of(c.spec->name, version, features, of_result ? type : DType::undefined);
      !model.empty() && (draw.pair() || draw.one_in(2))) {
    if (draw.pair()) return make_operator(c, version, model);
    auto& [name, value] = model[static_cast<std::size_t>(draw.below(static_cast<int64_t>(model.size())))];
    for (const op::AttributeInfo& a : known)
      if (a.name == name && a.in(version) && draw.one_in(2)) value = draw.attribute(c.spec->name, a, type);
    return make_operator(c, version, model);
  }
  Attributes attributes;
  for (const op::AttributeInfo& a : known) {
    const bool always =
        a.required || (draw.pair() && (a.name == "seed" || a.name == "is_test" ||
                                       (a.type == op::AttributeType::tensor && draw.one_in(2))));
    if (draw.pair() && a.name == "saturate") continue;  // without it types differ beyond the range of one
    if (!a.in(version) || (!always && !draw.one_in(draw.tame() ? 4 : 2))) continue;
    op::AttributeValue v =
        a.type == op::AttributeType::graph ? body() : draw.attribute(c.spec->name, a, type);
    if (v.index() != 0) attributes.emplace_back(a.name, std::move(v));
  }
  return make_operator(c, version, attributes);
}

/// The operands of a use, and its results.
struct Used {
  std::vector<Value> in, results;
};

/// Draws everything for one use of an operator, and evaluates it. Error where it refuses.
inline Used use_alone(Draw& draw, const OperatorClass& c, int version, Allocator& memory,
                      WantedType& wanted) {
  const AnyOperator any = draw_operator(draw, c, version, wanted, [] { return op::AttributeValue(); });
  const std::vector<Value> in = draw_operands(draw, *c.spec, version, wanted);
  std::vector<const Value*> operands;
  for (const Value& v : in) operands.push_back(&v);
  op::Context context(memory);
  const auto count = static_cast<std::size_t>(draw_results(draw, *c.spec));
  return {in, op::evaluate(any, context, operands, count)};
}

/// A use as a graph: the operands, some of them constants, and what a session is to be fed.
struct DrawnGraph {
  Graph graph;
  std::vector<Value> in;
  Feeds feeds;
};

/// Draws everything for one use of an operator, and adds it to a graph, which brings old versions into the
/// newest form. Bodies may capture its values. Error where it refuses.
inline DrawnGraph draw_graph(Draw& draw, const OperatorClass& c, int version, WantedType& wanted) {
  const op::Spec& spec = *c.spec;
  const std::vector<Value> in = draw_operands(draw, spec, version, wanted);
  const int results = draw_results(draw, spec);
  Graph g;
  Feeds feeds;
  std::vector<ValueId> ids;
  for (const Value& v : in) {
    static constexpr std::string_view names[] = {"0", "1", "2", "3", "4",  "5",
                                                 "6", "7", "8", "9", "10", "11"};
    const std::string_view name = names[ids.size()];
    const Dims dims = v.is_tensor() && draw.one_in(2) ? Dims(v.tensor().extents()) : Dims();
    const bool constant = draw.one_in(4);
    ids.push_back(!v         ? -1
                  : constant ? g.add_constant({}, v)
                             : g.add_input(std::string(name), v.type(), dims));
    if (v && !constant) feeds.emplace_back(name, v);
  }
  // A body of Loop takes all operands and gives the condition first; one of SequenceMap takes all, a tensor
  // in place of each sequence; one of Scan takes the variadic ones, one of If none.
  const bool loop = spec.name == "Loop", map = spec.name == "SequenceMap";
  const std::size_t first = loop || map         ? 0
                            : spec.name == "If" ? 1
                                                : static_cast<std::size_t>(spec.inputs.size()) - 1;
  std::vector<Value> taken(in.begin() + static_cast<std::ptrdiff_t>(std::min(first, in.size())), in.end());
  for (Value& v : taken)
    if (map && v.is_sequence()) v = draw.tensor(v.sequence().element.element, {});
  const AnyOperator any = draw_operator(draw, c, version, wanted, [&] {
    return op::AttributeValue(draw_body(draw, g, taken, results + loop, loop, wanted.type));
  });
  const std::vector<std::string> names(static_cast<std::size_t>(results));
  for (const ValueId v : g.add_node({}, any, ids, names)) g.add_output(str_cat("result", v), v);
  return {std::move(g), in, std::move(feeds)};
}

/// The same as use_alone in a session: for operators with bodies, and for old versions.
inline Used use_in_session(Draw& draw, const OperatorClass& c, int version, Allocator& memory,
                           WantedType& wanted) {
  DrawnGraph drawn = draw_graph(draw, c, version, wanted);
  Outputs out = Session(std::move(drawn.graph), {.allocator = &memory}).run(drawn.feeds);
  return {std::move(drawn.in), std::move(out.values())};
}

/// Whether an operator has a graph as an attribute.
inline bool has_body(const OperatorClass& c, int version) {
  const auto attributes = c.attributes(c.create(version).get());
  return std::any_of(attributes.begin(), attributes.end(),
                     [](const op::AttributeInfo& a) { return a.type == op::AttributeType::graph; });
}

/// One use, drawn in one of the two ways, in moderate memory.
inline Used use(Draw& draw, const OperatorClass& c, int version, WantedType& wanted) {
  static Moderate memory;
  const bool in_session = has_body(c, version) || version != c.spec->latest();
  return (in_session ? use_in_session : use_alone)(draw, c, version, memory, wanted);
}

inline uint64_t seed_of(uint64_t number, int version) {
  return number << 32 | static_cast<uint64_t>(version);
}

/// Gradient is a rewrite of the graph around it, and refuses all operands without one
/// (tests/graph/gradient_test.cc).
inline bool runs_alone(const Registry::Key& key) { return key.second != "Gradient"; }

}  // namespace tenon::test
