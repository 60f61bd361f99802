// Operators whose types are known only at run time. OperatorClass describes one operator struct, AnyOperator
// holds an object of it, Registry lists the operators that a loader may name.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "tenon/op/framework/attribute.hpp"
#include "tenon/op/framework/evaluate.hpp"
#include "tenon/op/framework/form.hpp"
#include "tenon/op/framework/loops.hpp"
#include "tenon/op/framework/operator_id.hpp"
#include "tenon/op/framework/run.hpp"

namespace tenon::TENON_ABI {

class AnyOperator;
class Lowering;

namespace op {
/// What a program knows of a node's operands: their types and extents, and the elements of constants, null
/// for others.
struct KnownOperands {
  std::span<const Info> infos;
  std::span<const AnyTensor* const> constants;

  /// The elements of operand k, or null.
  const AnyTensor* constant(int k) const {
    return static_cast<std::size_t>(k) < constants.size() ? constants[static_cast<std::size_t>(k)] : nullptr;
  }
  bool has(int k) const {
    return static_cast<std::size_t>(k) < infos.size() && infos[static_cast<std::size_t>(k)].present();
  }
};

struct Prepared;
/// The `prepare` of OperatorClass; in prepare.hpp.
template <class Op, uint32_t Filter>
constexpr auto prepare_function()
    -> Prepared (*)(const std::shared_ptr<const void>& object, const KnownOperands& in);
}  // namespace op

namespace detail {
/// An object that its handles share without knowing its type. All types use the same kind of handle, because
/// std::make_shared compiles a dozen classes for each.
template <class T>
std::shared_ptr<void> shared_object(T object) {
  return {static_cast<void*>(new T(std::move(object))), +[](void* p) { delete static_cast<T*>(p); }};
}
}  // namespace detail

namespace op {
/// The operator's own `elements`, or null if it has none.
template <class Op>
constexpr auto elements_function() -> Elements (*)(const void* object) {
  if constexpr (requires(const Op& op) { op.elements(); })
    return [](const void* object) { return static_cast<const Op*>(object)->elements(); };
  else return nullptr;
}
/// The operator's own `drops_rows`, or null if it has none.
template <class Op>
constexpr auto drops_rows_function() -> bool (*)(const void* object) {
  if constexpr (requires(const Op& op) { op.drops_rows(); })
    return [](const void* object) { return static_cast<const Op*>(object)->drops_rows(); };
  else return nullptr;
}
/// The operator's own `least_rows`, or null if it has none.
template <class Op>
constexpr auto least_rows_function() -> int64_t (*)(const void* object) {
  if constexpr (requires(const Op& op) { op.least_rows(); })
    return [](const void* object) { return static_cast<const Op*>(object)->least_rows(); };
  else return nullptr;
}
}  // namespace op

/// The functions of an operator struct, for callers that do not know its type.
struct OperatorClass {
  const op::Spec* spec;
  const detail::OperatorId* id;
  bool planned;  ///< the results' extents are known before `run`, which writes into memory that the caller
                 ///< allocates
  bool context;  ///< `compute` takes a Context: it may run bodies, or make values
  uint32_t left_out;  ///< a bit for each element type for which `compute` was not compiled
  std::shared_ptr<void> (*create)(int version);
  std::shared_ptr<void> (*copy)(const void* object);
  std::vector<op::AttributeInfo> (*attributes)(const void* object);
  void (*set_attribute)(void* object, int version, std::string_view name, op::AttributeValue&& value,
                        std::vector<op::AttributeInput>& inputs);
  void (*add_default_inputs)(int version, std::vector<op::AttributeInput>& inputs);
  op::Message (*infer)(const void* object, int version, std::span<const op::Info> in,
                       std::span<op::Info> out);
  void (*run)(const void* object, op::Context& context, std::span<const Value* const> in,
              std::span<Value* const> out);
  /// Adds nodes of newest form that are equivalent to an old form and returns their result, or -1 if there
  /// are none. Null for newest forms, and for old ones that run as they are.
  int32_t (*renew)(const void* object, Lowering& to);
  /// Adds the nodes of the operator's function and returns their results, none if they are known only at run
  /// time. Null for operators that no function defines.
  std::vector<int32_t> (*lower)(const void* object, Lowering& to);
  bool is_function;  ///< there is no `compute`: `run` runs the nodes of `lower`
  /// The operator with the work done that each run would repeat: tables built from its attributes, or
  /// constant operands laid out. Null for operators that have no such work.
  op::Prepared (*prepare)(const std::shared_ptr<const void>& object, const op::KnownOperands& in);
  /// Where the elements of the first output come from, given the attributes. Null if these do not matter.
  op::Elements (*elements)(const void* object);
  /// Whether results of Spec::updates lack rows of their operands, given the attributes. Null: they have all.
  bool (*drops_rows)(const void* object);
  /// The rows that operands of Spec::updates have at least, given the attributes. Null: any number.
  int64_t (*least_rows)(const void* object);
  /// How the work divides into parts. Null for operators that do not say.
  void (*loops)(const void* object, op::Loops& loops);
  /// The multiplications of its products. Null for operators whose loops or functions show them.
  double (*multiplications)(const void* object, const op::WorkEstimate& l);

