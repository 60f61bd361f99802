#include "tenon/op/math/stft.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using op::STFT;

TEST_CASE("STFT: frames, windows, types") {
  const Value step = t<int64_t>({}, {2}), four = t<int32_t>({1}, {4}), step32 = t<int32_t>({1}, {2});
  for (DType d : {DType::float16, DType::float32, DType::float64, DType::bfloat16}) {
    const Value x = cast(d, {1, 7, 1}, {1, 2, 3, 4, 5, 6, 7});
    check(STFT{}, {x, step32, Value(), four},
          {cast(d, {1, 2, 3, 2}, {10, 0, -2, 2, -2, 0, 18, 0, -2, 2, -2, 0})}, 0, 1e-6);
    check(STFT{}, {cast(d, {1, 7}, {1, 2, 3, 4, 5, 6, 7}), step32, Value(), four},
          {cast(d, {1, 2, 3, 2}, {10, 0, -2, 2, -2, 0, 18, 0, -2, 2, -2, 0})}, 0, 1e-6);
    check(STFT{.onesided = 0}, {x, step32, Value(), four},
          {cast(d, {1, 2, 4, 2}, {10, 0, -2, 2, -2, 0, -2, -2, 18, 0, -2, 2, -2, 0, -2, -2})}, 0, 1e-6);
    // The window, which may state the length, makes {0, 4, 3, 0} and {0, 8, 5, 0} of the frames.
    const Value window = cast(d, {4}, {0, 2, 1, 0});
    const Value windowed = cast(d, {1, 2, 3, 2}, {7, 0, -3, -4, -1, 0, 13, 0, -5, -8, -3, 0});
    check(STFT{}, {x, step, window}, {windowed}, 0, 1e-6);
    check(STFT{}, {x, step, window, t<int64_t>({}, {4})}, {windowed}, 0, 1e-6);
  }
  // Complex signals in a batch, frames of odd length, no length stated.
  const Value z = t<double>({2, 3, 2}, {1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0});
  const double s = std::sqrt(3.0);
  check(STFT{.onesided = 0}, {z, step}, {t<double>({2, 1, 3, 2}, {1, 1, 1, 1, 1, 1, 0, 2, s, -1, -s, -1})}, 0,
        1e-12);
  check_fails(STFT{}, {z, step}, "signal: (2,3,2), the one-sided transform takes real numbers");
  check(STFT{}, {t<double>({2, 3, 1}, {1, 0, 0, 0, 2, 0}), step},
        {t<double>({2, 1, 2, 2}, {1, 0, 1, 0, 2, 0, -1, -s})}, 0, 1e-12);
  check(STFT{.onesided = 0},
        {t<double>({1, 4, 2}, {1, 0, 2, 0, 3, 1, 4, 0}), t<int64_t>({}, {1}), t<double>({1}, {2})},
        {t<double>({1, 4, 1, 2}, {2, 0, 4, 0, 6, 2, 8, 0})}, 0, 1e-12);
}

TEST_CASE("STFT: empty, refused, symbols, typed") {
  const Value step = t<int64_t>({}, {2}), x = t<float>({1, 4, 1}, {1, 2, 3, 4}), w = t<float>({2}, {1, 1});
  check(STFT{}, {t<float>({0, 4, 1}, {}), step, w}, {t<float>({0, 2, 2, 2}, {})});
  check_fails(STFT{}, {x, t<int64_t>({}, {0}), w}, "frame_step: 0, expected at least 1");
  check_fails(STFT{}, {x, t<int64_t>({}, {INT64_MIN}), w}, "");
  check_fails(STFT{}, {x, t<int64_t>({2}, {1, 1}), w}, "frame_step: (2), expected one element");
  check_fails(STFT{}, {x, step, Value(), t<int64_t>({}, {-1})}, "frame_length: -1, expected at least 1");
  check_fails(STFT{}, {x, step, Value(), t<int64_t>({}, {5})}, "frames of 5 numbers in a signal of 4");
  check_fails(STFT{}, {x, step, w, t<int64_t>({}, {3})}, "frame_length and window differ: 3 and 2");
  check(STFT{}, {x, step, w, t<int64_t>({}, {INT64_MIN})}, run(STFT{}, {x, step, w}));
  check_fails(STFT{}, {x, step, t<float>({0}, {})}, "length of frames: 0, expected at least 1");
  check_fails(STFT{}, {t<float>({1, 0, 1}, {}), step}, "length of frames: 0, expected at least 1");
  check_fails(STFT{}, {x, step, t<float>({1, 2}, {1, 1})}, "window: rank 2, expected 1");
  check_fails(STFT{}, {t<float>({4}, {1, 2, 3, 4}), step}, "signal: rank 1, expected at least 2");
  check_fails(STFT{}, {t<float>({1, 1, 1, 1}, {1}), step}, "signal: rank 4, expected 2 or 3");
  check_fails(STFT{}, {t<float>({1, 1, 3}, {1, 2, 3}), step},
              "the last extent is neither 1 (real) nor 2 (complex)");
  check_fails(STFT{}, {t<float>({1, 2, 2}, {1, 2, 3, 4}), step},
              "the one-sided transform takes real numbers");
  check_fails(STFT{.onesided = 7}, {x, step}, "onesided: 7, expected 0 or 1");
  const auto n = Dim::symbol(1), m = Dim::symbol(2);
  const auto f = [](const Dims& d) { return info(DType::float32, d); };
  const auto scalar = [](int64_t v) { return info(DType::int64, {}, {v}); };
  CHECK(infer(STFT{}, {f({n, 64, 1}), scalar(8), f({16})})[0].dims == Dims{n, 7, 9, 2});
  CHECK(infer(STFT{.onesided = 0}, {f({2, 64}), scalar(8), op::Info{}, scalar(16)})[0].dims ==
        Dims{2, 7, 16, 2});
  CHECK(infer(STFT{}, {f({n, m, 1}), scalar(8), f({16})})[0].dims == Dims{n, Dim(), 9, 2});
  CHECK(infer(STFT{.onesided = 0}, {f({n, m, 1}), scalar(8)})[0].dims == Dims{n, 1, m, 2});
  CHECK(infer(STFT{}, {f(Dims()), info(DType::int64, {}), f({m})})[0].dims == Dims{Dim(), Dim(), Dim(), 2});
  const auto y = apply<STFT{}>(Tensor<float, Shape<1, 4, 1>>{{{1}, {2}, {3}, {4}}}, constant<int64_t, 2>,
                               Tensor<float, Shape<2>>{1, 1});
  CHECK((y.extents()[1] == 2 && y.view()[4] == 7));
}
}  // namespace tenon
