// Discrete Fourier transforms of any length n in O(n log n), in double. Lengths whose prime factors are small
// are transformed factor by factor (Stockham), the others as a convolution of a length that has only small
// factors (Bluestein).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <utility>

#include "tenon/base/convert.hpp"
#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/scratch.hpp"

namespace tenon::TENON_ABI::kernels {

/// A complex number whose product is four multiplications, without std::complex's repair of infinities.
struct Complex {
  double re = 0, im = 0;

  friend constexpr Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend constexpr Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend constexpr Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend constexpr Complex operator*(double s, Complex a) { return {s * a.re, s * a.im}; }
};
constexpr Complex conjugate(Complex a) { return {a.re, -a.im}; }
/// -i a.
constexpr Complex turned(Complex a) { return {a.im, -a.re}; }

/// exp(-2 pi i k / n), 0 <= k <= n. Sine and cosine are taken of at most pi / 4, and rounded once.
inline Complex unit_root(int64_t k, int64_t n) {
  // The angle is eighth * (pi / 2) / n, brought into the first octant.
  int64_t eighth = 4 * k;
  const bool below = eighth > 2 * n;
  if (below) eighth = 4 * n - eighth;
  const bool left = eighth > n;
  if (left) eighth = 2 * n - eighth;
  const bool steep = 2 * eighth > n;
  if (steep) eighth = n - eighth;
  const double angle = 1.57079632679489661923 * static_cast<double>(eighth) / static_cast<double>(n);
  double c = std::cos(angle), s = std::sin(angle);
  if (steep) std::swap(c, s);
  return {left ? -c : c, below ? s : -s};
}

/// Transforms of one length: y[k] = sum of x[j] exp(-2 pi i j k / n).
class Fft {
 public:
  /// Tables lie in `scratch`, and live as long as it does. n >= 1.
  Fft(int64_t n, Scratch& scratch) : n_(n) {
    if (n > int64_t{1} << 48) raise_bad_alloc();
    int64_t rest = n;
    for (int radix : {4, 2, 3, 5, 7, 11, 13})
      for (; rest % radix == 0; rest /= radix) radices_[passes_++] = static_cast<int8_t>(radix);
    if (rest != 1) {
      plan_convolution(scratch);
      return;
    }
    Complex* roots = scratch.take<Complex>(n);
    for (int64_t k = 0; k < n; ++k) roots[k] = unit_root(k, n);
    roots_ = roots;
  }

  /// Elements of working memory that transform() needs.
  int64_t work() const { return convolver_ ? 2 * convolver_->n_ : n_; }

  /// Replaces the n elements of x by their transform.
  void transform(Complex* x, Complex* work) const {
    if (convolver_) return convolve(x, work);
    Complex *from = x, *to = work;
    int64_t columns = n_, rows = 1;
    for (int p = 0; p < passes_; ++p) {
      columns /= radices_[p];
      run_pass(radices_[p], from, to, columns, rows);
      rows *= radices_[p];
      std::swap(from, to);
    }
    if (from != x) std::copy_n(from, n_, x);
  }

 private:
  static constexpr int max_radix = 13;

