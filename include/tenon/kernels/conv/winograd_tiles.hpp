// Winograd's F(m x m, r x r), innermost: the forms of tiles, and the transformations of one tile.
//
// A tile of m x m outputs of a kernel of r x r cells sees n x n inputs d, n = m + r - 1. With the weights g
// it is A^T [(G g G^T) * (B^T d B)] A: n^2 products for each pair of channels instead of m^2 r^2, and n^2
// weights instead of r^2 (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016). The
// matrices belong to n - 1 points and infinity.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tenon/kernels/conv/geometry.hpp"
#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/simd/batch.hpp"
#include "tenon/simd/vector.hpp"

namespace tenon::TENON_ABI::kernels::winograd_detail {

using simd::batch;
using simd::lanes;

/// The points 0, near, -near, far, -far and infinity: the usual 1 and 2 have three times the rounding error.
/// The squares are exact, and the product of the squares is 1.
struct SixPoints {
  static constexpr int64_t side = 6;
  static constexpr double near = 0.70710678118654752440, near_2 = 0.5;
  static constexpr double far = 1.41421356237309504880, far_2 = 2;

  /// B^T d of one column.
  template <class B>
  static void transform_inputs(const B (&d)[side], B (&t)[side]) {
    using T = typename B::value_type;
    const B both(T(-near_2 - far_2));
    const B even_near = simd::mul_add(B(T(-far_2)), d[2], d[4]),
            odd_near = simd::mul_add(B(T(-far_2)), d[1], d[3]);
    const B even_far = simd::mul_add(B(T(-near_2)), d[2], d[4]),
            odd_far = simd::mul_add(B(T(-near_2)), d[1], d[3]);
    t[0] = simd::mul_add(both, d[2], d[0] + d[4]);
    t[1] = simd::mul_add(B(T(near)), odd_near, even_near);
    t[2] = simd::mul_add(B(T(-near)), odd_near, even_near);
    t[3] = simd::mul_add(B(T(far)), odd_far, even_far);
    t[4] = simd::mul_add(B(T(-far)), odd_far, even_far);
    t[5] = simd::mul_add(both, d[3], d[1] + d[5]);
  }
};

/// F(4x4, 3x3), F(3x3, 4x4) and F(2x2, 5x5).
template <int64_t Outputs>
struct Tiles6 : SixPoints {
  using Points = SixPoints;
  static constexpr int64_t outputs = Outputs, kernel = side + 1 - outputs;

  /// A^T m of one column: sums of the places times powers of their points, with infinity's place in the last.
  template <class B>
  static void transform_sums(const B (&m)[side], B (&y)[outputs]) {
    using T = typename B::value_type;
    const B sum_near = m[1] + m[2], rest_near = m[1] - m[2], sum_far = m[3] + m[4], rest_far = m[3] - m[4];
    y[0] = m[0] + sum_near + sum_far;
    double near_power = near, far_power = far;
#pragma GCC unroll 4
    for (int64_t i = 1; i < outputs; ++i, near_power *= near, far_power *= far) {
      const B& of_near = i % 2 == 0 ? sum_near : rest_near;
      const B& of_far = i % 2 == 0 ? sum_far : rest_far;
      const B low = i + 1 < outputs ? B(T(far_power)) * of_far : simd::mul_add(B(T(far_power)), of_far, m[5]);
      y[i] = simd::mul_add(B(T(near_power)), of_near, low);
    }
  }

  /// G g of one column: the kernel as a polynomial at the points, scaled by a factor per point.
  template <class D>
  static void transform_weights(const D (&g)[kernel], D (&u)[side]) {
    constexpr double by_near = 1 / (2 * near_2 * (near_2 - far_2)),
                     by_far = 1 / (2 * far_2 * (far_2 - near_2));
    const auto even = [&](double square) {
      D sum = g[0] + square * g[2];
      if constexpr (kernel == 5) sum += square * square * g[4];
      return sum;
    };
    const auto odd = [&](double square) {
      D sum = g[1];
      if constexpr (kernel > 3) sum += square * g[3];
      return sum;
    };
    const D even_near = even(near_2), odd_near = near * odd(near_2), even_far = even(far_2),
            odd_far = far * odd(far_2);
    u[0] = g[0];
    u[1] = (even_near + odd_near) * by_near;
    u[2] = (even_near - odd_near) * by_near;
    u[3] = (even_far + odd_far) * by_far;
    u[4] = (even_far - odd_far) * by_far;
    u[5] = g[kernel - 1];
  }
};

/// F(2x2, 3x3), with the points 0, 1, -1 and infinity.
struct Tiles4 {
  using Points = Tiles4;
  static constexpr int64_t outputs = 2, side = 4, kernel = 3;

