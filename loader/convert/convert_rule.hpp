// The general rule for converting nodes: whatever both versions have stays.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "loader/convert/convert_step.hpp"

namespace tenon::TENON_ABI::loader {

/// An operator at one of its versions, and the attributes that it has there.
struct Form {
  const OperatorClass* op_class = nullptr;
  int version = 0;
  std::shared_ptr<void> object;
  std::vector<op::AttributeInfo> rows;  ///< for all versions

  Form(const Registry::Found& found) : op_class(found.op_class), version(found.version) {
    object = op_class->create(version);
    rows = op_class->attributes(object.get());
  }
  const op::Spec& spec() const { return *op_class->spec; }
  const op::AttributeInfo* find(std::string_view name, bool of_any_version = false) const {
    const op::AttributeInfo* other = nullptr;
    for (const auto& a : rows) {
      if (a.name != name) continue;
      if (a.in(version)) return &a;
      other = &a;
    }
    return of_any_version ? other : nullptr;
  }
  /// The index of the input that replaces the attribute in the newest versions; -1 if none does.
  int input_of(const op::AttributeInfo& a) const {
    op::AttributeValue sample;
    if (a.type == op::AttributeType::integer) sample = int64_t{0};
    else if (a.type == op::AttributeType::real) sample = 0.0f;
    else if (a.type == op::AttributeType::integers) sample = std::vector<int64_t>{};
    else return -1;
    std::vector<op::AttributeInput> inputs;
    try {
      op_class->set_attribute(op_class->copy(object.get()).get(), version, a.name, std::move(sample), inputs);
    } catch (const Error&) {  // not a value that the input takes: a separate attribute
    }
    return inputs.empty() ? -1 : inputs[0].input;
  }
  const op::AttributeInfo* attribute_for(int input) const {
    for (const auto& a : rows)
      if (a.in(version) && input_of(a) == input) return &a;
    return nullptr;
  }
};

/// Error{not_supported} where operands are left out that the old version requires and adapters read.
void require_operands(Step& s, const Form& from);

/// Turns attributes into inputs and inputs into attributes, as the new version requires. Error{not_supported}
/// where it has no place for one.
void convert_attributes(Step& s, const Form& from, const Form& to);

/// Attributes given by the calls of a function stay where both versions treat them alike.
void check_references(Step& s, const Form& from, const Form& to);

/// Error{not_supported} where the new version does not take the operands or results.
void check_operands(Step& s, const Form& to);

/// Before opset 11 axes are counted from the front.
void count_axes_from_front(Step& s);

}  // namespace tenon::TENON_ABI::loader
