// Operators whose types run time knows: OperatorClass is what there is to know of one struct, AnyOperator an
// object of it, Registry the operators that a loader may name.
#pragma once

#include <map>

#include "tenon/op/attribute.hpp"
#include "tenon/op/evaluate.hpp"
#include "tenon/op/form.hpp"
#include "tenon/op/run.hpp"

namespace tenon {

/// What can be done with an operator's object without knowing its type.
struct OperatorClass {
  const op::Spec* spec;
  bool planned;  ///< extents of the results are known before `run`, which writes into memory it is given
  std::shared_ptr<void> (*create)();
  std::vector<op::AttributeInfo> (*attributes)(const void* object);
  void (*set_attribute)(void* object, int version, std::string_view name, const op::AttributeValue& value);
  op::Message (*infer)(const void* object, int version, std::span<const op::Info> in,
                       std::span<op::Info> out);
  void (*run)(const void* object, op::Context& context, std::span<const Value* const> in,
              std::span<Value* const> out);
};

/// Filter has a bit for each element type that `run` can meet; `compute` is compiled for no other.
template <class Op, uint32_t Filter = ~uint32_t{0}>
inline constexpr OperatorClass operator_class{
    .spec = &Op::spec,
    .planned = op::is_planned<Op>,
    .create = []() -> std::shared_ptr<void> { return std::make_shared<Op>(); },
    .attributes = [](const void* object) { return op::attributes_of(*static_cast<const Op*>(object)); },
    .set_attribute =
        [](void* object, int version, std::string_view name, const op::AttributeValue& value) {
          op::set_attribute(*static_cast<Op*>(object), version, name, value);
        },
    .infer =
        [](const void* object, int version, std::span<const op::Info> in, std::span<op::Info> out) {
          return op::infer(*static_cast<const Op*>(object), version, in, out);
        },
    .run =
        [](const void* object, op::Context& context, std::span<const Value* const> in,
           std::span<Value* const> out) {
          op::run<Op, Filter>(*static_cast<const Op*>(object), context, in, out);
        },
};

/// An operator with its attributes, at a version of its specification. Copies share the object.
class AnyOperator {
 public:
  AnyOperator() = default;
  AnyOperator(const OperatorClass& c, std::shared_ptr<const void> object, int version)
      : class_(&c), object_(std::move(object)), version_(version) {}

  /// From an operator object, at its newest version.
  template <class Op, uint32_t Filter = ~uint32_t{0}>
  static AnyOperator make(const Op& op) {
    return {operator_class<Op, Filter>, std::make_shared<const Op>(op), Op::spec.latest()};
  }

  explicit operator bool() const { return class_ != nullptr; }
  const op::Spec& spec() const { return *class_->spec; }
  int version() const { return version_; }
  bool planned() const { return class_->planned; }
  std::vector<op::AttributeInfo> attributes() const { return class_->attributes(object_.get()); }
  op::Message infer(std::span<const op::Info> in, std::span<op::Info> out) const {
    return class_->infer(object_.get(), version_, in, out);
  }
  void run(op::Context& context, std::span<const Value* const> in, std::span<Value* const> out) const {
    class_->run(object_.get(), context, in, out);
  }
  /// The same operator with attributes as change(value) leaves them.
  template <class F>
  AnyOperator with_attributes(F change) const {
    const std::shared_ptr<void> object = class_->create();
    for (op::AttributeInfo a : attributes()) {
      if (a.value.index() == 0 || version_ < a.since || version_ > a.until) continue;
      change(a.value);
      class_->set_attribute(object.get(), version_, a.name, a.value);
    }
    return {*class_, object, version_};
  }
  /// The object, where it is an Op; else null.
  template <class Op>
  const Op* as() const {
    return class_ != nullptr && class_->spec == &Op::spec ? static_cast<const Op*>(object_.get()) : nullptr;
  }

 private:
  const OperatorClass* class_ = nullptr;
  std::shared_ptr<const void> object_;
  int version_ = 0;
};

/// The operators that can be found by domain, name and opset version.
class Registry {
 public:
  /// Error{invalid_argument} when a version is there already.
  void add(const OperatorClass& c) {
    auto& versions = operators_[{std::string(c.spec->domain), std::string(c.spec->name)}];
    for (int since : c.spec->since)
      if (!versions.emplace(since, &c).second)
        throw Error(ErrorCode::invalid_argument, std::string(c.spec->name),
                    concat("version ", since, " is registered twice"));
  }
  template <op::Operator Op>
  void add() {
    add(operator_class<Op>);
  }

  struct Found {
    const OperatorClass* op_class = nullptr;  ///< null: not found
    int version = 0;
  };
  /// The newest version that is not above the opset's. "ai.onnx" and "" are one domain.
  Found find(std::string_view domain, std::string_view name, int opset) const {
    const auto it = operators_.find({std::string(domain == "ai.onnx" ? "" : domain), std::string(name)});
    if (it == operators_.end()) return {};
    auto v = it->second.upper_bound(opset);
    if (v == it->second.begin()) return {};
    --v;
    if (v->second->spec->until < opset) return {};
    return {v->second, v->first};
  }

  using Key = std::pair<std::string, std::string>;  ///< domain and name
  const std::map<Key, std::map<int, const OperatorClass*>>& operators() const { return operators_; }

 private:
  std::map<Key, std::map<int, const OperatorClass*>> operators_;
};

/// Adds T when it is an operator. What the generated registration units call for every struct of an
/// operator's header.
template <class T>
void register_operator(Registry& registry) {
  if constexpr (op::Operator<T>) {
    constexpr op::Message missing = op::detail::missing_form<T>();
    if constexpr (missing.empty()) registry.add<T>();
    else op::detail::report<op::detail::titled<T>(missing)>();
  }
}

}  // namespace tenon
