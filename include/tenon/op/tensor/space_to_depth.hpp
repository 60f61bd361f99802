// SpaceToDepth: blocks of pixels become channels.   onnx.ai/onnx/operators/onnx__SpaceToDepth.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// (N, C, H, W) to (N, b² C, H / b, W / b) with b = blocksize; the channels are (b, b, C).
/// op::SpaceToDepth{.blocksize = 2}(x) of (1,2,6,6) gives (1,8,3,3).
struct SpaceToDepth {
  Opt<int64_t> blocksize{};

  static constexpr Spec spec{.name = "SpaceToDepth",
                             .since = {1, 13},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {all_tensors_ir4},
                             .elements = Elements::order};
  static constexpr Attributes attributes{attr("blocksize", &SpaceToDepth::blocksize).required()};

  constexpr void infer(Infer& i) const {
    if (!i.expect_at_least("blocksize", blocksize.value_or(0), 1)) return;
    const Dim b = *blocksize, block = b * b;
    if (!block.known()) return i.fail("blocksize ", b, " is too large");
    const Dims& x = i.dims(0);
    if (!x.ranked()) return i.out(0, Dims::of_rank(4));
    if (!i.expect_rank(0, 4)) return;
    for (int d : {2, 3})
      if ((x[d] % b).differs(0)) return i.fail("extents ", x, " do not divide into blocks of ", b, " by ", b);
    i.out(0, Dims{x[0], x[1] * block, x[2] / b, x[3] / b});
  }
  void compute(AnyView input, AnyOut output) const {
    if (input.empty()) return;
    const int64_t b = *blocksize;
    const auto x = input.extents();
    kernels::transpose(input.dtype(), output.data(), input.data(),
                       Extents{x[0], x[1], x[2] / b, b, x[3] / b, b}, Extents{0, 3, 5, 1, 2, 4});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::SpaceToDepth)
