// Tile: a tensor repeated along its axes.   onnx.ai/onnx/operators/onnx__Tile.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

namespace tile_detail {
/// `repeats(d)` copies along axis d.
template <class Repeats>
void tile(AnyView x, AnyOut y, Repeats repeats) {
  if (y.empty()) return;
  // Each axis is walked in two loops: over the copies, and over the elements of one.
  int64_t extents[2 * max_rank], to[2 * max_rank], from[2 * max_rank];
  const Extents steps = dense_strides(y.extents()), source = dense_strides(x.extents());
  for (int d = 0; d < x.rank(); ++d) {
    extents[2 * d] = repeats(d);
    to[2 * d] = x.extent(d) * steps[d];
    from[2 * d] = 0;
    extents[2 * d + 1] = x.extent(d);
    to[2 * d + 1] = steps[d];
    from[2 * d + 1] = source[d];
  }
  kernels::move(x.dtype(), y.data(), {0, to}, x.data(), {0, from},
                {extents, static_cast<std::size_t>(2 * x.rank())});
}
}  // namespace tile_detail

/// repeats[d] copies of input along axis d. op::Tile{}(x, constant<int64_t, 2, 3>) of (1,4) gives (2,12).
struct Tile {
  static constexpr Spec spec{.name = "Tile",
                             .since = {6, 13},
                             .inputs = {{"input", "T"}, {"repeats", "T1"}},
                             .outputs = {{"output", "T"}},
                             .types = {all_tensors_ir4, {"T1", types::int64}},
                             .elements = Elements::choice};

  constexpr void infer(Infer& i) const {
    Dims x = i.dims(0);
    if (!i.expect_rank(1, 1)) return;
    const Dim rank = i.length(1);
    if (!x.ranked()) return i.out(0, i.of_rank(rank));
    if (rank.differs(x.rank())) return i.fail(rank, " repeats for a rank of ", x.rank());
    for (int d = 0; d < x.rank(); ++d) {
      const Dim n = i.element(1, d);
      if (!i.expect_at_least("repeats", n, 0)) return;
      const bool known = x[d].known() && n.known();
      x[d] = x[d] * n;
      if (known && !x[d].known()) return i.fail("the extent of axis ", d, " overflows");
    }
    i.out(0, x);
  }
  void compute(AnyView input, TensorView<const int64_t> repeats, AnyOut output) const {
    tile_detail::tile(input, output, [&](int d) { return repeats[d]; });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// `tiles` copies along one axis; both are numbers of the input's type.
struct Tile_1 {
  static constexpr Spec spec{.name = "Tile",
                             .since = {1},
                             .inputs = {{"input", "T"}, {"tiles", "T"}, {"axis", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::floats}, {"T1", types::int64}},
                             .elements = Elements::choice};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (!i.expect_one(1) || !i.expect_one(2) || !x.ranked()) return;
    Dims r = Dims::of_rank(x.rank());
    const void *tiles = i.in(1).data, *axis = i.in(2).data;
    if (axis) {
      const int along = i.axis(truncated_at(i.dtype(2), axis, 0), x.rank());
      if (i.failed()) return;
      const Dim copies = tiles ? Dim(truncated_at(i.dtype(1), tiles, 0)) : Dim{};
      if (!i.expect_at_least("tiles", copies, 0)) return;
      r = x;
      r[along] = x[along] * copies;
    }
    i.out(0, r);
  }
  void compute(AnyView input, AnyView tiles, AnyView axis, AnyOut output) const {
    const int along = resolve_axis(truncated_at(axis.dtype(), axis.data(), 0), input.rank());
    const int64_t copies = truncated_at(tiles.dtype(), tiles.data(), 0);
    tile_detail::tile(input, output, [&](int d) { return d == along ? copies : 1; });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Tile, tenon::op::Tile_1)
