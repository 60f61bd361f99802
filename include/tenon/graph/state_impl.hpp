// Function bodies of state.hpp.
#pragma once

#include "tenon/graph/passes/keep_caches.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/graph/state_decl.hpp"

namespace tenon::TENON_ABI {

#ifndef TENON_COMPILED_SESSION
inline
#endif
    State::State(StateOptions options)
    : State(options, &passes::keep_caches) {
  for (StatePair& p : options.pairs) {
    for (const Slot& s : slots_)
      if (s.pair.past == p.past || s.pair.present == p.present)
        raise(ErrorCode::invalid_argument, "state", "'", s.pair.past == p.past ? p.past : p.present,
              "' is in two pairs");
    slots_.push_back({std::move(p)});
    caches_.push_back(no_steps());
  }
  options_.pairs.clear();
}

}  // namespace tenon::TENON_ABI
