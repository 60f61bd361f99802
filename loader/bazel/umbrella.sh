#!/bin/bash
# umbrella.sh HEADER…: writes tenon/tenon.hpp, which includes the operator headers named.
cat <<'END'
// Tensors and every operator. Graphs are in tenon/graph/session.hpp. Programs that are compiled often include
// what they use instead.
// Written by loader/bazel/umbrella.sh: for Bazel by the build, for everyone else by tests/run. Edits would be lost.
#pragma once

#include "tenon/base/dtype.hpp"
#include "tenon/base/error.hpp"
#include "tenon/base/thread_pool.hpp"
END
printf '%s\n' "$@" | sed 's|^.*include/\(tenon/.*\)$|#include "\1"|' | LC_ALL=C sort
cat <<'END'
#include "tenon/tensor/print.hpp"
#include "tenon/tensor/tensor.hpp"
#include "tenon/tensor/value.hpp"
#include "tenon/tensor/view.hpp"
END
