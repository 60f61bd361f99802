// Convolutions with packed weights, bias and Relu: rates in floating-point operations per second, to be held
// against peak.cc. Names are layer/in channels/out channels/input side/kernel/stride. Rates count
// processor time, so that other work on the machine disturbs little; `threads` measures two threads in real
// time.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "tenon/base/thread_pool.hpp"
#include "tenon/kernels/conv/conv.hpp"
#include "tenon/kernels/conv/pool.hpp"
#include "tenon/kernels/quant_conv/quant_conv.hpp"

namespace {

using namespace tenon::kernels;

struct Layer {
  int64_t in[2], out[2], kernel[2], strides[2], dilations[2] = {1, 1}, pads[2];
  std::vector<float> x, w, bias, y, packed;
  ConvArgs<float> args;

  Layer(const benchmark::State& state, int64_t groups) {
    const int64_t from = state.range(0), to = state.range(1);
    for (int d = 0; d < 2; ++d) {
      in[d] = state.range(2), kernel[d] = state.range(3), strides[d] = state.range(4);
      pads[d] = kernel[d] / 2;
      out[d] = (in[d] + 2 * pads[d] - kernel[d]) / strides[d] + 1;
    }
    args.geometry = {2, 1, groups, from, to, in, out, kernel, strides, dilations, pads};
    x.assign(static_cast<size_t>(from * in[0] * in[1]), 0.5f);
    w.assign(static_cast<size_t>(to * from / groups * kernel[0] * kernel[1]), 0.25f);
    bias.assign(static_cast<size_t>(to), 1.0f);
    y.resize(static_cast<size_t>(to * out[0] * out[1]));
    packed.resize(static_cast<size_t>(conv_packed_weight_size<float>(args.geometry)) + 16);
    float* aligned = packed.data();
    while (reinterpret_cast<uintptr_t>(aligned) % 64 != 0) ++aligned;
    conv_pack_weights(args.geometry, w.data(), aligned);
    args.x = x.data(), args.packed_w = aligned, args.bias = bias.data(), args.y = y.data(), args.lo = 0;
  }