  void run_pass(int radix, const Complex* x, Complex* y, int64_t columns, int64_t rows) const {
    const auto with = [&]<int R>(std::integral_constant<int, R>) {
      pass(R, x, y, columns, rows, [](Complex* a) { butterfly(a, std::integral_constant<int, R>()); });
    };
    switch (radix) {
      case 2: return with(std::integral_constant<int, 2>());
      case 3: return with(std::integral_constant<int, 3>());
      case 4: return with(std::integral_constant<int, 4>());
      case 5: return with(std::integral_constant<int, 5>());
      default: return pass(radix, x, y, columns, rows, [&](Complex* a) { butterfly(a, radix); });
    }
  }
  /// One factor of the transform: element (j, p, q) of x, as an array of (radix, columns, rows), becomes
  /// element (p, k, q) of y, an array of (columns, radix, rows).
  template <class Butterfly>
  TENON_ALWAYS_INLINE void pass(int radix, const Complex* x, Complex* y, int64_t columns, int64_t rows,
                                Butterfly transformed) const {
    Complex a[max_radix], twiddles[max_radix];
    for (int64_t p = 0; p < columns; ++p, x += rows, y += radix * rows) {
      for (int k = 1; k < radix; ++k) twiddles[k] = roots_[p * k * rows];
      for (int64_t q = 0; q < rows; ++q) {
        for (int j = 0; j < radix; ++j) a[j] = x[j * columns * rows + q];
        transformed(a);
        y[q] = a[0];
        for (int k = 1; k < radix; ++k) y[k * rows + q] = a[k] * twiddles[k];
      }
    }
  }
  static void butterfly(Complex* a, std::integral_constant<int, 2>) {
    const Complex b = a[1];
    a[1] = a[0] - b;
    a[0] = a[0] + b;
  }
  static void butterfly(Complex* a, std::integral_constant<int, 3>) {
    constexpr double sine = 0.86602540378443864676;
    const Complex sum = a[1] + a[2], across = sine * turned(a[1] - a[2]), along = a[0] - 0.5 * sum;
    a[0] = a[0] + sum;
    a[1] = along + across;
    a[2] = along - across;
  }
  static void butterfly(Complex* a, std::integral_constant<int, 4>) {
    const Complex even = a[0] + a[2], other = a[0] - a[2], odd = a[1] + a[3], across = turned(a[1] - a[3]);
    a[0] = even + odd;
    a[1] = other + across;
    a[2] = even - odd;
    a[3] = other - across;
  }
  static void butterfly(Complex* a, std::integral_constant<int, 5>) {
    constexpr double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410;
    constexpr double s1 = 0.95105651629515357212, s2 = 0.58778525229247312917;
    const Complex outer = a[1] + a[4], inner = a[2] + a[3];
    const Complex across_outer = a[1] - a[4], across_inner = a[2] - a[3];
    const Complex along1 = a[0] + c1 * outer + c2 * inner, along2 = a[0] + c2 * outer + c1 * inner;
    const Complex across1 = turned(s1 * across_outer + s2 * across_inner);
    const Complex across2 = turned(s2 * across_outer - s1 * across_inner);
    a[0] = a[0] + outer + inner;
    a[1] = along1 + across1;
    a[2] = along2 + across2;
    a[3] = along2 - across2;
    a[4] = along1 - across1;
  }
  void butterfly(Complex* a, int radix) const {
    Complex b[max_radix];
    const int64_t step = n_ / radix;
    for (int k = 0; k < radix; ++k) {
      b[k] = a[0];
      for (int j = 1; j < radix; ++j) b[k] = b[k] + a[j] * roots_[j * k % radix * step];
    }
    std::copy_n(b, radix, a);
  }

  // Bluestein: j k = (j² + k² - (k - j)²) / 2 makes the transform a convolution with the chirp
  // exp(-pi i j² / n).
  void plan_convolution(Scratch& scratch) {
    int64_t m = INT64_MAX;
    for (int64_t factor : {1, 3, 5, 9, 15}) {
      while (factor < 2 * n_ - 1) factor *= 2;
      m = std::min(m, factor);
    }
    convolver_ = new (scratch.take<Fft>(1)) Fft(m, scratch);
    Complex *chirp = scratch.take<Complex>(n_), *kernel = scratch.take<Complex>(m);
    std::fill_n(kernel, m, Complex{});
    for (int64_t j = 0, square = 0; j < n_; square = (square + 2 * j + 1) % (2 * n_), ++j) {
      chirp[j] = unit_root(square, 2 * n_);
      kernel[j] = kernel[j == 0 ? 0 : m - j] = (1 / static_cast<double>(m)) * conjugate(chirp[j]);
    }
    convolver_->transform(kernel, scratch.take<Complex>(m));
    roots_ = chirp;
    kernel_ = kernel;
  }
  void convolve(Complex* x, Complex* work) const {
    const int64_t m = convolver_->n_;
    for (int64_t j = 0; j < n_; ++j) work[j] = x[j] * roots_[j];
    std::fill(work + n_, work + m, Complex{});
    convolver_->transform(work, work + m);
    // The transform of the conjugate is the conjugate of the inverse transform.
    for (int64_t j = 0; j < m; ++j) work[j] = conjugate(work[j] * kernel_[j]);
    convolver_->transform(work, work + m);
    for (int64_t k = 0; k < n_; ++k) x[k] = conjugate(work[k]) * roots_[k];
  }

