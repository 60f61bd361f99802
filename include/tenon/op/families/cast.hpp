// Cast and CastLike share types, the meaning of attributes, the shape rule, and the call of the conversion.
#pragma once

#include "tenon/base/convert.hpp"
#include "tenon/kernels/elementwise/convert.hpp"
#include "tenon/op/families/elementwise.hpp"

namespace tenon::TENON_ABI::op {

/// T1 and T2 of Cast and CastLike.
constexpr TypeVar cast_types(std::string_view name) {
  constexpr TypeSet numbers = types::numeric | types::boolean;
  constexpr TypeSet texts = numbers | types::string, ir4 = texts | types::bfloat16,
                    ir9 = ir4 | types::float8s;
  constexpr TypeSet ir10 = ir9 | types::int4s, ir11 = ir10 | types::float4s, ir12 = ir11 | types::float8e8m0;
  return {name,
          {{1, numbers},
           {9, texts},
           {13, ir4},
           {19, ir9},
           {21, ir10},
           {23, ir11},
           {24, ir12},
           {25, ir12 | types::int2s}}};
}

/// The rule for elements of type `to`.
constexpr void infer_cast(Infer& i, DType to) {
  i.out(0, to, i.dims(0));
  if (!i.propagates(0) || !is_propagated(to) || i.dims(0).rank() > 1) return;
  PropagatedData& v = i.out(0).propagated;
  if (!v.begin(i.element_count(0))) return;
  for (int64_t k = 0; k < i.element_count(0); ++k) v.push_back(held(to, i.propagated(0, k)));
}

/// The attributes `saturate` and `round_mode`; the latter is up, down or nearest.
constexpr CastOptions cast_options(int64_t saturate, std::string_view round_mode) {
  const E8M0Round round = round_mode == "down"      ? E8M0Round::down
                          : round_mode == "nearest" ? E8M0Round::nearest
                                                    : E8M0Round::up;
  return {.saturate = saturate != 0, .round_mode = round};
}
constexpr void check_round_mode(Infer& i, const Str& mode) {
  i.expect_choice("round_mode", mode, {"up", "down", "nearest"});
}

/// output = input, each element converted. Error{invalid_argument} for a string that is not a valid element.
inline void cast(AnyView input, AnyOut output, CastOptions options) {
  const DType from = input.dtype(), to = output.dtype();
  if (from == to && input.data() == output.data()) return;
  // Chunks end at whole bytes of any packed type.
  const int64_t grain = from == DType::string || to == DType::string ? 1024 : 16384;
  parallel_for(input.size(), grain, [&](int64_t begin, int64_t end) {
    const auto* source = static_cast<const std::byte*>(input.data()) + packed_bytes(begin, from);
    auto* target = static_cast<std::byte*>(output.data()) + packed_bytes(begin, to);
    if (!kernels::convert_elements(to, target, from, source, end - begin))
      convert_n(to, target, from, source, end - begin, options);
  });
}

}  // namespace tenon::TENON_ABI::op
