// Nodes on devices, with what the graph around them says of their values.
#include "loader/check/checker.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

bool has_sharded(const auto& nodes) {
  return std::ranges::any_of(nodes, [](const auto& n) { return n.device_configurations_size() > 0; });
}

void add_extents(const auto& values, auto& extents) {
  for (const auto& v : values) {
    if (!v.type().tensor_type().has_shape()) continue;
    std::vector<int64_t> of;
    for (const auto& d : v.type().tensor_type().shape().dim())
      of.push_back(d.has_dim_value() && d.dim_value() >= 0 ? d.dim_value() : -1);
    extents.emplace(v.name(), std::move(of));
  }
}

}  // namespace

void Checker::note_extents(const onnx::GraphProto& g, Scope& scope) {
  if (!has_sharded(g.node())) return;
  for (const auto& t : g.initializer())
    scope.extents.emplace(t.name(), std::vector<int64_t>(t.dims().begin(), t.dims().end()));
  for (const auto* list : {&g.input(), &g.value_info(), &g.output()}) add_extents(*list, scope.extents);
}

void Checker::note_extents(const onnx::FunctionProto& f, Scope& scope) {
  if (has_sharded(f.node())) add_extents(f.value_info(), scope.extents);
}

void Checker::place(const onnx::NodeProto& n, const Scope& scope) {
  const auto extents_of = [&](const std::string& name) -> const std::vector<int64_t>* {
    for (const Scope* s = &scope; s != nullptr; s = s->outer)
      if (const auto it = s->extents.find(name); it != s->extents.end()) return &it->second;
    return nullptr;
  };
  check_devices(n, known_configurations_, extents_of, findings_);
}

}  // namespace tenon::TENON_ABI::loader
