// Conv, the pools and similar operators share windows that slide along the spatial axes of (N, C,
// spatial...).
#pragma once

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// The attributes that lay windows out, as ONNX has them; an empty list is an absent one.
struct WindowAttributes {
  std::string_view auto_pad;
  std::span<const int64_t> dilations, kernel_shape, pads, strides;
  bool ceil_mode = false;

  /// No extent, kernel, stride, dilation or padding is greater, so that products of two of them fit int64.
  static constexpr int64_t limit = int64_t{1} << 31;

  constexpr int64_t stride(int k) const { return strides.empty() ? 1 : strides[static_cast<std::size_t>(k)]; }
  constexpr int64_t dilation(int k) const {
    return dilations.empty() ? 1 : dilations[static_cast<std::size_t>(k)];
  }
  constexpr bool same() const { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }
  /// Whether `pads` counts. Where auto_pad says otherwise, `pads` is not read.
  constexpr bool not_set() const { return auto_pad.empty() || auto_pad == "NOTSET"; }
  /// The number of cells of axis k from a kernel's first to its last.
  constexpr int64_t reach(int k, int64_t kernel) const { return (kernel - 1) * dilation(k) + 1; }

  /// Cells before an axis and after it.
  struct Padding {
    int64_t begin = 0, end = 0;
  };
  constexpr Padding padding(int k) const {
    const auto at = static_cast<std::size_t>(k);
    return not_set() && !pads.empty() ? Padding{pads[at], pads[pads.size() / 2 + at]} : Padding{};
  }
  /// The two sides of padding that auto_pad requests.
  constexpr Padding split(int64_t total) const {
    const int64_t less = total / 2, more = total - less;
    return auto_pad == "SAME_UPPER" ? Padding{less, more} : Padding{more, less};
  }

  struct Along {
    int64_t out = 0;  ///< positions of the window; none, or a negative number, if it does not fit
    Padding padding;
  };
  /// How the window slides along axis k.
  constexpr Along along(int k, int64_t in, int64_t kernel) const {
    const int64_t s = stride(k), covered = reach(k, kernel);
    if (same()) {
      const int64_t out = (in + s - 1) / s;
      return {out, split(std::max<int64_t>(0, (out - 1) * s + covered - in))};
    }
    const Padding p = padding(k);
    const bool ceil = ceil_mode && not_set();  // with auto_pad, ONNX's extents are the same in both modes
    const int64_t room = in + p.begin + p.end - covered + (ceil ? s - 1 : 0);
    int64_t out = (room >= 0 ? room / s : -((s - 1 - room) / s)) + 1;
    // No window starts in the padding after the axis.
    if (ceil) out = std::min(out, (in + p.begin + s - 1) / s);
    return {out, p};
  }

  /// Refuses attributes that do not fit the number of spatial axes, or are out of range.
  constexpr bool check(Infer& i, int spatial) const {
    if (spatial > max_spatial) return i.fail(spatial, " spatial axes are more than ", max_spatial), false;
    if (spatial < 1) return i.fail("there are no spatial axes"), false;
    if (!auto_pad.empty() &&
        !i.expect_choice("auto_pad", auto_pad, {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}))
      return false;
    return check_list(i, "kernel_shape", kernel_shape, spatial, 1) &&
           check_list(i, "strides", strides, spatial, 1) &&
           check_list(i, "dilations", dilations, spatial, 1) && check_list(i, "pads", pads, 2 * spatial, 0);
  }
  /// Refuses a kernel of no extent, or one that reaches too far. `kernel` holds the spatial extents.
  constexpr bool check_kernel(Infer& i, const Dims& kernel) const {
    Dim cells = 1;
    for (int k = 0; k < kernel.rank(); ++k) {
      if (!kernel[k].known()) continue;
      const int64_t extent = kernel[k].value();
      cells = cells * extent;
      if (extent < 1) return i.fail("kernel ", kernel, " is empty"), false;
      if (extent > limit || extent - 1 > limit / dilation(k) || !cells.known())
        return i.fail("kernel ", kernel, " is too large"), false;
    }
    return true;
  }

  static constexpr bool check_list(Infer& i, std::string_view name, std::span<const int64_t> list, int count,
                                   int64_t least) {
    if (list.empty()) return true;
    if (!i.expect_entries(name, list.size(), count)) return false;
    for (int64_t v : list)
      if (v < least || v > limit)
        return i.fail(name, " holds ", v, ", outside of [", least, ", ", limit, "]"), false;
    return true;
  }
};

