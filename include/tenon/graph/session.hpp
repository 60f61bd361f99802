// Session: runs a graph. The function bodies are in session_impl.hpp; programs that link //loader use its
// compiled ones.
#pragma once

#include "tenon/base/thread_pool.hpp"
#include "tenon/graph/body.hpp"
#include "tenon/graph/session_decl.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::detail {

/// The plan of a program's run with these inputs; omitted inputs are assumed to be as declared.
Plan plan_of(const Program& program, const Feeds& feeds);

}  // namespace tenon::TENON_ABI::detail

#ifndef TENON_COMPILED_SESSION
#include "tenon/graph/session_impl.hpp"
#endif
