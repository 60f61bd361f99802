// Models on devices: annotations are read, shown and made into the graphs of ranks, or refused; a model that
// is annotated automatically is as sound as before, and fits the ranks.
#include "loader/devices/device_extents.hpp"
#include "loader/devices/read_placement.hpp"
#include "loader/devices/shard.hpp"
#include "loader/message.hpp"
#include "tenon/devices/partition.hpp"
#include "tenon/devices/thread_transport.hpp"
#include "tests/fuzz/support.hpp"

namespace tenon::fuzz {
namespace {

LoadOptions bounded() { return {.registry = &registry(), .max_bytes = 1 << 24, .max_nodes = 2'000}; }

// `keeps`: the ranks keep each input in the place of which there is an output.
void divide(const onnx::ModelProto& message, bool gather, bool keeps) {
  const Model model(message);
  for (const auto& c : message.configuration()) {
    const devices::Placement placement = loader::read_placement(message, c.name(), gather);
    if (placement.devices > 8) continue;
    const Graph graph = model.graph(bounded());
    devices::PartitionOptions options{.gather = gather};
    for (std::size_t k = 0; keeps && k < std::min(graph.inputs().size(), graph.outputs().size()); ++k)
      options.kept.push_back({graph.entry(graph.inputs()[k]).name, graph.outputs()[k].first});
    for (const auto& rank : devices::thread_transports(placement.devices))
      static_cast<void>(devices::partition(graph, placement, rank, options));
  }
}

}  // namespace
}  // namespace tenon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  using namespace tenon::fuzz;
  const Input input(data, size);
  onnx::ModelProto message;
  if (!input.read(message)) return 0;
  accepted([&] { loader::device_extents(message); });
  if ((input.choice & 1) == 0) {
    accepted([&] { divide(message, (input.choice & 2) != 0, (input.choice & 4) != 0); });
    return 0;
  }
  Model model(message);
  const loader::PlacementChoice choice{
      .devices = 1 + input.choice / 8 % 4,
      .stages = (input.choice & 2) == 0 ? std::optional<int>() : 1 + input.choice / 32 % 4};
  if (!accepted([&] { loader::shard(model, choice, bounded()); })) return 0;
  require(!has_errors(check(model, {.registry = &registry()})) ||
              has_errors(check(Model(message), {.registry = &registry()})),
          "a sound model is sound with annotations");
  require(accepted([&] { loader::device_extents(model.proto()); }), "annotations can be shown");
  require(accepted([&] { divide(model.proto(), false, false); }), "annotations can be honoured");
  return 0;
}