  int64_t n_;
  int passes_ = 0;
  int8_t radices_[48]{};
  const Complex* roots_ = nullptr;   ///< exp(-2 pi i k / n) or, with a convolver, the chirp
  const Complex* kernel_ = nullptr;  ///< transform of the conjugate chirp / m
  const Fft* convolver_ = nullptr;   ///< of length m
};

/// Transforms of lines of n real or complex numbers. Real lines of even length are transformed as complex
/// lines of half the length.
class LineTransform {
 public:
  LineTransform(int64_t n, bool real, Scratch& scratch)
      : n_(n), halved_(real && n % 2 == 0), fft_(halved_ ? n / 2 : n, scratch) {
    if (!halved_) return;
    Complex* roots = scratch.take<Complex>(n / 4 + 1);
    for (int64_t k = 0; k <= n / 4; ++k) roots[k] = unit_root(k, n);
    roots_ = roots;
  }

  /// Elements of a line's memory, and of working memory.
  int64_t line() const { return n_ + 1; }
  int64_t work() const { return fft_.work(); }

  /// Sets number i of a line, whose memory the caller has cleared. `im` is 0 for real lines.
  void put(Complex* line, int64_t i, double re, double im) const {
    if (!halved_) line[i] = {re, im};
    else (i % 2 == 0 ? line[i / 2].re : line[i / 2].im) = re;
  }
  void transform(Complex* line, Complex* work) const {
    fft_.transform(line, work);
    if (!halved_) return;
    // The transform of the pairs combines the transforms of the even and the odd numbers.
    const int64_t m = n_ / 2;
    line[m] = {line[0].re - line[0].im, 0};
    line[0] = {line[0].re + line[0].im, 0};
    for (int64_t k = 1; 2 * k <= m; ++k) {
      const Complex a = line[k], b = conjugate(line[m - k]);
      const Complex even = 0.5 * (a + b), odd = roots_[k] * (0.5 * turned(a - b));
      line[k] = even + odd;
      line[m - k] = conjugate(even - odd);
    }
  }
  /// Result k of a line that has been transformed.
  Complex at(const Complex* line, int64_t k) const {
    return halved_ && 2 * k > n_ ? conjugate(line[n_ - k]) : line[k];
  }

