// Terms, which become nodes, and the backward step through one node: the means to write operators'
// derivatives.
#pragma once

#include "tenon/graph/graph.hpp"
#include "tenon/op/generator/range.hpp"
#include "tenon/op/logical/equal.hpp"
#include "tenon/op/logical/greater.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/div.hpp"
#include "tenon/op/math/expand.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/math/sub.hpp"
#include "tenon/op/reduction/reduce_sum.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/cast_like.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/shape.hpp"
#include "tenon/op/tensor/size.hpp"
#include "tenon/op/tensor/slice.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"
#include "tenon/op/tensor/where.hpp"

namespace tenon::TENON_ABI::gradients {

/// The axes along which a tensor of extents `like` was broadcast to extents `shape`, counted from the end.
struct StretchedAxes {
  static constexpr op::Spec spec = op::own_spec(
      "StretchedAxes", {{"shape", "tensor(int64)"}, {"like", "tensor(int64)"}}, {{"axes", "tensor(int64)"}});

  constexpr void infer(op::Infer& i) const { i.out(0, Dims::of_rank(1)); }
  Tensor<int64_t> compute(TensorView<const int64_t> shape, TensorView<const int64_t> like) const {
    std::vector<int64_t> axes;
    for (int64_t k = 1; k <= shape.size(); ++k)
      if (k > like.size() || (like[like.size() - k] == 1 && shape[shape.size() - k] != 1)) axes.push_back(-k);
    Tensor<int64_t> t(Extents{static_cast<int64_t>(axes.size())});
    std::copy(axes.begin(), axes.end(), t.begin());
    return t;
  }
};

class Writer;

/// A value of the graph in the formulas of derivatives: a * b adds a node Mul. Without a value it is false.
struct Term {
  Writer* writer = nullptr;
  ValueId id = -1;

  explicit operator bool() const { return id >= 0; }
};

/// Adds nodes to a graph. The registry has the operators' functions, so that the formulas compile no operator
/// themselves.
class Writer {
 public:
  /// `name`: prefix of the nodes' names.
  Writer(Graph& graph, const Registry& registry, std::string name = {})
      : graph_(graph), registry_(registry), name_(std::move(name)) {}

  Graph& graph() { return graph_; }
  Term term(ValueId id) { return {this, id}; }
  op::Info info(Term t) const { return graph_.entry(t.id).info; }
  Dims dims(Term t) const { return graph_.entry(t.id).info.dims; }
  DType dtype(Term t) const { return graph_.entry(t.id).info.type.element; }
  /// Whether a bool is known to be false.
  bool is_false(Term t) const {
    const auto& entry = graph_.entry(t.id);
    return entry.source == Graph::Source::constant &&
           !*static_cast<const bool*>(entry.content.tensor().data());
  }

  template <class Op>
  AnyOperator any(const Op& op, int version) const {
    return {class_of<Op>(), tenon::detail::shared_object(op), version};
  }
  /// A node of the newest version of an operator. A false term is an operand left out.
  template <class Op>
  std::vector<Term> add_node(const Op& op, std::span<const Term> in, int results) {
    return add_node(any(op, Op::spec.latest()), in, results);
  }
  std::vector<Term> add_node(AnyOperator op, std::span<const Term> in, int results) {
    std::vector<ValueId> ids;
    for (Term t : in) ids.push_back(t.id);
    while (!ids.empty() && ids.back() < 0) ids.pop_back();
    std::vector<Term> made;
    std::string name;
    if (!name_.empty()) name = str_cat(name_, "/", op.spec().name, "_", graph_.nodes().size());
    for (ValueId id : graph_.add_node(std::move(name), std::move(op), std::move(ids),
                                      std::vector<std::string>(static_cast<std::size_t>(results))))
      made.push_back(term(id));
    return made;
  }
  template <class Op>
  Term add(const Op& op, std::initializer_list<Term> in) {
    return add_node(op, std::span(in.begin(), in.size()), 1)[0];
  }

  /// The nodes of a function. Returns its results.
  std::vector<Term> add_function(const Graph& function, std::span<const ValueId> in) {
    std::vector<Term> made;
    for (ValueId id : graph_.add_graph(function, in, name_.empty() ? name_ : str_cat(name_, "/")))
      made.push_back(term(id));
    return made;
  }

  Term constant(const AnyTensor& tensor) { return term(graph_.add_constant({}, tensor)); }
  /// A vector of int64.
  Term integers(std::span<const int64_t> list) {
    Tensor<int64_t> t(Extents{static_cast<int64_t>(list.size())});
    std::copy(list.begin(), list.end(), t.begin());
    return constant(t);
  }
  Term integers(std::initializer_list<int64_t> list) {
    return integers(std::span(list.begin(), list.size()));
  }
  /// A vector of float.
  Term floats(std::span<const float> list) {
    Tensor<float> t(Extents{static_cast<int64_t>(list.size())});
    std::copy(list.begin(), list.end(), t.begin());
    return constant(t);
  }
  Term integer(int64_t number) { return constant(Tensor<int64_t>(Extents{}, {number})); }
  /// A scalar of the element type of `like`.
  Term number(double value, Term like) {
    const DType type = dtype(like);
    if (type == DType::undefined)
      return term(
          graph_.add_node({}, AnyOperator::make(tenon::detail::AttributeElement{static_cast<float>(value)}),
                          {like.id}, {})[0]);
    AnyTensor t = AnyTensor::uninitialized(type, {});
    convert_n(type, t.out().data(), DType::float64, &value, 1);
    return constant(t);
  }

