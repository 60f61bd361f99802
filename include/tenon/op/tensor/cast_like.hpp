// CastLike: the elements as the type of another tensor.   onnx.ai/onnx/operators/onnx__CastLike.html
#pragma once

#include "tenon/op/families/cast.hpp"

namespace tenon::TENON_ABI::op {

/// output = input in elements of target_type's type; see Cast. op::CastLike{}(2.7f, 0) gives 2.
struct CastLike {
  Str round_mode = "up";  ///< how float8e8m0 rounds: up, down, nearest
  int64_t saturate = 1;   ///< whether a float8 beyond the range is the greatest one, rather than Inf or NaN

  static constexpr Spec spec{.name = "CastLike",
                             .since = {15, 19, 21, 23, 24, 25},
                             .inputs = {{"input", "T1"}, {"target_type", "T2"}},
                             .outputs = {{"output", "T2"}},
                             .types = {cast_types("T1"), cast_types("T2")},
                             .elements = Elements::function};
  static constexpr Attributes attributes{attr("round_mode", &CastLike::round_mode).since(24),
                                         attr("saturate", &CastLike::saturate).flag().since(19)};

  constexpr void infer(Infer& i) const {
    check_round_mode(i, round_mode);
    if (i.in(1).type.kind == Kind::tensor) infer_cast(i, i.dtype(1));
    else i.out(0, i.dims(0));  // the type is known only at run time
  }
  void compute(AnyView input, AnyView, AnyOut output) const {
    cast(input, output, cast_options(saturate, round_mode));
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::CastLike)
