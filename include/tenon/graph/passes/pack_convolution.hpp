// pack_convolution: the weights of fused convolutions, in the order in which the kernel reads them.
#pragma once

#include "tenon/base/lasting.hpp"
#include "tenon/graph/passes/fuse_convolution.hpp"

namespace tenon::passes {

inline void apply_pack_convolution(Program& program) {
  program.for_each<FusedConv>([&](int n, const FusedConv& fused) {
    kernels::ConvGeometry g;
    g.rank = std::max(1, fused.extents.size() - 2);
    g.groups = fused.conv.group;
    g.in_channels = fused.extents[1] * g.groups;
    g.out_channels = fused.extents[0];
    constexpr int64_t one = 1;
    g.kernel = fused.extents.size() > 2 ? fused.extents.begin() + 2 : &one;
    PackedConv packed{fused.conv, fused.bounds, fused.element, fused.extents, {}, fused.bias};
    const Storage plain = fused.plain_weights();
    dispatch<float, double>(compute_dtype(fused.element), [&]<class C>() {
      packed.weights = Storage::make<C>(kernels::conv_packed_weight_size<C>(g), lasting_allocator());
      kernels::conv_pack_weights(g, static_cast<const C*>(plain.data()),
                                 static_cast<C*>(packed.weights.data()));
    });
    program.applied(n, "packed");
    program.replace(n, AnyOperator::make(packed), program.node(n).inputs);
  });
}

inline constexpr Pass pack_convolution{"pack_convolution", apply_pack_convolution};

}  // namespace tenon::passes
