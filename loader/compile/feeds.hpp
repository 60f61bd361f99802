// The inputs of a model that is compiled for fixed extents.
#pragma once

#include <map>
#include <set>

#include "loader/compile/compile.hpp"
#include "tenon/graph/session.hpp"

namespace tenon::TENON_ABI::emission {

/// The extents of an input: those that `shapes` states, else the declared ones. `used` receives the names
/// that apply. Error{invalid_argument} for extents that do not fit the declared ones.
Dims shaped(const Graph& g, const Graph::ValueEntry& input, const ShapeSet& shapes,
            std::set<std::string_view>& used);

/// The extents of symbols that the extents of some inputs determine; the others have them too.
class KnownSymbols {
 public:
  void learn(const Dims& declared, const Dims& actual);
  Dims apply(Dims dims) const;

 private:
  std::map<int32_t, int64_t> extents_;
};

/// A tensor of known extents filled with `number`, 0 or 1, except for elements that are known; of 0 for types
/// without arithmetic. In place of 1, bytes are 127: as neighbouring weights, these take the most memory.
AnyTensor filled(const op::Info& i, int number);

/// Tensors of each input's type and extents, filled with `number`, 0 or 1. Error{invalid_argument} for
/// extents that are left open, and for shapes that name nothing.
Feeds feeds_for(const Graph& g, const ShapeSet& shapes, int number);

}  // namespace tenon::TENON_ABI::emission