 private:
  int64_t n_;
  bool halved_;
  Fft fft_;
  const Complex* roots_ = nullptr;
};

/// A transform along one axis: x is (outer, from, inner) of real or complex numbers, y (outer, to, inner).
struct DftArgs {
  int64_t outer = 1, inner = 1;
  int64_t from = 0;        ///< numbers given; those past `length` are not read
  int64_t to = 0;          ///< results requested, the first ones
  int64_t length = 0;      ///< of the transform; missing numbers are 0
  bool complex_in = true;  ///< two elements for each number, else one
  bool complex_out = true;
  bool inverse = false;  ///< exp(+2 pi i j k / n) / n instead of exp(-2 pi i j k / n)
  bool hermitian =
      false;  ///< only numbers 0 to length / 2 are given: number length - k is the conjugate of k
};

template <class T>
void dft(const T* x, T* y, const DftArgs& args) {
  const int64_t n = args.length, in = args.complex_in ? 2 : 1, out = args.complex_out ? 2 : 1;
  if (n == 0) return static_cast<void>(std::fill_n(y, args.outer * args.to * args.inner * out, T(0.0f)));
  const int64_t given = std::min(args.from, args.hermitian ? n / 2 + 1 : n);
  // Neighbouring columns are read together because they share cache lines; few if they are long, so that
  // their numbers stay in the second-level cache.
  constexpr int64_t near = cache_bytes::l2 / 4 / int64_t{sizeof(Complex)};
  const int64_t columns = std::min(args.inner, std::clamp(near / n, int64_t{1}, int64_t{8}));
  const int64_t blocks = (args.inner + columns - 1) / columns;
  const double sign = args.inverse ? -1 : 1, scale = args.inverse ? 1 / static_cast<double>(n) : 1;
  Scratch tables;
  const LineTransform plan(n, !args.complex_in && !args.inverse, tables);
  const int64_t grain = std::max(int64_t{1}, task_work::costly / (n * columns));
  parallel_for(args.outer * blocks, grain, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    Complex *lines = scratch.take<Complex>(columns * plan.line()), *work = scratch.take<Complex>(plan.work());
    const auto line = [&](int64_t c) { return lines + c * plan.line(); };
    for (int64_t b = begin; b < end; ++b) {
      const int64_t o = b / blocks, first = b % blocks * columns,
                    count = std::min(columns, args.inner - first);
      std::fill_n(lines, count * plan.line(), Complex{});
      for (int64_t i = 0; i < given; ++i) {
        const T* row = x + ((o * args.from + i) * args.inner + first) * in;
        for (int64_t c = 0; c < count; ++c)
          plan.put(line(c), i, static_cast<double>(row[c * in]),
                   in == 2 ? sign * static_cast<double>(row[c * in + 1]) : 0);
      }
      for (int64_t c = 0; c < count; ++c) {
        Complex* z = line(c);
        if (args.hermitian) {
          z[0].im = 0;
          if (n % 2 == 0) z[n / 2].im = 0;
          for (int64_t k = 1; 2 * k < n; ++k) z[n - k] = conjugate(z[k]);
        }
        plan.transform(z, work);
      }
      for (int64_t k = 0; k < args.to; ++k) {
        T* row = y + ((o * args.to + k) * args.inner + first) * out;
        for (int64_t c = 0; c < count; ++c) {
          const Complex z = plan.at(line(c), k);
          row[c * out] = convert<T>(scale * z.re);
          if (out == 2) row[c * out + 1] = convert<T>(scale * sign * z.im);
        }
      }
    }
  });
}

/// Transforms of frames of a signal: x is (batch, signal) of real or complex numbers, y (batch, frames, bins)
/// of complex ones. Frame f begins at number f * step.
template <class T>
struct StftArgs {
  int64_t batch = 1, signal = 0, frames = 0, bins = 0;
  int64_t step = 1, length = 1;
  bool complex_in = false;
  const T* window = nullptr;  ///< `length` factors; null: ones
};

template <class T>
void stft(const T* x, T* y, const StftArgs<T>& args) {
  const int64_t n = args.length, in = args.complex_in ? 2 : 1;
  Scratch tables;
  const LineTransform plan(n, !args.complex_in, tables);
  const int64_t grain = std::max(int64_t{1}, task_work::costly / n);
  parallel_for(args.batch * args.frames, grain, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    Complex *line = scratch.take<Complex>(plan.line()), *work = scratch.take<Complex>(plan.work());
    for (int64_t f = begin; f < end; ++f) {
      const T* frame = x + (f / args.frames * args.signal + f % args.frames * args.step) * in;
      std::fill_n(line, plan.line(), Complex{});
      for (int64_t i = 0; i < n; ++i) {
        const double w = args.window ? static_cast<double>(args.window[i]) : 1;
        plan.put(line, i, w * static_cast<double>(frame[i * in]),
                 in == 2 ? w * static_cast<double>(frame[i * in + 1]) : 0);
      }
      plan.transform(line, work);
      T* bins = y + f * args.bins * 2;
      for (int64_t k = 0; k < args.bins; ++k) {
        const Complex z = plan.at(line, k);
        bins[2 * k] = convert<T>(z.re);
        bins[2 * k + 1] = convert<T>(z.im);
      }
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels
