// What this machine can do at best: fused multiply-adds per second at each instruction-set level, and bytes
// per second of copying and adding, by size. Kernels are judged by their share of these.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

// Twelve independent chains cover the latency of four cycles on two ports, and fit into sixteen registers
// together with the two factors. The factors keep the values finite.
constexpr int chains = 12;
constexpr int steps = 1000;

void count_flops(benchmark::State& state, int lanes) {
  const double flops = 2.0 * lanes * chains * steps * static_cast<double>(state.iterations());
  state.counters["FLOP/s"] = benchmark::Counter(flops, benchmark::Counter::kIsRate);
}

#if defined(__x86_64__)

void fma_baseline(benchmark::State& state) {
  __m128 sums[chains], a = _mm_set1_ps(0.5f), b = _mm_set1_ps(0.25f);
  for (__m128& sum : sums) sum = a;
  for (auto _ : state) {
    benchmark::DoNotOptimize(a);
    for (int i = 0; i < steps; ++i) {
#pragma GCC unroll 12
      for (int c = 0; c < chains; ++c) sums[c] = _mm_add_ps(_mm_mul_ps(sums[c], a), b);
    }
    for (__m128& sum : sums) benchmark::DoNotOptimize(sum);
  }
  count_flops(state, 4);
}

__attribute__((target("avx2,fma"))) void fma_avx2(benchmark::State& state) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    state.SkipWithError("not on this processor");
    return;
  }
  __m256 sums[chains], a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f);
  for (__m256& sum : sums) sum = a;
  for (auto _ : state) {
    benchmark::DoNotOptimize(a);
    for (int i = 0; i < steps; ++i) {
#pragma GCC unroll 12
      for (int c = 0; c < chains; ++c) sums[c] = _mm256_fmadd_ps(sums[c], a, b);
    }
    for (__m256& sum : sums) benchmark::DoNotOptimize(sum);
  }
  count_flops(state, 8);
}

__attribute__((target("avx512f"))) void fma_avx512(benchmark::State& state) {
  if (!__builtin_cpu_supports("avx512f")) {
    state.SkipWithError("not on this processor");
    return;
  }
  __m512 sums[chains], a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f);
  for (__m512& sum : sums) sum = a;
  for (auto _ : state) {
    benchmark::DoNotOptimize(a);
    for (int i = 0; i < steps; ++i) {
#pragma GCC unroll 12
      for (int c = 0; c < chains; ++c) sums[c] = _mm512_fmadd_ps(sums[c], a, b);
    }
    for (__m512& sum : sums) benchmark::DoNotOptimize(sum);
  }
  count_flops(state, 16);
}

BENCHMARK(fma_baseline)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(fma_avx2)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(fma_avx512)->ThreadRange(1, 2)->UseRealTime();

#endif

// Sizes are of one array; bytes count what is read and what is written, not what a cache fetches before a
// write.
void copy(benchmark::State& state) {
  const size_t bytes = static_cast<size_t>(state.range(0));
  const auto from = std::make_unique<char[]>(bytes), to = std::make_unique<char[]>(bytes);
  for (auto _ : state) {
    std::memcpy(to.get(), from.get(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * state.range(0));
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("default", "avx2", "avx512f"), optimize("O3")))
#endif
void add_arrays(const float* a, const float* b, float* c, int64_t n) {
  for (int64_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

void add(benchmark::State& state) {
  const int64_t n = state.range(0) / static_cast<int64_t>(sizeof(float));
  const size_t count = static_cast<size_t>(n);
  const auto a = std::make_unique<float[]>(count), b = std::make_unique<float[]>(count);
  const auto c = std::make_unique<float[]>(count);
  for (auto _ : state) {
    add_arrays(a.get(), b.get(), c.get(), n);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * state.range(0));
}

BENCHMARK(copy)->Range(8 << 10, 128 << 20)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK(add)->Range(8 << 10, 128 << 20)->ThreadRange(1, 2)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
