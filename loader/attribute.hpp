// AttributeProto as the value of an operator's attribute, and references to the attributes of functions.
#pragma once

#include <functional>
#include <map>

#include "loader/tensor.hpp"
#include "tenon/op/framework/attribute.hpp"

namespace tenon::loader {

/// The type of an attribute; IR 1 wrote none, and the value tells it.
onnx::AttributeProto::AttributeType type_of(const onnx::AttributeProto& a);

/// The value that an attribute states; body(g) is the body for its graph. Error{not_supported} for types of
/// attributes that no operator has.
op::AttributeValue read_attribute(const onnx::AttributeProto& a, const DataSource& source,
                                  const std::function<op::BodyRef(const onnx::GraphProto&)>& body);

/// Whether two values are the same; a list without elements is as no value. Tensors and graphs are not
/// compared: they are the same where there are none.
bool equal(const op::AttributeValue& a, const op::AttributeValue& b);

using AttributesByName = std::map<std::string, const onnx::AttributeProto*, std::less<>>;

/// The attribute itself, or the one of a function's call that it refers to: null if the call leaves it out.
/// `call` is null outside of functions. Error{invalid_model} for a reference there.
const onnx::AttributeProto* resolve(const onnx::AttributeProto& a, const AttributesByName* call);

/// The attributes of a node that calls a function, and the function's defaults for those it leaves out.
/// `around` holds the attributes of the call of the function that the node is in, if it is in one.
AttributesByName attributes_of_call(const onnx::NodeProto& n, const onnx::FunctionProto& f,
                                    const AttributesByName* around);

}  // namespace tenon::loader
