// pack_convolution: lays out the weights of fused convolutions, and constant ones of ConvTranspose, in the
// order in which the kernel reads them.
#pragma once

#include "tenon/base/lasting.hpp"
#include "tenon/graph/fused/fused_conv.hpp"
#include "tenon/graph/fused/packed_conv_transpose.hpp"
#include "tenon/graph/passes/match.hpp"
#include "tenon/graph/passes/shared_layout.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

inline void pack_transposed(Program& program, int n, const op::ConvTranspose& op) {
  std::vector<ValueId> operands = program.node(n).inputs;
  const AnyTensor* w = constant_floats(program, operands[1]);
  if (w == nullptr || w->size() == 0) return program.skipped(n, "the weights are not constant");
  if (!fits(program, n)) return program.skipped(n, "the operands do not fit");
  const Dims& x = program.info(operands[0]).dims;
  bool known = x.ranked();
  for (int k = 2; known && k < x.rank(); ++k) known = x[k].known();
  if (!known && !op.output_shape.empty())
    return program.skipped(n, "padding depends on extents that are not known");

  PackedConvTranspose packed{.op = op, .element = w->dtype(), .extents = w->extents()};
  Extents from = packed.extents, to = from;  // of X and Y; all unknown ones have the same padding
  for (int k = 2; k < w->rank(); ++k) {
    from[k] = known ? x[k].value() : 1;
    to[k] = op.extent_along(op.window(), k - 2, from[k], packed.extents[k]).value();
    if (known) packed.in.push_back(from[k]);
  }
  const op::WindowLayout layout = op.layout_over(from, to, std::span(packed.extents).subspan(2));
  auto g =
      layout.geometry<kernels::ConvGeometry>(1, op.group, packed.extents[0], packed.extents[1] * op.group);
  if (known) operands[1] = -1;
  else g.in = g.out = nullptr;
  const auto add = [&](ConstantKey& key) {
    add_weights(key, w->dtype(), packed.extents, op.group, w->data());
    for (int k = 0; k < g.rank; ++k) key.add(g.strides[k], g.dilations[k], g.pads[k]);
  };
  std::string_view why;
  visit_types<float, double>(compute_dtype(w->dtype()), [&]<class C>() {
    const int64_t size = kernels::conv_transpose_packed_weight_size<C>(g);
    if (size == 0) return void(why = "for such extents the weights are read as they are");
    packed.weights = shared_weights(program, "transposed filter", add, [&] {
      Scratch scratch;
      Storage weights = Storage::make<C>(size, lasting_allocator());
      const bool finite =
          kernels::conv_transpose_pack_weights(g, op::numbers<C>(scratch, w->view()), weights.as<C>());
      return finite ? weights : Storage();
    });
    if (!packed.weights) why = "a weight is not finite";
  });
  if (!why.empty()) return program.skipped(n, why);
  program.applied(n, "packed");
  program.replace(n, AnyOperator::make(packed), std::move(operands));
}

}  // namespace detail

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
    const auto add = [&](ConstantKey& key) {
      detail::add_weights(key, compute_dtype(fused.element), fused.extents, g.groups, fused.weights.data());
      detail::add_numbers(key, fused.factors);
    };
    packed.weights = detail::shared_weights(program, "filter", add, [&] {
      const Storage plain = fused.plain_weights();
      Storage weights;
      visit_types<float, double>(compute_dtype(fused.element), [&]<class C>() {
        weights = Storage::make<C>(kernels::conv_packed_weight_size<C>(g), lasting_allocator());
        kernels::conv_pack_weights(g, static_cast<const C*>(plain.data()), weights.as<C>());
      });
      return weights;
    });
    program.applied(n, "packed");
    program.replace(n, AnyOperator::make(packed), program.node(n).inputs);
  });
  program.for_each<op::ConvTranspose>(
      [&](int n, const op::ConvTranspose& op) { detail::pack_transposed(program, n, op); });
}

inline constexpr Pass pack_convolution{"pack_convolution", apply_pack_convolution};

}  // namespace tenon::TENON_ABI::passes
