// The symbolic extents of one model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "loader/edit/names.hpp"
#include "loader/format/tensor.hpp"
#include "loader/onnx.pb.h"
#include "tenon/op/framework/infer.hpp"

namespace tenon::TENON_ABI::loader {

/// Converts types and extents between op::Info and files. Symbols are numbered by their names.
class SymbolNames {
 public:
  /// Knows all names of the model, of which none is to be generated.
  explicit SymbolNames(const onnx::ModelProto& model) {
    const VisitName add = [&](const std::string& name, NameOf of) {
      if (of == NameOf::extent) symbol(name);
    };
    each_name(model.graph(), add);
    for (const auto& f : model.functions()) each_name(f, add);
  }

  op::Info info_of(const onnx::TypeProto& t) {
    op::Info info;
    info.type = read_type(t);
    const onnx::TensorShapeProto* shape = shape_of(t);
    if (shape != nullptr)
      info.dims = read_dims(*shape, "model", [&](const std::string& name) { return symbol(name); });
    return info;
  }

  void write(const op::Info& info, onnx::TypeProto& t) const {
    const auto name = [&](Dim d) {
      return d.symbol() < op::unstated_symbols
                 ? names_[static_cast<std::size_t>(d.symbol() - 1)]
                 : unstated_[static_cast<std::size_t>(d.symbol() - op::unstated_symbols)];
    };
    write_type(info.type, info.dims, name, t);
  }

  /// Gives unknown extents of a result symbols, so that equal ones can be recognised.
  Dims named(Dims dims) {
    for (int k = 0; k < dims.rank(); ++k)
      if (dims[k] == Dim::unknown()) dims[k] = symbol(new_name());
    return dims;
  }
  /// The same for an input.
  Dims named_input(Dims dims) {
    for (int k = 0; k < dims.rank(); ++k)
      if (dims[k] == Dim::unknown()) {
        dims[k] = Dim::symbol(op::unstated_symbols + static_cast<int32_t>(unstated_.size()));
        unstated_.push_back(new_name());
      }
    return dims;
  }

 private:
  std::string new_name() {
    for (;;)
      if (std::string name = str_cat("unk__", generated_++); !numbers_.contains(name)) return name;
  }
  static const onnx::TensorShapeProto* shape_of(const onnx::TypeProto& t) {
    switch (t.value_case()) {
      case onnx::TypeProto::kTensorType:
        return t.tensor_type().has_shape() ? &t.tensor_type().shape() : nullptr;
      case onnx::TypeProto::kSparseTensorType:
        return t.sparse_tensor_type().has_shape() ? &t.sparse_tensor_type().shape() : nullptr;
      case onnx::TypeProto::kSequenceType: return shape_of(t.sequence_type().elem_type());
      case onnx::TypeProto::kOptionalType: return shape_of(t.optional_type().elem_type());
      default: return nullptr;
    }
  }
  Dim symbol(const std::string& name) {
    const auto [it, added] = numbers_.emplace(name, static_cast<int32_t>(names_.size()) + 1);
    if (added) names_.push_back(name);
    return Dim::symbol(it->second);
  }
  std::map<std::string, int32_t, std::less<>> numbers_;
  std::vector<std::string> names_, unstated_;
  int generated_ = 0;
};

}  // namespace tenon::TENON_ABI::loader
