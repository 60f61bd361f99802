// State's constructor and truncation, and the pass that makes caches of its pairs. Programs that link
// //loader use its compiled ones.
#pragma once

#include "tenon/graph/state_decl.hpp"

#ifndef TENON_COMPILED_SESSION
#include "tenon/graph/state_impl.hpp"
#endif
