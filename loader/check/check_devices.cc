// Checks of devices: configurations and sharding.
#include <algorithm>
#include <set>

#include "loader/check/findings.hpp"
#include "tenon/base/platform/overflow.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

constexpr std::string_view rule_device = "device", rule_sharding = "sharding", rule_stage = "stage";

// -1 if it overflows.
int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  return a < 0 || b < 0 || tenon::detail::mul_overflow(a, b, &result) ? -1 : result;
}

// Devices exist, and each holds one piece.
void check_device_list(const onnx::ShardingSpecProto& s, int64_t devices, const std::string& of,
                       Findings& findings) {
  std::map<int64_t, const onnx::IntIntListEntryProto*> groups;
  std::set<int64_t> held;
  const auto check_device = [&](int64_t d) {
    if (d < 0 || (devices >= 0 && d >= devices))
      findings.error(rule_sharding, of, " has the device ", d, ", which is none");
    else if (!held.insert(d).second) findings.error(rule_sharding, of, " has the device ", d, " twice");
  };
  for (const auto& g : s.index_to_device_group_map()) {
    if (!g.has_key()) findings.error(rule_sharding, of, " has a group of devices without a key");
    else if (!groups.emplace(g.key(), &g).second)
      findings.error(rule_sharding, of, " has the group ", g.key(), " twice");
    if (g.value_size() == 0)
      findings.error(rule_sharding, of, " has the group ", g.key(), " without devices");
    for (int64_t d : g.value()) check_device(d);
  }
  std::set<int64_t> listed;
  for (int64_t d : s.device()) {
    if (!groups.contains(d)) check_device(d);
    else if (!listed.insert(d).second) findings.error(rule_sharding, of, " has the group ", d, " twice");
  }
}

// One axis, of `extent` elements, -1 if that is unknown. Returns the number of pieces, -1 if it overflows.
int64_t check_cut(const onnx::ShardedDimProto& dim, int64_t extent, const std::string& of,
                  Findings& findings) {
  int64_t pieces = 1, folded = 1;
  bool open = false;  // whether a part's extent is not known
  for (const auto& part : dim.simple_sharding()) {
    if (part.num_shards() < 1)
      findings.error(rule_sharding, of, " cuts axis ", dim.axis(), " into ", part.num_shards(), " pieces");
    if (part.has_dim_value() && part.dim_value() < 0)
      findings.error(rule_sharding, of, " cuts a part of axis ", dim.axis(), " of extent ", part.dim_value());
    if (part.has_dim_value()) folded = product(folded, std::max<int64_t>(part.dim_value(), 0));
    else open = true;
    pieces = product(pieces, std::max<int64_t>(part.num_shards(), 1));
  }
  if (extent < 0) return pieces;
  const bool covers = open ? folded > 0 && extent % folded == 0 : folded == extent;
  if (dim.simple_sharding_size() > 0 && !covers && !(open && folded == 0 && extent == 0))
    findings.error(rule_sharding, of, " cuts axis ", dim.axis(), " as if it had ",
                   folded < 0 ? std::string("more than 2^63") : str_cat(open ? "a multiple of " : "", folded),
                   " elements, and it has ", extent);
  else if (pieces < 0 || pieces > extent)
    findings.warn(rule_sharding, of, " cuts axis ", dim.axis(), " of ", extent,
                  " elements into more pieces than that");
  return pieces;
}