/// Appends the extents that a window leaves of x's spatial axes to y, which holds the extents before them.
constexpr void infer_window(Infer& i, const WindowAttributes& w, const Dims& x, const Dims& kernel, Dims& y) {
  if (!w.check(i, kernel.rank()) || !w.check_kernel(i, kernel)) return;
  for (int k = 0; k < kernel.rank(); ++k) {
    const Dim in = x[k + 2], extent = kernel[k];
    if (Dim(WindowAttributes::limit).below(in)) return i.fail("extent ", in, " is too large");
    if (in.known() && (extent.known() || w.same())) {
      const int64_t out = w.along(k, in.value(), extent.known() ? extent.value() : 1).out;
      // Padding alone, without cells, holds no window.
      if (out < 0 || (out == 0) != in.is(0))
        return i.fail("a window of ", kernel, " does not fit into ", x, " along axis ", k + 2);
      y.push_back(out);
    } else {
      const WindowAttributes::Padding p = w.padding(k);
      const bool unchanged =
          w.same() || (extent.known() && p.begin + p.end + 1 == w.reach(k, extent.value()));
      y.push_back(unchanged && w.stride(k) == 1 ? in : Dim::unknown());
    }
  }
}

/// The rule of a pool over input 0. Returns the extents of its results.
constexpr Dims infer_pool(Infer& i, const WindowAttributes& w) {
  Dims x = i.dims(0);
  const Dims kernel(w.kernel_shape);
  if (!x.ranked()) x = Dims::of_rank(kernel.rank() + 2);
  if (!i.expect_rank_at_least(0, 2)) return {};
  if (!i.expect_entries("kernel_shape", kernel.rank(), x.rank() - 2)) return {};
  Dims y{x[0], x[1]};
  infer_window(i, w, x, kernel, y);
  return y;
}

/// Operands of a convolution as its rule sees them: of one rank, with the kernel's extents from W and
/// kernel_shape.
struct Convolved {
  Dims x, w, kernel;
};
/// False when nothing is known, or a check fails.
constexpr bool infer_convolved(Infer& i, const WindowAttributes& window, int64_t group, Convolved& c) {
  if (!i.expect_at_least("group", group, 1)) return false;
  if (!c.x.ranked() && !c.w.ranked() && window.kernel_shape.empty()) return false;
  const int rank = c.x.ranked()   ? c.x.rank()
                   : c.w.ranked() ? c.w.rank()
                                  : static_cast<int>(window.kernel_shape.size()) + 2;
  if (!c.x.ranked()) c.x = Dims::of_rank(rank);
  if (!c.w.ranked()) c.w = Dims::of_rank(rank);
  if (rank < 2 || c.w.rank() != rank)
    return i.fail("X ", c.x, " and W ", c.w, " need equal ranks of at least 2"), false;
  if (!window.check(i, rank - 2)) return false;
  c.kernel = Dims::of_rank(0);
  for (int k = 2; k < rank; ++k)
    c.kernel.push_back(window.kernel_shape.empty()
                           ? c.w[k]
                           : i.unify(c.w[k], window.kernel_shape[static_cast<std::size_t>(k - 2)],
                                     "W's extents and kernel_shape"));
  if (c.x[1].is(0)) return i.fail("X ", c.x, " has no channels"), false;
  return !i.failed();
}

/// A bias of one element for each output channel.
constexpr void infer_bias(Infer& i, int input, Dim channels) {
  if (i.ranked(input) && i.expect_rank(input, 1))
    i.unify(i.dims(input)[0], channels, "B's extent and the output channels");
}

/// The rule of a convolution of x with weights w (M, C/group, kernel...).
constexpr void infer_conv(Infer& i, const WindowAttributes& window, int64_t group, const Dims& x,
                          const Dims& w) {
  Convolved c{x, w, {}};
  if (!infer_convolved(i, window, group, c)) return;
  const Dim m = c.w[0];
  if (c.x[1].known() && c.w[1].known() && !(c.w[1] * group).same(c.x[1]))
    return i.fail("X has ", c.x[1], " channels, W ", c.w[1], " for each of ", group, " groups");
  i.for_runs([&] {
    if ((m % group).differs(0)) i.fail(m, " output channels do not divide into ", group, " groups");
  });
  Dims y{c.x[0], m};
  infer_window(i, window, c.x, c.kernel, y);
  i.out(0, y);
}

