// Pools and normalisations share their loops: they treat each channel alike.
#pragma once

#include <utility>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::op {

/// The loops of a function of each channel: over the batch, axis 0 of input 0 and of output 0, and over
/// channels. `of_channels` are the axes of channels of other operands.
template <class L>
void add_channel_loops(L& l, int channels = 1, typename L::Axes of_channels = {}) {
  l.over({{0, 0}}, {{0, 0}});
  of_channels.push_back({0, channels});
  l.over(std::move(of_channels), {{0, channels}});
}

}  // namespace tenon::TENON_ABI::op
