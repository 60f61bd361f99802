// Col2Im: blocks of images, one a column, added up to the images.
// onnx.ai/onnx/operators/onnx__Col2Im.html
#pragma once

#include "tenon/kernels/conv/col2im.hpp"
#include "tenon/op/families/window.hpp"

namespace tenon::TENON_ABI::op {

/// output (N, C, image_shape) from input (N, C * cells of a block, blocks): the inverse of taking blocks of
/// block_shape out of an image, where cells that lie in several blocks are added up. A bool cell is true if
/// any of them is; strings are joined.
/// op::Col2Im{}(x, image, block) of (1,12,4), image (4,4) and block (2,2) with strides (2,2) gives (1,3,4,4).
struct Col2Im {
  Ints dilations{};
  Ints pads{};
  Ints strides{};

  static constexpr Spec spec{
      .name = "Col2Im",
      .since = {18},
      .inputs = {{"input", "T"}, {"image_shape", "tensor(int64)"}, {"block_shape", "tensor(int64)"}},
      .outputs = {{"output", "T"}},
      .types = {{"T", types::all_ir4}}};
  static constexpr Attributes attributes{attr("dilations", &Col2Im::dilations), attr("pads", &Col2Im::pads),
                                         attr("strides", &Col2Im::strides)};

  constexpr WindowAttributes window() const { return {"", dilations, {}, pads, strides}; }
  constexpr void infer(Infer& i) const {
    if (!i.expect_rank(0, 3) || !i.expect_rank(1, 1) || !i.expect_rank(2, 1)) return;
    const Dim axes = i.unify(i.length(1), i.length(2), "lengths of image_shape and block_shape");
    const Dims& x = i.dims(0);
    if (i.failed()) return;
    const int64_t listed = !dilations.empty() ? dilations.size()
                           : !strides.empty() ? strides.size()
                                              : pads.size() / 2;
    if (!axes.known() && listed == 0) return;
    if (axes.is(0)) return i.fail("image_shape has no elements");
    const int64_t many = axes.known() ? axes.value() : listed;
    if (many > max_spatial) return i.fail(many, " spatial axes are more than ", max_spatial);
    const int spatial = static_cast<int>(many);
    const WindowAttributes w = window();
    if (!w.check(i, spatial)) return;
    const Dims image = elements(i, 1, spatial), block = elements(i, 2, spatial);
    if (!w.check_kernel(i, block)) return;
    Dim cells = 1, blocks = 1;
    for (int k = 0; k < spatial; ++k) {
      if (!i.expect_at_least("image_shape", image[k], 0)) return;
      if (Dim(WindowAttributes::limit).below(image[k])) return i.fail("extent ", image[k], " is too large");
      cells = cells * block[k];
      const bool known = image[k].known() && block[k].known();
      const Dim along = known ? Dim(w.along(k, image[k].value(), block[k].value()).out) : Dim();
      if (along.below(1))
        return i.fail("blocks ", block, " do not fit into an image ", image, " along axis ", k);
      blocks = blocks * along;
    }
    if (image.known() && block.known() && !blocks.known()) return i.fail("an image ", image, " is too large");
    Dims y{Dim(), Dim()};
    if (x.ranked()) {
      if ((x[1] % cells).differs(0)) return i.fail(x[1], " rows do not divide into blocks ", block);
      if (x[2].differs(blocks))
        return i.fail("input ", x, " does not have the columns of ", blocks, " blocks");
      y = {x[0], x[1] / cells};
    }
    for (Dim d : image) y.push_back(d);
    i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> input, TensorView<const int64_t> image, TensorView<const int64_t> block,
               TensorView<T> output) const {
    if (output.empty()) return;
    const WindowAttributes w = window();
    kernels::Col2ImArgs<T> args;
    int64_t blocks[max_spatial], steps[max_spatial], gaps[max_spatial], before[max_spatial];
    args.rank = static_cast<int>(image.size());
    for (int k = 0; k < args.rank; ++k) {
      blocks[k] = w.along(k, image[k], block[k]).out;
      steps[k] = w.stride(k);
      gaps[k] = w.dilation(k);
      before[k] = w.padding(k).begin;
    }
    args.planes = output.extent(0) * output.extent(1);
    args.image = image.data(), args.block = block.data(), args.blocks = blocks;
    args.strides = steps, args.dilations = gaps, args.pads = before;
    args.x = input.data();
    args.y = output.data();
    kernels::col2im(args);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// The elements of an input of `count` extents.
  static constexpr Dims elements(Infer& i, int input, int count) {
    Dims d = Dims::of_rank(count);
    if (i.has_elements(input))
      for (int k = 0; k < count; ++k) d[k] = i.element(input, k);
    return d;
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Col2Im)
