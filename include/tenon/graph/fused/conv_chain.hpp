// Consecutive convolutions over blocks of channels, in one operator.
#pragma once

#include <array>

#include "tenon/graph/fused/blocked_conv.hpp"
#include "tenon/kernels/conv/chain.hpp"

namespace tenon::TENON_ABI::passes {

/// Two to four consecutive BlockedConvs with two spatial axes, none by Winograd. X belongs to the first, Z to
/// the last.
struct ConvChain {
  static constexpr std::size_t most = 4;

  /// A list with inline storage. It has a constructor because g++ 12 fails on aggregates with arrays whose
  /// elements have initial values.
  class Stages {
   public:
    constexpr Stages(const std::same_as<BlockedConv> auto&... stages) noexcept
        : stages_{stages...}, size_(sizeof...(stages)) {}
    void add(const BlockedConv& stage) { stages_[size_++] = stage; }
    constexpr std::size_t size() const { return size_; }
    constexpr const BlockedConv& operator[](std::size_t k) const { return stages_[k]; }

   private:
    std::array<BlockedConv, most> stages_;
    std::size_t size_;
  };
  Stages stages;

  static constexpr op::Attributes fields{op::attr("stages", &ConvChain::stages)};
  static constexpr op::Spec spec = op::own_spec("ConvChain", {{"X", "T"}, {"Z", "T", op::optional}},
                                                {{"Y", "T"}}, {{"T", types::float32}});

  constexpr void infer(op::Infer& i) const {
    if (!i.expect_ranked(0) || !i.expect_rank(0, stages[0].plain_x ? 4 : 5)) return;
    Dims y = i.dims(0);
    for (std::size_t s = 0; s < stages.size(); ++s) {
      y = stages[s].result(i, y);
      if (!y.ranked()) return;
    }
    if (i.expect_extents(1, y)) i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> z, TensorView<T> y) const {
    if (y.empty()) return;
    using Axes = std::array<int64_t, 2>;
    std::array<Axes, most + 1> extents;
    std::array<Axes, most> kernel, strides, dilations, pads;
    std::array<kernels::BlockedConvArgs<T>, most> args;
    extents[0] = {x.extent(2), x.extent(3)};
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const BlockedConv& stage = stages[s];
      const op::WindowAttributes window = stage.conv.window();
      for (int k = 0; k < 2; ++k) {
        const auto at = static_cast<std::size_t>(k);
        kernel[s][at] = stage.extents[k + 2];
        strides[s][at] = window.stride(k), dilations[s][at] = window.dilation(k);
        const op::WindowAttributes::Along along = window.along(k, extents[s][at], kernel[s][at]);
        extents[s + 1][at] = along.out, pads[s][at] = along.padding.begin;
      }
      args[s] = stage.template arguments<T>({2, x.extent(0), stage.conv.group,
                                             stage.extents[1] * stage.conv.group, stage.extents[0],
                                             extents[s].data(), extents[s + 1].data(), kernel[s].data(),
                                             strides[s].data(), dilations[s].data(), pads[s].data()});
    }
    args[0].x = x.data();
    args[stages.size() - 1].add = z.data();
    args[stages.size() - 1].y = y.data();
    kernels::conv_chain(std::span<const kernels::BlockedConvArgs<T>>(args.data(), stages.size()));
  }
};

}  // namespace tenon::TENON_ABI::passes