 private:
  template <class Op>
  const OperatorClass& class_of() const {
    constexpr const op::Spec& spec = Op::spec;
    const OperatorClass* found = registry_.find(spec.domain, spec.name, spec.latest()).op_class;
    if (found == nullptr || *found->id != tenon::detail::operator_id<Op>)
      raise(ErrorCode::not_supported, "Gradient", "the derivative needs operator ",
            std::string_view(spec.name), ", which the registry lacks");
    return *found;
  }

  Graph& graph_;
  const Registry& registry_;
  std::string name_;
};

// --- formulas ---

inline Term operator+(Term a, Term b) { return a.writer->add(op::Add{}, {a, b}); }
inline Term operator-(Term a, Term b) { return a.writer->add(op::Sub{}, {a, b}); }
inline Term operator*(Term a, Term b) { return a.writer->add(op::Mul{}, {a, b}); }
inline Term operator/(Term a, Term b) { return a.writer->add(op::Div{}, {a, b}); }
inline Term operator-(Term a) { return a.writer->add(op::Neg{}, {a}); }
inline Term operator+(Term a, double b) { return a + a.writer->number(b, a); }
inline Term operator-(Term a, double b) { return a - a.writer->number(b, a); }
inline Term operator*(Term a, double b) { return a * a.writer->number(b, a); }
inline Term operator/(Term a, double b) { return a / a.writer->number(b, a); }
inline Term operator+(double a, Term b) { return b.writer->number(a, b) + b; }
inline Term operator-(double a, Term b) { return b.writer->number(a, b) - b; }
inline Term operator*(double a, Term b) { return b.writer->number(a, b) * b; }
inline Term operator/(double a, Term b) { return b.writer->number(a, b) / b; }
inline Term operator>(Term a, Term b) { return a.writer->add(op::Greater{}, {a, b}); }
inline Term operator<(Term a, Term b) { return b > a; }
inline Term operator>(Term a, double b) { return a > a.writer->number(b, a); }
inline Term operator<(Term a, double b) { return a.writer->number(b, a) > a; }
inline Term equal(Term a, Term b) { return a.writer->add(op::Equal{}, {a, b}); }
inline Term equal(Term a, double b) { return equal(a, a.writer->number(b, a)); }
inline Term where(Term condition, Term a, Term b) { return a.writer->add(op::Where{}, {condition, a, b}); }
inline Term where(Term condition, Term a, double b) { return where(condition, a, a.writer->number(b, a)); }
inline Term where(Term condition, double a, Term b) { return where(condition, b.writer->number(a, b), b); }
inline Term cast_like(Term a, Term like) {
  const DType to = a.writer->dtype(like);
  if (to == DType::undefined) return a.writer->add(op::CastLike{}, {a, like});
  return a.writer->dtype(a) == to ? a : a.writer->add(op::Cast{.to = static_cast<int64_t>(to)}, {a});
}

/// x in float where it is a half: halves hold neither sums of squares nor large counts.
inline Term widened(Term x) {
  const DType type = x.writer->dtype(x);
  const bool half = type == DType::float16 || type == DType::bfloat16;
  return half ? x.writer->add(op::Cast{.to = static_cast<int64_t>(DType::float32)}, {x}) : x;
}

// --- extents ---

/// x's extents from axis `start` to before axis `end`, by default all.
inline Term shape(Term x, int64_t start = 0, Opt<int64_t> end = {}) {
  if (const Dims d = x.writer->dims(x); d.known()) {
    std::vector<int64_t> list;
    const int64_t rank = d.rank(), last = end ? *end : rank;
    for (int64_t k = start < 0 ? start + rank : start; k < (last < 0 ? last + rank : std::min(last, rank));
         ++k)
      list.push_back(d[static_cast<int>(k)].value());
    return x.writer->integers(list);
  }
  return x.writer->add(op::Shape{.end = end, .start = start}, {x});
}
inline Term size(Term x) { return x.writer->add(op::Size{}, {x}); }
/// The elements of x with other extents; -1 is inferred.
inline Term reshape(Term x, Term extents) { return x.writer->add(op::Reshape{.allowzero = 1}, {x, extents}); }
inline Term flat(Term x) { return x.writer->add(op::Reshape{}, {x, x.writer->integers({-1})}); }
inline Term expand(Term x, Term extents) { return x.writer->add(op::Expand{}, {x, extents}); }
inline Term zeros_like(Term x) { return expand(x.writer->number(0, x), shape(x)); }
inline Term ones_like(Term x) { return expand(x.writer->number(1, x), shape(x)); }
inline Term unsqueeze(Term x, std::initializer_list<int64_t> axes) {
  return x.writer->add(op::Unsqueeze{}, {x, x.writer->integers(axes)});
}
inline Term concat_terms(std::initializer_list<Term> parts, int64_t axis = 0) {
  return parts.begin()->writer->add(op::Concat{.axis = axis}, parts);
}
inline Term reduce_sum(Term x, Term axes, bool keepdims) {
  return x.writer->add(op::ReduceSum{.keepdims = keepdims, .noop_with_empty_axes = 1}, {x, axes});
}
inline Term sum(Term x) { return x.writer->add(op::ReduceSum{.keepdims = 0}, {x}); }

/// The sum of d over the axes along which `like` was broadcast, with the extents of `like`.
inline Term sum_to(Term d, Term like) {
  Writer& w = *d.writer;
  const Dims from = w.dims(d), to = w.dims(like);
  bool decided = from.ranked() && to.ranked() && from.rank() >= to.rank();
  std::vector<int64_t> leading, stretched;
  for (int k = 0; decided && k < from.rank(); ++k) {
    const int own = k - (from.rank() - to.rank());
    if (own < 0) leading.push_back(k);
    else if (to[own].is(1) && !from[k].is(1)) stretched.push_back(own);
    else if (!to[own].known() && !to[own].same(from[k])) decided = false;
  }
  if (!decided) {
    const Term axes = w.add_node(AnyOperator::make(StretchedAxes{}), std::array{shape(d), shape(like)}, 1)[0];
    return reshape(reduce_sum(d, axes, true), shape(like));
  }
  if (!leading.empty()) d = reduce_sum(d, w.integers(leading), false);
  if (!stretched.empty()) d = reduce_sum(d, w.integers(stretched), true);
  return d;
}

// --- the step back through one node ---

class Differentiation;

/// One node, the derivatives of y with respect to its results, and the destination of the derivatives with
/// respect to its operands.
class Step {
 public:
  Step(Differentiation& d, Writer& writer, std::size_t number)
      : differentiation_(d), w(writer), number_(number), node_(writer.graph().nodes()[number]) {}

