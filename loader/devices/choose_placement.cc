#include "loader/devices/choose_placement.hpp"

#include <algorithm>
#include <numeric>

#include "loader/devices/cut_tensors.hpp"
#include "loader/devices/multiplications.hpp"
#include "loader/devices/stages.hpp"
#include "tenon/devices/rank_graph.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

constexpr std::string_view choice_place = "devices";

devices::Ranks ranks_from(int64_t first, int64_t count) {
  devices::Ranks ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

bool slides_windows(const Graph& graph) {
  double all = 0, windows = 0;
  for (const Graph::Node& n : graph.nodes()) {
    const Product p = product_of(graph, n);
    all += static_cast<double>(p.multiplications);
    if (p.windows) windows += static_cast<double>(p.multiplications);
  }
  return 2 * windows > all;
}

// Whether a node makes an output of the graph that cannot pass to device 0. Without a stage, it runs there.
bool makes_fixed_output(const Graph& graph, const Graph::Node& n) {
  return std::ranges::any_of(graph.outputs(), [&](const auto& output) {
    return !devices::detail::is_movable(graph.entry(output.second).info.type) &&
           std::ranges::find(n.outputs, output.second) != n.outputs.end();
  });
}

devices::Placement cut_in_stages(const Graph& graph, int devices, int stages) {
  devices::Placement placement{.devices = devices, .nodes = {}};
  const int64_t each = devices / stages;
  const auto nodes = divide_into_stages(graph, stages);
  for (std::size_t s = 0; s < nodes.size(); ++s) {
    const auto number = static_cast<int64_t>(s);
    if (each > 1) cut_tensors(graph, nodes[s], ranks_from(number * each, each), placement);
    for (const std::size_t n : nodes[s]) {
      if (makes_fixed_output(graph, graph.nodes()[n])) continue;
      for (const ValueId v : graph.nodes()[n].outputs)
        if (v >= 0 && !graph.entry(v).name.empty()) {
          placement.nodes[graph.entry(v).name].stage = number;
          break;
        }
    }
  }
  return placement;
}

}  // namespace

devices::Placement choose_placement(const Graph& graph, const PlacementChoice& choice) {
  const int devices = choice.devices, stages = choice.stages.value_or(1);
  if (devices < 1 || devices > most_devices)
    raise(ErrorCode::invalid_argument, choice_place, "a model on ", devices, " devices");
  if (stages < 1 || devices % stages != 0)
    raise(ErrorCode::invalid_argument, choice_place, devices, " devices do not divide into ", stages,
          " pipeline stages");
  devices::Placement placement{.devices = devices, .nodes = {}};
  if (devices == 1) return placement;
  if (stages > 1) return cut_in_stages(graph, devices, stages);
  if (choice.stages || !slides_windows(graph)) {
    std::vector<std::size_t> all(graph.nodes().size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    cut_tensors(graph, all, ranks_from(0, devices), placement);
    if (!placement.nodes.empty()) return placement;
    if (choice.stages)
      raise(ErrorCode::not_supported, choice_place, "the graph has no weights that can be cut into ", devices,
            " pieces");
  }
  return cut_in_stages(graph, devices, devices);
}

}  // namespace tenon::TENON_ABI::loader
