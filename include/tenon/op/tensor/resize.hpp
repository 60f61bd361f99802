// Resize: axes made longer or shorter, with elements between the old ones.
// onnx.ai/onnx/operators/onnx__Resize.html
#pragma once

#include "tenon/op/families/movement.hpp"
#include "tenon/op/families/resize.hpp"

namespace tenon::TENON_ABI::op {

/// The axes `axes` (by default all) get the extents `sizes`, or their extents times `scales`, rounded down;
/// the unused one of the two is left out or empty. Only tf_crop_and_resize reads roi, the parts of the axes
/// to take: their starts, then their ends, in [0, 1]; without it all is taken. Integers are computed as real
/// numbers and truncated.
/// The text multiplies the extents by the roi's too, but ONNX's inference and its reference do not: files
/// declare the extents without it, so scales alone decide.
/// op::Resize{.mode = "linear"}(x, roi, scales) of (4,4), (0) and (2) gives (8,6) for scales 2 and 1.5.
struct Resize {
  int64_t antialias = 0;  ///< whether shortened axes get the mean of all that they cover; not for nearest
  Ints axes{};
  Str coordinate_transformation_mode = "half_pixel";
  float cubic_coeff_a = -0.75f;
  int64_t exclude_outside = 0;  ///< whether elements beyond the edges weigh nothing, or else repeat the edges
  float extrapolation_value = 0;             ///< outside of the tensor, for tf_crop_and_resize
  Str keep_aspect_ratio_policy = "stretch";  ///< stretch; not_larger, not_smaller than sizes
  Str mode = "nearest";                      ///< nearest, linear, cubic
  Str nearest_mode = "round_prefer_floor";   ///< round_prefer_floor, round_prefer_ceil, floor, ceil

  static constexpr Spec spec{
      .name = "Resize",
      .since = {11, 13, 18, 19},
      .inputs = {{"X", "T1"},
                 {"roi", "T2", optional},
                 {"scales", "tensor(float)", optional},
                 {"sizes", "tensor(int64)", optional}},
      .outputs = {{"Y", "T1"}},
      .types = {{"T1", {{11, types::all}, {13, types::all_ir4}}}, {"T2", types::floats}},
      .old_inputs = {{12, 1, {"roi", "T2"}}, {12, 2, {"scales", "tensor(float)"}}}};
  static constexpr Attributes attributes{
      attr("antialias", &Resize::antialias).flag().since(18),
      attr("axes", &Resize::axes).since(18),
      attr("coordinate_transformation_mode", &Resize::coordinate_transformation_mode),
      attr("cubic_coeff_a", &Resize::cubic_coeff_a),
      attr("exclude_outside", &Resize::exclude_outside).flag(),
      attr("extrapolation_value", &Resize::extrapolation_value),
      attr("keep_aspect_ratio_policy", &Resize::keep_aspect_ratio_policy).since(18),
      attr("mode", &Resize::mode),
      attr("nearest_mode", &Resize::nearest_mode)};

  /// The nearest elements are chosen, unless there are others beyond the edges.
  constexpr Elements elements() const { return crops() ? Elements::any : resized_elements(mode); }

 private:
  static constexpr int roi_input = 1, scales_input = 2, sizes_input = 3;

  constexpr bool crops() const { return coordinate_transformation_mode == "tf_crop_and_resize"; }
  constexpr int64_t listed(int rank) const { return axes.empty() ? rank : axes.size(); }
  constexpr int axis(int64_t k, int rank) const {
    return static_cast<int>(axes.empty() ? k : resolve_axis(axes[k], rank));
  }
  /// Whether an input is present, and not known to be empty.
  static constexpr bool given(const Infer& i, int input) {
    return i.has(input) && !i.dims(input).count().is(0);
  }