  template <class B>
  static void transform_inputs(const B (&d)[side], B (&t)[side]) {
    t[0] = d[0] - d[2];
    t[1] = d[1] + d[2];
    t[2] = d[2] - d[1];
    t[3] = d[3] - d[1];
  }

  template <class B>
  static void transform_sums(const B (&m)[side], B (&y)[outputs]) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] + m[3];
  }

  template <class D>
  static void transform_weights(const D (&g)[kernel], D (&u)[side]) {
    u[0] = g[0];
    u[1] = (g[0] + g[2] + g[1]) / 2;
    u[2] = (g[0] + g[2] - g[1]) / 2;
    u[3] = g[2];
  }
};

/// Numbers of half a register, in a register of doubles.
template <class Arch, class T>
struct Wide {
  static constexpr int count = lanes<T, Arch> / 2;
  using Narrow = simd::Vector<T, count>;
  using Type = simd::Vector<double, count>;
  static Type load(const T* from) {
    Narrow x;
    std::memcpy(&x, from, sizeof x);
    return simd::convert<Type>(x);
  }
  static void store(T* to, const Type& wide) {
    const Narrow x = simd::convert<Narrow>(wide);
    std::memcpy(to, &x, sizeof x);
  }
};

/// G g G^T of the weights of `count` adjacent outputs, one row per place. Rows of u are `row` apart.
template <class Tiles, class Arch, class T>
void transform_weights(const T* g, int64_t count, T* u, int64_t row) {
  using W = Wide<Arch, T>;
  constexpr int side = Tiles::side, kernel = Tiles::kernel;
  using D = typename W::Type;
  for (int64_t i = 0; i < count; i += W::count) {
    D half[kernel][side];
    for (int k = 0; k < kernel; ++k) {
      D column[kernel];
      for (int r = 0; r < kernel; ++r) column[r] = W::load(g + (r * kernel + k) * count + i);
      Tiles::transform_weights(column, half[k]);
    }
    for (int r = 0; r < side; ++r) {
      D line[kernel], places[side];
      for (int k = 0; k < kernel; ++k) line[k] = half[k][r];
      Tiles::transform_weights(line, places);
      for (int k = 0; k < side; ++k) W::store(u + (r * side + k) * row + i, places[k]);
    }
  }
}

/// Transforms the inputs of the tile whose first output is (row, col): B^T d B, whose places are `step`
/// apart.
template <class Points, class T, class Arch>
void take_tile(const ConvGeometry& g, const T* x, int64_t row, int64_t col, T* to, int64_t step) {
  using B = batch<T, Arch>;
  constexpr int64_t L = lanes<T, Arch>, side = Points::side;
  row -= g.pads[0], col -= g.pads[1];
  const bool inside = row >= 0 && col >= 0 && row + side <= g.in[0] && col + side <= g.in[1];
  B half[side][side];  // B^T d: [column][row]
  for (int64_t c = 0; c < side; ++c) {
    B d[side];
    if (inside) {
      const T* from = x + (row * g.in[1] + col + c) * L;
#pragma GCC unroll 6
      for (int64_t r = 0; r < side; ++r) d[r] = simd::loadu<Arch>(from + r * g.in[1] * L);
    } else {
      const bool column = col + c >= 0 && col + c < g.in[1];
      for (int64_t r = 0; r < side; ++r)
        d[r] = column && row + r >= 0 && row + r < g.in[0]
                   ? B(simd::loadu<Arch>(x + ((row + r) * g.in[1] + col + c) * L))
                   : B(T{0});
    }
    Points::transform_inputs(d, half[c]);
  }
  for (int64_t r = 0; r < side; ++r) {
    B d[side], u[side];
#pragma GCC unroll 6
    for (int64_t c = 0; c < side; ++c) d[c] = half[c][r];
    Points::transform_inputs(d, u);
#pragma GCC unroll 6
    for (int64_t c = 0; c < side; ++c) simd::storeu(to + (r * side + c) * step, u[c]);
  }
}

