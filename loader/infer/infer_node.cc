// Nodes: operators' rules, bodies, and calls of functions.
#include <algorithm>
#include <exception>
#include <utility>

#include "loader/edit/names.hpp"
#include "loader/infer/inference.hpp"

namespace tenon::TENON_ABI::loader {

// A graph attribute, as the rules of If, Loop and Scan see it.
class Inference::BodyOfFile final : public op::Body {
 public:
  BodyOfFile(Inference& inference, onnx::GraphProto& g, int inputs, const Scope& scope, const Scope& owner)
      : inference_(inference), graph_(g), original_(g), scope_(scope), owner_(owner), inputs_(inputs) {}
  int inputs() const override { return inputs_; }
  int outputs() const override { return original_.output_size(); }
  Dims declared_dims(int input) const override {
    return inference_.symbols_.info_of(original_.input(input).type()).dims;
  }
  std::vector<op::Info> infer(std::span<const op::Info> inputs) const override {
    return infer(inputs, scope_, owner_);
  }
  bool inferred() const { return inferred_; }
  // A rule infers only the branch that it knows to be taken, ONNX's inference both. `scope` stands for the
  // one around.
  void infer_once(const Scope& scope) const {
    if (inferred_) return;
    try {
      infer({}, scope, &owner_ == &scope_ ? scope : owner_);
    } catch (const Error&) {
      if (inference_.given_up_) throw;
    }
  }
  // Whether another body's results have the same types as this one's, as far as both are known.
  bool has_types_of(const BodyOfFile& other) const {
    for (std::size_t k = 0; k < std::min(results_.size(), other.results_.size()); ++k)
      if (known(results_[k].type) && known(other.results_[k].type) &&
          !(results_[k].type == other.results_[k].type))
        return false;
    return true;
  }
  // Rethrows the error of inferring this body, which a rule may tolerate.
  void rethrow() const {
    if (fault_) std::rethrow_exception(fault_);
  }
  std::vector<Value> run(op::Context&, std::span<const Value>) const override {
    throw Error(ErrorCode::not_supported, original_.name(), "shape inference does not run bodies");
  }

 private:
  std::vector<op::Info> infer(std::span<const op::Info> inputs, const Scope& scope,
                              const Scope& owner) const {
    inferred_ = true;
    graph_ = original_;
    try {
      return results_ = inference_.infer_graph(graph_, scope, owner, inputs);
    } catch (const Error&) {
      fault_ = std::current_exception();
      throw;
    }
  }

