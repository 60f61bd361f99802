#include "loader/devices/read_placement.hpp"

#include <algorithm>
#include <set>

#include "loader/display.hpp"
#include "loader/edit/names.hpp"
#include "tenon/base/platform/overflow.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

// Reads the annotations of one node for a configuration of `count` devices.
class NodeAnnotation {
 public:
  NodeAnnotation(const onnx::NodeProto& node, int count, bool gather)
      : node_(node), count_(count), gather_(gather) {}

  devices::NodePlacement read(const onnx::NodeDeviceConfigurationProto& c) const {
    devices::NodePlacement placement;
    if (c.has_pipeline_stage()) {
      if (c.pipeline_stage() < 0) refuse("the pipeline stage is ", c.pipeline_stage(), ", below 0");
      placement.stage = c.pipeline_stage();
    }
    std::set<std::string_view> seen;
    for (const auto& s : c.sharding_spec()) {
      const auto is = [&](const std::string& name) { return name == s.tensor_name(); };
      if (std::ranges::none_of(node_.input(), is) && std::ranges::none_of(node_.output(), is))
        refuse("'", visible(s.tensor_name()), "' is no input or output of the node");
      if (!seen.insert(s.tensor_name()).second)
        refuse("there are two shardings of '", visible(s.tensor_name()), "'");
      if (auto sharding = read(s)) placement.tensors.emplace(s.tensor_name(), *std::move(sharding));
    }
    return placement;
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    raise(ErrorCode::invalid_model, node_place(node_), parts...);
  }

  // Nothing if it cannot be honoured and may be left out.
  std::optional<devices::Sharding> read(const onnx::ShardingSpecProto& s) const {
    const std::string of = str_cat("the sharding of '", visible(s.tensor_name()), "' ");
    devices::Sharding sharding;
    std::map<int64_t, devices::Ranks> groups;
    for (const auto& g : s.index_to_device_group_map()) {
      if (g.value_size() == 0 ||
          !groups.emplace(g.key(), devices::Ranks(g.value().begin(), g.value().end())).second)
        refuse(of, "has the group ", g.key(), " twice, or without devices");
    }
    std::set<int64_t> held;
    for (const int64_t d : s.device()) {
      const auto group = groups.find(d);
      sharding.holders.push_back(group == groups.end() ? devices::Ranks{d} : group->second);
      for (const int64_t device : sharding.holders.back()) {
        if (device < 0 || device >= count_) refuse(of, "has the device ", device, ", which is none");
        if (!held.insert(device).second) refuse(of, "has the device ", device, " twice");
      }
    }
    for (const auto& dim : s.sharded_dim()) {
      const auto cut = read(dim, of);
      if (!cut) return {};
      sharding.cuts.push_back(*cut);
    }
    // As many pieces as devices; the product cannot overflow while it is no greater than their number.
    int64_t pieces = 1;
    const auto devices = static_cast<int64_t>(sharding.holders.size());
    for (const auto& cut : sharding.cuts)
      pieces = cut.shards > devices / pieces ? devices + 1 : pieces * cut.shards;
    if (devices > 0 && pieces != devices) refuse(of, "has another number of pieces than of devices");
    return sharding;
  }

