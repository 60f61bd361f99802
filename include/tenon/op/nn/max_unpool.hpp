// MaxUnpool: the inverse of MaxPool, with zeros where no maximum was.
// onnx.ai/onnx/operators/onnx__MaxUnpool.html
#pragma once

#include "tenon/op/families/window.hpp"

namespace tenon::TENON_ABI::op {

/// X's elements at the places that I states, and zeros elsewhere. The result's extents are output_shape, or
/// the natural ones: stride (in - 1) + kernel - pads. I counts the elements of the result as one flat tensor.
/// With other extents in output_shape, an I that MaxPool cannot have given for a tensor of these extents
/// counts the elements of the natural ones, which lie at the start of each axis. Of two elements for one
/// place the second stays. output_shape may be below the natural extents as long as each window begins within
/// it, as after MaxPool with ceil_mode; ONNX's reference and ONNX Runtime demand at least the natural ones.
/// op::MaxUnpool{.kernel_shape = {2, 2}, .strides = {2, 2}}(x, i) of two (1,3,4,4) gives (1,3,8,8).
struct MaxUnpool {
  Ints kernel_shape{};
  Ints pads{};
  Ints strides{};

  static constexpr Spec spec{
      .name = "MaxUnpool",
      .since = {9, 11, 22},
      .inputs = {{"X", "T1"}, {"I", "T2"}, {"output_shape", "T2", optional}},
      .outputs = {{"output", "T1"}},
      .types = {{"T1", {{9, types::floats}, {22, types::floats_bf16}}}, {"T2", types::int64}}};
  static constexpr Attributes attributes{attr("kernel_shape", &MaxUnpool::kernel_shape).required(),
                                         attr("pads", &MaxUnpool::pads),
                                         attr("strides", &MaxUnpool::strides)};

  constexpr WindowAttributes window() const { return {"", {}, kernel_shape, pads, strides}; }
  constexpr void infer(Infer& i) const {
    const WindowAttributes w = window();
    const int spatial = kernel_shape.size();
    Dims x = i.unify(i.dims(0), i.dims(1), "extents of X and I");
    if (i.failed() || !w.check(i, spatial) ||
        !w.check_kernel(i, Dims(std::span<const int64_t>(kernel_shape))))
      return;
    if (!x.ranked()) x = Dims::of_rank(spatial + 2);
    if (x.rank() < 2) return i.fail("X ", x, " has no channels");
    if (!i.expect_entries("kernel_shape", spatial, x.rank() - 2)) return;
    for (int k = 2; k < x.rank(); ++k)
      if (Dim(WindowAttributes::limit).below(x[k])) return i.fail("extent ", x[k], " is too large");
    if (!i.has(2)) {
      for (int k = 2; k < x.rank(); ++k) {
        x[k] = natural(w, k - 2, x[k]);
        if (x[k].below(0)) return i.fail("the extent of axis ", k, " would become ", x[k]);
      }
      return i.out(0, x);
    }
    if (!i.expect_rank(2, 1)) return;
    if (i.length(2).differs(x.rank()))
      return i.fail("output_shape has ", i.length(2), " elements, X ", x.rank(), " axes");
    for (int k = 0; k < x.rank(); ++k) {
      const Dim extent = i.has_elements(2) ? i.element(2, k) : Dim();
      if (!i.expect_at_least("output_shape", extent, 0)) return;
      if (k < 2) {
        x[k] = i.unify(extent, x[k], "extents of X and output_shape");
        continue;
      }
      const Dim last = (x[k] - 1) * w.stride(k - 2) - w.padding(k - 2).begin;
      i.for_runs([&] {
        if (extent.known() && last.known() && extent.value() <= std::max<int64_t>(0, last.value()) &&
            !x[k].is(0))
          i.fail("output_shape ", extent, " along axis ", k, ": the last window begins at ", last);
      });
      x[k] = extent;
    }
    i.out(0, x);
  }
  /// Error{out_of_range} for an index outside the tensor whose elements it counts.
  template <class T>
  void compute(TensorView<const T> x, TensorView<const int64_t> indices, TensorView<const int64_t>,
               TensorView<T> y) const {
    std::fill_n(y.data(), y.size(), T{});
    if (x.empty()) return;
    const WindowAttributes w = window();
    Extents own(x.extents()), counted(y.extents());
    for (int k = 2; k < own.size(); ++k) counted[k] = natural(w, k - 2, own[k]).value();
    const bool as_result =
        y.empty() || !lies_within(counted, y.extents()) || from_pool(w, own, indices, y.extents());
    const int64_t limit = as_result ? y.size() : element_count(counted);
    for (int64_t k = 0; k < x.size(); ++k) {
      const int64_t at = indices[k];
      if (at < 0 || at >= limit)
        raise(ErrorCode::out_of_range, spec.name, "index ", at, " outside of [0, ", limit - 1, "]");
      y[as_result ? at : moved(at, counted, y.extents())] = x[k];
    }
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  static constexpr Dim natural(const WindowAttributes& w, int k, Dim in) {
    const WindowAttributes::Padding p = w.padding(k);
    return (in - 1) * w.stride(k) + (w.kernel_shape[static_cast<std::size_t>(k)] - p.begin - p.end);
  }
  /// Whether the extents differ from the result's and fit into them.
  static bool lies_within(const Extents& extents, std::span<const int64_t> result) {
    bool differ = false;
    for (int k = 0; k < extents.size(); ++k) {
      const int64_t of_result = result[static_cast<std::size_t>(k)];
      if (extents[k] < 0 || extents[k] > of_result) return false;
      differ |= extents[k] != of_result;
    }
    return differ;
  }
  /// Whether each index lies in its element's window over a tensor of the result's extents.
  static bool from_pool(const WindowAttributes& w, const Extents& own, TensorView<const int64_t> indices,
                        std::span<const int64_t> result) {
    for (int64_t k = 0; k < indices.size(); ++k) {
      int64_t cell = k, place = indices[k];
      for (int d = own.size(); d-- > 2;) {
        const int64_t extent = result[static_cast<std::size_t>(d)];
        const int64_t start = cell % own[d] * w.stride(d - 2) - w.padding(d - 2).begin;
        const int64_t within = place % extent - start;
        if (within < 0 || within >= w.kernel_shape[static_cast<std::size_t>(d - 2)]) return false;
        cell /= own[d];
        place /= extent;
      }
      if (cell != place) return false;
    }
    return true;
  }
  /// The place in a tensor of extents `to` of element number `at` of a tensor of extents `from`.
  static int64_t moved(int64_t at, const Extents& from, std::span<const int64_t> to) {
    int64_t place = 0, step = 1;
    for (int d = from.size(); d-- > 0;) {
      place += at % from[d] * step;
      at /= from[d];
      step *= to[static_cast<std::size_t>(d)];
    }
    return place;
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::MaxUnpool)