  Inference& inference_;
  onnx::GraphProto& graph_;
  const onnx::GraphProto original_;
  const Scope &scope_, &owner_;
  const int inputs_;
  mutable bool inferred_ = false;
  mutable std::vector<op::Info> results_;
  mutable std::exception_ptr fault_;
};

void Inference::infer_node(onnx::NodeProto& n, Scope& scope,
                           const std::map<std::string, op::Info, std::less<>>& declared) {
  const std::string place = node_place(n);
  const struct Restore {
    bool& value;
    const bool before;
    ~Restore() { value = before; }
  } restore{chosen_, std::exchange(chosen_, false)};
  std::vector<op::Info> results(static_cast<std::size_t>(n.output_size()), unknown());
  if (--nodes_ < 0) give_up(str_cat("more than ", options_.max_nodes, " nodes"));
  try {
    std::vector<op::Info> in;
    for (const std::string& name : n.input()) {
      const op::Info* info = name.empty() ? nullptr : scope.find(name);
      if (info == nullptr && !name.empty())
        throw Error(ErrorCode::invalid_model, place, str_cat("input '", name, "' is not defined"));
      in.push_back(info == nullptr ? op::Info{} : *info);
    }
    infer_results(n, scope, place, std::move(in), results);
    for (int k = 0; k < n.output_size(); ++k)
      if (const auto it = declared.find(n.output(k)); it != declared.end())
        results[static_cast<std::size_t>(k)] =
            merged(it->second, results[static_cast<std::size_t>(k)], str_cat("value '", n.output(k), "'"));
  } catch (const Error&) {
    if (options_.strict || given_up_) throw;
    // Types follow from the operands' types. The rule failed on the extents, which stay unknown.
    results.resize(static_cast<std::size_t>(n.output_size()), unknown());
    for (int k = 0; k < n.output_size(); ++k) {
      op::Info& r = results[static_cast<std::size_t>(k)];
      const Type type = r.type;
      r = unknown();
      if (const auto it = declared.find(n.output(k)); it != declared.end()) r = it->second;
      if (!known(r.type) && type) r.type = type;
    }
  }
  any_chosen_ = any_chosen_ || chosen_;
  const bool chosen =
      chosen_ || (any_chosen_ && std::ranges::any_of(names_read(n), [&](std::string_view name) {
                    return scope.is_chosen(name);
                  }));
  for (int k = 0; k < n.output_size(); ++k)
    if (!n.output(k).empty()) {
      op::Info& r = results[static_cast<std::size_t>(k)];
      r.dims = symbols_.named(r.dims);
      if (!r.present()) r.type = unknown().type;
      scope.infos[n.output(k)] = r;
      if (chosen) scope.chosen.insert(n.output(k));
    }
}

void Inference::infer_results(onnx::NodeProto& n, const Scope& scope, const std::string& place,
                              std::vector<op::Info> in, std::vector<op::Info>& results) {
  const std::string domain(canonical(n.domain()));
  const auto opset = scope.opsets->find(domain);
  if (options_.strict && opset == scope.opsets->end())
    throw Error(ErrorCode::invalid_model, place, str_cat("no opset of ", display(domain), " is imported"));
  if (const auto f = functions_.find(key_of(n)); f != functions_.end())
    return infer_function(n, *f->second, scope, in, results);
  // Operators that ONNX deprecated keep their rules in later operator sets.
  Registry::Found found;
  if (opset != scope.opsets->end()) found = registry_.find(domain, n.op_type(), opset->second, true);
  if (found.op_class == nullptr) {
    unknown_operators_ = true;
    return;
  }
  if (is_standard(n, "Constant") && n.attribute_size() == 1 && !results.empty())
    if (const auto* value = resolve(n.attribute(0), scope.attributes)) {
      if (value->has_sparse_tensor()) {
        results[0] = info_of(value->sparse_tensor());
        return;
      }
      if (value->has_t() && !is_read(value->t())) {
        results[0] = info_of(value->t());
        return;
      }
    }
  Bodies bodies;
  const AnyOperator op = operator_of(n, found, scope, bodies);
  for (std::size_t k = 0; k < in.size(); ++k)
    if (takes_sparse(op.spec(), op.version(), k) && scope.is_sparse(n.input(static_cast<int>(k))))
      in[k] = sparse(in[k]);
  const auto refuse = [&](std::string_view why) {
    throw Error(ErrorCode::invalid_model, place, std::string(why));
  };
  if (options_.strict && n.output_size() < op.spec().min_outputs(op.version())) refuse("has too few outputs");
  if (is_standard(n, "Constant")) {
    op::Context context;
    const op::Info info = constant(op::evaluate(op, context, {}, 1)[0]);
    if (!results.empty()) results[0] = info;
    return;
  }
  // An input that a call leaves out is absent where the function reads it. If it is required there, it is
  // unknown, which strict inference refuses.
  for (std::size_t k = 0; k < in.size(); ++k)
    if (!options_.strict && !in[k].present() && !n.input(static_cast<int>(k)).empty() && !is_optional(op, k))
      in[k] = unknown();
  const bool untyped =
      std::ranges::any_of(in, [](const op::Info& i) { return i.present() && !known(i.type); });
  // ONNX's inference continues after errors of rules, but not after mismatched types, unless they are in a
  // body.
  if (options_.check_types && depth_ == 1 && !fit(op, in)) given_up_ = true;
  const WrongTypes wrong = options_.check_types ? WrongTypes{} : forget_wrong_types(op, in);
  const auto make = [&](std::size_t, const op::AttributeValue& value, DType element) {
    return element == DType::undefined ? op::Info{} : constant(op::input_from_attribute(value, element));
  };
  if (const op::Message m = op.add_attribute_inputs(in, make); !m.empty()) refuse(m.view());
  results.resize(static_cast<std::size_t>(
      std::max(wanted_outputs(n, op.spec(), op.version()), op.spec().min_outputs(op.version()))));
  std::fill(results.begin(), results.end(), op::Info{});
  const op::Message m = op.with_newest_inputs().infer(in, results);
  // How other operators use their bodies' results is up to their rules.
  const bool gives_results =
      std::ranges::any_of(std::initializer_list<std::string_view>{"If", "Loop", "Scan", "SequenceMap"},
                          [&](std::string_view name) { return is_standard(n, name); });
  // ONNX's inference does not know a condition that follows from extents. What follows from the branch that
  // it chooses need not fit the other one; ONNX's function of AffineGrid has such branches.
  const bool follows = is_standard(n, "If") && !in.empty() && in[0].data == nullptr;
  for (const auto& body : bodies) {
    if (follows && !body->inferred()) {
      chosen_ = true;
      body->infer_once({.outer = &scope,
                        .opsets = scope.opsets,
                        .attributes = scope.attributes,
                        .given = scope.given,
                        .caller = scope.caller,
                        .from_call = scope.from_call,
                        .hides_chosen = true});
    }
    body->infer_once(scope);
    if (options_.strict) body->rethrow();
    if (!gives_results) continue;
    // At run time, nodes may leave results out.
    const int given = body->outputs() - (is_standard(n, "Loop") ? 1 : 0);
    if (options_.strict && given != n.output_size())
      refuse(str_cat("has ", n.output_size(), " outputs, a body returns ", given));
  }
  if (options_.strict && is_standard(n, "If") && bodies.size() == 2 && !bodies[0]->has_types_of(*bodies[1]))
    refuse("the types of the branches' results differ");
  if ((m.of_files() && options_.strict) ||
      (!m.empty() && (!m.of_runs() || (options_.check_types && !permitted(op, results)))))
    refuse(m.view());
  results.resize(static_cast<std::size_t>(n.output_size()));
  for (std::size_t k = 0; k < results.size(); ++k) {
    op::Info& r = results[k];
    r.data = nullptr;
    const auto type = wrong.first.find(op.spec().output(static_cast<int>(k), op.version()).type);
    if (!known(r.type) && type != wrong.first.end()) r.type = type->second;
  }
  add_stated_extents(n, results);
  if (!options_.strict) return;
  for (const op::Info& r : results) {
    if (r.propagated.undefined) refuse("arithmetic on extents overflows");
    if (r.provisional && wrong.constant)
      refuse("a constant operand is of a type that the operator does not take");
    if (!known(r.type) && untyped && !unknown_operators_) refuse("the type of a result cannot be told");
  }
}

void Inference::add_stated_extents(const onnx::NodeProto& n, std::vector<op::Info>& results) {
  for (const auto& a : n.attribute())
    if (a.has_tp())
      for (op::Info& r : results)
        if (!r.dims.ranked()) r.dims = symbols_.info_of(a.tp()).dims;
}

AnyOperator Inference::operator_of(onnx::NodeProto& n, const Registry::Found& found, const Scope& scope,
                                   Bodies& bodies) {
  std::vector<std::pair<std::string, op::AttributeValue>> attributes;
  for (auto& a : *n.mutable_attribute()) {
    const onnx::AttributeProto* value = resolve(a, scope.attributes);
    if (value == nullptr) continue;
    attributes.emplace_back(
        a.name(), read_attribute(*value, {}, [&](const onnx::GraphProto& g) {
          // A reference is part of a copy of a function: inferred types are stored there.
          if (value != &a) *a.mutable_g() = g;
          const Scope& owner = owner_of(*value, scope.given, scope);
          const int inputs = constants_are_inputs_ ? body_inputs(g, n, found.version) : g.input_size();
          bodies.push_back(std::make_shared<const BodyOfFile>(*this, *a.mutable_g(), inputs, scope, owner));
          return op::BodyRef{bodies.back()};
        }));
  }
  return make_operator(*found.op_class, found.version, std::move(attributes));
}

void Inference::infer_function(const onnx::NodeProto& n, const onnx::FunctionProto& f, const Scope& scope,
                               const std::vector<op::Info>& in, std::vector<op::Info>& results) {
  if (n.output_size() > f.output_size() || (options_.strict && n.output_size() < f.output_size()))
    throw Error(ErrorCode::invalid_model, f.name(),
                str_cat("the function has ", f.output_size(), " outputs, not ", n.output_size()));
  const Depth depth = deeper();
  onnx::FunctionProto copy = f;
  const AttributesByName attributes = attributes_of_call(n, f, scope.attributes);
  const GivenBy<Scope> given = given_by(attributes, f, scope.given, scope);
  const Opsets own = read_opsets(f.opset_import(), f.name());
  Scope inner{
      .opsets = own.empty() ? &opsets_ : &own, .attributes = &attributes, .given = &given, .caller = &scope};
  for (int k = 0; k < f.input_size(); ++k) {
    inner.infos[f.input(k)] =
        static_cast<std::size_t>(k) < in.size() ? in[static_cast<std::size_t>(k)] : op::Info{};
    if (k < n.input_size() && scope.is_chosen(n.input(k))) inner.chosen.insert(f.input(k));
  }
  std::map<std::string, op::Info, std::less<>> declared;
  for (const auto& v : f.value_info()) declared[v.name()] = symbols_.info_of(v.type());
  for (const onnx::NodeProto* node : in_order(copy.node()))
    infer_node(const_cast<onnx::NodeProto&>(*node), inner, declared);
  for (int k = 0; k < n.output_size(); ++k) {
    if (const op::Info* info = inner.find(f.output(k))) results[static_cast<std::size_t>(k)] = *info;
    chosen_ = chosen_ || inner.is_chosen(f.output(k));
  }
  if (noted_) note(f, inner);
}

}  // namespace tenon::TENON_ABI::loader
