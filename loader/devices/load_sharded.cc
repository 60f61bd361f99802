#include "tenon/devices/load.hpp"

#include "loader/devices/read_placement.hpp"
#include "loader/format/file.hpp"
#include "loader/graph/import.hpp"
#include "loader/message.hpp"

namespace tenon::TENON_ABI::devices {

ShardedSession load_sharded(const std::filesystem::path& file, const std::shared_ptr<Transport>& transport,
                            const ShardedOptions& options) {
  std::optional<Graph> graph;
  Placement placement;
  detail::abort_on_failure(*transport, [&] {
    const Model model = load_model(file);
    loader::in_file(file, [&] {
      placement = loader::read_placement(model.proto(), options.configuration);
      graph = model.graph(options.load);
    });
  });
  return {*graph, placement, transport, loader::with_standard_passes(options.session), options.partition};
}

}  // namespace tenon::TENON_ABI::devices
