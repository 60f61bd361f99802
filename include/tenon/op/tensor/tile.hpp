// Tile: a tensor repeated along its axes.   onnx.ai/onnx/operators/onnx__Tile.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::op {

namespace tile_detail {
/// `repeats(d)` copies along axis d.
template <class Repeats>
void tile(AnyView x, AnyOut y, Repeats repeats) {
  if (y.empty()) return;
  // Each axis is walked in two loops: the copies, and the elements of one.
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

/// repeats[d] copies of input along axis d.
struct Tile {
  static constexpr Spec spec{.name = "Tile",
                             .since = {6, 13},
                             .inputs = {{"input", "T"}, {"repeats", "T1"}},
                             .outputs = {{"output", "T"}},
                             .types = {all_tensors_ir4, {"T1", types::int64}}};

  constexpr void infer(Infer& i) const {
    const Dims &x = i.dims(0), &repeats = i.dims(1);
    if (!i.expect_rank(1, 1)) return;
    const Dim rank = i.has_elements(1) ? Dim(i.element_count(1)) : repeats.ranked() ? repeats[0] : Dim{};
    if (x.ranked() && rank.differs(x.rank())) return i.fail(rank, " repeats for a rank of ", x.rank());
    if (!x.ranked()) {
      if (rank.known() && rank.value() <= max_rank) i.out(0, Dims::of_rank(static_cast<int>(rank.value())));
      return;
    }
    Dims r = Dims::of_rank(x.rank());
    for (int d = 0; d < x.rank() && i.has_elements(1); ++d) {
      const Dim n = i.element(1, d);
      if (n.known() && n.value() < 0) return i.fail("repeats hold ", n);
      r[d] = x[d] * n;
    }
    i.out(0, r);
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
                             .types = {{"T", types::floats}, {"T1", types::int64}}};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (!i.expect_one(1) || !i.expect_one(2) || !x.ranked()) return;
    Dims r = Dims::of_rank(x.rank());
    const void *tiles = i.in(1).data, *axis = i.in(2).data;
    if (axis) {
      const int along = i.axis(truncated_at(i.dtype(2), axis, 0), x.rank());
      if (i.failed()) return;
      r = x;
      r[along] = tiles ? x[along] * Dim(truncated_at(i.dtype(1), tiles, 0)) : Dim{};
      if (tiles && truncated_at(i.dtype(1), tiles, 0) < 0) return i.fail("tiles are negative");
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

}  // namespace tenon::op
