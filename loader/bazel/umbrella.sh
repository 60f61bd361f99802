#!/bin/bash
# umbrella.sh HEADER…: writes tenon/tenon.hpp, which includes the operator headers named.
# umbrella.sh --pack DOMAIN REGISTER HEADER…: writes tenon/op/DOMAIN.hpp, which includes a pack's, and declares the
# function that registers its operators.
includes() { printf '%s\n' "$@" | sed 's|^.*include/\(tenon/.*\)$|#include "\1"|' | LC_ALL=C sort; }
if [ "$1" = --pack ]; then
  domain=$2 register=$3
  shift 3
  cat <<END
// The operators of $domain. Written by loader/bazel/umbrella.sh.
#pragma once

END
  { includes "$@"; echo '#include "tenon/op/framework/registry.hpp"'; } | LC_ALL=C sort
  cat <<END

namespace tenon::TENON_ABI {

/// Adds the operators of $domain, from the library that compiles them.
void $register(Registry& registry);

}  // namespace tenon::TENON_ABI
END
  exit
fi
cat <<'END'
// All of Tenon but the loading of files: tensors, every operator, graphs, sessions. Programs that are
// compiled often include what they use instead.
//
// Written by loader/bazel/umbrella.sh: for Bazel by the build, for everyone else by tests/run. Edits would be
// lost.
#pragma once

#include "tenon/base/dtype.hpp"
#include "tenon/base/error.hpp"
#include "tenon/base/thread_pool.hpp"
#include "tenon/graph/graph.hpp"
#include "tenon/graph/session.hpp"
END
includes "$@"
cat <<'END'
#include "tenon/tensor/print.hpp"
#include "tenon/tensor/tensor.hpp"
#include "tenon/tensor/value.hpp"
#include "tenon/tensor/view.hpp"
END