  /// Whether both are of one operator struct, even if libraries each have an OperatorClass for it.
  bool same_operator(const OperatorClass& other) const { return *id == *other.id; }
};

/// Filter has a bit for each element type that `run` can meet; `compute` is compiled for no others.
template <class Op, uint32_t Filter = ~uint32_t{0}>
[[gnu::visibility("hidden")]] inline constexpr OperatorClass operator_class{
    .spec = &Op::spec,
    .id = &detail::operator_id<Op>,
    .planned = op::is_planned<Op>,
    .context = op::detail::convention<Op>.context,
    .left_out = ~Filter,
    .create = [](int version) { return detail::shared_object(op::at_version<Op>(version)); },
    .copy = [](const void* object) { return detail::shared_object(*static_cast<const Op*>(object)); },
    .attributes = [](const void* object) { return op::attributes_of(*static_cast<const Op*>(object)); },
    .set_attribute =
        [](void* object, int version, std::string_view name, op::AttributeValue&& value,
           std::vector<op::AttributeInput>& inputs) {
          op::set_attribute(*static_cast<Op*>(object), version, name, std::move(value), inputs);
        },
    .add_default_inputs = op::add_default_inputs<Op>,
    .infer =
        [](const void* object, int version, std::span<const op::Info> in, std::span<op::Info> out) {
          return op::infer(*static_cast<const Op*>(object), version, in, out);
        },
    .run =
        [](const void* object, op::Context& context, std::span<const Value* const> in,
           std::span<Value* const> out) {
          op::detail::run_unchecked<Op, Filter>(*static_cast<const Op*>(object), context, in, out);
        },
    .renew = op::renew_function<Op, Lowering>(),
    .lower = op::lower_function<Op, Lowering>(),
    .is_function = op::detail::is_function<Op>,
    .prepare = op::prepare_function<Op, Filter>(),
    .elements = op::elements_function<Op>(),
    .drops_rows = op::drops_rows_function<Op>(),
    .least_rows = op::least_rows_function<Op>(),
    .loops = op::loops_function<Op>(),
    .multiplications = op::multiplications_function<Op>(),
};

namespace detail {

/// The class of one of ONNX's operators, compiled by the library's unit that registers it (registration.hpp).
template <class Op>
const OperatorClass& library_class();

/// Whether a unit takes an operator's class from the library that it links.
template <class Op>
inline constexpr bool is_in_library =
#ifdef TENON_COMPILED_SESSION
    is_listed<Op> && (Op::spec.domain.empty() || Op::spec.domain == "ai.onnx.ml" ||
                      Op::spec.domain.starts_with("ai.onnx.preview"));
#else
    false;
#endif

/// An operator's class: the library's, which has every element type, or one that the unit compiles.
template <class Op, uint32_t Filter = ~uint32_t{0}>
const OperatorClass& class_of() {
  if constexpr (is_in_library<Op>) return library_class<Op>();
  else return operator_class<Op, Filter>;
}

}  // namespace detail

/// An operator with its attributes, at a version of its specification. Copies share the object.
class AnyOperator {
 public:
  AnyOperator() = default;
  /// `inputs`: values that this version states as attributes and the newest version as inputs.
  AnyOperator(const OperatorClass& c, std::shared_ptr<const void> object, int version,
              std::vector<op::AttributeInput> inputs = {})
      : class_(&c), object_(std::move(object)), version_(version), inputs_(std::move(inputs)) {}

