// SkipLayerNormalization and SkipSimplifiedLayerNormalization share their operands.
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/math/add.hpp"

namespace tenon::TENON_ABI::op {

/// The rule for input, skip and then vectors for the last axis, up to input number `inputs`.
constexpr void infer_skip_normalization(Infer& i, int inputs) {
  const Dims &x = i.dims(0), &skip = i.dims(1);
  if (x.ranked() && x.rank() != 2 && x.rank() != 3)
    return i.fail(i.name(0), ": rank ", x.rank(), ", expected 2 or 3");
  if (x.ranked() && skip.ranked()) {
    bool fits = skip.rank() == x.rank() || (skip.rank() == 2 && x.rank() == 3);
    for (int k = 1; fits && k <= skip.rank(); ++k) {
      const Dim d = skip[skip.rank() - k];
      fits = !d.differs(x[x.rank() - k]) || (k == 3 && d.is(1));
    }
    if (!fits) return i.fail("skip ", skip, " does not fit ", x);
  }
  for (int k = 2; k < inputs; ++k) {
    if (!i.has(k)) continue;
    if (!i.expect_rank(k, 1)) return;
    if (x.ranked() && !i.expect_extents(k, {x[x.rank() - 1]})) return;
  }
  Dims rows = x;
  if (x.ranked()) rows[x.rank() - 1] = 1;
  i.out(0, x);
  i.out(1, DType::float32, rows);
  i.out(2, DType::float32, rows);
  i.out(3, x);
}

/// The type in which a normalisation computes: narrow floats are rounded as results only, as by ONNX Runtime.
template <class L>
DType skip_type(L& to) {
  const DType type = to.in(0).type.element;
  return bits_of(type) < 32 ? DType::float32 : type;
}
/// An operand of that type, -1 if it is left out.
template <class L>
int32_t skip_input(L& to, int k) {
  if (to.input(k) < 0) return -1;
  return function_body::converted(to, to.input(k), to.in(0).type.element, skip_type(to));
}
/// A value of that type as a result.
template <class L>
int32_t skip_result(L& to, int32_t value) {
  return function_body::converted(to, value, skip_type(to), to.in(0).type.element);
}

/// The nodes of input + skip + bias, which is input number `bias` and may be left out.
template <class L>
int32_t skip_sum(L& to, int bias) {
  const int32_t sum = to.add(Add{}, {skip_input(to, 0), skip_input(to, 1)});
  return to.input(bias) < 0 ? sum : to.add(Add{}, {sum, skip_input(to, bias)});
}

}  // namespace tenon::TENON_ABI::op
