#include "tenon/kernels/conv/chain.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "tenon/base/thread_pool.hpp"

using namespace tenon;
using namespace tenon::kernels;

namespace {

struct Stage {
  int64_t groups, out_channels;
  int64_t kernel[2], strides[2], dilations[2], pads[4];  // pads: both at the start, then both at the end
};
struct Case {
  const char* name;
  int64_t batch, in_channels, in[2];
  bool plain_x, adds;
  std::vector<Stage> stages;
};
// Rows are so long that strips hold few of them.
const Case cases[] = {
    {"expand, depthwise, project",
     2,
     16,
     {40, 160},
     false,
     true,
     {{1, 96, {1, 1}, {1, 1}, {1, 1}, {}},
      {96, 96, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {1, 24, {1, 1}, {1, 1}, {1, 1}, {}}}},
    {"stem and halves",
     1,
     3,
     {101, 333},
     true,
     false,
     {{1, 40, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
      {40, 40, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {1, 64, {1, 1}, {1, 1}, {1, 1}, {}},
      {64, 64, {5, 5}, {2, 2}, {1, 1}, {2, 1, 2, 2}}}},
    {"dilated, and rows without readers",
     1,
     20,
     {57, 200},
     false,
     true,
     {{1, 48, {2, 1}, {1, 1}, {3, 1}, {2, 0, 1, 0}},
      {48, 48, {3, 3}, {4, 1}, {1, 2}, {0, 1, 0, 3}},
      {1, 33, {1, 1}, {3, 2}, {1, 1}, {}}}},
    {"windows in the padding",
     1,
     16,
     {9, 900},
     false,
     false,
     {{1, 32, {1, 1}, {1, 1}, {1, 1}, {3, 0, 4, 0}}, {32, 32, {2, 3}, {1, 1}, {1, 1}, {5, 1, 5, 1}}}},
    {"one row",
     1,
     16,
     {1, 3000},
     false,
     false,
     {{1, 64, {1, 1}, {1, 1}, {1, 1}, {}}, {64, 64, {1, 9}, {1, 1}, {1, 1}, {0, 4, 0, 4}}}},
    {"no images",
     0,
     16,
     {4, 4},
     false,
     false,
     {{1, 16, {1, 1}, {1, 1}, {1, 1}, {}}, {16, 16, {3, 3}, {1, 1}, {1, 1}, {}}}},
};

std::vector<float> numbers(int64_t count) {
  static std::mt19937 bits(5);
  std::vector<float> v(static_cast<std::size_t>(count));
  for (float& x : v) x = static_cast<float>(static_cast<double>(bits()) / 2147483648.0 - 1);
  return v;
}

/// The convolutions of a case at a level, with the data that they read and write.
template <class Arch>
struct Problem {
  explicit Problem(const Case& c) {
    const int64_t block = channel_block_impl<Arch, float>();
    const auto blocks = [&](int64_t channels) { return (channels + block - 1) / block * block; };
    int64_t channels = c.in_channels;
    extents.push_back({c.in[0], c.in[1]});
    for (const Stage& s : c.stages) {
      std::array<int64_t, 2> out;
      for (std::size_t d = 0; d < 2; ++d)
        out[d] = (extents.back()[d] + s.pads[d] + s.pads[2 + d] - (s.kernel[d] - 1) * s.dilations[d] - 1) /
                     s.strides[d] +
                 1;
      extents.push_back(out);
    }
    x = numbers(c.batch * blocks(c.in_channels) * c.in[0] * c.in[1]);
    for (std::size_t k = 0; k < c.stages.size(); ++k) {
      const Stage& s = c.stages[k];
      BlockedConvArgs<float> a;
      a.geometry = {2,
                    c.batch,
                    s.groups,
                    channels,
                    s.out_channels,
                    extents[k].data(),
                    extents[k + 1].data(),
                    s.kernel,
                    s.strides,
                    s.dilations,
                    s.pads};
      a.plain_x = k == 0 && c.plain_x;
      const auto w = numbers(s.out_channels * (channels / s.groups) * s.kernel[0] * s.kernel[1]);
      weights.emplace_back(static_cast<std::size_t>(blocked_weight_size_impl<Arch, float>(a.geometry, 0)));
      blocked_pack_weights_impl<Arch, float>(a.geometry, {w.data()}, weights.back().data());
      biases.push_back(numbers(blocks(s.out_channels)));
      results.push_back(numbers(c.batch * blocks(s.out_channels) * extents[k + 1][0] * extents[k + 1][1]));
      a.packed_w = weights.back().data();
      a.bias = biases.back().data();
      a.lo = -0.5f;
      channels = s.out_channels;
      convs.push_back(a);
    }
    add = numbers(static_cast<int64_t>(results.back().size()));
    convs.front().x = x.data();
    convs.back().add = c.adds ? add.data() : nullptr;
    for (std::size_t k = 0; k < convs.size(); ++k) {
      convs[k].y = results[k].data();
      if (k > 0) convs[k].x = results[k - 1].data();
    }
  }

  std::vector<std::array<int64_t, 2>> extents;
  std::vector<std::vector<float>> weights, biases, results;
  std::vector<float> x, add;
  std::vector<BlockedConvArgs<float>> convs;
};

}  // namespace

TEST_CASE("convolutions in bands of rows give the bits of each after the other") {
  ThreadPool pool(3);
  simd::dispatch([&]<class Arch>(Arch) {
    for (const Case& c : cases) {
      CAPTURE(c.name);
      CAPTURE(Arch::register_bytes);
      Problem<Arch> p(c);
      for (const BlockedConvArgs<float>& a : p.convs) blocked_conv_impl<Arch>(a);
      std::vector<float>& y = p.results.back();
      const std::vector<float> expected = y;
      for (Executor* executor : {static_cast<Executor*>(nullptr), static_cast<Executor*>(&pool)}) {
        const ScopedPool scope(executor);
        y.assign(y.size(), 7.0f);
        conv_chain_impl<Arch, float>(p.convs);
        REQUIRE(y.size() == expected.size());
        if (!y.empty()) CHECK(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)) == 0);
      }
    }
  });
}
