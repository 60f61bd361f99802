// Session: runs a graph. Bodies: session_impl.hpp; programs that link //loader, which has them compiled, do
// without.
#pragma once

#include "tenon/base/thread_pool.hpp"
#include "tenon/graph/body.hpp"
#include "tenon/graph/session_decl.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::detail {

/// The plan of a program's run with these inputs; those that are left out are taken as they are declared.
Plan plan_of(const Program& program, const Feeds& feeds);

}  // namespace tenon::TENON_ABI::detail

#ifndef TENON_COMPILED_SESSION
#include "tenon/graph/session_impl.hpp"
#endif
