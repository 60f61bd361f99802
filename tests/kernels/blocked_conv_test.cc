#include "tenon/kernels/conv/blocked.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tenon/base/thread_pool.hpp"

using namespace tenon;
using namespace tenon::kernels;

namespace {

struct Case {
  const char* name;
  int64_t batch, groups, in_channels, out_channels;
  int64_t in[2], kernel[2], strides[2], dilations[2],
      pads[4];  // pads: both at the start, then both at the end
};
const Case cases[] = {
    {"pointwise", 2, 1, 33, 70, {9, 11}, {1, 1}, {1, 1}, {1, 1}, {}},
    {"pointwise deep", 1, 1, 2100, 17, {7, 7}, {1, 1}, {1, 1}, {1, 1}, {}},
    {"pointwise strided", 1, 1, 32, 48, {9, 11}, {1, 1}, {2, 2}, {1, 1}, {}},
    {"pointwise cropped", 1, 1, 32, 48, {9, 11}, {1, 1}, {1, 1}, {1, 1}, {0, 0, -1, -2}},
    {"pointwise padded", 1, 1, 32, 48, {9, 60}, {1, 1}, {1, 2}, {1, 1}, {1, 2, 0, 1}},
    {"pointwise, rows outside", 1, 1, 32, 48, {9, 20}, {1, 1}, {1, 1}, {1, 1}, {1, 0, 2, 0}},
    {"7x1", 1, 1, 40, 48, {17, 17}, {7, 1}, {1, 1}, {1, 1}, {3, 0, 3, 0}},
    {"3x3 same", 2, 1, 20, 17, {12, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3 valid", 1, 1, 32, 40, {12, 31}, {3, 3}, {1, 1}, {1, 1}, {}},
    {"3x3 strided", 1, 1, 19, 33, {13, 30}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"3x3 deep", 1, 1, 300, 40, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"few channels", 2, 1, 3, 24, {33, 40}, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
    {"one channel", 1, 1, 1, 16, {33, 40}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
    {"patches", 1, 1, 3, 50, {48, 32}, {16, 16}, {16, 16}, {1, 1}, {}},
    {"asymmetric", 1, 1, 18, 3, {9, 13}, {2, 4}, {2, 1}, {2, 3}, {0, 3, 2, 1}},
    {"cropping pads", 1, 1, 17, 3, {9, 13}, {3, 3}, {1, 2}, {1, 1}, {-2, 1, 1, -1}},
    {"kernel inside padding", 1, 1, 16, 2, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {4, 4, 4, 4}},
    {"long row", 1, 1, 64, 16, {1, 3000}, {1, 9}, {1, 1}, {1, 1}, {0, 4, 0, 4}},
    {"groups", 2, 2, 32, 64, {8, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"narrow groups", 2, 10, 40, 40, {13, 35}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"narrow groups halved", 1, 9, 36, 36, {9, 61}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"narrow groups small", 1, 3, 24, 24, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"narrow groups dilated", 1, 17, 34, 34, {9, 33}, {2, 5}, {1, 2}, {1, 2}, {1, 2, 1, 2}},
    {"depthwise", 2, 20, 20, 20, {13, 35}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"depthwise strided", 1, 32, 32, 32, {14, 15}, {3, 5}, {2, 3}, {1, 2}, {1, 2, 1, 2}},
    {"depthwise small", 2, 20, 20, 20, {14, 14}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
    {"depthwise small strided", 1, 16, 16, 16, {14, 14}, {3, 3}, {2, 2}, {1, 1}, {0, 0, 1, 1}},
    {"depthwise halved", 1, 20, 20, 20, {9, 61}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"depthwise 5x5", 1, 20, 20, 20, {9, 39}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
    {"depthwise 5x5 halved", 1, 20, 20, 20, {9, 60}, {5, 5}, {2, 2}, {1, 1}, {2, 1, 2, 2}},
    {"depthwise dilated", 1, 20, 20, 20, {9, 33}, {3, 3}, {1, 2}, {1, 2}, {1, 2, 1, 2}},
    {"depthwise in padding", 1, 16, 16, 16, {3, 2}, {5, 5}, {1, 1}, {2, 2}, {6, 6, 6, 6}},
    {"no images", 0, 1, 16, 3, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
};

size_t at(int64_t i) { return static_cast<size_t>(i); }

std::mt19937 random_bits(11);
std::vector<float> numbers(int64_t count, bool exact) {
  std::vector<float> v(at(count));
  for (float& x : v)
    x = exact ? static_cast<float>(static_cast<int>(random_bits() % 255) - 127) / 64
              : static_cast<float>(static_cast<double>(random_bits()) / 2147483648.0 - 1);
  return v;
}

struct Problem {
  explicit Problem(const Case& c_) : c(c_) {
    for (int d = 0; d < 2; ++d)
      out[d] =
          (c.in[d] + c.pads[d] + c.pads[2 + d] - (c.kernel[d] - 1) * c.dilations[d] - 1) / c.strides[d] + 1;
    g = {2,   c.batch,  c.groups,  c.in_channels, c.out_channels, c.in,
         out, c.kernel, c.strides, c.dilations,   c.pads};
  }
  std::vector<double> expected(const std::vector<float>& x, const std::vector<float>& w) const {
    const int64_t gi = c.in_channels / c.groups, go = c.out_channels / c.groups;
    std::vector<double> y(at(c.batch * c.out_channels * out[0] * out[1]));
    for (int64_t n = 0; n < c.batch; ++n)
      for (int64_t o = 0; o < c.out_channels; ++o)
        for (int64_t r = 0; r < out[0]; ++r)
          for (int64_t q = 0; q < out[1]; ++q) {
            double sum = 0;
            for (int64_t i = 0; i < gi; ++i)
              for (int64_t a = 0; a < c.kernel[0]; ++a)
                for (int64_t b = 0; b < c.kernel[1]; ++b) {
                  const int64_t xr = r * c.strides[0] + a * c.dilations[0] - c.pads[0];
                  const int64_t xc = q * c.strides[1] + b * c.dilations[1] - c.pads[1];
                  if (xr < 0 || xc < 0 || xr >= c.in[0] || xc >= c.in[1]) continue;
                  sum += static_cast<double>(
                             x[at(((n * c.in_channels + o / go * gi + i) * c.in[0] + xr) * c.in[1] + xc)]) *
                         static_cast<double>(w[at(((o * gi + i) * c.kernel[0] + a) * c.kernel[1] + b)]);
                }
            y[at(((n * c.out_channels + o) * out[0] + r) * out[1] + q)] = sum;
          }
    return y;
  }
  const Case& c;
  int64_t out[2];
  ConvGeometry g;
};

template <class Arch>
std::vector<float> blocked(const std::vector<float>& x, int64_t batch, int64_t channels, int64_t cells) {
  const int64_t block = channel_block_impl<Arch, float>();
  std::vector<float> y(at(batch * (channels + block - 1) / block * block * cells + block * cells));
  to_blocks_impl<Arch>(batch, channels, cells, x.data(), y.data());
  return y;
}

/// The largest difference from the sums in double, relative to the largest of them; 0 where all must be
/// equal.
template <class Arch>
double test(const Case& c, int winograd, bool exact) {
  const Problem p(c);
  const int64_t in = c.in[0] * c.in[1], cells = p.out[0] * p.out[1], count = c.batch * c.out_channels * cells;
  const auto x = numbers(c.batch * c.in_channels * in, exact);
  const auto w = numbers(c.out_channels * (c.in_channels / c.groups) * c.kernel[0] * c.kernel[1], exact);
  const auto bias = numbers(c.out_channels, exact), add = numbers(count, exact);
  const auto sums = p.expected(x, w);
  const int64_t block = channel_block_impl<Arch, float>();
  std::vector<float> packed(at(blocked_weight_size_impl<Arch, float>(p.g, winograd)));
  // Weights lie at any address, and take factors.
  std::vector<double> factors;
  std::vector<char> bytes(w.size() * sizeof(float) + 1);
  for (int64_t o = 0; o < c.out_channels; ++o) factors.push_back(o % 3 == 0 ? 2 : 0.5);
  for (std::size_t k = 0; k < w.size(); ++k) {
    const auto part = static_cast<float>(w[k] / factors[k / (w.size() / factors.size())]);
    std::memcpy(bytes.data() + 1 + k * sizeof part, &part, sizeof part);
  }
  const void* any = bytes.data() + 1;
  const ConvWeights<float> weights{static_cast<const float*>(any), factors.data()};
  if (winograd != 0) winograd_pack_weights_impl<Arch>(p.g, winograd, weights, packed.data());
  else blocked_pack_weights_impl<Arch>(p.g, weights, packed.data());
  std::vector<float> padded_bias = bias;
  padded_bias.resize(at((c.out_channels + block - 1) / block * block));
  const std::vector<float> xb = blocked<Arch>(x, c.batch, c.in_channels, in);
  double worst = 0, scale = 1e-30;
  for (double s : sums) scale = std::max(scale, std::abs(s));
  for (const bool plain : {false, true}) {
    const bool keeps = plain && winograd != 0 && c.groups > 1;  // of any number of groups, if need be
    const bool phases = winograd != 0 && c.strides[0] > 1;      // of a plain x alone
    if (plain ? !keeps && !phases && (winograd != 0 || c.groups > 1 || c.in_channels > 4) : phases) continue;
    for (int form = 0; form < 5; ++form) {
      if (keeps && (form == 2 || form == 3)) continue;
      std::vector<float> yb = blocked<Arch>(add, c.batch, c.out_channels, cells);
      const std::vector<float> ab = yb;
      BlockedConvArgs<float> a;
      a.geometry = p.g;
      a.plain_x = plain, a.winograd = winograd;
      a.x = plain ? x.data() : xb.data(), a.packed_w = packed.data(), a.y = yb.data();
      a.bias = form >= 1 ? padded_bias.data() : nullptr;
      a.add = form >= 2 ? (form == 3 ? yb.data() : ab.data()) : nullptr;
      a.lo = form == 1 ? 0 : no_lower_bound<float>, a.hi = form == 3 ? 2.0f : no_upper_bound<float>;
      if (form == 4) a.activation = {unary_loop<Arch, float>(UnaryOp::leaky_relu).run, {.alpha = 0.5}};
      if (form == 4 && keeps) a.add = nullptr;
      std::vector<float> y(at(count));
      if (!keeps) {
        if (winograd != 0) winograd_conv_impl<Arch>(a);
        else blocked_conv_impl<Arch>(a);
        from_blocks_impl<Arch>(c.batch, c.out_channels, cells, yb.data(), y.data());
      }
      if (keeps || (a.add == nullptr && gives_planes<float>(p.g, winograd))) {
        std::vector<float> planes(at(count + 1), 7.0f);
        a.plain_y = true, a.y = planes.data();
        if (winograd != 0) winograd_conv_impl<Arch>(a);
        else blocked_conv_impl<Arch>(a);
        if (planes.back() != 7) worst = 1e30;
        y.assign(planes.begin(), planes.end() - 1);
      }
      for (size_t i = 0; i < y.size(); ++i) {
        double want = sums[i];
        if (form >= 1)
          want += static_cast<double>(bias[at(static_cast<int64_t>(i) / cells % c.out_channels)]);
        if (a.add != nullptr) want += static_cast<double>(add[i]);
        want = std::min(std::max(want, static_cast<double>(a.lo)), static_cast<double>(a.hi));
        if (a.activation && want < 0) want /= 2;
        const double apart = std::abs(static_cast<double>(y[i]) - want);
        worst = std::max(worst, std::isfinite(apart) ? apart / scale : 1e30);
      }
    }
  }
  return worst;
}

}  // namespace

// Sums of these numbers are exact in float: results have to be equal.
TEST_CASE("convolutions over blocks of channels") {
  ThreadPool pool(3);
  simd::dispatch([&]<class Arch>(Arch) {
    for (const Case& c : cases) {
      if (c.groups > 1 && c.groups != c.in_channels &&
          c.in_channels / c.groups % channel_block_impl<Arch, float>() != 0)
        continue;
      CAPTURE(std::string(c.name));
      CAPTURE(Arch::register_bytes);
      CHECK(test<Arch>(c, 0, true) == 0);
      const ScopedPool scope(pool);
      CHECK(test<Arch>(c, 0, true) == 0);
    }
  });
}

TEST_CASE("planes laid out in blocks and back, by any number of threads") {
  const struct {
    int64_t batch, channels, cells;
  } some[] = {{1, 1, 1},    {1, 3, 700},  {1, 40, 256},   {1, 40, 257}, {2, 33, 1300},
              {3, 16, 513}, {5, 7, 1024}, {1, 70, 12544}, {2, 300, 20}, {1, 64, 3000}};
  simd::dispatch([&]<class Arch>(Arch) {
    const int64_t block = channel_block_impl<Arch, float>();
    for (const auto& c : some) {
      CAPTURE(Arch::register_bytes);
      CAPTURE(c.channels);
      CAPTURE(c.cells);
      const auto x = numbers(c.batch * c.channels * c.cells, true);
      std::vector<float> expected;
      for (int threads : {1, 2, 3, 5}) {
        ThreadPool pool(threads);
        const ScopedPool scope(pool);
        std::vector<float> y = blocked<Arch>(x, c.batch, c.channels, c.cells), back(x.size());
        for (int64_t n = 0; n < c.batch; ++n)
          for (int64_t channel = 0; channel < c.channels; ++channel)
            REQUIRE(
                y[at(((n * ((c.channels + block - 1) / block) + channel / block) * c.cells + c.cells - 1) *
                         block +
                     channel % block)] == x[at((n * c.channels + channel + 1) * c.cells - 1)]);
        if (threads == 1) expected = y;
        CHECK(y == expected);
        from_blocks_impl<Arch>(c.batch, c.channels, c.cells, y.data(), back.data());
        CHECK(back == x);
      }
    }
  });
}

TEST_CASE("Winograd stays within 1e-5 of the largest result") {
  const Case some[] = {
      {"same", 1, 1, 64, 40, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {"deep", 1, 1, 512, 24, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {"ragged", 2, 1, 21, 50, {13, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 0, 2, 1}},
      {"small", 1, 1, 16, 16, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {"cropped", 1, 1, 16, 16, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {-1, -2, 3, 4}},
      {"groups", 2, 3, 48, 96, {14, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {"4x4", 2, 1, 35, 40, {12, 17}, {4, 4}, {1, 1}, {1, 1}, {1, 2, 2, 1}},
      {"5x5", 1, 1, 64, 40, {14, 15}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
      {"5x5 groups", 2, 2, 64, 32, {9, 11}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
      {"7x7 halved", 2, 1, 3, 64, {47, 52}, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
      {"7x6 halved", 1, 1, 4, 40, {31, 40}, {7, 6}, {2, 2}, {1, 1}, {2, 3, 3, 0}},
      {"6x6 halved", 2, 1, 3, 32, {32, 29}, {6, 6}, {2, 2}, {1, 1}, {2, 2, 2, 2}},
      {"9x9 halved", 1, 1, 1, 17, {30, 31}, {9, 9}, {2, 2}, {1, 1}, {-1, 5, 4, -2}},
      {"11x11 quartered", 1, 1, 3, 48, {63, 70}, {11, 11}, {4, 4}, {1, 1}, {2, 2, 2, 2}},
      {"many", 9, 2, 64, 64, {5, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {"all padding", 1, 1, 2, 16, {3, 2}, {5, 5}, {2, 2}, {1, 1}, {9, 9, 9, 9}},
  };
  ThreadPool pool(3);
  simd::dispatch([&]<class Arch>(Arch) {
    for (const Case& c : some) {
      const int64_t kernel = phase_kernel(Problem(c).g);
      for (const int64_t outputs : kernel == 3 ? std::vector<int64_t>{4, 2} : std::vector{7 - kernel}) {
        CAPTURE(std::string(c.name));
        CAPTURE(outputs);
        CAPTURE(Arch::register_bytes);
        const double alone = test<Arch>(c, static_cast<int>(outputs), false);
        MESSAGE(std::string(c.name) << " " << alone);
        CHECK(alone <= 1e-5);
        const ScopedPool scope(pool);
        CHECK(test<Arch>(c, static_cast<int>(outputs), false) <= 1e-5);
      }
    }
  });
}

TEST_CASE("Winograd is chosen where it takes fewer products, and no longer to read its weights") {
  const struct {
    int64_t in, out, kernel, stride, dilation, side;  // side: outputs, or 0 if unknown
    bool plain_x;
    int outputs;
  } some[] = {
      {64, 64, 3, 1, 1, 56, false, 4},  {64, 64, 3, 1, 1, 0, false, 4},   {32, 32, 4, 1, 1, 28, false, 3},
      {16, 16, 5, 1, 1, 28, false, 2},  {3, 64, 7, 2, 1, 112, true, 3},   {3, 32, 6, 2, 1, 320, true, 4},
      {3, 96, 11, 4, 1, 55, true, 4},   {512, 512, 3, 1, 1, 3, false, 0}, {64, 64, 3, 1, 2, 56, false, 0},
      {8, 64, 3, 1, 1, 56, false, 0},   {64, 8, 3, 1, 1, 56, false, 0},   {64, 64, 7, 1, 1, 56, false, 0},
      {64, 64, 7, 2, 1, 56, false, 0},  {3, 32, 3, 2, 1, 112, true, 0},   {1, 64, 7, 2, 1, 112, true, 0},
      {3, 768, 16, 16, 1, 14, true, 0}, {3, 64, 9, 3, 1, 112, true, 0},   {24, 32, 3, 1, 1, 8, false, 0},
  };
  for (const auto& c : some) {
    CAPTURE(c.in);
    CAPTURE(c.kernel);
    CAPTURE(c.stride);
    const int64_t out[2] = {c.side, c.side}, kernel[2] = {c.kernel, c.kernel},
                  strides[2] = {c.stride, c.stride}, dilations[2] = {c.dilation, c.dilation};
    ConvGeometry g{2,      1,       1,         c.in,   c.out, nullptr, c.side == 0 ? nullptr : out,
                   kernel, strides, dilations, nullptr};
    CHECK(winograd_outputs(g, c.plain_x) == c.outputs);
  }
}