  template <class Op>
  const Op& op() const {
    return *node_.op.as<Op>();
  }
  /// An operator at the node's version.
  template <class Op>
  AnyOperator again(const Op& op) const {
    return w.any(op, node_.op.version()).with_newest_inputs();
  }
  int inputs() const { return static_cast<int>(node_.inputs.size()); }
  int outputs() const { return static_cast<int>(node_.outputs.size()); }
  /// Operand k; false if it is left out.
  Term x(int k = 0) { return {&w, k < inputs() ? node_.inputs[static_cast<std::size_t>(k)] : -1}; }
  /// Result k.
  Term y(int k = 0) { return {&w, k < outputs() ? node_.outputs[static_cast<std::size_t>(k)] : -1}; }
  /// Result k, which the node makes from now on.
  Term result(int k) { return w.term(w.graph().result(number_, static_cast<std::size_t>(k))); }
  /// The derivative with respect to result k, zeros where y does not depend on it.
  Term g(int k = 0) { return has_g(k) ? result_gradient(k) : zeros_like(y(k)); }
  bool has_g(int k) { return static_cast<bool>(result_gradient(k)); }
  /// Whether the derivative with respect to operand k is requested.
  bool wants(int k);
  /// Gives the derivative with respect to operand k, with its extents.
  void give(int k, Term d);
  /// Gives the derivative with respect to operand k broadcast to the extents of d.
  void give_summed(int k, Term d) {
    if (wants(k)) give(k, sum_to(d, x(k)));
  }
  /// Differentiates formulas of the results, which the rule has just added, in place of the node. A false one
  /// is a result that must not matter.
  void through(std::initializer_list<Term> results) {
    return through(std::span(results.begin(), results.size()));
  }
  void through(std::span<const Term> results);
  /// Differentiates the operator's function (`lower`) in place of the node.
  void through_function();
  [[noreturn]] void refuse(const auto&... why) const {
    raise(ErrorCode::not_supported, tenon::detail::describe(node_), "Gradient: ", why...);
  }
  /// The rank of a term; an Error if it is unknown.
  int rank(Term t) const {
    if (const Dims d = w.dims(t); d.ranked()) return d.rank();
    refuse("the derivative of ", std::string_view(node_.op.spec().name),
           " needs operands whose rank is known before the run");
  }

 private:
  Term result_gradient(int k);

  Differentiation& differentiation_;

 public:
  Writer& w;

 private:
  std::size_t number_;
  Graph::Node node_;
  int first_ = -1;

  friend class Differentiation;
};

using tenon::detail::operator_id;

/// How derivatives pass through an operator.
struct Rule {
  const tenon::detail::OperatorId* op;
  void (*apply)(Step& s);
};

}  // namespace tenon::TENON_ABI::gradients
