// MatMulBnb4: Y = A dequantised(B)^T, B in codes of bitsandbytes, 4 bits each.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MatMulBnb4
#pragma once

#include "tenon/base/parallel.hpp"
#include "tenon/kernels/gemm/gemm.hpp"
#include "tenon/op/families/packed_codes.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y (..., N) = A (..., K) W^T, or with transB 0, Y (..., K) = A (..., N) W. W (N, K) is number[code] *
/// absmax of the block: B has the codes of W row by row, 4 bits each and the first in the upper bits, absmax
/// has one number for each `block_size` of them. The 16 numbers are FP4's (quant_type 0) or NF4's (1).
/// op::com_microsoft::MatMulBnb4{.K = 32, .N = 2, .block_size = 16, .quant_type = 1}(a, b, absmax) of (5,32),
/// (32) and (4) gives (5,2).
struct MatMulBnb4 {
  Opt<int64_t> K{};
  Opt<int64_t> N{};
  Opt<int64_t> block_size{};
  Opt<int64_t> quant_type{};
  int64_t training_mode = 0;  ///< changes nothing
  int64_t transB = 1;

  static constexpr Spec spec{
      .name = "MatMulBnb4",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"A", "T1"}, {"B", "T2"}, {"absmax", "T1"}},
      .outputs = {{"Y", "T1"}},
      .types = {{"T1", types::float32 | types::float16 | types::bfloat16}, {"T2", types::uint8}}};
  static constexpr Attributes attributes{attr("K", &MatMulBnb4::K).required(),
                                         attr("N", &MatMulBnb4::N).required(),
                                         attr("block_size", &MatMulBnb4::block_size).required(),
                                         attr("quant_type", &MatMulBnb4::quant_type).required(),
                                         attr("training_mode", &MatMulBnb4::training_mode),
                                         attr("transB", &MatMulBnb4::transB).flag()};

  constexpr void infer(Infer& i) const {
    const int64_t size = block_size ? *block_size : 0;
    if (!i.expect_choice("quant_type", quant_type ? *quant_type : -1, {0, 1}) ||
        !i.expect_at_least("K", K ? *K : 0, 1) || !i.expect_at_least("N", N ? *N : 0, 1) ||
        !expect_block_size(i, size))
      return;
    const Dim n = *N, count = n * *K;
    if (!expect_count(i, 1, (count - 1) / 2 + 1) || !expect_count(i, 2, (count - 1) / size + 1) ||
        !i.expect_rank_at_least(0, 1) || !i.ranked(0))
      return;
    Dims y = i.dims(0);
    const int last = y.rank() - 1;
    const int64_t inner = transB != 0 ? *K : *N;
    if (y[last].differs(inner))
      return i.fail("A: ", y, " does not end with ", transB != 0 ? "K" : "N", ", ", inner);
    y[last] = transB != 0 ? *N : *K;
    i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const uint8_t> b, TensorView<const T> absmax,
               TensorView<T> y) const {
    if (y.empty()) return;
    Scratch scratch;
    const float* scales = widen(scratch, absmax.data(), absmax.size());
    kernels::GemmArgs<float> all;
    all.k = all.a_row = transB != 0 ? *K : *N;
    all.c_row = transB != 0 ? *N : *K;
    all.m = a.size() / all.k;
    all.a = widen(scratch, a.data(), a.size());
    all.c = wide_result(scratch, y.data(), y.size());
    if (transB != 0) {
      // Rows of W stay in a cache between their two uses.
      parallel_for((*N - 1) / rows + 1, 1, [&](int64_t first, int64_t last) {
        Scratch inner;
        float* w = inner.take<float>(rows * *K);
        for (int64_t part = first; part < last; ++part) {
          kernels::GemmArgs<float> g = all;
          g.n = std::min(rows, *N - part * rows);
          dequantise(b.data(), scales, part * rows * *K, g.n * *K, w);
          g.b = w, g.b_row = 1, g.b_col = *K;
          g.c = all.c + part * rows;
          kernels::gemm(g);
        }
      });
    } else {
      float* w = scratch.take<float>(*N * *K);
      parallel_for(*N, 1, [&](int64_t first, int64_t last) {
        dequantise(b.data(), scales, first * *K, (last - first) * *K, w + first * *K);
      });
      all.n = all.b_row = *K;
      all.b = w;
      kernels::gemm(all);
    }
    narrow(all.c, y.data(), y.size());
  }
  /// Over rows of A, and rows and columns of W, of which one is a sum. Rows of W are stretches of B and
  /// absmax, if they are whole blocks.
  template <class L>
  void loops(L& l) const {
    if (!l.dims(0).ranked()) return;
    const int last = l.dims(0).rank() - 1;
    for (int axis = 0; axis < last; ++axis) l.over({{0, axis}}, {{0, axis}});
    if (*K % *block_size != 0) return;
    const auto add = [&](std::string_view name, int64_t stretches, int64_t count, bool sums) {
      typename L::Axes in{{1, 0, stretches}, {2, 0, stretches}}, out;
      (sums ? in : out).push_back({0, last});
      l.over(std::move(in), std::move(out), count).attributes = {name};
    };
    add("N", 1, *N, transB == 0);
    add("K", *N, *K / *block_size, transB != 0);
  }
  template <class L>
  double multiplications(const L& l) const {
    return l.elements(l.out(0)) * static_cast<double>(transB != 0 ? *K : *N);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// The numbers of an input are `count`, whatever its rank: bitsandbytes keeps codes as a column.
  static constexpr bool expect_count(Infer& i, int input, Dim count) {
    if (i.dims(input).ranked() && i.dims(input).count().differs(count))
      i.fail(i.name(input), ": ", i.dims(input), ", expected ", count, " numbers");
    return !i.failed();
  }

  static constexpr int64_t rows = 16;  // of W that are dequantised at a time

  /// Numbers [first, first + count) of W.
  void dequantise(const uint8_t* codes, const float* scales, int64_t first, int64_t count, float* w) const {
    static constexpr float numbers[2][16] = {
        {0.0f, 5.208333333e-03f, 0.66666667f, 1.0f, 0.33333333f, 0.5f, 0.16666667f, 0.25f,  //
         -0.0f, -5.208333333e-03f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f},
        {-1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,                //
         -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,               //
         0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,  //
         0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f}};
    const float* const number = numbers[*quant_type];
    for (int64_t i = first; i < first + count; ++i)
      *w++ = number[i % 2 == 0 ? codes[i / 2] >> 4 : codes[i / 2] & 15] * scales[i / *block_size];
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::MatMulBnb4)
