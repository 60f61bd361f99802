#include "tenon/kernels/resize/resize.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tenon/base/thread_pool.hpp"

using namespace tenon;
using namespace tenon::kernels;

namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

// Taps from place(j) on, held inside of the axis; sums of these numbers are exact.
template <class Arch, class T, class Place>
void test_resample(int64_t in, int64_t out, int64_t taps, int64_t inner, Place place) {
  CAPTURE(in);
  CAPTURE(out);
  CAPTURE(taps);
  CAPTURE(inner);
  std::vector<int64_t> index(at(taps * out));
  std::vector<T> weights(index.size());
  for (int64_t k = 0; k < taps; ++k)
    for (int64_t j = 0; j < out; ++j) {
      index[at(k * out + j)] = std::clamp<int64_t>(place(j) + k, 0, in - 1);
      weights[at(k * out + j)] = static_cast<T>((j * 5 + k * 3) % 17) / 16;
    }
  const int64_t outer = 3;
  std::vector<T> x(at(outer * in * inner)), y(at(outer * out * inner), T{-1});
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(static_cast<int>(i * 37 % 101) - 50) / 4;
  const ResampleAxis<T> axis{in, out, taps, index.data(), weights.data()};
  if (inner == 1) resample_lines_impl<Arch>(x.data(), y.data(), axis, 0, outer);
  else resample_rows_impl<Arch>(x.data(), y.data(), axis, inner, 0, outer * out);
  int64_t wrong = 0;
  for (int64_t i = 0; i < outer * out * inner; ++i) {
    const int64_t o = i / inner / out, j = i / inner % out;
    T want = 0;
    for (int64_t k = 0; k < taps; ++k)
      want += weights[at(k * out + j)] * x[at((o * in + index[at(k * out + j)]) * inner + i % inner)];
    wrong += y[at(i)] != want;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("resample: against the definition, shorter and longer, with adjacent and separate taps") {
  simd::dispatch([]<class Arch>(Arch) {
    const auto test = [](int64_t in, int64_t out, int64_t taps, int64_t inner) {
      const auto even = [=](int64_t j) { return (j * in + in / 2) / out - taps / 2; };
      test_resample<Arch, float>(in, out, taps, inner, even);
      test_resample<Arch, double>(in, out, taps, inner, even);
      test_resample<Arch, float>(in, out, taps, inner, [=](int64_t j) { return in - j; });
      // Outside of the axis in the middle.
      test_resample<Arch, float>(in, out, taps, inner, [=](int64_t j) { return j * 7 % (in + 9) - 4; });
    };
    for (const int64_t inner : {1, 5, 70})
      for (const int64_t taps : {1, 2, 4})
        for (const int64_t in : {1, 2, 17, 40})
          for (const int64_t out : {1, 7, 16, 37, 70, 150}) test(in, out, taps, inner);
  });
}

TEST_CASE("pick: repeated rows and columns, for any number of threads") {
  const auto test = []<class T>(DType d, int64_t planes, int64_t rows, int64_t columns, int64_t down,
                                int64_t across, T one) {
    CAPTURE(rows);
    CAPTURE(columns);
    CAPTURE(down);
    CAPTURE(across);
    const int64_t from[] = {planes, rows, columns}, to[] = {planes, rows * down, columns * across};
    std::vector<T> x(at(planes * rows * columns)), y(at(planes * rows * down * columns * across));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(static_cast<T>(i % 113) + one);
    std::vector<int64_t> index[3];
    for (int64_t p = 0; p < planes; ++p) index[0].push_back(p);
    for (int64_t r = 0; r < to[1]; ++r) index[1].push_back(r / down);
    for (int64_t c = 0; c < to[2]; ++c) index[2].push_back(c / across);
    const int64_t* const places[] = {index[0].data(), index[1].data(), index[2].data()};
    for (const int threads : {1, 2, 5}) {
      ThreadPool pool(threads);
      const ScopedPool scoped(pool);
      std::fill(y.begin(), y.end(), T{});
      pick(d, y.data(), to, x.data(), from, places);
      int64_t wrong = 0;
      for (int64_t i = 0; i < static_cast<int64_t>(y.size()); ++i) {
        const int64_t c = i % to[2], r = i / to[2] % to[1], p = i / to[2] / to[1];
        wrong += y[at(i)] != x[at((p * rows + r / down) * columns + c / across)];
      }
      CHECK(wrong == 0);
    }
  };
  for (const int64_t columns : {1, 3, 4, 5, 13, 16})
    for (const int64_t down : {1, 2, 3})
      for (const int64_t across : {1, 2, 3}) {
        test(DType::float32, 5, 7, columns, down, across, 1.0f);
        test(DType::uint8, 5, 7, columns, down, across, uint8_t{1});
      }
  test(DType::float32, 70, 13, 13, 2, 2, 1.0f);  // tasks begin inside of planes
}
