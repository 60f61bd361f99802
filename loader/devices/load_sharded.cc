#include "tenon/devices/load.hpp"

#include "loader/devices/read_placement.hpp"
#include "loader/graph/import.hpp"

namespace tenon::TENON_ABI::devices {

ShardedSession load_sharded(const std::filesystem::path& file, const std::shared_ptr<Transport>& transport,
                            const ShardedOptions& options) {
  std::optional<Graph> graph;
  Placement placement;
  detail::abort_on_failure(*transport, [&] {
    graph = loader::load_in_place(file, options.load, [&](const onnx::ModelProto& model) {
      placement = loader::read_placement(model, options.configuration);
    });
  });
  return {*graph, placement, transport, loader::with_standard_passes(options.session), options.partition};
}

}  // namespace tenon::TENON_ABI::devices
