#include "loader/devices/shard.hpp"

#include "loader/convert/convert.hpp"
#include "loader/devices/read_placement.hpp"
#include "loader/edit/names.hpp"
#include "loader/function/inline.hpp"
#include "loader/message.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

constexpr int64_t devices_ir_version = 11;

void write_sharding(const std::string& tensor, const devices::Sharding& sharding,
                    onnx::ShardingSpecProto& s) {
  s.set_tensor_name(tensor);
  for (const devices::Ranks& of : sharding.holders) {
    if (of.size() == 1) {
      s.add_device(of[0]);
      continue;
    }
    auto& group = *s.add_index_to_device_group_map();
    group.set_key(-s.index_to_device_group_map_size());
    for (const int64_t d : of) group.add_value(d);
    s.add_device(group.key());
  }
  for (const devices::Sharding::Cut& cut : sharding.cuts) {
    auto& dim = *s.add_sharded_dim();
    dim.set_axis(cut.axis);
    // A fold of up to three extents: stretches, blocks, which are cut, and the elements of a block.
    const auto add_extent = [&](int64_t extent, int64_t shards) {
      auto& part = *dim.add_simple_sharding();
      if (extent > 0) part.set_dim_value(extent);
      part.set_num_shards(shards);
    };
    if (cut.stretches > 1) add_extent(cut.stretches, 1);
    add_extent(cut.blocks, cut.shards);
    if (cut.blocks > 0) add_extent(0, 1);
  }
}

void clear_placement(onnx::GraphProto& graph) {
  change_names(graph, [](std::string&) {}, [](onnx::NodeProto& n) { n.clear_device_configurations(); });
}

}  // namespace

void write_placement(onnx::ModelProto& model, const devices::Placement& placement, std::string_view name) {
  clear_placement(*model.mutable_graph());
  for (auto& f : *model.mutable_functions())
    for (auto& n : *f.mutable_node()) n.clear_device_configurations();
  model.clear_configuration();
  auto& configuration = *model.add_configuration();
  configuration.set_name(std::string(name));
  configuration.set_num_devices(placement.devices);
  for (onnx::NodeProto& n : *model.mutable_graph()->mutable_node()) {
    const auto result = std::ranges::find_if(n.output(), [](const auto& o) { return !o.empty(); });
    if (result == n.output().end()) continue;
    const auto it = placement.nodes.find(*result);
    if (it == placement.nodes.end()) continue;
    auto& c = *n.add_device_configurations();
    c.set_configuration_id(std::string(name));
    if (it->second.stage) c.set_pipeline_stage(static_cast<int32_t>(*it->second.stage));
    for (const auto& [tensor, sharding] : it->second.tensors) {
      const auto is = [&](const std::string& operand) { return operand == tensor; };
      if (std::ranges::any_of(n.input(), is) || std::ranges::any_of(n.output(), is))
        write_sharding(tensor, sharding, *c.add_sharding_spec());
    }
  }
}

std::vector<RankCost> shard(Model& model, const PlacementChoice& choice, const LoadOptions& options) {
  if (model.proto().functions_size() > 0) inline_functions(model.proto(), {.registry = options.registry});
  if (model.proto().ir_version() < devices_ir_version) convert_ir_version(model.proto(), devices_ir_version);
  const Graph graph = model.graph(options);
  const bool sound = !has_errors(check(model, {.registry = options.registry}));
  write_placement(model.proto(), choose_placement(graph, choice), "devices");
  // Such as declared extents that differ from the actual ones.
  if (sound)
    for (const Diagnostic& d : check(model, {.registry = options.registry}))
      if (d.severity == Severity::error) raise(ErrorCode::invalid_model, "devices", to_string(d));
  // What readers of the file will do.
  return rank_costs(graph, read_placement(model.proto()));
}

}  // namespace tenon::TENON_ABI::loader