/// A window laid out over extents that exist, as the kernels take it. Without spatial axes there is one of
/// extent 1.
struct WindowLayout {
  int rank = 1;
  int64_t in[max_spatial], out[max_spatial], kernel[max_spatial];
  int64_t strides[max_spatial], dilations[max_spatial];
  int64_t pads_begin[max_spatial], pads_end[max_spatial];

  /// x and y are extents of (N, C, spatial...), `extents` the window's.
  WindowLayout(const WindowAttributes& w, std::span<const int64_t> x, std::span<const int64_t> y,
               std::span<const int64_t> extents)
      : rank(std::max(1, static_cast<int>(extents.size()))) {
    in[0] = out[0] = kernel[0] = strides[0] = dilations[0] = 1;
    pads_begin[0] = pads_end[0] = 0;
    for (std::size_t k = 0; k < extents.size(); ++k) {
      in[k] = x[k + 2];
      out[k] = y[k + 2];
      kernel[k] = extents[k];
      strides[k] = w.stride(static_cast<int>(k));
      dilations[k] = w.dilation(static_cast<int>(k));
      const WindowAttributes::Along a = w.along(static_cast<int>(k), in[k], kernel[k]);
      pads_begin[k] = a.padding.begin;
      pads_end[k] = a.padding.end;
    }
  }

  /// Leaves out axes along which there is one place that is the whole window: kernels work along the last
  /// axis.
  void drop_flat_axes() {
    int kept = 0;
    for (int k = 0; k < rank; ++k) {
      if (in[k] == 1 && out[k] == 1 && kernel[k] == 1 && pads_begin[k] == 0) continue;
      for (int64_t* of : {in, out, kernel, strides, dilations, pads_begin, pads_end}) of[kept] = of[k];
      ++kept;
    }
    rank = std::max(1, kept);
  }
  /// A kernels::ConvGeometry that points into this object.
  template <class Geometry>
  Geometry geometry(int64_t batch, int64_t groups, int64_t in_channels, int64_t out_channels) const {
    Geometry g;
    g.rank = rank;
    g.batch = batch;
    g.groups = groups;
    g.in_channels = in_channels;
    g.out_channels = out_channels;
    g.in = in;
    g.out = out;
    g.kernel = kernel;
    g.strides = strides;
    g.dilations = dilations;
    g.pads = pads_begin;
    return g;
  }
  /// A kernels::PoolArgs that points into this object.
  template <class Args>
  Args pool(int64_t planes) const {
    Args a;
    a.rank = rank;
    a.planes = planes;
    a.in = in;
    a.out = out;
    a.kernel = kernel;
    a.strides = strides;
    a.dilations = dilations;
    a.pads_begin = pads_begin;
    a.pads_end = pads_end;
    return a;
  }
};

/// What determines the loops of a convolution of X, operand 0, and W.
struct ConvolutionForm {
  int64_t group = 1;
  int weights = 1;              ///< the number of W
  int outputs = 0, inputs = 1;  ///< W's axes of Y's channels and of X's
  int channels = 1;             ///< the axis of channels of X and Y
  bool sums = true;             ///< Y is the sum over X's channels, and no function of it
};

/// Over Y's channels and the sum over X's, or over groups; and over the batch. `of_outputs` and `of_batch`
/// are other operands' axes, and `once` are the addends of the sum.
template <class L>
void add_convolution_loops(L& l, const ConvolutionForm& c, typename L::Axes of_outputs = {{2, 0}},
                           typename L::Axes of_batch = {}, std::vector<int> once = {2}) {
  of_outputs.insert(of_outputs.begin(), {c.weights, c.group == 1 ? c.outputs : 0});
  if (c.group == 1) {
    l.over(std::move(of_outputs), {{0, c.channels}});
    if (c.sums) l.sum({{0, c.channels}, {c.weights, c.inputs}}).once = std::move(once);
  } else {
    of_outputs.insert(of_outputs.begin(), {0, c.channels});
    l.over(std::move(of_outputs), {{0, c.channels}}, c.group).attributes = {"group"};
  }
  of_batch.push_back({0, 0});
  l.over(std::move(of_batch), {{0, 0}});
}

}  // namespace tenon::TENON_ABI::op
