#include "loader/infer/infer.hpp"

#include <deque>
#include <exception>
#include <map>

#include "loader/depth.hpp"
#include "loader/edit/names.hpp"
#include "loader/edit/order.hpp"
#include "loader/format/attribute.hpp"
#include "loader/format/large_data.hpp"
#include "loader/infer/infer_types.hpp"
#include "loader/infer/symbol_names.hpp"
#include "loader/opsets.hpp"
#include "tenon/loader.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

// Functions that call functions can multiply nodes and constants exponentially.
constexpr int64_t max_constant_bytes = int64_t{1} << 30;  // besides the file's own
constexpr int64_t max_dense_elements = 1024;              // of sparse constants: more than any shape has
constexpr int max_depth = 200;                            // of nested bodies and calls

// The values of one graph, and the graph around it.
struct Scope {
  const Scope* outer = nullptr;
  const Opsets* opsets = nullptr;
  const AttributesByName* attributes = nullptr;  // of the function's call
  const GivenBy<Scope>* given = nullptr;         // of the same call
  const Scope* caller = nullptr;                 // of a function
  bool from_call = false;                        // whether this is a graph that a function's call gave
  std::map<std::string, op::Info, std::less<>> infos{};

  // `asked`: the request comes from a graph that a call gave, which also reads values of the caller.
  const op::Info* find(std::string_view name, bool asked = false) const {
    if (const auto it = infos.find(name); it != infos.end()) return &it->second;
    if (outer != nullptr) return outer->find(name, asked || from_call);
    return asked && caller != nullptr ? caller->find(name, true) : nullptr;
  }
};

class Inference {
 public:
  Inference(const onnx::ModelProto& model, InferOptions options)
      : options_(options),
        registry_(registry_of(options.registry)),
        constants_are_inputs_(model.ir_version() < 4),
        constant_bytes_(static_cast<int64_t>(model.ByteSizeLong()) + max_constant_bytes) {
    opsets_ = read_opsets(model.opset_import(), "model");
    for (const auto& f : model.functions()) functions_[key_of(f)] = &f;
    std::map<const onnx::FunctionProto*, bool> finished;
    for (const auto& f : model.functions()) check_calls(f, finished, 0);
  }

  void run(onnx::GraphProto& g, const VisitInfo* visit = nullptr) {
    const Scope none{.opsets = &opsets_};
    infer_graph(g, none, none, {}, visit);
  }
  // From now on, collects the values of functions.
  void note_functions() { noted_ = true; }
  // Sets the value infos of a function to the types on which all calls so far agree.
  void write_value_infos(onnx::FunctionProto& f) const {
    const auto calls = agreed_.find(&f);
    if (calls == agreed_.end()) return;
    f.clear_value_info();
    for (const auto& [name, info] : calls->second) {
      if (!known(info.type)) continue;
      onnx::ValueInfoProto& v = *f.add_value_info();
      v.set_name(name);
      symbols_.write(info, *v.mutable_type());
    }
  }

  // The infos of the outputs. `given` has the infos of the inputs; `owner` is the scope whose opsets and
  // attributes the graph is written for.
  std::vector<op::Info> infer_graph(onnx::GraphProto& g, const Scope& around, const Scope& owner,
                                    std::span<const op::Info> given, const VisitInfo* visit = nullptr) {
    const Depth depth = deeper();
    Scope scope{.outer = &around,
                .opsets = owner.opsets,
                .attributes = owner.attributes,
                .given = owner.given,
                .from_call = &owner != &around};
    std::map<std::string, op::Info, std::less<>> declared;
    for (const auto& v : g.value_info()) declared[v.name()] = symbols_.info_of(v.type());
    for (const auto& v : g.output())
      if (v.has_type()) declared[v.name()] = symbols_.info_of(v.type());
    for (int k = 0; k < g.input_size(); ++k) {
      auto& v = *g.mutable_input(k);
      op::Info info = symbols_.info_of(v.type());
      if (static_cast<std::size_t>(k) < given.size())
        info = merged(info, given[static_cast<std::size_t>(k)], str_cat("input '", v.name(), "'"));
      info.dims = symbols_.named(info.dims);
      if (!info.present()) info.type = unknown().type;
      if (options_.check_types && v.has_type() && !known(info.type))
        throw Error(ErrorCode::invalid_model, str_cat("input '", v.name(), "'"), "has no element type");
      if (known(info.type)) symbols_.write(info, *v.mutable_type());
      scope.infos[v.name()] = info;
    }
    for (const auto& t : g.initializer()) add_constant(scope, t.name(), [&] { return info_of(t); });
    for (const auto& t : g.sparse_initializer())
      add_constant(scope, t.values().name(), [&] { return info_of(t); });

    for (const onnx::NodeProto* n : in_order(g.node())) {
      // The order points to constant nodes of a graph that this function may change.
      infer_node(const_cast<onnx::NodeProto&>(*n), scope, declared);
    }

    std::vector<op::Info> results;
    for (auto& v : *g.mutable_output()) {
      const op::Info* info = scope.find(v.name());
      results.push_back(info ? merged(declared[v.name()], *info, str_cat("output '", v.name(), "'"))
                             : declared[v.name()]);
      if (known(results.back().type)) symbols_.write(results.back(), *v.mutable_type());
    }
    write_value_infos(g, scope);
    if (visit != nullptr)
      for (const auto& [name, info] : scope.infos) (*visit)(name, info);
    return results;
  }

