// The inputs of a model that is compiled for fixed extents.
#pragma once

#include <map>
#include <optional>

#include "loader/compile/compile.hpp"
#include "tenon/graph/session.hpp"

namespace tenon::TENON_ABI::emission {

/// The extents of a graph's inputs: those that are stated for the input or for its symbols, else the declared
/// ones, in which a symbol has the extent that another input gives it.
class InputExtents {
 public:
  /// `given` has the extents of values that exist. Error{invalid_argument} for extents in `shapes` that do
  /// not fit the declared ones.
  InputExtents(const Graph& g, const ShapeSet& shapes, const std::map<ValueId, Extents>& given = {});
  const Dims& of(ValueId input) const { return dims_.at(input); }
  /// A name in `shapes` that names neither an input nor an open extent of one.
  const std::optional<std::string>& unused() const { return unused_; }

 private:
  std::map<ValueId, Dims> dims_;
  std::optional<std::string> unused_;
};

/// A tensor of known extents filled with `number`, 0 or 1, except for elements that are known; of 0 for types
/// without arithmetic. In place of 1, bytes are 127: as neighbouring weights, these take the most memory.
AnyTensor filled(const op::Info& i, int number);

/// Tensors of each input's type and extents, filled with `number`, 0 or 1. Error{invalid_argument} for
/// extents that are left open, and for shapes that name nothing.
Feeds feeds_for(const Graph& g, const ShapeSet& shapes, int number);

}  // namespace tenon::TENON_ABI::emission