/// The destination of a tile's outputs for one vector: rows x cols of them, with rows `row` elements apart.
template <class T>
struct TileEnd {
  int64_t rows, cols, row;
  T* y;
  const T* add;   ///< the residual, laid out like y; or nullptr
  const T* bias;  ///< or nullptr
  T lo, hi;
  Activation<T> activation;
  T* space;  ///< outputs x outputs vectors, the scratch space of the activation
};

/// Transforms a tile's sums, whose places are `step` apart, and finishes its outputs.
template <class Tiles, class T, class Arch>
void give_tile(const T* sums, int64_t step, const TileEnd<T>& end) {
  using B = batch<T, Arch>;
  constexpr int64_t L = lanes<T, Arch>, side = Tiles::side, outputs = Tiles::outputs;
  B half[side][outputs];  // A^T m: [column][row]
  for (int64_t c = 0; c < side; ++c) {
    B m[side];
#pragma GCC unroll 6
    for (int64_t r = 0; r < side; ++r) m[r] = simd::loadu<Arch>(sums + (r * side + c) * step);
    Tiles::transform_sums(m, half[c]);
  }
  const B bias = end.bias == nullptr ? B(T{0}) : B(simd::loadu<Arch>(end.bias)), lo(end.lo), hi(end.hi);
  T* const y = end.activation ? end.space : end.y;
  const int64_t row = end.activation ? end.cols * L : end.row;
  for (int64_t r = 0; r < end.rows; ++r) {
    B m[side], line[outputs];
#pragma GCC unroll 6
    for (int64_t c = 0; c < side; ++c) m[c] = half[c][r];
    Tiles::transform_sums(m, line);
    for (int64_t c = 0; c < end.cols; ++c) {
      B value = line[c] + bias;
      if (end.add != nullptr) value = value + simd::loadu<Arch>(end.add + r * end.row + c * L);
      simd::storeu(y + r * row + c * L, simd::bound(value, lo, hi));
    }
  }
  if (!end.activation) return;
  end.activation(y, end.rows * row);
  for (int64_t r = 0; r < end.rows; ++r) std::copy_n(y + r * row, row, end.y + r * end.row);
}

/// A form of tiles, and its transformations. All other code is shared by all forms.
template <class T, class Arch>
struct Form {
  int64_t outputs, side;
  void (*weights)(const T* g, int64_t count, T* u, int64_t row);
  void (*take)(const ConvGeometry& g, const T* x, int64_t row, int64_t col, T* to, int64_t step);
  void (*give)(const T* sums, int64_t step, const TileEnd<T>& end);

  int64_t places() const { return side * side; }
  int64_t kernel() const { return side + 1 - outputs; }
};

template <class Tiles, class T, class Arch>
constexpr Form<T, Arch> form_of_tiles() {
  return {Tiles::outputs, Tiles::side, &transform_weights<Tiles, Arch, T>,
          &take_tile<typename Tiles::Points, T, Arch>, &give_tile<Tiles, T, Arch>};
}

/// The form for a kernel with `kernel` cells on a side and tiles with `outputs` outputs.
template <class T, class Arch>
Form<T, Arch> form_of(int64_t kernel, int64_t outputs) {
  if (kernel == 5) return form_of_tiles<Tiles6<2>, T, Arch>();
  if (kernel == 4) return form_of_tiles<Tiles6<3>, T, Arch>();
  if (outputs == 2) return form_of_tiles<Tiles4, T, Arch>();
  return form_of_tiles<Tiles6<4>, T, Arch>();
}

}  // namespace tenon::TENON_ABI::kernels::winograd_detail
