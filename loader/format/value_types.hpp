// The types of values by their names.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "loader/onnx.pb.h"
#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// The types of values in a graph and its enclosing graphs, as far as these state them.
class ValueTypes {
 public:
  ValueTypes(const onnx::GraphProto& g, const ValueTypes* outer) : outer_(outer) {
    for (const auto* list : {&g.input(), &g.value_info(), &g.output()})
      for (const auto& v : *list)
        if (v.has_type()) types_[v.name()] = v.type();
    for (const auto& t : g.initializer()) {
      auto& type = *types_[t.name()].mutable_tensor_type();
      type.set_elem_type(t.data_type());
      type.mutable_shape()->clear_dim();
      for (const int64_t extent : t.dims()) type.mutable_shape()->add_dim()->set_dim_value(extent);
    }
  }
  /// Null if the type is unknown.
  const onnx::TypeProto* find(const std::string& name) const {
    for (const ValueTypes* t = this; t != nullptr; t = t->outer_)
      if (const auto it = t->types_.find(name); it != t->types_.end()) return &it->second;
    return nullptr;
  }
  /// The types of values by name; null pointers for unknown types.
  std::vector<const onnx::TypeProto*> of(const google::protobuf::RepeatedPtrField<std::string>& names) const {
    std::vector<const onnx::TypeProto*> found;
    for (const auto& name : names) found.push_back(find(name));
    return found;
  }

 private:
  const ValueTypes* outer_;
  std::unordered_map<std::string, onnx::TypeProto> types_;
};

}  // namespace tenon::TENON_ABI::loader