  /// From an operator object, at its newest version.
  template <class Op, uint32_t Filter = ~uint32_t{0}>
  static AnyOperator make(const Op& op) {
    return {detail::class_of<Op, Filter>(), detail::shared_object(op), Op::spec.latest()};
  }

  explicit operator bool() const { return class_ != nullptr; }
  const op::Spec& spec() const { return *class_->spec; }
  /// The version that the model states.
  int version() const { return version_; }
  bool planned() const { return class_->planned; }
  bool takes_context() const { return class_->context; }
  /// Where the elements of the first output come from.
  op::Elements elements() const {
    return class_->elements != nullptr ? class_->elements(object_.get()) : class_->spec->elements;
  }
  /// Whether results of Spec::updates lack rows of their operands, so that these cannot be brought back.
  bool drops_rows() const { return class_->drops_rows != nullptr && class_->drops_rows(object_.get()); }
  /// The rows that operands of Spec::updates have at least.
  int64_t least_rows() const { return class_->least_rows != nullptr ? class_->least_rows(object_.get()) : 0; }
  /// Whether `run` may meet operands of the element type, if the specification permits them.
  bool computes(DType t) const { return (class_->left_out >> static_cast<int>(t) & 1) == 0; }
  /// The loops over which the work on operands of these types and extents divides.
  std::vector<op::WorkLoop> loops(std::span<const op::Info> in, std::span<const op::Info> out) const {
    op::Loops loops(in, out);
    if (class_->loops != nullptr) class_->loops(object_.get(), loops);
    else if (elements() == op::Elements::function && out.size() == 1 && in.size() >= 1)
      for (int k = 0; k < loops.dims(0).rank(); ++k) loops.over({{0, k}}, {{0, k}});
    else if (elements() == op::Elements::arithmetic && out.size() == 1) loops.each_stretched_axis();
    else if (spec().memory == op::Memory::alias) loops.same_order();
    return std::move(loops).take();
  }
  /// The multiplications of its products, if the operator states them.
  std::optional<double> multiplications(const op::WorkEstimate& l) const {
    if (class_->multiplications == nullptr) return {};
    return class_->multiplications(object_.get(), l);
  }
  std::vector<op::AttributeInfo> attributes() const { return class_->attributes(object_.get()); }
  /// Infers from operands in the newest form, by the rules of the version that the model states.
  op::Message infer(std::span<const op::Info> in, std::span<op::Info> out) const {
    return class_->infer(object_.get(), version_, in, out);
  }
  /// Runs the operator on writable results. Valid as long as a copy of the operator exists.
  struct Call {
    decltype(OperatorClass::run) run;
    const void* object;
    void operator()(op::Context& context, std::span<const Value* const> in,
                    std::span<Value* const> out) const {
      run(object, context, in, out);
    }
  };
  Call call() const { return {class_->run, object_.get()}; }
  /// See op::run.
  void run(op::Context& context, std::span<const Value* const> in, std::span<Value* const> out) const {
    if (planned()) op::expect_writable(spec(), out);
    call()(context, in, out);
  }
  /// The same operator with the attributes that change(name, value) modifies; it returns true for these.
  template <class F>
  AnyOperator with_attributes(F change) const {
    AnyOperator copy = *this;
    std::shared_ptr<void> object;
    std::vector<op::AttributeInfo> list = attributes();
    for (op::AttributeInfo& a : list) {
      if (a.value.index() == 0 || !a.in(version_) || !change(a.name, a.value)) continue;
      if (!object) copy.object_ = object = class_->copy(object_.get());
      class_->set_attribute(object.get(), version_, a.name, std::move(a.value), copy.inputs_);
    }
    return copy;
  }
  /// Whether there are attributes that are graphs.
  bool takes_graphs() const {
    const std::vector<op::AttributeInfo> known = class_->attributes(class_->create(version_).get());
    return std::any_of(known.begin(), known.end(),
                       [](const auto& a) { return a.type == op::AttributeType::graph; });
  }
  const OperatorClass& op_class() const { return *class_; }
  /// The object if it is an Op, else null.
  template <class Op>
  const Op* as() const {
    return class_ != nullptr && *class_->id == detail::operator_id<Op> ? static_cast<const Op*>(object_.get())
                                                                       : nullptr;
  }

