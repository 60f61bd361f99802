// The second result of normalisations by the root mean square.
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/reciprocal.hpp"
#include "tenon/op/math/sqrt.hpp"
#include "tenon/op/nn/rms_normalization.hpp"
#include "tenon/op/reduction/reduce_mean.hpp"

namespace tenon::TENON_ABI::op {

/// The nodes of 1 / sqrt(mean(x^2) + epsilon) over the axes from `axis` on, computed in at least float32.
template <class L>
int32_t inverse_root_mean_square(L& to, int32_t x, DType type, int axis, int rank, float epsilon,
                                 DType result) {
  const DType wide = type == DType::float64 ? type : DType::float32;
  const int32_t c = function_body::converted(to, x, type, wide);
  Ints axes;
  for (int k = axis; k < rank; ++k) axes.push_back(k);
  const int32_t mean = to.add(ReduceMean{}, {to.add(Mul{}, {c, c}), function_body::ints(to, axes)});
  const int32_t sum = to.add(Add{}, {mean, function_body::number(to, wide, static_cast<double>(epsilon))});
  return function_body::converted(to, to.add(Reciprocal{}, {to.add(Sqrt{}, {sum})}), wide, result);
}

}  // namespace tenon::TENON_ABI::op