  void run(benchmark::State& state) {
    for (auto _ : state) conv(args);
    const double flops = 2.0 * static_cast<double>(w.size()) * static_cast<double>(out[0] * out[1]);
    state.counters["FLOP/s"] =
        benchmark::Counter(flops * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  }
};

void dense(benchmark::State& state) { Layer(state, 1).run(state); }
void depthwise(benchmark::State& state) { Layer(state, state.range(0)).run(state); }
void groups_of_32(benchmark::State& state) { Layer(state, 32).run(state); }
void threads(benchmark::State& state) {
  tenon::ThreadPool pool(2);
  const tenon::ScopedPool scope(pool);
  Layer(state, 1).run(state);
}

/// The same layers on bytes, results as bytes. `small`: weights that the narrow form takes.
template <bool small>
void quantized(benchmark::State& state) {
  const int64_t from = state.range(0), to = state.range(1);
  const int64_t in[] = {state.range(2), state.range(2)}, kernel[] = {state.range(3), state.range(3)};
  const int64_t strides[] = {state.range(4), state.range(4)}, ones[] = {1, 1};
  const int64_t pads[] = {kernel[0] / 2, kernel[0] / 2};
  const int64_t side = (in[0] + 2 * pads[0] - kernel[0]) / strides[0] + 1, out[] = {side, side};
  std::vector<uint8_t> x(static_cast<size_t>(from * in[0] * in[1])), y(static_cast<size_t>(to * side * side));
  std::vector<int8_t> w(static_cast<size_t>(to * from * kernel[0] * kernel[1]));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i * 7);
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = static_cast<int8_t>(small ? static_cast<int>(i * 11 % 64) - 32
                                     : static_cast<int>(i * 11 % 256) - 128);
  const std::vector<float> scales(static_cast<size_t>(to), 1e-4f);
  const std::vector<int32_t> bias(static_cast<size_t>(to), 100);
  QuantConvArgs args;
  args.geometry = {2, 1, 1, from, to, in, out, kernel, strides, ones, pads};
  args.x = x.data(), args.x_zero = 128, args.w = w.data(), args.w_signed = true, args.bias = bias.data();
  args.bytes = {y.data(), scales.data(), 128, 128, 255};
  std::vector<int32_t> packed(static_cast<size_t>(quant_conv_packed_weight_size(args)) + 16);
  int32_t* aligned = packed.data();
  while (reinterpret_cast<uintptr_t>(aligned) % 64 != 0) ++aligned;
  quant_conv_pack_weights(args, aligned);
  args.packed_w = aligned;
  for (auto _ : state) quant_conv(args);
  const double ops = 2.0 * static_cast<double>(w.size()) * static_cast<double>(side * side);
  state.counters["OP/s"] =
      benchmark::Counter(ops * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void max_pool_3x3(benchmark::State& state) {
  const int64_t in[] = {112, 112}, out[] = {56, 56}, kernel[] = {3, 3}, strides[] = {2, 2}, ones[] = {1, 1};
  const std::vector<float> x(64 * 112 * 112, 0.5f);
  std::vector<float> y(64 * 56 * 56);
  const PoolArgs<float> args{2, 64, in, out, kernel, strides, ones, ones, ones, x.data(), y.data()};
  for (auto _ : state) max_pool(args);
}

void average_pool_7x7(benchmark::State& state) {
  const int64_t in[] = {7, 7}, out[] = {1, 1}, ones[] = {1, 1}, none[] = {0, 0};
  const std::vector<float> x(2048 * 49, 0.5f);
  std::vector<float> y(2048);
  const PoolArgs<float> args{2, 2048, in, out, in, ones, ones, none, none, x.data(), y.data()};
  for (auto _ : state) average_pool(args);
}

// The distinct layers of ResNet-50, then of VGG-16.
void layers(benchmark::internal::Benchmark* b) {
  b->Args({3, 64, 224, 7, 2});
  b->Args({64, 64, 56, 1, 1})->Args({64, 64, 56, 3, 1})->Args({64, 256, 56, 1, 1})->Args({256, 64, 56, 1, 1});
  b->Args({256, 128, 56, 1, 1})
      ->Args({128, 128, 56, 3, 2})
      ->Args({128, 512, 28, 1, 1})
      ->Args({256, 512, 56, 1, 2});
  b->Args({512, 128, 28, 1, 1})->Args({128, 128, 28, 3, 1});
  b->Args({512, 256, 28, 1, 1})
      ->Args({256, 256, 28, 3, 2})
      ->Args({256, 1024, 14, 1, 1})
      ->Args({512, 1024, 28, 1, 2});
  b->Args({1024, 256, 14, 1, 1})->Args({256, 256, 14, 3, 1});
  b->Args({1024, 512, 14, 1, 1})
      ->Args({512, 512, 14, 3, 2})
      ->Args({512, 2048, 7, 1, 1})
      ->Args({1024, 2048, 14, 1, 2});
  b->Args({2048, 512, 7, 1, 1})->Args({512, 512, 7, 3, 1});
  b->Args({3, 64, 224, 3, 1})->Args({64, 64, 224, 3, 1})->Args({512, 512, 28, 3, 1});
}

BENCHMARK(dense)->Apply(layers);
BENCHMARK(quantized<false>)->Apply(layers);
BENCHMARK(quantized<true>)->Apply(layers);
BENCHMARK(threads)->Apply(layers)->UseRealTime();
BENCHMARK(depthwise)->Args({32, 32, 112, 3, 1})->Args({96, 96, 112, 3, 2})->Args({384, 384, 14, 3, 1});
BENCHMARK(depthwise)->Args({960, 960, 7, 3, 1})->Args({96, 96, 28, 7, 1});
BENCHMARK(groups_of_32)->Args({128, 128, 56, 3, 1})->Args({512, 512, 14, 3, 1});
BENCHMARK(max_pool_3x3);
BENCHMARK(average_pool_7x7);

}  // namespace

BENCHMARK_MAIN();
