// AttributeProto as the value of an operator's attribute.
#pragma once

#include <functional>

#include "loader/tensor.hpp"
#include "tenon/op/framework/attribute.hpp"

namespace tenon::loader {

/// The value that an attribute states; body(g) is the body for its graph. Error{not_supported} for types of
/// attributes that no operator has.
op::AttributeValue read_attribute(const onnx::AttributeProto& a, const DataSource& source,
                                  const std::function<op::BodyRef(const onnx::GraphProto&)>& body);

}  // namespace tenon::loader