  std::optional<devices::Sharding::Cut> read(const onnx::ShardedDimProto& dim, const std::string& of) const {
    if (!dim.has_axis() || dim.simple_sharding_size() == 0)
      refuse(of, "does not say which axis it cuts, or into how many pieces");
    // The axis is a fold of several extents, of which one is cut. Those before it count the stretches that
    // are cut alike, and the pieces of a stretch are made of whole ones of the extents after it.
    int cut_one = 0, cuts = 0;
    for (int k = 0; k < dim.simple_sharding_size(); ++k) {
      const auto& part = dim.simple_sharding(k);
      if (part.num_shards() < 1 || (part.has_dim_value() && part.dim_value() < 0))
        refuse(of, "cuts axis ", dim.axis(), " into ", part.num_shards(), " pieces");
      if (part.num_shards() > 1 && ++cuts == 1) cut_one = k;
    }
    if (cuts > 1) {
      if (gather_) return {};
      raise(ErrorCode::not_supported, node_place(node_), of, "cuts several of the extents of which axis ",
            dim.axis(), " is a fold");
    }
    devices::Sharding::Cut cut{.axis = dim.axis(), .shards = dim.simple_sharding(cut_one).num_shards()};
    const bool of_blocks = cut_one + 1 < dim.simple_sharding_size();
    for (int k = 0; k < cut_one + of_blocks; ++k) {
      const int64_t extent = dim.simple_sharding(k).dim_value();
      if (extent < 1)
        refuse(of, "does not state extent ", k, " of those of which axis ", dim.axis(), " is a fold");
      if (k == cut_one) cut.blocks = extent;
      else if (tenon::detail::mul_overflow(cut.stretches, extent, &cut.stretches))
        refuse(of, "folds axis ", dim.axis(), " into extents that overflow");
    }
    return cut;
  }

  const onnx::NodeProto& node_;
  int count_;
  bool gather_;
};

void expect_none(const auto& nodes, const std::string& configuration, std::string_view what);

void expect_none_in_bodies(const onnx::NodeProto& n, const std::string& configuration) {
  for (const auto& a : n.attribute()) {
    if (a.has_g()) expect_none(a.g().node(), configuration, "bodies");
    for (const auto& g : a.graphs()) expect_none(g.node(), configuration, "bodies");
  }
}

void expect_none(const auto& nodes, const std::string& configuration, std::string_view what) {
  for (const onnx::NodeProto& n : nodes) {
    for (const auto& c : n.device_configurations())
      if (c.configuration_id() == configuration)
        raise(ErrorCode::not_supported, node_place(n), "nodes of ", what,
              " run where the node around them does: their device configurations cannot be honoured");
    expect_none_in_bodies(n, configuration);
  }
}

}  // namespace

const onnx::DeviceConfigurationProto& find_configuration(const onnx::ModelProto& model,
                                                         std::string_view name) {
  constexpr std::string_view place = "devices";
  if (name.empty() && model.configuration_size() != 1)
    raise(ErrorCode::invalid_argument, place, "the model has ", model.configuration_size(),
          " device configurations, of which one has to be named");
  for (const auto& c : model.configuration())
    if (name.empty() || c.name() == name) {
      constexpr int most = 1 << 16;
      if (c.num_devices() < 1 || c.num_devices() > most)
        raise(ErrorCode::invalid_model, place, "device configuration '", visible(c.name()), "' has ",
              c.num_devices(), " devices");
      return c;
    }
  raise(ErrorCode::invalid_argument, place, "the model has no device configuration '", visible(name), "'");
}

std::optional<devices::NodePlacement> read_annotation(const onnx::NodeProto& n,
                                                      const onnx::DeviceConfigurationProto& configuration,
                                                      bool gather) {
  std::optional<devices::NodePlacement> placement;
  for (const auto& c : n.device_configurations()) {
    if (c.configuration_id() != configuration.name()) continue;
    if (placement)
      raise(ErrorCode::invalid_model, node_place(n), "device configuration '", visible(configuration.name()),
            "' is there twice");
    placement = NodeAnnotation(n, configuration.num_devices(), gather).read(c);
  }
  return placement;
}

devices::Placement read_placement(const onnx::ModelProto& model, std::string_view configuration,
                                  bool gather) {
  const auto& found = find_configuration(model, configuration);
  devices::Placement placement{.devices = found.num_devices()};
  for (const onnx::NodeProto& n : model.graph().node()) {
    if (!gather) expect_none_in_bodies(n, found.name());
    auto annotation = read_annotation(n, found, gather);
    const auto name = std::ranges::find_if(n.output(), [](const auto& o) { return !o.empty(); });
    if (annotation && name != n.output().end())
      placement.nodes.insert_or_assign(*name, *std::move(annotation));
  }
  if (gather) return placement;
  for (const auto& f : model.functions()) expect_none(f.node(), found.name(), "functions");
  return placement;
}

}  // namespace tenon::TENON_ABI::loader
