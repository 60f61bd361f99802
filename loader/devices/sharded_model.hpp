// Models of which each rank reads its part.
#pragma once

#include "tenon/devices/load.hpp"

namespace tenon::TENON_ABI::loader {

/// What a ShardedSession is made of. The large weights that lie in files of their own are not in the graph:
/// `partition` reads the rank's parts of them.
struct ShardedModel {
  Graph graph;
  devices::Placement placement;
  devices::PartitionOptions partition;
};
/// All ranks call it. Errors of reading and of the annotations; on the other ranks Error{cancelled}.
ShardedModel read_sharded(const std::filesystem::path& file, devices::Transport& transport,
                          const devices::ShardedOptions& options);
/// The session of one rank.
devices::ShardedSession session_of(const ShardedModel& model,
                                   const std::shared_ptr<devices::Transport>& transport,
                                   const SessionOptions& options);

}  // namespace tenon::TENON_ABI::loader
