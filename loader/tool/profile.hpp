// The times of a model's nodes.
#pragma once

#include <string>

#include "tenon/loader.hpp"

namespace tenon::TENON_ABI::tool {

/// Profiles runs of a session for a second, one at least, and prints a table of the median time of each node,
/// slowest first; a node that a run executes several times counts with their sum. The caller has run the
/// session before, so that plans and caches are warm. If `trace` is not empty, the last run is written to
/// that file in the format of Chrome's trace viewer (JSON; times in microseconds).
void profile_runs(const Session& session, const Feeds& feeds, RunOptions options, const std::string& trace);

}  // namespace tenon::TENON_ABI::tool
