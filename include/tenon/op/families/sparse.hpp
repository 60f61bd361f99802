// Sparse tensors as operands and attributes.
#pragma once

#include "tenon/base/error.hpp"
#include "tenon/tensor/value.hpp"

namespace tenon::TENON_ABI::op {

/// Checks that a sparse tensor is well-formed: for each value an offset or a list of coordinates, within the
/// extents. Error{invalid_shape, out_of_range} in the name of an operator.
inline void check_sparse(std::string_view name, const SparseTensor& s) {
  const bool coordinates = s.indices.rank() == 2;
  const int depth = coordinates ? s.extents.size() : 1;
  const int64_t count = s.values.size(), offsets[] = {element_count(s.extents)};
  if (s.indices.dtype() != DType::int64 || s.indices.rank() < 1 || s.indices.rank() > 2 ||
      s.indices.extents()[0] != count || (coordinates && s.indices.extents()[1] != depth))
    raise(ErrorCode::invalid_shape, name, "indices ", to_string(s.indices.extents()), " do not fit ", count,
          " values of ", to_string(s.extents));
  const auto* at = static_cast<const int64_t*>(s.indices.data());
  const int64_t* extents = coordinates ? s.extents.data() : offsets;
  for (int64_t k = 0; k < count * depth; ++k)
    if (at[k] < 0 || at[k] >= extents[k % depth])
      raise(ErrorCode::out_of_range, name, "index ", at[k], " outside of ", to_string(s.extents));
}

}  // namespace tenon::TENON_ABI::op