  // --- an old version's node in the newest form ---

  AnyOperator with_newest_inputs() const {
    AnyOperator op = *this;
    op.inputs_.clear();
    op.newest_inputs_ = true;
    return op;
  }
  bool newest_inputs() const { return newest_inputs_; }
  /// Inputs of the newest form that are attributes at this version.
  std::span<const op::AttributeInput> attribute_inputs() const { return inputs_; }
  /// Appends the inputs of the newest form that are attributes at this version to the operands `in`:
  /// f(number, value, element type) makes one and returns its Info. The type is undefined when it is known
  /// only at run time. The message holds the error when an operand is given that is not an input at this
  /// version.
  template <class F>
  op::Message add_attribute_inputs(std::vector<op::Info>& in, F f) const {
    if (const op::Message m = check_inputs(in); !m.empty()) return m;
    for (const op::AttributeInput& a : inputs_) {
      const auto* list = std::get_if<std::vector<int64_t>>(&a.value);
      if (list != nullptr && list->empty() && spec().input(a.input).arity == op::Arity::optional) continue;
      const auto at = static_cast<std::size_t>(a.input);
      if (in.size() <= at) in.resize(at + 1);
      in[at] = f(at, a.value, element_of_input(a.input, in));
    }
    return {};
  }
  bool renews() const { return class_->renew != nullptr; }
  int32_t renew(Lowering& to) const { return class_->renew(object_.get(), to); }

  // --- an operator that a function defines ---

  bool lowers() const { return class_->lower != nullptr; }
  std::vector<int32_t> lower(Lowering& to) const { return class_->lower(object_.get(), to); }
  /// Whether there is nothing to run but the function.
  bool is_function() const { return class_->is_function; }

  /// The operator's object, which copies share.
  const void* object() const { return object_.get(); }
  /// The same operator, which keeps `owner` alive.
  AnyOperator kept_with(const std::shared_ptr<const void>& owner) const {
    AnyOperator op = *this;
    op.object_ = std::shared_ptr<const void>(owner, object_.get());
    return op;
  }

  bool prepares() const { return class_->prepare != nullptr; }
  /// The operator with the work done that each run would repeat, for these operands.
  op::Prepared prepared(const op::KnownOperands& in) const;
  /// The same operator in place of `old`, by whose name and version messages call it.
  AnyOperator in_place_of(const AnyOperator& old) const {
    AnyOperator op = *this;
    op.stated_ = &old.stated_spec();
    op.stated_version_ = old.stated_ != nullptr ? old.stated_version_ : old.version_;
    return op;
  }
  /// The specification of the operator that the model states.
  const op::Spec& stated_spec() const { return stated_ != nullptr ? *stated_ : spec(); }
  /// "Softmax-11": as the model states it.
  std::string stated() const {
    return str_cat(stated_spec().name, "-", stated_ != nullptr ? stated_version_ : version_);
  }

 private:
  // The error when an operand is given that is not an input at this version; empty when there is none.
  op::Message check_inputs(std::span<const op::Info> given) const {
    op::Message m;
    for (std::size_t k = 0; k < given.size() && static_cast<int>(k) < spec().inputs.size(); ++k) {
      const op::Param& p = spec().input(static_cast<int>(k), version_);
      if (given[k].present() && !p.in(version_) && m.empty())
        m.add("has no input "), m.add(p.name), m.add(" at version "), m.add(version_);
    }
    return m;
  }
  // The element type of input number `input`: its own, or the element type of operands with its type
  // variable; undefined when none of these is known.
  DType element_of_input(int input, std::span<const op::Info> given) const {
    const op::Param& p = spec().input(input);
    if (spec().variable(p.type) < 0) return spec().permits(p).single().element;
    bool shared = false;
    for (std::size_t k = 0; k < given.size(); ++k) {
      if (!given[k].present() || spec().input(static_cast<int>(k)).type != p.type) continue;
      if (given[k].type.kind == Kind::tensor) return given[k].type.element;
      shared = true;
    }
    return shared ? DType::undefined : DType::float32;
  }

