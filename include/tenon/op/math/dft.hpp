// DFT: the discrete Fourier transform along an axis.   onnx.ai/onnx/operators/onnx__DFT.html
#pragma once

#include "tenon/kernels/fft.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// The transform along `axis`, by default -2 (before version 20: 1), of real numbers (last extent 1) or
/// complex ones (2: real and imaginary part), cut or filled with zeros to `dft_length`. The result is complex
/// and has the extent dft_length along the axis; with `onesided`, of real numbers, the dft_length / 2 + 1
/// that determine the rest. `inverse` divides by dft_length; with `onesided` it takes these dft_length / 2 +
/// 1 complex numbers, by default of an even dft_length, and gives real ones (last extent 1).
/// op::DFT{.onesided = 1}(x) of (1,8,1) gives (1,5,2).
struct DFT {
  int64_t inverse = 0;
  int64_t onesided = 0;

  static constexpr Spec spec{
      .name = "DFT",
      .since = {17, 20},
      .inputs = {{"input", "T1"},
                 {"dft_length", "T2", optional},
                 {.name = "axis", .type = "tensor(int64)", .arity = optional, .since = 20}},
      .outputs = {{"output", "T1"}},
      .types = {{"T1", types::floats_bf16}, {"T2", types::indices}}};
  static constexpr Attributes attributes{attr("inverse", &DFT::inverse).flag(),
                                         attr("onesided", &DFT::onesided).flag(),
                                         attr_as_input<int64_t>("axis", 2).until(19).by_default(1)};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    const Dim stated = i.item(1);
    Ints along{};
    const bool half = onesided != 0, real = half && inverse != 0;  // real: the result is
    if (!i.expect_one(1) || !i.expect_one(2) || !i.expect_at_least("dft_length", stated, 1) ||
        !i.expect_rank_at_least(0, 2) || !x.ranked())
      return;
    const int last = x.rank() - 1;
    if (x[last].known() && !x[last].is(1) && !x[last].is(2))
      return i.fail("input: ", x, ", the last extent is neither 1 (real) nor 2 (complex)");
    if (half && x[last].differs(real ? 2 : 1))
      return i.fail("input: ", x,
                    real ? ", the inverse one-sided transform takes complex numbers"
                         : ", the one-sided transform takes real numbers");
    i.for_files([&] {
      if (i.in(1).data != nullptr) i.expect_rank(1, 0);
    });
    Dims y = x;
    if (i.has(2) && !i.ints(2, along)) {
      if (i.failed()) return;
      if (half || i.has(1)) y = Dims::of_rank(x.rank());
      y[last] = real ? 1 : 2;
      return i.out(0, y);
    }
    const int a = i.axis(i.has(2) ? along[0] : -2, x.rank());
    if (!i.failed() && a == last) i.fail("axis ", last, " holds the parts of complex numbers");
    if (i.failed()) return;
    Dim length = i.has(1) ? stated : x[a];
    if (real && !i.has(1)) length = (x[a] - 1) * 2;
    if (!i.expect_at_least("dft_length", length, 0)) return;
    y[a] = half && !real ? length / 2 + 1 : length;
    y[last] = real ? 1 : 2;
    i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> input, AnyView dft_length, TensorView<const int64_t> axis,
               TensorView<T> output) const {
    if (output.empty()) return;
    const int rank = input.rank(), a = resolve_axis(axis ? axis[0] : -2, rank);
    const auto [outer, to, inner] = split_at(output.extents().first(static_cast<std::size_t>(rank - 1)), a);
    const bool real = onesided != 0 && inverse != 0;
    const int64_t from = input.extent(a);
    kernels::dft(input.data(), output.data(),
                 {.outer = outer,
                  .inner = inner,
                  .from = from,
                  .to = to,
                  .length = dft_length ? int_at(dft_length, 0)
                            : real     ? to
                                       : from,
                  .complex_in = input.extent(-1) == 2,
                  .complex_out = !real,
                  .inverse = inverse != 0,
                  .hermitian = real});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::DFT)
