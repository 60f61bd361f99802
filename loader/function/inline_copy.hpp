// A copy of a function's nodes, to replace one call.
#pragma once

#include <string>
#include <unordered_map>

#include "loader/function/inline_caller.hpp"

namespace tenon::TENON_ABI::loader::inlining {

class Copy {
 public:
  // `open`: names that the function does not define belong to the caller.
  Copy(const onnx::FunctionProto& f, const onnx::NodeProto& call, Caller& caller, int64_t& bytes_left,
       bool open = false);

  NodeList nodes;
  ValueInfos value_infos;
  /// New names by the original names of the function's values.
  const std::unordered_map<std::string, std::string>& names() const { return scope_.names; }

 private:
  using Attribute = onnx::AttributeProto;

  // New names by the original names in a function or a body in it.
  struct Scope {
    const Scope* outer = nullptr;
    std::unordered_map<std::string, std::string> names{};

    const std::string* find(const std::string& name) const {
      for (const Scope* s = this; s != nullptr; s = s->outer)
        if (const auto it = s->names.find(name); it != s->names.end()) return &it->second;
      return nullptr;
    }
  };

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    throw Error(ErrorCode::invalid_model, name_of(f_), str_cat(parts...));
  }
  std::string fresh(const std::string& name) { return caller_.names.fresh(name + suffix_); }

  void bind_attributes(const onnx::NodeProto& call);
  bool has_default(const std::string& name) const;

  // Adds an output of the function that is also one of its inputs, or another output.
  void add_identity(const std::string& source, const std::string& given, const std::string& name);

  // A node may precede the nodes that it reads.
  void define_outputs(const NodeList& list, Scope& scope);
  void define(const std::string& name, Scope& scope);
  const std::string& look_up(const std::string& name, const Scope& scope) const;
  void replace(std::string& name, const Scope& scope) const;

  void rename(onnx::NodeProto& n, const Scope& scope, int depth);
  void rename(onnx::GraphProto& g, const Scope& outer, int depth);

  // A function's symbols are local: each call may have other extents.
  void rename_symbols(onnx::TypeProto& type, int depth = 0);

  // Adds the value infos of inner values. The caller has its own for inputs and outputs.
  void add_value_infos();

  const onnx::FunctionProto& f_;
  Caller& caller_;
  int64_t& bytes_left_;
  const bool open_;
  // Above 0 in graphs that the call gives as attributes. Their names are the function's if it defines them,
  // as at run time, else the caller's; symbols and references to attributes are the caller's.
  int given_ = 0;
  std::string suffix_;
  std::unordered_map<std::string, const Attribute*> attributes_;
  std::unordered_map<std::string, std::string> symbols_;
  Scope scope_;
};

}  // namespace tenon::TENON_ABI::loader::inlining