  const OperatorClass* class_ = nullptr;
  std::shared_ptr<const void> object_;
  int version_ = 0;
  int stated_version_ = 0;
  bool newest_inputs_ = false;
  const op::Spec* stated_ = nullptr;
  std::vector<op::AttributeInput> inputs_;
};

/// Receives the equivalent nodes that an operator's `lower`, or the `renew` of an old form, adds. Numbers
/// stand for values; -1 is an operand that is left out.
class Lowering {
 public:
  Lowering(std::span<const op::Info> in, int version) : in_(in), version_(version) {}
  virtual ~Lowering() = default;
  Lowering(const Lowering&) = delete;
  Lowering& operator=(const Lowering&) = delete;

  int version() const { return version_; }
  const op::Info& in(int input) const {
    static constexpr op::Info left_out;
    return static_cast<std::size_t>(input) < in_.size() ? in_[static_cast<std::size_t>(input)] : left_out;
  }
  const Dims& dims(int input) const { return in(input).dims; }
  virtual int32_t input(int number) const = 0;
  /// An operand where its elements exist (constants and run time), else a tensor of undefined type.
  virtual AnyTensor elements(int input) const = 0;
  virtual int32_t constant(const AnyTensor& tensor) = 0;
  /// A node with one result.
  template <class Op>
  int32_t add(const Op& op, std::initializer_list<int32_t> inputs) {
    return add_node(AnyOperator::make(op), inputs, 1)[0];
  }
  template <class Op>
  int32_t add(const Op& op, std::span<const int32_t> inputs) {
    return add_node(AnyOperator::make(op), inputs, 1)[0];
  }
  /// A node with `results` results.
  template <class Op>
  std::vector<int32_t> add(const Op& op, std::initializer_list<int32_t> inputs, int results) {
    return add_node(AnyOperator::make(op), inputs, static_cast<std::size_t>(results));
  }

 private:
  virtual std::vector<int32_t> add_node(AnyOperator op, std::span<const int32_t> inputs,
                                        std::size_t results) = 0;

  std::span<const op::Info> in_;
  int version_;
};

namespace op::detail {

/// Runs the nodes as they are added. Operands come first among the values.
class RunLowering final : public Lowering {
 public:
  RunLowering(Context& context, std::span<const Value* const> in, std::span<const Info> infos, int version)
      : Lowering(infos, version), context_(context) {
    for (const Value* v : in) values_.push_back(v != nullptr ? *v : Value());
    operands_ = in.size();
  }

  int32_t input(int number) const override {
    const auto at = static_cast<std::size_t>(number);
    return at < operands_ && values_[at] ? number : -1;
  }
  AnyTensor elements(int number) const override {
    const auto at = static_cast<std::size_t>(number);
    return at < operands_ && values_[at].is_tensor() ? values_[at].tensor() : AnyTensor();
  }
  int32_t constant(const AnyTensor& tensor) override { return keep(tensor); }
  Value& value(int32_t v) { return values_[static_cast<std::size_t>(v)]; }

 private:
  int32_t keep(Value v) {
    values_.push_back(std::move(v));
    return static_cast<int32_t>(values_.size()) - 1;
  }
  std::vector<int32_t> add_node(AnyOperator op, std::span<const int32_t> inputs,
                                std::size_t results) override {
    std::vector<const Value*> in;
    for (int32_t v : inputs) in.push_back(v < 0 ? nullptr : &value(v));
    std::vector<int32_t> made;
    for (Value& v : evaluate(op, context_, in, results)) made.push_back(keep(std::move(v)));
    return made;
  }

