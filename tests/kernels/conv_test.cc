#include "tenon/kernels/conv/conv.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tenon/base/thread_pool.hpp"
#include "tenon/kernels/conv/transposed.hpp"
#include "tenon/kernels/quant_conv/last.hpp"
#include "tenon/kernels/quant_conv/quant_conv.hpp"
#include "tenon/kernels/requantize.hpp"

using namespace tenon;
using namespace tenon::kernels;

namespace {

using Axes = std::vector<int64_t>;

struct Case {
  const char* name;
  int64_t batch, groups, in_channels, out_channels;
  Axes in, kernel, strides, dilations, pads;  // pads: all at the start, then all at the end
};
const Case cases[] = {
    {"1-d", 2, 1, 3, 5, {20}, {3}, {1}, {1}, {1, 1}},
    {"1-d strided, dilated", 1, 2, 4, 6, {61}, {4}, {3}, {2}, {3, 0}},
    {"1-d long windows", 2, 1, 1, 37, {1500}, {50}, {11}, {1}, {20, 13}},
    {"1-d long windows, groups", 1, 2, 6, 10, {400}, {19}, {5}, {1}, {-3, 0}},
    {"pointwise", 2, 1, 7, 33, {9, 11}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {"pointwise, few outputs", 1, 1, 300, 5, {5, 13}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {"pointwise, groups", 2, 3, 6, 12, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {"pointwise, strided", 1, 1, 9, 10, {9, 11}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
    {"3x3 same", 2, 1, 5, 17, {12, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3 narrow", 1, 1, 40, 20, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3 deep", 1, 1, 70, 9, {6, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"7x7 strided", 1, 1, 3, 16, {33, 40}, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
    {"kernel beyond a block", 1, 1, 2, 4, {25, 40}, {19, 21}, {1, 1}, {1, 1}, {2, 3, 4, 5}},
    {"asymmetric", 1, 1, 2, 3, {9, 13}, {2, 4}, {2, 1}, {2, 3}, {0, 3, 2, 1}},
    {"cropping pads", 1, 1, 2, 3, {9, 13}, {3, 3}, {1, 2}, {1, 1}, {-2, 1, 1, -1}},
    {"width 1", 1, 1, 4, 6, {50, 1}, {5, 1}, {1, 1}, {1, 1}, {2, 0, 2, 0}},
    {"inner identity", 2, 1, 3, 4, {10, 9}, {3, 1}, {1, 1}, {1, 1}, {1, 0, 1, 0}},
    {"kernel inside padding", 1, 1, 2, 2, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {4, 4, 4, 4}},
    {"depthwise", 2, 8, 8, 8, {13, 35}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"depthwise strided", 1, 6, 6, 12, {14, 15}, {3, 5}, {2, 3}, {1, 2}, {1, 2, 1, 2}},
    {"depthwise 5x5", 1, 3, 3, 3, {9, 50}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
    {"depthwise 7x7 strided", 2, 2, 2, 4, {21, 70}, {7, 7}, {2, 2}, {1, 1}, {3, 2, 3, 4}},
    {"depthwise 3x3 strided, cropping", 1, 3, 3, 3, {13, 75}, {3, 3}, {2, 2}, {1, 1}, {-1, -2, 1, 3}},
    {"depthwise 3x3 wide", 1, 2, 2, 2, {9, 100}, {3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {"depthwise 3x3 strided, wide", 1, 2, 2, 2, {12, 101}, {3, 3}, {2, 2}, {1, 1}, {0, 0, 1, 4}},
    {"depthwise 5x5 strided", 2, 2, 2, 2, {15, 90}, {5, 5}, {2, 2}, {1, 1}, {0, 1, 2, 3}},
    {"depthwise 7x7", 1, 2, 2, 2, {15, 70}, {7, 7}, {1, 1}, {1, 1}, {3, 3, 3, 3}},
    {"depthwise, padding beyond the kernel", 1, 2, 2, 2, {5, 20}, {3, 3}, {1, 1}, {1, 1}, {4, 20, 0, 4}},
    {"depthwise narrow", 1, 5, 5, 5, {3, 2}, {7, 7}, {1, 1}, {1, 1}, {3, 3, 3, 3}},
    {"depthwise, half rows", 2, 6, 6, 6, {11, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"half rows strided", 1, 3, 6, 6, {14, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"half rows 5x5", 1, 2, 4, 2, {9, 8}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
    {"half rows 5x5 strided", 1, 2, 2, 4, {13, 11}, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}},
    {"half rows 7x7", 1, 3, 3, 3, {9, 8}, {7, 7}, {1, 1}, {1, 1}, {3, 3, 3, 3}},
    {"half rows 7x7 strided, cropping", 1, 3, 3, 3, {25, 17}, {7, 7}, {2, 2}, {1, 1}, {-1, -2, 3, 1}},
    {"depthwise dilated", 1, 4, 4, 4, {13, 20}, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}},
    {"few outputs", 2, 1, 6, 2, {10, 37}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"few outputs strided, groups", 1, 2, 6, 6, {18, 41}, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}},
    {"few outputs dilated", 1, 1, 3, 1, {14, 20}, {3, 3}, {1, 1}, {3, 3}, {3, 3, 3, 3}},
    {"depthwise 1-d", 1, 4, 4, 4, {100}, {9}, {1}, {1}, {8, 0}},
    {"depthwise 1-d, more weights than lanes", 2, 3, 3, 6, {150}, {35}, {1}, {1}, {17, 17}},
    {"depthwise 1-d, cropping", 1, 3, 3, 3, {140}, {20}, {1}, {1}, {-3, 2}},
    {"depthwise 1-d, short", 1, 5, 5, 5, {3}, {9}, {1}, {1}, {4, 4}},
    {"depthwise, many cells", 1, 2, 2, 2, {21, 24}, {17, 17}, {1, 1}, {1, 1}, {4, 8, 8, 8}},
    {"depthwise, padding beyond proportion",
     1,
     2,
     2,
     2,
     {3, 3},
     {2, 2},
     {1000, 1000},
     {1000, 1000},
     {999, 999, 999, 999}},
    {"groups", 1, 4, 16, 24, {8, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3-d", 1, 1, 3, 5, {5, 6, 9}, {3, 2, 3}, {1, 2, 1}, {1, 1, 2}, {1, 0, 2, 1, 1, 2}},
    {"3-d depthwise", 1, 3, 3, 3, {5, 6, 9}, {3, 3, 3}, {2, 1, 2}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}},
    {"4-d", 1, 1, 2, 2, {3, 4, 3, 5}, {2, 2, 2, 2}, {1, 1, 1, 1}, {1, 1, 1, 1}, {0, 1, 0, 1, 0, 0, 1, 0}},
    {"4x4 strided", 2, 1, 5, 17, {7, 9}, {4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"4x4 strided, slabs", 2, 1, 3, 70, {33, 23}, {4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"3x3 strided, odd", 1, 1, 8, 12, {6, 18}, {3, 3}, {2, 2}, {1, 1}, {0, 1, 1, 0}},
    {"3x3 strided, many outputs", 1, 1, 4, 131, {5, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 0, 0}},
    {"5x5 of few cells", 2, 1, 10, 20, {5, 6}, {5, 5}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {"of few cells, outer stride", 1, 2, 10, 20, {5, 8}, {5, 9}, {2, 1}, {1, 1}, {1, -1, 0, 2}},
    {"few outputs, wide", 1, 1, 40, 3, {5, 41}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"kernel of the strides", 2, 1, 40, 5, {6, 37}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 1, 1}},
    {"kernel of the strides, padded", 1, 2, 8, 10, {9, 11}, {3, 2}, {3, 2}, {1, 1}, {1, 1, 0, 0}},
    {"different strides", 1, 2, 6, 16, {9, 8}, {5, 7}, {3, 4}, {1, 1}, {2, 3, 1, 0}},
    {"strided, cropping pads", 1, 1, 3, 9, {8, 9}, {4, 5}, {2, 2}, {1, 1}, {-1, 5, 3, -2}},
    {"strided and dilated", 1, 1, 3, 9, {8, 9}, {4, 3}, {2, 1}, {1, 3}, {1, 2, 1, 2}},
    {"1-d strided, slabs", 1, 1, 3, 6, {3000}, {16}, {8}, {1}, {4, 4}},
    {"3-d strided", 1, 1, 4, 6, {3, 4, 5}, {2, 3, 4}, {2, 2, 1}, {1, 1, 2}, {0, 1, 1, 0, 1, 2}},
    {"no channels", 1, 1, 0, 3, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"no images", 0, 1, 2, 3, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
};

int64_t cells(const Axes& a) {
  int64_t n = 1;
  for (int64_t e : a) n *= e;
  return n;
}

Axes out_extents(const Case& c, bool transposed) {
  const size_t rank = c.in.size();
  Axes out(rank);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t span = (c.kernel[d] - 1) * c.dilations[d] + 1, pads = c.pads[d] + c.pads[rank + d];
    out[d] =
        transposed ? (c.in[d] - 1) * c.strides[d] + span - pads : (c.in[d] + pads - span) / c.strides[d] + 1;
  }
  return out;
}

ConvGeometry geometry(const Case& c, const Axes& out) {
  return {static_cast<int>(c.in.size()),
          c.batch,
          c.groups,
          c.in_channels,
          c.out_channels,
          c.in.data(),
          out.data(),
          c.kernel.data(),
          c.strides.data(),
          c.dilations.data(),
          c.pads.data()};
}

std::mt19937 random_bits(11);

template <class T>
std::vector<T> numbers(int64_t count) {
  std::vector<T> v(static_cast<size_t>(count));
  for (T& x : v) {
    const int n = static_cast<int>(random_bits() % 255) - 127;
    if constexpr (std::is_integral_v<T>) x = static_cast<T>(n);
    else x = static_cast<T>(n) / 64;
  }
  return v;
}

struct Meeting {
  int64_t input, kernel, output;  // cells
};
// All cells that meet; `transposed` swaps the roles of input and output.
std::vector<Meeting> meetings(const Case& c, const Axes& out, bool transposed) {
  const Axes& sliding = transposed ? c.in : out;  // o in o * stride + k * dilation - pad
  const Axes& covered = transposed ? out : c.in;
  std::vector<Meeting> all;
  for (int64_t o = 0; o < cells(sliding); ++o)
    for (int64_t k = 0; k < cells(c.kernel); ++k) {
      int64_t flat = 0, stride = 1, o_rest = o, k_rest = k;
      bool inside = true;
      for (size_t d = c.in.size(); d-- > 0;) {
        const int64_t at =
            o_rest % sliding[d] * c.strides[d] + k_rest % c.kernel[d] * c.dilations[d] - c.pads[d];
        o_rest /= sliding[d], k_rest /= c.kernel[d];
        inside = inside && at >= 0 && at < covered[d];
        flat += at * stride, stride *= covered[d];
      }
      if (inside) all.push_back(transposed ? Meeting{o, k, flat} : Meeting{flat, k, o});
    }
  return all;
}

size_t at(int64_t i) { return static_cast<size_t>(i); }

// Weights are (Cout, Cin / groups, kernel); `transposed`: (Cin, Cout / groups, kernel).
template <class T>
std::vector<T> expected(const Case& c, const Axes& out, bool transposed, const std::vector<T>& x,
                        const std::vector<T>& w) {
  const int64_t in = cells(c.in), to = cells(out), kernel = cells(c.kernel);
  const int64_t gi = c.in_channels / c.groups, go = c.out_channels / c.groups;
  const std::vector<Meeting> all = meetings(c, out, transposed);
  std::vector<T> y(at(c.batch * c.out_channels * to));
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t co = 0; co < c.out_channels; ++co)
      for (int64_t ci = 0; ci < gi; ++ci) {
        const int64_t group = co / go;
        const T* const image = x.data() + (n * c.in_channels + group * gi + ci) * in;
        const T* const weight =
            w.data() + (transposed ? (group * gi + ci) * go + co % go : co * gi + ci) * kernel;
        T* const sums = y.data() + (n * c.out_channels + co) * to;
        for (const Meeting& m : all) sums[m.output] += image[m.input] * weight[m.kernel];
      }
  return y;
}

// Sums of these numbers are exact in float: results have to be equal.
template <class Arch, class T>
void test_conv(const Case& c) {
  const Axes out = out_extents(c, false);
  ConvArgs<T> g;
  g.geometry = geometry(c, out);
  const int64_t to = cells(out), kernel = cells(c.kernel);
  const auto x = numbers<T>(c.batch * c.in_channels * cells(c.in));
  const auto w = numbers<T>(c.out_channels * (c.in_channels / c.groups) * kernel);
  const auto bias = numbers<T>(c.out_channels), add = numbers<T>(c.batch * c.out_channels * to);
  std::vector<T> y(add.size()), packed(at(conv_packed_weight_size_impl<Arch, T>(g.geometry)));
  conv_pack_weights_impl<Arch, T>(g.geometry, w.data(), packed.data());
  const auto sums = expected(c, out, false, x, w);
  for (const bool prepacked : {false, true})
    for (int form = 0; form < 4; ++form) {
      y = add;
      g.x = x.data(), g.w = prepacked ? nullptr : w.data(), g.packed_w = prepacked ? packed.data() : nullptr;
      g.bias = form >= 1 ? bias.data() : nullptr,
      g.add = form >= 2 ? (form == 3 ? y.data() : add.data()) : nullptr;
      g.lo = form == 1 ? 0 : form == 3 ? -1 : no_lower_bound<T>, g.hi = form == 3 ? T(2) : no_upper_bound<T>;
      g.y = y.data();
      conv_impl<Arch>(g);
      int64_t wrong = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        T want = sums[i];
        if (form >= 1) want += bias[at(static_cast<int64_t>(i) / to % c.out_channels)];
        if (form >= 2) want += add[i];
        want = std::min(std::max(want, g.lo), g.hi);
        wrong += y[i] != want;
      }
      CAPTURE(prepacked);
      CAPTURE(form);
      CHECK(wrong == 0);
    }
}

template <class Arch, class T>
void test_transpose(const Case& c) {
  const Axes out = out_extents(c, true);
  for (int64_t e : out)
    if (e <= 0) return;
  ConvTransposeArgs<T> g;
  g.geometry = geometry(c, out);
  const auto x = numbers<T>(c.batch * c.in_channels * cells(c.in));
  const auto w = numbers<T>(c.in_channels * (c.out_channels / c.groups) * cells(c.kernel));
  const auto bias = numbers<T>(c.out_channels);
  const auto sums = expected(c, out, true, x, w);
  std::vector<T> y(sums.size());
  std::vector<T> packed(at(conv_transpose_packed_weight_size_impl<Arch, T>(g.geometry)));
  g.x = x.data(), g.w = w.data(), g.y = y.data();
  for (const bool prepacked : {false, true}) {
    if (prepacked && packed.empty()) continue;
    if (prepacked) {
      CHECK(conv_transpose_pack_weights_impl<Arch>(g.geometry, w.data(), packed.data()));
      g.w = nullptr, g.packed_w = packed.data();
    }
    CAPTURE(prepacked);
    int64_t wrong = 0;
    g.bias = bias.data();
    conv_transpose_impl<Arch>(g);
    for (size_t i = 0; i < y.size(); ++i)
      wrong += y[i] != sums[i] + bias[at(static_cast<int64_t>(i) / cells(out) % c.out_channels)];
    CHECK(wrong == 0);
    g.bias = nullptr;
    conv_transpose_impl<Arch>(g);
    for (size_t i = 0; i < y.size(); ++i) wrong += y[i] != sums[i];
    CHECK(wrong == 0);
  }
}

// Bytes made of a sum, as ByteResult says.
template <class Y>
Y byte_of(int32_t sum, float scale, const ByteResult& to) {
  float q = static_cast<float>(sum) * scale;
  q = std::min(std::max(q, static_cast<float>(to.lo - to.zero)), static_cast<float>(to.hi - to.zero));
  return static_cast<Y>(std::nearbyint(q) + static_cast<float>(to.zero));
}

// Weights: any; such that pairs of products fit into 16 bits; most of them such, and a few pairs great.
enum class Weights { any, small, bell };

template <class Arch, class X, class W, class Y>
void test_quant(const Case& c, Weights kind) {
  const bool small = kind != Weights::any;
  const Axes out = out_extents(c, false);
  QuantConvArgs g;
  g.geometry = geometry(c, out);
  const int64_t to = cells(out), own = c.in_channels / c.groups * cells(c.kernel);
  auto x = numbers<X>(c.batch * c.in_channels * cells(c.in));
  auto w = numbers<W>(c.out_channels * own);
  constexpr int extremes[] = {0, 127, 128, 255};
  for (X& v : x)
    if (small) v = static_cast<X>(extremes[v & 3]);
  for (W& v : w)
    if (small) v = static_cast<W>((v & 127) - 64 + (std::is_signed_v<W> ? 0 : 128));
  for (int64_t i = 50; i + cells(c.kernel) < c.out_channels * own && kind == Weights::bell; i += 331)
    for (W* v : {&w[at(i)], &w[at(i + cells(c.kernel))]})
      *v = i % 2 ? std::numeric_limits<W>::max() : std::numeric_limits<W>::min();
  const auto w_zero = numbers<W>(c.out_channels);
  const auto bias = numbers<int32_t>(c.out_channels);
  std::vector<float> scales;
  // One leaves the range of int32.
  for (int64_t m = 0; m < c.out_channels; ++m)
    scales.push_back(m % 7 == 6 ? 0x1p24f : 0x1p-9f * static_cast<float>(m % 7 + 1));
  for (const int zeros : {0, 1, 2}) {  // none, one, one for each channel
    const X x_zero = static_cast<X>(random_bits());
    std::vector<int32_t> wide_x(x.begin(), x.end()), wide_w(w.begin(), w.end());
    for (int32_t& v : wide_x) v -= x_zero;
    for (size_t i = 0; i < w.size() && zeros != 0; ++i) wide_w[i] -= w_zero[zeros == 2 ? i / at(own) : 0];
    auto want = expected(c, out, false, wide_x, wide_w);
    const auto channel = [&](size_t i) { return at(static_cast<int64_t>(i) / to % c.out_channels); };
    for (size_t i = 0; i < want.size(); ++i) want[i] += bias[channel(i)];
    g.x = x.data(), g.x_signed = std::is_signed_v<X>, g.x_zero = x_zero;
    g.w_zero = zeros == 0 ? nullptr : w_zero.data(), g.w_zero_step = zeros == 2;
    g.w = w.data(), g.w_signed = std::is_signed_v<W>, g.bias = bias.data(), g.packed_w = nullptr;
    std::vector<int32_t> packed(at(quant_conv_packed_weight_size_impl<Arch>(g)));
    quant_conv_pack_weights_impl<Arch>(g, packed.data());
    for (const bool prepacked : {false, true}) {
      if (prepacked) g.packed_w = packed.data(), g.w = g.w_zero = nullptr;
      std::vector<int32_t> y(want.size());
      g.y = y.data();
      quant_conv_impl<Arch>(g);
      CHECK(y == want);
      std::vector<Y> byte(want.size()), want_byte;
      const int zero = std::is_signed_v<Y> ? -3 : 130;
      g.y = nullptr, g.bytes = {byte.data(), scales.data(), zero, zero, zero + 124};
      for (size_t i = 0; i < want.size(); ++i)
        want_byte.push_back(byte_of<Y>(want[i], scales[channel(i)], g.bytes));
      quant_conv_impl<Arch>(g);
      CHECK(byte == want_byte);
    }
  }
}

// (N, C, cells) as (N, cells, C), or back.
std::vector<uint8_t> channels_last(const std::vector<uint8_t>& x, int64_t channels, int64_t cells,
                                   bool back = false) {
  std::vector<uint8_t> y(x.size());
  for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
    const int64_t n = i / (channels * cells), c = i / cells % channels, cell = i % cells;
    const int64_t last = (n * cells + cell) * channels + c;
    y[at(back ? i : last)] = x[at(back ? last : i)];
  }
  return y;
}

// Against quant_conv and add_bytes. With `few_large` weights, those of two input channels, products by words
// have lists of excess.
template <class Arch>
void test_last(Case c, bool plain, bool is_signed, int32_t x_zero, bool few_large = false) {
  const bool depthwise = c.groups >= 8;
  if (depthwise && !fast_conv_last_impl<Arch>()) return;
  if (!depthwise && x_zero == 0) c.out_channels += 64;  // else less than a panel
  if (!plain && !depthwise) c.in_channels = (c.in_channels + 3) / 4 * 4;
  const Axes out = out_extents(c, false);
  QuantConvArgs g;
  g.geometry = geometry(c, out);
  if (!fits_conv_last(g.geometry, plain)) return;
  const auto x = numbers<uint8_t>(c.batch * c.in_channels * cells(c.in));
  auto w = numbers<int8_t>(c.out_channels * c.in_channels / c.groups * cells(c.kernel));
  for (int64_t i = 0; few_large && i < static_cast<int64_t>(w.size()); ++i)
    if (i / cells(c.kernel) % c.in_channels > 1) w[at(i)] = static_cast<int8_t>(w[at(i)] / 2);
  const auto bias = numbers<int32_t>(c.out_channels);
  std::vector<float> scales;
  for (int64_t m = 0; m < c.out_channels; ++m) scales.push_back(0x1p-10f * static_cast<float>(m % 7 + 1));
  std::vector<uint8_t> want(at(c.batch * c.out_channels * cells(out))), y(want.size());
  g.x = x.data(), g.x_zero = x_zero, g.w = w.data(), g.w_signed = true, g.bias = bias.data();
  g.bytes = {want.data(), scales.data(), 120, 30, 220};
  std::vector<int32_t> packed(at(quant_conv_packed_weight_size_impl<Arch>(g)));
  quant_conv_pack_weights_impl<Arch>(g, packed.data());
  g.packed_w = packed.data();
  quant_conv_impl<Arch>(g);

  QuantConvLastArgs l;
  l.geometry = g.geometry;
  std::vector<int32_t> last_w(at(quant_conv_last_weight_size_impl<Arch>(l.geometry, plain, w.data())));
  quant_conv_last_pack_impl<Arch>(l.geometry, plain, w.data(), bias.data(), x_zero, last_w.data());
  std::vector<uint8_t> last_x = plain ? x : channels_last(x, c.in_channels, cells(c.in));
  for (uint8_t& v : last_x) v ^= is_signed ? 128 : 0;
  l.plain_x = plain, l.x = last_x.data(), l.x_signed = is_signed, l.x_zero = x_zero;
  l.packed_w = last_w.data(), l.scale = scales.data();
  l.zero = 120, l.lo = 30, l.hi = 220, l.y = y.data();
  quant_conv_last_impl<Arch>(l);
  CHECK(channels_last(y, c.out_channels, cells(out), true) == want);
  if (depthwise) return;  // takes no sum

  const auto z = numbers<uint8_t>(static_cast<int64_t>(want.size()));
  const auto last_z = channels_last(z, c.out_channels, cells(out));
  AddBytesArgs sum{.n = static_cast<int64_t>(want.size()),
                   .a = {want.data(), false, 120, 0.03f},
                   .b = {z.data(), false, 99, 0.05f},
                   .y = want.data(),
                   .scale = 0.06f,
                   .zero = 7,
                   .lo = 7,
                   .hi = 200};
  add_bytes_impl<Arch>(sum, 0, sum.n);
  l.sum = {last_z.data(), 99, 0.03f / 0.06f, 0.05f / 0.06f, 7, 7, 200};
  quant_conv_last_impl<Arch>(l);
  CHECK(channels_last(y, c.out_channels, cells(out), true) == want);
}

}  // namespace

TEST_CASE("quant_conv_last: kinds of x, zero points, sums, threads, against quant_conv") {
  simd::dispatch([]<class Arch>(Arch) {
    for (const int threads : {1, 3}) {
      ThreadPool pool(threads);
      const ScopedPool scope(pool);
      for (const Case& c : cases) {
        CAPTURE(c.name);
        test_last<Arch>(c, false, false, 0);
        test_last<Arch>(c, false, false, 77);
        test_last<Arch>(c, true, false, 0);
        test_last<Arch>(c, true, true, 77);
      }
    }
    const Case many{"many pixels", 2, 1, 8, 16, {40, 41}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
    test_last<Arch>(many, false, false, 0);
    const Case deep{"many channels", 2, 1, 64, 48, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
    for (const int32_t zero : {0, 77}) test_last<Arch>(deep, false, false, zero, true);
    for (const int64_t channels : {8, 32, 64, 150, 170})
      for (const int64_t kernel : {1, 3, 5, 6})
        for (const int64_t step : {1, 2, 3})
          for (const int64_t dilation : {1, 2})
            for (const int64_t width : {11, 23}) {
              CAPTURE(channels);
              CAPTURE(kernel);
              CAPTURE(step);
              CAPTURE(dilation);
              CAPTURE(width);
              const Case own{"depthwise",
                             2,
                             channels,
                             channels,
                             channels,
                             {12, width},
                             {kernel, kernel + kernel / 6},
                             {step, step},
                             {dilation, dilation},
                             {kernel / 2, 1, kernel / 2, 3}};
              test_last<Arch>(own, false, false, 0);
              test_last<Arch>(own, false, false, 77);
            }
  });
}

TEST_CASE("conv: bias, residual, bounds and packed weights, against the definition") {
  simd::dispatch([]<class Arch>(Arch) {
    for (const Case& c : cases) {
      CAPTURE(c.name);
      test_conv<Arch, float>(c);
      test_conv<Arch, double>(c);
    }
  });
}

TEST_CASE("conv_transpose: against the definition") {
  simd::dispatch([]<class Arch>(Arch) {
    for (const Case& c : cases) {
      if (c.strides[0] > 100) continue;  // a stride that makes much output of little input
      CAPTURE(c.name);
      test_transpose<Arch, float>(c);
      test_transpose<Arch, double>(c);
    }
  });
}

TEST_CASE("quant_conv: signs, zero points, bytes and packed weights, against the definition") {
  simd::dispatch([]<class Arch>(Arch) {
    for (const Case& c : cases)
      for (const Weights kind : {Weights::any, Weights::small, Weights::bell}) {
        CAPTURE(c.name);
        CAPTURE(static_cast<int>(kind));
        test_quant<Arch, uint8_t, uint8_t, int8_t>(c, kind);
        test_quant<Arch, uint8_t, int8_t, uint8_t>(c, kind);
        test_quant<Arch, int8_t, uint8_t, uint8_t>(c, kind);
        test_quant<Arch, int8_t, int8_t, int8_t>(c, kind);
      }
  });
}

TEST_CASE("quant_conv: more channels and outputs than a task takes, planes too large") {
  const Case many[] = {
      {"few cells far apart", 1, 2, 20, 24, {3, 3}, {2, 2}, {1, 1}, {1, 2000}, {0, 0, 0, 1999}},
      {"3x3", 1, 1, 90, 150, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {"pointwise, deep", 2, 1, 1601, 70, {3, 23}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {"pointwise", 1, 2, 22, 290, {5, 43}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
  };
  simd::dispatch([&]<class Arch>(Arch) {
    for (const Case& c : many)
      for (const Weights kind : {Weights::any, Weights::small, Weights::bell}) {
        CAPTURE(c.name);
        CAPTURE(static_cast<int>(kind));
        test_quant<Arch, uint8_t, int8_t, uint8_t>(c, kind);
        test_quant<Arch, int8_t, uint8_t, int8_t>(c, kind);
      }
  });
}

TEST_CASE("quant_conv: the same for any number of threads") {
  simd::dispatch([]<class Arch>(Arch) {
    const int64_t in[] = {20, 33}, kernel[] = {3, 3}, strides[] = {2, 1}, ones[] = {1, 1}, out[] = {10, 33};
    const auto x = numbers<uint8_t>(2 * 24 * 660), w = numbers<uint8_t>(40 * 12 * 9);
    QuantConvArgs g;
    g.geometry = {2, 2, 2, 24, 40, in, out, kernel, strides, ones, ones};
    g.x = x.data(), g.x_zero = 77, g.w = w.data(), g.w_signed = true;
    std::vector<int32_t> serial(2 * 40 * 330), y = serial;
    g.y = serial.data();
    quant_conv_impl<Arch>(g);
    for (int threads : {2, 5}) {
      ThreadPool pool(threads);
      const ScopedPool scope(pool);
      g.y = y.data();
      y.assign(y.size(), 0);
      quant_conv_impl<Arch>(g);
      CHECK(y == serial);
    }
  });
}

TEST_CASE("conv: NaN in the input stays where it is seen") {
  const int64_t in[] = {6, 20}, kernel[] = {3, 3}, ones[] = {1, 1};
  simd::dispatch([&]<class Arch>(Arch) {
    for (int64_t groups : {1, 4}) {
      std::vector<float> x(4 * 120, 1.0f), w(at(4 * 4 / groups * 9), 1.0f), y(4 * 120);
      x[0] = std::numeric_limits<float>::quiet_NaN();
      ConvArgs<float> g;
      g.geometry = {2, 1, groups, 4, 4, in, in, kernel, ones, ones, ones};
      g.x = x.data(), g.w = w.data(), g.y = y.data(), g.lo = 0;
      conv_impl<Arch>(g);
      int64_t nans = 0;
      for (float v : y) nans += std::isnan(v);
      CHECK(nans == (groups == 1 ? 16 : 4));
      CHECK(std::isnan(y[21]));
    }
  });
}

TEST_CASE("conv: the same bits for any number of threads") {
  const Case threaded[] = {{"3x3", 2, 1, 33, 50, {30, 31}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
                           {"few cells", 2, 1, 130, 256, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
                           {"pointwise", 1, 2, 128, 200, {28, 28}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
                           {"depthwise", 2, 64, 64, 64, {40, 41}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
                           {"half rows", 1, 384, 384, 384, {14, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
                           {"strided", 1, 1, 33, 50, {30, 31}, {4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
                           {"strided, few cells", 3, 1, 64, 70, {5, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
                           {"5x5 of few cells", 1, 1, 30, 70, {6, 7}, {5, 5}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
                           {"one output", 1, 1, 40, 1, {60, 61}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}}};
  simd::dispatch([&]<class Arch>(Arch) {
    for (const Case& c : threaded)
      for (const bool transposed : {false, true}) {
        CAPTURE(c.name);
        CAPTURE(transposed);
        const Axes out = out_extents(c, transposed);
        std::vector<float> x(at(c.batch * c.in_channels * cells(c.in)));
        std::vector<float> w(at(c.out_channels * c.in_channels / c.groups * cells(c.kernel)));
        for (float& v : x) v = static_cast<float>(random_bits()) * 1e-9f;
        for (float& v : w) v = static_cast<float>(random_bits()) * 1e-9f - 2;
        std::vector<float> serial(at(c.batch * c.out_channels * cells(out))), y = serial;
        const auto run = [&](float* to) {
          if (transposed)
            conv_transpose_impl<Arch>(ConvTransposeArgs<float>{
                .geometry = geometry(c, out), .x = x.data(), .w = w.data(), .y = to});
          else {
            ConvArgs<float> g;
            g.geometry = geometry(c, out), g.x = x.data(), g.w = w.data(), g.y = to;
            conv_impl<Arch>(g);
          }
        };
        run(serial.data());
        for (int threads : {2, 3}) {
          ThreadPool pool(threads);
          const ScopedPool scope(pool);
          run(y.data());
          CHECK(y == serial);
        }
      }
  });
}
