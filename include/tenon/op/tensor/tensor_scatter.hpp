// TensorScatter: new entries written to a cache.   onnx.ai/onnx/operators/onnx__TensorScatter.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// past_cache (batch, …, M, …) with the m entries of update written along `axis`, in batch b from
/// write_indices[b] on (without it from 0). They end within the cache when linear, and continue at its
/// beginning when circular: there any index is valid, because ONNX takes it modulo M (np.mod in its
/// algorithm, so that -1 is the last entry), even with an empty update. ONNX Runtime refuses negative ones.
/// op::TensorScatter{}(cache, update, at) of (2,8,4), (2,1,4) and (2) gives (2,8,4).
struct TensorScatter {
  int64_t axis = -2;
  Str mode = "linear";  ///< linear, circular

  static constexpr Spec spec{
      .name = "TensorScatter",
      .since = {24},
      .inputs = {{"past_cache", "T"}, {"update", "T"}, {"write_indices", "tensor(int64)", optional}},
      .outputs = {{"present_cache", "T"}},
      .types = {{"T", types::all_ir12}},
      .updates = {{.output = 0, .input = 0}}};
  static constexpr Attributes attributes{attr("axis", &TensorScatter::axis),
                                         attr("mode", &TensorScatter::mode)};

  constexpr bool drops_rows() const { return mode == "circular"; }
  constexpr void infer(Infer& i) const {
    const Dims &cache = i.dims(0), &update = i.dims(1);
    if (!i.expect_choice("mode", mode, {"linear", "circular"}) || !i.expect_rank(2, 1)) return;
    i.out(0, cache);
    if (!cache.ranked()) return;
    const int along = i.axis(axis, cache.rank());
    if (i.failed()) return;
    if (along == 0) return i.fail("axis ", axis, " is the batch");
    if (i.dims(2).ranked()) i.unify(i.dims(2)[0], cache[0], "extents of write_indices and the batch");
    if (!i.expect_rank(1, cache.rank()) || !update.ranked()) return;
    for (int d = 0; d < cache.rank(); ++d)
      if (d != along) i.unify(cache[d], update[d], "extents of past_cache and update");
    if (cache[along].below(update[along]))
      return i.fail("update ", update, " has more entries than past_cache ", cache);
  }
  /// Error{out_of_range} if a linear write leaves the cache.
  void compute(AnyView past_cache, AnyView update, TensorView<const int64_t> write_indices,
               AnyOut present_cache) const {
    const int along = resolve_axis(axis, past_cache.rank());
    const int64_t length = past_cache.extent(along), count = update.extent(along);
    if (mode == "linear")
      for (const int64_t first : write_indices)
        if (first < 0 || first > length - count)
          raise(ErrorCode::out_of_range, spec.name, count, " entries from ", first, " on leave a cache of ",
                length);
    if (present_cache.data() != past_cache.data()) copy_elements(past_cache, present_cache);
    if (update.empty()) return;
    const int64_t batches = update.extent(0);
    const int64_t inner = split_at(update.extents(), along).inner,
                  outer = update.size() / batches / count / inner;
    const int64_t to[] = {length * inner, 1}, from[] = {count * inner, 1};
    const auto write = [&](int64_t b, int64_t at, int64_t first, int64_t n) {
      const int64_t extents[] = {outer, n * inner};
      kernels::move(update.dtype(), present_cache.data(), {b * outer * to[0] + at * inner, to}, update.data(),
                    {b * outer * from[0] + first * inner, from}, extents);
    };
    for (int64_t b = 0; b < batches; ++b) {
      const int64_t at = write_indices ? (write_indices[b] % length + length) % length : 0;
      const int64_t n = std::min(count, length - at);
      write(b, at, 0, n);
      write(b, 0, n, count - n);
    }
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::TensorScatter)
