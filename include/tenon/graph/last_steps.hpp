// The constructor of LastSteps, with the pass that it names.
#pragma once

#include "tenon/graph/passes/keep_last_steps.hpp"
#include "tenon/graph/run_options.hpp"

namespace tenon::TENON_ABI {

#ifndef TENON_COMPILED_SESSION
inline
#endif
    LastSteps::LastSteps(std::string of, int64_t steps)
    : output(std::move(of)), count(steps), pass(&passes::keep_last_steps) {
}

}  // namespace tenon::TENON_ABI
