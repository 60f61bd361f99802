// AttributeProto as the value of an operator's attribute, and references to the attributes of functions.
#pragma once

#include <algorithm>
#include <functional>
#include <map>

#include "loader/format/tensor.hpp"
#include "tenon/op/framework/attribute.hpp"

namespace tenon::TENON_ABI::loader {

/// The type of an attribute; IR 1 did not state it, so it follows from the value.
onnx::AttributeProto::AttributeType type_of(const onnx::AttributeProto& a);

/// The value that an attribute states; body(g) is the body for its graph. Error{not_supported} for attribute
/// types that no operator uses.
op::AttributeValue read_attribute(const onnx::AttributeProto& a, const DataSource& source,
                                  const std::function<op::BodyRef(const onnx::GraphProto&)>& body);

/// Whether two values are equal; an empty list equals no value. Tensors and graphs are not compared: they are
/// equal if both are absent.
bool equal(const op::AttributeValue& a, const op::AttributeValue& b);

using AttributesByName = std::map<std::string, const onnx::AttributeProto*, std::less<>>;

/// The attribute itself, or the attribute of a function's call that it refers to; null if the call leaves it
/// out. `call` is null outside of functions; a reference there is Error{invalid_model}.
const onnx::AttributeProto* resolve(const onnx::AttributeProto& a, const AttributesByName* call);

/// The attributes of a node that calls a function. Attributes that the node leaves out have the function's
/// defaults. `around` holds the attributes of the enclosing function's call, if the node is in a function.
AttributesByName attributes_of_call(const onnx::NodeProto& n, const onnx::FunctionProto& f,
                                    const AttributesByName* around);

/// The graphs among the attributes of a function's call, and the scopes that they are written in: a graph
/// given by a call uses its caller's operator sets and refers to its caller's attributes.
template <class Scope>
using GivenBy = std::map<const onnx::AttributeProto*, const Scope*>;
/// The scope that an attribute's graph is written in, for a node in `scope` whose function is given `given`.
template <class Scope>
const Scope& owner_of(const onnx::AttributeProto& a, const GivenBy<Scope>* given, const Scope& scope) {
  if (given == nullptr) return scope;
  const auto it = given->find(&a);
  return it == given->end() ? scope : *it->second;
}
/// The graphs that a call of `f` from `scope` gives; `around` was given by the call of `scope` itself.
template <class Scope>
GivenBy<Scope> given_by(const AttributesByName& attributes, const onnx::FunctionProto& f,
                        const GivenBy<Scope>* around, const Scope& scope) {
  GivenBy<Scope> given;
  for (const auto& [name, a] : attributes) {
    const bool is_default = std::ranges::any_of(f.attribute_proto(), [&](const auto& d) { return &d == a; });
    if (a->has_g() && !is_default) given.emplace(a, &owner_of(*a, around, scope));
  }
  return given;
}

}  // namespace tenon::TENON_ABI::loader
