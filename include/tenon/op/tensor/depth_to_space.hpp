// DepthToSpace: channels become blocks of pixels.   onnx.ai/onnx/operators/onnx__DepthToSpace.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// (N, C, H, W) to (N, C / b², H b, W b) with b = blocksize. Channels are read as (b, b, C / b²) with mode
/// DCR, and as (C / b², b, b) with CRD. op::DepthToSpace{.blocksize = 2}(x) of (1,8,3,3) gives (1,2,6,6).
struct DepthToSpace {
  Opt<int64_t> blocksize{};
  Str mode = "DCR";

  static constexpr Spec spec{.name = "DepthToSpace",
                             .since = {1, 11, 13},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {all_tensors_ir4},
                             .elements = Elements::order};
  static constexpr Attributes attributes{attr("blocksize", &DepthToSpace::blocksize).required(),
                                         attr("mode", &DepthToSpace::mode).since(11)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_at_least("blocksize", blocksize.value_or(0), 1)) return;
    if (!i.expect_choice("mode", mode, {"DCR", "CRD"})) return;
    const Dim b = *blocksize, block = b * b;
    if (!block.known()) return i.fail("blocksize ", b, " is too large");
    const Dims& x = i.dims(0);
    if (!x.ranked()) return i.out(0, Dims::of_rank(4));
    if (!i.expect_rank(0, 4)) return;
    if ((x[1] % block).differs(0))
      return i.fail(x[1], " channels do not divide into blocks of ", b, " by ", b);
    i.out(0, Dims{x[0], x[1] / block, x[2] * b, x[3] * b});
  }
  void compute(AnyView input, AnyOut output) const {
    if (input.empty()) return;
    const int64_t b = *blocksize;
    const auto x = input.extents();
    const int64_t depth = x[1] / (b * b), h = x[2], w = x[3];
    // (N, depth, H, b, W, b) is the result as it lies in memory.
    const bool dcr = mode == "DCR";
    const Extents split = dcr ? Extents{x[0], b, b, depth, h, w} : Extents{x[0], depth, b, b, h, w};
    const Extents order = dcr ? Extents{0, 3, 4, 1, 5, 2} : Extents{0, 1, 4, 2, 5, 3};
    kernels::transpose(input.dtype(), output.data(), input.data(), split, order);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::DepthToSpace)
