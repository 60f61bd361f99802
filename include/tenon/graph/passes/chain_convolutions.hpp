// chain_convolutions: consecutive convolutions over blocks of channels become one node if the result between
// them exceeds the second-level cache. It is then computed by bands of rows, and never goes through memory.
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/graph/fused/conv_chain.hpp"
#include "tenon/graph/passes/match.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

/// Whether a convolution can be computed by bands, each of which reads all of its weights.
inline bool has_bands(const BlockedConv& conv) {
  constexpr std::size_t most_weights = cache_bytes::l2 / 16;
  return conv.winograd == 0 && !conv.plain_y && conv.extents.size() == 4 &&
         conv.weights.size_bytes() <= most_weights;
}

/// Whether a value is evicted from the second-level cache before it is read.
inline bool leaves_cache(const Program& p, ValueId v) {
  constexpr int64_t cached = cache_bytes::l2 / int64_t{sizeof(float)};
  const Dims& d = p.info(v).dims;
  const Dim image = d.ranked() ? d.product(1, d.rank()) : Dim();
  return image.known() && image.value() >= cached;
}

/// The banded convolution that is the only reader of a banded convolution's large result, or -1.
inline int next_in_chain(const Program& p, int n) {
  const Graph::Node& node = p.node(n);
  if (node.inputs.size() > 1 || !leaves_cache(p, node.outputs[0])) return -1;
  const int reader = p.only_reader(node.outputs[0]);
  const auto* conv = reader < 0 ? nullptr : p.node(reader).op.as<BlockedConv>();
  return conv != nullptr && has_bands(*conv) && p.node(reader).inputs[0] == node.outputs[0] ? reader : -1;
}

}  // namespace detail

inline void apply_chain_convolutions(Program& program) {
  program.for_each<BlockedConv>([&](int n, const BlockedConv& conv) {
    if (!detail::has_bands(conv)) return;
    ConvChain chain;
    int last = n;
    for (int next = n; next >= 0 && chain.stages.size() < ConvChain::most;
         next = detail::next_in_chain(program, next)) {
      chain.stages.add(*program.node(next).op.as<BlockedConv>());
      last = next;
    }
    if (last == n) return;
    program.applied(n, "in bands of rows, up to ", program.label(last));
    std::vector<ValueId> inputs = program.node(last).inputs;
    inputs[0] = program.node(n).inputs[0];
    const ValueId y = program.node(last).outputs[0];
    program.redirect(y, program.add_node(n, AnyOperator::make(chain), std::move(inputs))[0]);
  });
}

inline constexpr Pass chain_convolutions{"chain_convolutions", apply_chain_convolutions};

}  // namespace tenon::TENON_ABI::passes
