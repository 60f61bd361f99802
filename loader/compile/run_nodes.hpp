// Running the nodes of one program alone.
#pragma once

#include "tenon/graph/session.hpp"

namespace tenon::TENON_ABI::emission {

/// Runs each node of a program but those that run bodies, which a run of those may skip. Given values are the
/// `feeds`. Those without a feed, and the results of nodes that run bodies, are filled with `number`, 0 or 1.
void run_nodes(const Program& program, const tenon::detail::Plan& plan, const Feeds& feeds, int number);

}  // namespace tenon::TENON_ABI::emission