 private:
  Depth deeper() {
    return {depth_, max_depth, [&](const char* why) { give_up(why); }};
  }
  // An error that stops even inference that is not strict.
  [[noreturn]] void give_up(const std::string& why) {
    given_up_ = true;
    throw Error(ErrorCode::invalid_model, "model", why);
  }

  // Error{invalid_model} for recursive functions, and for calls nested deeper than any model needs.
  void check_calls(const onnx::FunctionProto& f, std::map<const onnx::FunctionProto*, bool>& finished,
                   int depth) const {
    const auto [it, first] = finished.emplace(&f, false);
    if (it->second) return;
    if (!first || depth > 200)
      throw Error(ErrorCode::invalid_model, str_cat("function '", f.name(), "'"),
                  first ? "functions call each other too deeply" : "the function calls itself");
    check_calls(f.node(), finished, depth);
    finished[&f] = true;
  }
  void check_calls(const NodeList& nodes, std::map<const onnx::FunctionProto*, bool>& finished,
                   int depth) const {
    for (const auto& n : nodes) {
      const auto callee = functions_.find(key_of(n));
      if (callee != functions_.end()) check_calls(*callee->second, finished, depth + 1);
      for (const auto& a : n.attribute())
        if (a.has_g()) check_calls(a.g().node(), finished, depth);
    }
  }