// `devices`: the number of devices, -1 if unknown. `extents`: null if the rank is unknown.
void check_sharding(const onnx::ShardingSpecProto& s, int64_t devices, const std::vector<int64_t>* extents,
                    Findings& findings) {
  const std::string of = str_cat("the sharding of ", shown(s.tensor_name()));
  check_device_list(s, devices, of, findings);
  const int64_t rank = extents != nullptr ? static_cast<int64_t>(extents->size()) : -1;
  int64_t pieces = 1;
  std::set<int64_t> axes;
  for (const auto& dim : s.sharded_dim()) {
    const int64_t axis = dim.axis() < 0 && rank >= 0 ? dim.axis() + rank : dim.axis();
    const bool there = axis >= 0 && axis < rank;
    if (!dim.has_axis()) findings.error(rule_sharding, of, " does not say which axis it cuts");
    else if (rank >= 0 && !there)
      findings.error(rule_sharding, of, " cuts axis ", dim.axis(), " of a tensor of rank ", rank);
    else if (!axes.insert(axis).second)
      findings.error(rule_sharding, of, " cuts axis ", dim.axis(), " twice");
    if (dim.simple_sharding_size() == 0)
      findings.error(rule_sharding, of, " does not say into how many pieces it cuts axis ", dim.axis());
    const int64_t extent = dim.has_axis() && there ? (*extents)[static_cast<std::size_t>(axis)] : -1;
    pieces = product(pieces, check_cut(dim, extent, of, findings));
  }
  // Piece k lies on device k of the list.
  if (pieces != s.device_size() && s.device_size() > 0)
    findings.error(rule_sharding, of, " makes ", pieces, " pieces for ", s.device_size(), " devices");
}

}  // namespace

Configurations check_configurations(const onnx::ModelProto& model, Findings& findings) {
  if (model.configuration_size() > 0 && findings.ir_version < 11)
    findings.warn("ir-version", "device configurations are a part of IR 11 and later");
  Configurations configurations;
  for (const auto& c : model.configuration()) {
    const std::string of = str_cat("device configuration ", shown(c.name()));
    if (c.name().empty()) findings.error(rule_device, "a device configuration has no name");
    else if (!configurations.emplace(c.name(), &c).second) findings.error(rule_device, of, " is there twice");
    if (c.num_devices() < 1) findings.error(rule_device, of, " has ", c.num_devices(), " devices");
    else if (c.device_size() > 0 && c.device_size() != c.num_devices())
      findings.error(rule_device, of, " of ", c.num_devices(), " devices names ", c.device_size());
    Names names;
    for (const auto& d : c.device())
      if (!names.insert(d).second) findings.error(rule_device, of, " names the device ", shown(d), " twice");
  }
  return configurations;
}

void check_devices(const onnx::NodeProto& n, const Configurations* configurations,
                   const std::function<const std::vector<int64_t>*(const std::string&)>& extents,
                   Findings& findings) {
  if (n.device_configurations_size() == 0) return;
  if (findings.ir_version < 11)
    findings.warn("ir-version", "device configurations are a part of IR 11 and later");
  std::set<std::string_view> seen, operands;
  for (const auto& name : n.input()) operands.insert(name);
  for (const auto& name : n.output()) operands.insert(name);
  operands.erase("");
  for (const auto& c : n.device_configurations()) {
    const std::string& id = c.configuration_id();
    int64_t devices = -1;
    if (id.empty()) findings.error(rule_device, "a device configuration has no configuration_id");
    else if (!seen.insert(id).second)
      findings.error(rule_device, "device configuration ", shown(id), " is there twice");
    if (configurations != nullptr && !id.empty()) {
      const auto it = configurations->find(id);
      if (it == configurations->end())
        findings.error(rule_device, "the model has no device configuration ", shown(id));
      else devices = it->second->num_devices();
    }
    if (c.pipeline_stage() < 0)
      findings.error(rule_stage, "the pipeline stage is ", c.pipeline_stage(), ", below 0");
    std::set<std::string_view> cut;
    for (const auto& s : c.sharding_spec()) {
      if (!operands.contains(s.tensor_name()))
        findings.error(rule_sharding, shown(s.tensor_name()), " is no input or output of the node");
      else if (!cut.insert(s.tensor_name()).second)
        findings.error(rule_sharding, "there are two of ", shown(s.tensor_name()), " for one configuration");
      check_sharding(s, devices, extents(s.tensor_name()), findings);
    }
  }
}

}  // namespace tenon::TENON_ABI::loader
