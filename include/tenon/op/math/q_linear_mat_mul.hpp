// QLinearMatMul: matrix product of quantised tensors.   onnx.ai/onnx/operators/onnx__QLinearMatMul.html
#pragma once

#include "tenon/kernels/requantize.hpp"
#include "tenon/op/families/quantization.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/math/mat_mul_integer.hpp"

namespace tenon::TENON_ABI::op {

/// y = saturate(round((a - a_zero_point) (b - b_zero_point) * a_scale * b_scale / y_scale) + y_zero_point),
/// rounded to nearest, ties to even, with the extents of MatMul. Scales and zero points are one number, one
/// for each row of a or y (column of b), or with the operand's rank one for each row (column) of each matrix.
/// Products of integers are summed in int32, others in float. op::QLinearMatMul{}(a, 0.5f, uint8_t{0}, b,
/// 0.5f, uint8_t{0}, 1.0f, uint8_t{0}) of (2,3) and (3,4) gives (2,4).
struct QLinearMatMul {
  // T3 comes first, so that `compute` is typed by the results.
  static constexpr Spec spec{.name = "QLinearMatMul",
                             .since = {10, 21},
                             .inputs = {{"a", "T1"},
                                        {"a_scale", "TS"},
                                        {"a_zero_point", "T1"},
                                        {"b", "T2"},
                                        {"b_scale", "TS"},
                                        {"b_zero_point", "T2"},
                                        {"y_scale", "TS"},
                                        {"y_zero_point", "T3"}},
                             .outputs = {{"y", "T3"}},
                             .types = {{"T3", {{10, quantized_8}, {21, quantized_19}}},
                                       {"T1", {{10, quantized_8}, {21, quantized_19}}},
                                       {"T2", {{10, quantized_8}, {21, quantized_19}}},
                                       {"TS", {{21, types::float32 | types::float16 | types::bfloat16}}}},
                             .old_inputs = {{20, 1, {"a_scale", "tensor(float)"}},
                                            {20, 4, {"b_scale", "tensor(float)"}},
                                            {20, 6, {"y_scale", "tensor(float)"}}}};

