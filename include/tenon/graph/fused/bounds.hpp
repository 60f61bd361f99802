// The bounds of an activation and the rule of an addend, which fused operators share.
#pragma once

#include <limits>

#include "tenon/op/framework/infer.hpp"

namespace tenon::TENON_ABI::passes {

/// An activation that kernels apply themselves: y = min(max(x, lo), hi), where a NaN stays.
struct Bounds {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();

  static constexpr op::Attributes fields{op::attr("lo", &Bounds::lo), op::attr("hi", &Bounds::hi)};
};

/// Unifies the extents y of a product with the extents of input k, which is added to it and may be left out.
constexpr void infer_addend(op::Infer& i, int k, Dims& y) {
  if (i.ranked(k) && y.ranked()) y = i.unify(i.dims(k), y, "extents of C and Y");
}

/// Whether a product is small enough for SmallMatMul. `gemm` applies the same criterion, and considers
/// registers as well.
constexpr bool is_small_product(int64_t m, int64_t k, int64_t n) {
  return m > 0 && k > 0 && n > 0 && m <= 16 && k <= 64 && n <= 64 && m * n * k <= 8192;
}

}  // namespace tenon::TENON_ABI::passes