  constexpr bool check_attributes(Infer& i) const {
    const bool pixel = coordinate_transformation_mode == "tf_half_pixel_for_nn" && i.version() < 18;
    const bool symmetric = coordinate_transformation_mode == "half_pixel_symmetric" && i.version() >= 19;
    return check_resize_mode(i, mode, {"nearest", "linear", "cubic"}) &&
           (pixel || symmetric ||
            i.expect_choice(
                "coordinate_transformation_mode", coordinate_transformation_mode,
                {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"})) &&
           i.expect_choice("nearest_mode", nearest_mode,
                           {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) &&
           i.expect_choice("keep_aspect_ratio_policy", keep_aspect_ratio_policy,
                           {"stretch", "not_larger", "not_smaller"});
  }
  /// The scale that all axes have in common, from size(k) and extent(k) of n axes.
  double common_scale(int64_t n, auto size, auto extent) const {
    double scale = 0;
    for (int64_t k = 0; k < n; ++k) {
      const double s = static_cast<double>(size(k)) / static_cast<double>(extent(k));
      if (k == 0 || (keep_aspect_ratio_policy == "not_larger" ? s < scale : s > scale)) scale = s;
    }
    return scale;
  }
  /// The extents that sizes request.
  constexpr void size_extents(Infer& i, Dims& y) const {
    const Dims x = y;
    const int64_t n = listed(x.rank());
    const bool known = i.has_elements(sizes_input);
    const bool stretches = keep_aspect_ratio_policy == "stretch";
    bool all = known;
    for (int64_t k = 0; k < n; ++k) {
      const int d = axis(k, x.rank());
      y[d] = known ? i.element(sizes_input, k) : Dim();
      if (!i.expect_at_least("size", y[d], 0)) return;
      if (x[d].is(0) && (!stretches || Dim(0).below(y[d])))
        return i.fail("axis ", d, " of ", x, " has nothing to resize");
      all &= y[d].known() && x[d].known();
    }
    if (stretches) return;
    const auto extent = [&](int64_t k) { return x[axis(k, x.rank())].value(); };
    const double scale =
        all ? common_scale(n, [&](int64_t k) { return i.element(sizes_input, k).value(); }, extent) : 0;
    for (int64_t k = 0; k < n; ++k) {
      Dim& e = y[axis(k, x.rank())];
      const double kept = all ? std::round(scale * static_cast<double>(extent(k))) : 0;
      if (!(kept < 0x1p62f)) return i.fail("size ", extent(k), " becomes too large");
      e = all ? Dim(static_cast<int64_t>(kept)) : Dim();
    }
  }

 public:
  constexpr void infer(Infer& i) const {
    if (!check_attributes(i)) return;
    if (antialias != 0 && mode == "nearest") return i.fail("mode 'nearest' has no antialias");
    for (int k = 1; k <= 3; ++k)
      if (!i.expect_rank(k, 1)) return;
    const bool scaled = given(i, scales_input), sized = given(i, sizes_input);
    if (!scaled && !sized) return i.fail("neither scales nor sizes are given");
    const bool both =
        scaled && sized && i.dims(scales_input).count().known() && i.dims(sizes_input).count().known();
    if (both && i.version() >= 13) return i.fail("both scales and sizes are given");
    i.for_runs([&] {
      if (both) i.fail("both scales and sizes are given");
    });
    if (scaled && !sized && keep_aspect_ratio_policy != "stretch")
      return i.fail("keep_aspect_ratio_policy '", keep_aspect_ratio_policy, "' with scales");
    const Dims& x = i.dims(0);
    if (!x.ranked()) return;
    i.out(0, Dims::of_rank(x.rank()));
    i.axes(axes, x.rank());
    if (i.failed()) return;
    const int64_t n = listed(x.rank());
    if (crops() && given(i, roi_input) && i.dims(roi_input).count().differs(2 * n))
      return i.fail("roi: ", i.dims(roi_input), ", expected ", 2 * n, " elements");
    if (scaled && sized && !both) return;  // the run tells which of the two is empty
    const int by = sized ? sizes_input : scales_input;
    const Dim count = sized ? i.length(by) : i.dims(by).count();
    if (count.differs(n)) return i.fail(i.name(by), ": ", count, " elements for ", n, " axes");
    Dims y = x;
    if (sized) {
      size_extents(i, y);
    } else {
      const float* factors = i.data<float>(scales_input);
      for (int64_t k = 0; k < n; ++k) {
        const int d = axis(k, x.rank());
        y[d] = factors ? scaled_extent(i, x[d], factors[k]) : Dim();
      }
    }
    if (!i.failed()) i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> x, AnyView roi, TensorView<const float> scales,
               TensorView<const int64_t> sizes, TensorView<T> y) const {
    ResizeAxis resized[max_rank];
    const int rank = x.rank();
    for (int d = 0; d < rank; ++d) resized[d] = {x.extent(d), y.extent(d)};
    const int64_t n = listed(rank);
    const auto extent = [&](int64_t k) { return x.extent(axis(k, rank)); };
    double common = 0;
    if (keep_aspect_ratio_policy != "stretch" && !y.empty())
      common = common_scale(n, [&](int64_t k) { return sizes[k]; }, extent);
    for (int64_t k = 0; k < n; ++k) {
      ResizeAxis& a = resized[axis(k, rank)];
      a.scale = !scales.empty() ? scales[k]
                : common != 0   ? common
                                : static_cast<double>(a.out) / static_cast<double>(a.in);
      if (!crops() || roi.empty()) continue;
      visit_types(float_types{}, roi.dtype(), [&]<class R>() {
        const R* bounds = static_cast<const R*>(roi.data());
        a.start = static_cast<compute_t<R>>(bounds[k]);
        a.end = static_cast<compute_t<R>>(bounds[n + k]);
      });
    }
    using enum ResizeCoordinates;
    const auto coordinates = [&](const Str& name) {
      return name == "half_pixel"             ? half_pixel
             : name == "half_pixel_symmetric" ? half_pixel_symmetric
             : name == "pytorch_half_pixel"   ? pytorch_half_pixel
             : name == "align_corners"        ? align_corners
             : name == "asymmetric"           ? asymmetric
             : name == "tf_half_pixel_for_nn" ? tf_half_pixel_for_nn
                                              : tf_crop_and_resize;
    };
    const auto nearest = [](const Str& name) {
      return name == "round_prefer_floor"  ? NearestMode::prefer_floor
             : name == "round_prefer_ceil" ? NearestMode::prefer_ceil
             : name == "floor"             ? NearestMode::floor
                                           : NearestMode::ceil;
    };
    resize(x, y,
           {.mode = resize_mode(mode),
            .nearest = nearest(nearest_mode),
            .coordinates = coordinates(coordinate_transformation_mode),
            .antialias = antialias != 0,
            .exclude_outside = exclude_outside != 0,
            .cubic_coefficient = cubic_coeff_a,
            .extrapolation_value = extrapolation_value},
           resized);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// Coordinates are asymmetric. The nearest element is the lower one, and the upper one on axes that get
/// shorter.
struct Resize_10 {
  Str mode = "nearest";

  static constexpr Spec spec{.name = "Resize",
                             .since = {10},
                             .inputs = {{"X", "T"}, {"scales", "tensor(float)"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::all}}};
  static constexpr Attributes attributes{attr("mode", &Resize_10::mode)};

  constexpr Elements elements() const { return resized_elements(mode); }
  constexpr void infer(Infer& i) const {
    if (!check_resize_mode(i, mode, {"nearest", "linear"}) || !i.expect_rank(1, 1)) return;
    infer_scaled(i, i.data<float>(1), i.dims(1).count(), 0);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const float> scales, TensorView<T> y) const {
    resize_scaled(x, scales.data(), y, resize_mode(mode), NearestMode::by_direction);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Resize, tenon::op::Resize_10)
