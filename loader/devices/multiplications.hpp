// The work of nodes, and the sizes of values, from their extents.
#pragma once

#include "tenon/graph/graph.hpp"

namespace tenon::TENON_ABI::loader {

/// The elements of a tensor. Extents that are not known count as 1; 0 if the rank is not, or for other
/// values.
int64_t elements_of(const op::Info& info);
int64_t bytes_of(const op::Info& info);  ///< of these elements

struct Product {
  int64_t multiplications = 0;  ///< 0: the node is no product. At most 2^42
  bool windows = false;         ///< whether it slides weights along axes, as a convolution does
};

/// The products of a node. Its operator may state them, which includes the products of its bodies. Otherwise
/// a loop shows a product: it runs over axes of two operands, and the result is a sum over it, or is divided
/// by it into groups. Other nodes count as their functions do, if they have one.
Product product_of(const Graph& graph, const Graph::Node& node);

}  // namespace tenon::TENON_ABI::loader
