// allow_winograd: fused convolutions may be computed with Winograd's tiles, with fewer products, if
// block_channels considers that faster. Results then differ from plain sums by up to 1e-5 of the greatest.
// Without this pass every convolution is computed directly.
#pragma once

#include "tenon/graph/fused/fused_conv.hpp"
#include "tenon/graph/program.hpp"

namespace tenon::TENON_ABI::passes {

inline void apply_allow_winograd(Program& program) {
  program.for_each<FusedConv>([&](int n, const FusedConv& conv) {
    FusedConv allowed = conv;
    allowed.winograd = true;
    program.applied(n, "allowed");
    program.replace(n, AnyOperator::make(allowed), program.node(n).inputs);
  });
}

inline constexpr Pass allow_winograd{"allow_winograd", apply_allow_winograd};

}  // namespace tenon::TENON_ABI::passes
