// STFT: Fourier transforms of frames of a signal.   onnx.ai/onnx/operators/onnx__STFT.html
#pragma once

#include "tenon/kernels/fft.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// The transforms of frames of the signals (batch, length), (batch, length, 1) or, complex, (batch, length,
/// 2). Frames have `frame_length` numbers, or as many as `window`, or as the signal; each begins `frame_step`
/// numbers after the previous one, and is multiplied by the window. The result is (batch, frames, bins, 2),
/// with frame_length / 2 + 1 bins if `onesided`, which takes real signals, else frame_length. op::STFT{}(x,
/// 4, window) of (1,16,1) and (8) gives (1,3,5,2).
struct STFT {
  int64_t onesided = 1;

  static constexpr Spec spec{.name = "STFT",
                             .since = {17},
                             .inputs = {{"signal", "T1"},
                                        {"frame_step", "T2"},
                                        {"window", "T1", optional},
                                        {"frame_length", "T2", optional}},
                             .outputs = {{"output", "T1"}},
                             .types = {{"T1", types::floats_bf16}, {"T2", types::indices}}};
  static constexpr Attributes attributes{attr("onesided", &STFT::onesided).flag()};

  constexpr void infer(Infer& i) const {
    const Dims &x = i.dims(0), &window = i.dims(2);
    const Dim step = i.item(1), stated = i.item(3);
    if (!i.expect_one(1) || !i.expect_rank(2, 1) || !i.expect_one(3) ||
        !i.expect_at_least("frame_step", step, 1) || !i.expect_at_least("frame_length", stated, 1) ||
        !i.expect_rank_at_least(0, 2))
      return;
    if (x.rank() > 3) return i.fail("signal: rank ", x.rank(), ", expected 2 or 3");
    if (x.rank() == 3 && x[2].known() && !x[2].is(1) && !x[2].is(2))
      return i.fail("signal: ", x, ", the last extent is neither 1 (real) nor 2 (complex)");
    i.for_runs([&] {
      if (onesided != 0 && x.rank() == 3 && x[2].differs(1))
        i.fail("signal: ", x, ", the one-sided transform takes real numbers");
    });
    const Dim samples = x.ranked() ? x[1] : Dim();
    Dim length = i.has(3) ? stated : samples;
    if (i.has(2)) {
      const Dim factors = window.ranked() ? window[0] : Dim();
      length = i.has(3) ? i.unify(stated, factors, "frame_length and window") : factors;
    }
    if (!i.expect_at_least("length of frames", length, 1)) return;
    if (samples.below(length)) return i.fail("frames of ", length, " numbers in a signal of ", samples);
    const Dim bins = onesided != 0 ? length / 2 + 1 : length;
    i.out(0, {x.ranked() ? x[0] : Dim(), (samples - length) / step + 1, bins, 2});
  }
  template <class T>
  void compute(TensorView<const T> signal, AnyView frame_step, TensorView<const T> window,
               AnyView frame_length, TensorView<T> output) const {
    if (output.empty()) return;
    kernels::stft(signal.data(), output.data(),
                  {.batch = output.extent(0),
                   .signal = signal.extent(1),
                   .frames = output.extent(1),
                   .bins = output.extent(2),
                   .step = int_at(frame_step, 0),
                   .length = window         ? window.size()
                             : frame_length ? int_at(frame_length, 0)
                                            : signal.extent(1),
                   .complex_in = signal.rank() == 3 && signal.extent(2) == 2,
                   .window = window.data()});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::STFT)