  Context& context_;
  std::deque<Value> values_;
  std::size_t operands_ = 0;
};

template <class Op>
void run_function(const Op& op, Context& context, std::span<const Value* const> in,
                  std::span<Value* const> out) {
  std::vector<Info> infos;
  for (const Value* v : in) infos.push_back(v != nullptr ? info_of(*v) : Info{});
  RunLowering to(context, in, infos, Op::spec.latest());
  const std::vector<int32_t> made = lower_function<Op, Lowering>()(&op, to);
  if (made.size() < out.size())
    raise(ErrorCode::not_supported, Op::spec.name, "no function is known for these operands");
  for (std::size_t o = 0; o < out.size(); ++o)
    if (out[o] != nullptr && made[o] >= 0) *out[o] = to.value(made[o]);
}

}  // namespace op::detail

/// Makes an operator of a class from a model's attributes. Error{invalid_model} for an attribute that is
/// missing, stated twice, or unknown to the version.
inline AnyOperator make_operator(const OperatorClass& c, int version,
                                 std::vector<std::pair<std::string, op::AttributeValue>> attributes) {
  const std::shared_ptr<void> object = c.create(version);
  std::vector<op::AttributeInput> inputs;
  for (std::size_t k = 0; k < attributes.size(); ++k) {
    for (std::size_t j = 0; j < k; ++j)
      if (attributes[j].first == attributes[k].first)
        raise(ErrorCode::invalid_model, c.spec->name, "attribute '", attributes[k].first, "' is given twice");
    c.set_attribute(object.get(), version, attributes[k].first, std::move(attributes[k].second), inputs);
  }
  // Lists the attributes of an object without values, because a tree has many values.
  for (const op::AttributeInfo& a : c.attributes(c.create(version).get()))
    if (a.required && a.in(version) &&
        std::none_of(attributes.begin(), attributes.end(), [&](const auto& g) { return g.first == a.name; }))
      raise(ErrorCode::invalid_model, c.spec->name, "attribute '", a.name, "' is required");
  c.add_default_inputs(version, inputs);
  return {c, object, version, std::move(inputs)};
}

/// How programs spell an operator: {"tenon::op::Softmax_1", "tenon/op/math/softmax.hpp"}.
struct OperatorSource {
  std::string_view type{}, header{};
};

/// The operators that can be found by domain, name and opset version.
class Registry {
 public:
  /// `source` is for headers that programs write (`tenon compile`); its texts outlive the registry.
  /// Error{invalid_argument} when a version is already registered.
  void add(const OperatorClass& c, OperatorSource source = {}) {
    auto& versions = operators_[{std::string(c.spec->domain), std::string(c.spec->name)}];
    for (int since : c.spec->since)
      if (!versions.emplace(since, &c).second)
        raise(ErrorCode::invalid_argument, c.spec->name, "version ", since, " is registered twice");
    int& newest = newest_[std::string(c.spec->domain)];
    newest = std::max(newest, c.spec->latest());
    if (!source.type.empty()) sources_.insert_or_assign(&c, source);
  }
  template <op::Operator Op>
  void add(OperatorSource source = {}) {
    add(detail::class_of<Op>(), source);
  }

  struct Found {
    const OperatorClass* op_class = nullptr;  ///< null: not found
    int version = 0;
  };
  /// The newest version of the operator that is not above the opset's. "ai.onnx" and "" are one domain.
  /// `withdrawn`: also finds an operator that this opset no longer has.
  Found find(std::string_view domain, std::string_view name, int opset, bool withdrawn = false) const {
    const auto it = operators_.find({std::string(domain == "ai.onnx" ? "" : domain), std::string(name)});
    if (it == operators_.end()) return {};
    auto v = it->second.upper_bound(opset);
    if (v == it->second.begin()) return {};
    --v;
    if (v->second->spec->until < opset && !withdrawn) return {};
    return {v->second, v->first};
  }

  /// The newest version of any operator of the domain; 0 if it has none.
  int newest(std::string_view domain) const {
    const auto it = newest_.find(domain == "ai.onnx" ? std::string_view() : domain);
    return it == newest_.end() ? 0 : it->second;
  }
  /// Empty for an operator that was added without one.
  OperatorSource source(const OperatorClass& c) const {
    const auto it = sources_.find(&c);
    return it == sources_.end() ? OperatorSource{} : it->second;
  }

  using Key = std::pair<std::string, std::string>;  ///< domain and name
  const std::map<Key, std::map<int, const OperatorClass*>>& operators() const { return operators_; }

 private:
  std::map<Key, std::map<int, const OperatorClass*>> operators_;
  std::map<std::string, int, std::less<>> newest_;  // by domain
  std::map<const OperatorClass*, OperatorSource> sources_;
};

/// Adds an operator, if its form is complete.
template <class Op>
void register_operator(Registry& registry, OperatorSource source = {}) {
  static_assert(op::Operator<Op>, "an operator is a struct with a `static constexpr Spec spec`");
  if constexpr (op::Operator<Op>) {
    constexpr op::Message missing = op::detail::missing_form<Op>();
    if constexpr (missing.empty()) registry.add<Op>(source);
    else op::report<op::titled<Op>(missing)>();
  }
}

}  // namespace tenon::TENON_ABI

#include "tenon/op/framework/prepare.hpp"