  // A graph attribute, as the rules of If, Loop and Scan see it.
  class BodyOfFile final : public op::Body {
   public:
    BodyOfFile(Inference& inference, onnx::GraphProto& g, int inputs, const Scope& scope, const Scope& owner)
        : inference_(inference), graph_(g), original_(g), scope_(scope), owner_(owner), inputs_(inputs) {}
    int inputs() const override { return inputs_; }
    int outputs() const override { return original_.output_size(); }
    Dims declared_dims(int input) const override {
      return inference_.symbols_.info_of(original_.input(input).type()).dims;
    }
    std::vector<op::Info> infer(std::span<const op::Info> inputs) const override {
      inferred_ = true;
      graph_ = original_;
      try {
        return results_ = inference_.infer_graph(graph_, scope_, owner_, inputs);
      } catch (const Error&) {
        fault_ = std::current_exception();
        throw;
      }
    }
    // A rule infers only the branch that it knows to be taken, ONNX's inference both.
    void infer_once() const {
      if (inferred_) return;
      try {
        infer({});
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
    Inference& inference_;
    onnx::GraphProto& graph_;
    const onnx::GraphProto original_;
    const Scope &scope_, &owner_;
    const int inputs_;
    mutable bool inferred_ = false;
    mutable std::vector<op::Info> results_;
    mutable std::exception_ptr fault_;
  };
  using Bodies = std::vector<std::shared_ptr<const BodyOfFile>>;

  template <class Info>
  void add_constant(Scope& scope, const std::string& name, Info given) {
    op::Info& info = scope.infos[name];
    if (!info.present()) info = unknown();
    try {
      info = merged(info, given(), str_cat("initializer '", name, "'"));
    } catch (const Error&) {
      if (options_.strict || given_up_) throw;
    }
  }
  // Data that is large, or outside of the message, is not read: inference uses its type and extents.
  static bool is_read(const onnx::TensorProto& t) { return !is_external(t) && !is_large(t); }
  op::Info info_of(const onnx::TensorProto& t) {
    if (is_read(t)) return constant(Value(read_tensor(t)));
    onnx::TypeProto type;
    type.mutable_tensor_type()->set_elem_type(t.data_type());
    type.mutable_tensor_type()->mutable_shape();
    for (int64_t d : t.dims()) type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(d);
    return symbols_.info_of(type);
  }
  // A few bytes can represent any number of zeros: inference reads small tensors only.
  op::Info info_of(const onnx::SparseTensorProto& t) {
    const SparseTensor s = read_sparse_tensor(t);
    if (element_count(s.extents) <= max_dense_elements) return constant(Value(densify(s)));
    op::Info info;
    info.type = s.values.dtype();
    info.dims = Dims(s.extents);
    return info;
  }
  op::Info constant(Value value) {
    op::Info info = op::info_of(value);
    if (value.is_tensor()) {
      info.data = value.tensor().data();
      if ((constant_bytes_ -= value.tensor().bytes()) < 0) give_up("functions multiply constants");
    }
    constants_.push_back(std::move(value));
    return info;
  }

  void infer_node(onnx::NodeProto& n, Scope& scope,
                  const std::map<std::string, op::Info, std::less<>>& declared) {
    const std::string place = node_place(n);
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
    for (int k = 0; k < n.output_size(); ++k)
      if (!n.output(k).empty()) {
        op::Info& r = results[static_cast<std::size_t>(k)];
        r.dims = symbols_.named(r.dims);
        if (!r.present()) r.type = unknown().type;
        scope.infos[n.output(k)] = r;
      }
  }

  void infer_results(onnx::NodeProto& n, const Scope& scope, const std::string& place,
                     std::vector<op::Info> in, std::vector<op::Info>& results) {
    const std::string domain(canonical(n.domain()));
    if (const auto f = functions_.find(key_of(n)); f != functions_.end())
      return infer_function(n, *f->second, scope, in, results);
    const auto opset = scope.opsets->find(domain);
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
    const auto refuse = [&](std::string_view why) {
      throw Error(ErrorCode::invalid_model, place, std::string(why));
    };
    if (options_.strict && n.output_size() < op.spec().min_outputs(op.version()))
      refuse("has too few outputs");
    if (is_standard(n, "Constant")) {
      op::Context context;
      const op::Info info = constant(op::evaluate(op, context, {}, 1)[0]);
      if (!results.empty()) results[0] = info;
      return;
    }
    // An input that a call leaves out is absent where the function reads it. If it is required there, it is
    // unknown, which strict inference refuses.
    for (std::size_t k = 0; k < in.size(); ++k)
      if (!options_.strict && !in[k].present() && !n.input(static_cast<int>(k)).empty() &&
          !is_optional(op, k))
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
    results.resize(std::max(results.size(), static_cast<std::size_t>(op.spec().min_outputs(op.version()))));
    std::fill(results.begin(), results.end(), op::Info{});
    const op::Message m = op.with_newest_inputs().infer(in, results);
    // How other operators use their bodies' results is up to their rules.
    const bool gives_results =
        std::ranges::any_of(std::initializer_list<std::string_view>{"If", "Loop", "Scan", "SequenceMap"},
                            [&](std::string_view name) { return is_standard(n, name); });
    for (const auto& body : bodies) {
      body->infer_once();
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

  // The type that an attribute states may have extents, which Type lacks: an empty Optional's.
  void add_stated_extents(const onnx::NodeProto& n, std::vector<op::Info>& results) {
    for (const auto& a : n.attribute())
      if (a.has_tp())
        for (op::Info& r : results)
          if (!r.dims.ranked()) r.dims = symbols_.info_of(a.tp()).dims;
  }

  AnyOperator operator_of(onnx::NodeProto& n, const Registry::Found& found, const Scope& scope,
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

  void infer_function(const onnx::NodeProto& n, const onnx::FunctionProto& f, const Scope& scope,
                      const std::vector<op::Info>& in, std::vector<op::Info>& results) {
    if (n.output_size() > f.output_size() || (options_.strict && n.output_size() < f.output_size()))
      throw Error(ErrorCode::invalid_model, f.name(),
                  str_cat("the function has ", f.output_size(), " outputs, not ", n.output_size()));
    const Depth depth = deeper();
    onnx::FunctionProto copy = f;
    const AttributesByName attributes = attributes_of_call(n, f, scope.attributes);
    const GivenBy<Scope> given = given_by(attributes, f, scope.given, scope);
    const Opsets own = read_opsets(f.opset_import(), f.name());
    Scope inner{.opsets = own.empty() ? &opsets_ : &own,
                .attributes = &attributes,
                .given = &given,
                .caller = &scope};
    for (int k = 0; k < f.input_size(); ++k)
      inner.infos[f.input(k)] =
          static_cast<std::size_t>(k) < in.size() ? in[static_cast<std::size_t>(k)] : op::Info{};
    std::map<std::string, op::Info, std::less<>> declared;
    for (const auto& v : f.value_info()) declared[v.name()] = symbols_.info_of(v.type());
    for (const onnx::NodeProto* node : in_order(copy.node()))
      infer_node(const_cast<onnx::NodeProto&>(*node), inner, declared);
    for (int k = 0; k < n.output_size(); ++k)
      if (const op::Info* info = inner.find(f.output(k))) results[static_cast<std::size_t>(k)] = *info;
    if (noted_) note(f, inner);
  }
  void note(const onnx::FunctionProto& f, const Scope& call) {
    const auto [calls, first] = agreed_.try_emplace(&f);
    for (const auto& [name, info] : call.infos) {
      const auto [it, added] = calls->second.emplace(name, op::Info{});
      op::Info& all = it->second;
      if (added) {
        all.type = first ? info.type : unknown().type;
        all.dims = info.dims;
      } else if (!(all.type == info.type)) {
        all = unknown();
      } else if (all.dims.rank() != info.dims.rank()) {
        all.dims = {};
      } else {
        for (int k = 0; k < all.dims.rank(); ++k)
          if (!(all.dims[k] == info.dims[k])) all.dims[k] = Dim::unknown();
      }
    }
  }

  // Writes every result of a node that is not an output of the graph.
  void write_value_infos(onnx::GraphProto& g, const Scope& scope) {
    std::map<std::string_view, onnx::ValueInfoProto*> places;
    for (auto& v : *g.mutable_value_info()) places[v.name()] = &v;
    for (const auto& v : g.output()) places.emplace(v.name(), nullptr);
    for (const auto& n : g.node())
      for (const std::string& name : n.output()) {
        const op::Info* info = name.empty() ? nullptr : scope.find(name);
        if (info == nullptr || !known(info->type)) continue;
        auto [it, added] = places.emplace(name, nullptr);
        if (added) {
          it->second = g.add_value_info();
          it->second->set_name(name);
        }
        if (it->second != nullptr) symbols_.write(*info, *it->second->mutable_type());
      }
  }

  InferOptions options_;
  const Registry& registry_;
  bool constants_are_inputs_;  // every initializer is an input as well
  Opsets opsets_;
  std::map<FunctionKey, const onnx::FunctionProto*> functions_;
  SymbolNames symbols_;
  bool noted_ = false;
  // The values of functions on which all calls so far agree.
  std::map<const onnx::FunctionProto*, std::map<std::string, op::Info, std::less<>>> agreed_;
  std::deque<Value> constants_;         // Info refers to their elements
  int64_t constant_bytes_;              // that may still be added
  int64_t nodes_ = options_.max_nodes;  // that may still be inferred
  int depth_ = 0;
  bool given_up_ = false;
  bool unknown_operators_ = false;  // their results have no types
};

}  // namespace

void infer_shapes(onnx::ModelProto& model, InferOptions options) {
  const LargeData data(model);  // bodies are copied
  Inference(model, options).run(*model.mutable_graph());
}

void infer_shapes(onnx::ModelProto& model, InferOptions options, const VisitInfo& visit) {
  const LargeData data(model);
  Inference(model, options).run(*model.mutable_graph(), &visit);
}

void infer_functions(onnx::ModelProto& model, InferOptions options) {
  const LargeData data(model);
  Inference inference(model, options);
  inference.note_functions();
  inference.run(*model.mutable_graph());
  for (auto& f : *model.mutable_functions()) inference.write_value_infos(f);
}

}  // namespace tenon::TENON_ABI::loader
