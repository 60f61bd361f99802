// The graph in which calls of functions are replaced, and the known properties of its values.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "loader/check/findings.hpp"
#include "loader/edit/names.hpp"
#include "loader/edit/order.hpp"
#include "loader/format/large_data.hpp"
#include "loader/opsets.hpp"

namespace tenon::TENON_ABI::loader::inlining {

using Imports = google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>;
using ValueInfos = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;

inline constexpr std::string_view place = "inlining";

[[noreturn]] inline void give_up(std::string_view bound) {
  throw Error(ErrorCode::not_supported, std::string(place), str_cat("calls multiply nodes beyond ", bound));
}

inline std::string name_of(const onnx::FunctionProto& f) {
  return str_cat("function ", shown(str_cat(f.domain(), ".", f.name())));
}

// The values of a caller by name, for functions that are converted at the call: types, and constants of the
// message.
struct KnownValues {
  std::unordered_map<std::string, onnx::TypeProto> types{};
  std::unordered_map<std::string, onnx::TensorProto> constants{};

  KnownValues() = default;
  explicit KnownValues(const onnx::GraphProto& main) {
    add(main, 0);
    std::unordered_set<std::string_view> inputs;
    for (const auto& v : main.input()) inputs.insert(v.name());
    for (const auto& t : main.initializer())
      if (!is_external(t) && !inputs.contains(t.name())) constants.emplace(t.name(), t);
    add_constants(main.node(), {});
  }
  explicit KnownValues(const onnx::FunctionProto& f) { add(f, {}); }

  // Adds a function's values under their names at the call; without names, under their own.
  using Renamed = std::unordered_map<std::string, std::string>;
  void add(const onnx::FunctionProto& f, const Renamed& names) {
    for (const auto& v : f.value_info())
      if (const std::string* name = name_of(v.name(), names)) types.emplace(*name, v.type());
    add_constants(f.node(), names);
  }

 private:
  static const std::string* name_of(const std::string& name, const Renamed& names) {
    const auto it = names.find(name);
    return names.empty() ? &name : it == names.end() || it->second.empty() ? nullptr : &it->second;
  }
  void add_constants(const NodeList& nodes, const Renamed& names) {
    for (const auto& n : nodes)
      if (is_standard(n, "Constant") && n.output_size() == 1 && n.attribute_size() == 1 &&
          n.attribute(0).has_t() && !is_external(n.attribute(0).t()))
        if (const std::string* name = name_of(n.output(0), names))
          constants.emplace(*name, n.attribute(0).t());
  }
  void add(const std::string& name, const onnx::TypeProto& type) {
    const auto [it, added] = types.emplace(name, type);
    // Sibling bodies may use the same name for different values.
    if (!added && it->second.SerializeAsString() != type.SerializeAsString()) it->second.Clear();
  }
  void add(const onnx::GraphProto& g, int depth) {
    if (depth > max_nesting) return;
    for (const auto* list : {&g.input(), &g.value_info(), &g.output()})
      for (const auto& v : *list) add(v.name(), v.type());
    for (const auto& t : g.initializer()) {
      onnx::TypeProto type;
      type.mutable_tensor_type()->set_elem_type(t.data_type());
      for (int64_t d : t.dims()) type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(d);
      if (!types.contains(t.name())) add(t.name(), type);
    }
    for (const auto& n : g.node())
      for (const auto& a : n.attribute()) {
        if (a.has_g()) add(a.g(), depth + 1);
        for (const auto& body : a.graphs()) add(body, depth + 1);
      }
  }
};

// A model's graphs, or a function that stays, in which calls are replaced.
struct Caller {
  Imports& imports;
  Opsets opsets;
  NameSet names{};
  const onnx::FunctionProto* function = nullptr;
  KnownValues known{};  // where functions may need conversion
  int64_t calls = 0;    // replaced so far
  // How a function is inlined here.
  struct Way {
    std::string obstacle{};  // the reason why it cannot be, "" if it can
    bool convert = false;    // to the opset of ai.onnx here
  };
  std::unordered_map<const onnx::FunctionProto*, Way> ways{};
};

}  // namespace tenon::TENON_ABI::loader::inlining
