// The inputs of a model that is compiled for fixed extents.
#pragma once

#include "loader/compile/compile.hpp"
#include "tenon/graph/session.hpp"

namespace tenon::TENON_ABI::emission {

/// Tensors of each input's type and extents, filled with `number`, 0 or 1. Error{invalid_argument} for
/// extents that are left open, and for shapes that name nothing.
Feeds feeds_for(const Graph& g, const ShapeSet& shapes, int number);

}  // namespace tenon::TENON_ABI::emission