  constexpr void infer(Infer& i) const {
    const Dims y = infer_matmul(i, i.dims(0), i.dims(3));
    for (int k : {1, 2}) MatMulInteger::check_zeros(i, k, i.dims(0), true);
    for (int k : {4, 5}) MatMulInteger::check_zeros(i, k, i.dims(3), false);
    for (int k : {6, 7}) MatMulInteger::check_zeros(i, k, y, true);
    for (int k : {1, 4, 6}) {
      const Dim scales = i.dims(k).count(), zeros = i.dims(k + 1).count();
      if (scales.differs(zeros) && !scales.is(1) && !zeros.is(1))
        return i.fail(scales, " scales and ", zeros, " zero points");
    }
    i.out(0, y);
  }
  template <class T>
  void compute(AnyView a, AnyView a_scale, AnyView a_zero, AnyView b, AnyView b_scale, AnyView b_zero,
               AnyView y_scale, TensorView<const T> y_zero, TensorView<T> y) const {
    if (y.empty()) return;
    if constexpr (std::is_integral_v<T>)
      if (is_integer(a.dtype()) && is_integer(b.dtype()))
        return integers(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, y);
    Scratch scratch;
    const auto restored = [&](AnyView v, AnyView scale, AnyView zero, bool of_rows) {
      float* wide = scratch.take<float>(v.size());
      const kernels::QuantGrid grid = matrix_grid(v, std::max(scale.size(), zero.size()), of_rows);
      // A scale or zero point that is one number among many of the other kind.
      const void* scales = repeated(scratch, scale, zero.size());
      const void* zeros = repeated(scratch, zero, scale.size());
      kernels::dequantize({.grid = grid,
                           .x_type = v.dtype(),
                           .x = v.data(),
                           .zero = zeros,
                           .scale_type = scale.dtype(),
                           .scale = scales,
                           .y = wide});
      return wide;
    };
    const MatMulPlan plan(a.extents(), b.extents());
    kernels::GemmArgs<float> args;
    args.m = plan.m, args.n = plan.n, args.k = plan.k;
    args.a = restored(a, a_scale, a_zero, true), args.a_row = plan.k;
    args.b = restored(b, b_scale, b_zero, false), args.b_row = plan.n;
    args.c = scratch.take<float>(y.size()), args.c_row = plan.n;
    args.batch = plan.batch();
    kernels::gemm(args);
    kernels::quantize({.grid = matrix_grid(y, std::max(y_scale.size(), y_zero.size()), true),
                       .x = args.c,
                       .scale_type = y_scale.dtype(),
                       .scale = repeated(scratch, y_scale, y_zero.size()),
                       .y_type = dtype_of<T>,
                       .zero = repeated(scratch, y_zero, y_scale.size()),
                       .y = y.data()});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// The elements of a scale or zero point; a single number is repeated to match the count of the other kind.
  static const void* repeated(Scratch& scratch, AnyView v, int64_t count) {
    if (v.size() != 1 || count <= 1) return v.data();
    const int64_t bytes = v.bytes();
    auto* to = scratch.take<std::byte>(count * bytes);
    for (int64_t k = 0; k < count; ++k)
      std::copy_n(static_cast<const std::byte*>(v.data()), bytes, to + k * bytes);
    return to;
  }
  /// The layout of `count` scales for the rows or columns of v's matrices.
  static kernels::QuantGrid matrix_grid(AnyView v, int64_t count, bool of_rows) {
    if (count <= 1 || v.empty()) return kernels::QuantGrid::per_tensor(v.size());
    const int64_t rows = v.extent(-2), columns = v.extent(-1), matrices = v.size() / (rows * columns);
    if (of_rows && count == rows) return kernels::QuantGrid::per_axis(matrices, rows, columns);
    if (of_rows) return kernels::QuantGrid::per_axis(1, matrices * rows, columns);
    if (count == columns) return kernels::QuantGrid::per_axis(matrices * rows, columns, 1);
    return kernels::QuantGrid::blocked(matrices, rows, columns, rows);
  }

  template <class T>
  static void integers(AnyView a, AnyView a_scale, AnyView a_zero, AnyView b, AnyView b_scale, AnyView b_zero,
                       AnyView y_scale, TensorView<const T> y_zero, TensorView<T> y) {
    Scratch scratch;
    const float *as = numbers<float>(scratch, a_scale), *bs = numbers<float>(scratch, b_scale),
                *ys = numbers<float>(scratch, y_scale);
    const int64_t n = b.rank() > 1 ? b.extent(-1) : 1, m = a.rank() > 1 ? a.extent(-2) : 1;
    int32_t* sums = scratch.take<int32_t>(y.size());
    MatMulInteger{}.compute(a, b, a_zero, b_zero, TensorView<int32_t>(sums, y.extents()));
    float* row_scales = scratch.take<float>(m);
    float* column_scales = scratch.take<float>(n);
    // y, from a row of its first matrix on, from matrices number ia of a and ib of b.
    const auto finish = [&](int64_t row, int64_t rows, int64_t ia, int64_t ib) {
      const auto of = [](int64_t count, int64_t each, int64_t matrix) {
        return count > each ? matrix * each : int64_t{0};
      };
      const int64_t a_at = of(a_scale.size(), m, ia), b_at = of(b_scale.size(), n, ib);
      const int64_t y_at = of(y_scale.size(), m, row / m), zero_at = of(y_zero.size(), m, row / m);
      const bool by_row = a_scale.size() > 1 || y_scale.size() > 1, by_column = b_scale.size() > 1;
      for (int64_t r = 0; r < (by_row ? m : 1); ++r) {
        const float rate = as[a_at + (a_scale.size() > 1 ? r : 0)];
        const float by = ys[y_at + (y_scale.size() > 1 ? r : 0)];
        row_scales[r] = by_column ? rate / by : rate * bs[b_at] / by;
      }
      if (by_column && !by_row) {
        for (int64_t c = 0; c < n; ++c) column_scales[c] = as[0] * bs[b_at + c] / ys[0];
        row_scales[0] = 1;
      }
      kernels::requantize<T>({.rows = rows,
                              .n = n,
                              .x = sums + row * n,
                              .y = y.data() + row * n,
                              .row_scale = row_scales,
                              .row_scales = by_row ? m : 1,
                              .col_scale = !by_column ? nullptr
                                           : by_row   ? bs + b_at
                                                      : column_scales,
                              .zero = y_zero.data() + zero_at,
                              .zeros = y_zero.size() > 1 ? m : 1});
    };
    const bool shared =
        a_scale.size() <= m && b_scale.size() <= n && y_scale.size() <= m && y_zero.size() <= m;
    if (shared) return finish(0, y.size() / n, 0, 0);
    for_each_product(a.extents(), b.extents(),
                     [&](int64_t k, int64_t ia, int64_t ib) { finish(k * m, m, ia, ib); });
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::QLinearMatMul)
