// Models on several ranks. Link //loader.
#pragma once

#include "tenon/devices/sharded_session.hpp"
#include "tenon/loader.hpp"

namespace tenon::TENON_ABI::devices {

/// How a rank loads its part of a model.
struct ShardedOptions {
  std::string configuration{};   ///< the model's device configuration; "": its only one
  PartitionOptions partition{};  ///< whether annotations that cannot be honoured are refused
  SessionOptions session{};      ///< as of tenon::load
  LoadOptions load{};
};

/// One rank's part of a model whose annotations place it on devices: device k is rank k. All ranks call it.
/// Of external data, a rank maps what its part needs.
///
/// Errors of reading and of the partition; Error{invalid_argument} for a configuration that the model lacks,
/// {invalid_model} for annotations that contradict the graph. On the other ranks Error{cancelled}.
[[nodiscard]] ShardedSession load_sharded(const std::filesystem::path& file,
                                          const std::shared_ptr<Transport>& transport,
                                          const ShardedOptions& options = {});

}  // namespace tenon::TENON_ABI::devices
