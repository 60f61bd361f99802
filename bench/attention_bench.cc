// Attention, to be held against peak.cc. Names end in heads/kv_heads/tokens/threads. `step` is one query over
// a cache of T, in bytes of keys and values per second; a round reads more caches than the processor's caches
// hold. `prompt` is causal attention of float32, in floating-point operations per second of the products that
// the causal half needs.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "tenon/base/thread_pool.hpp"
#include "tenon/kernels/attention/attention.hpp"

namespace {

using namespace tenon::kernels;
using tenon::DType;

constexpr int64_t size = 64;

/// Numbers in [-1, 1), or bytes of them.
template <class T>
std::vector<T> numbers(int64_t count) {
  std::vector<T> x(static_cast<std::size_t>(count));
  uint32_t seed = 1;
  for (T& v : x) {
    seed = seed * 1664525u + 1013904223u;
    if constexpr (std::is_same_v<T, int8_t>) v = static_cast<int8_t>(seed >> 24);
    else v = T(static_cast<float>(static_cast<int32_t>(seed)) * 0x1p-31f);
  }
  return x;
}

template <class T>
HeadRows<const void> rows_of(const T* x, int64_t tokens) {
  return {tenon::dtype_of<T>, x, 0, tokens * size, size};
}

template <class T>
void step(benchmark::State& state) {
  const int64_t heads = state.range(0), kv = state.range(1), keys = state.range(2);
  const int64_t count = kv * keys * size, bytes = 2 * count * static_cast<int64_t>(sizeof(T));
  const int64_t caches = (int64_t{512} << 20) / bytes + 1;
  const std::vector<T> all = numbers<T>(2 * count * caches);
  const std::vector<float> q = numbers<float>(heads * size);
  std::vector<float> y(q.size());
  const float scale = 0.01f;
  tenon::ThreadPool pool(static_cast<int>(state.range(3)));
  const tenon::ScopedPool scope(pool);
  int64_t at = 0;
  for (auto _ : state) {
    const T* const k = all.data() + at++ % caches * 2 * count;
    const HeadScales scales{std::is_same_v<T, int8_t> ? &scale : nullptr};
    const AttentionPart part{rows_of(k, keys), rows_of(k + count, keys), keys, scales, scales};
    AttentionArgs a;
    a.batch = 1, a.heads = heads, a.kv_heads = kv, a.queries = 1, a.size = a.value_size = size;
    a.q = {DType::float32, q.data(), 0, size, size};
    a.y = {DType::float32, y.data(), 0, size, size};
    a.parts = {&part, 1};
    a.scale = 0.125;
    attention<float>(a);
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

void prompt(benchmark::State& state) {
  const int64_t heads = state.range(0), kv = state.range(1), tokens = state.range(2);
  const std::vector<float> q = numbers<float>(heads * tokens * size), k = numbers<float>(kv * tokens * size),
                           v = numbers<float>(kv * tokens * size);
  std::vector<float> y(q.size());
  const AttentionPart part{rows_of(k.data(), tokens), rows_of(v.data(), tokens), tokens};
  AttentionArgs a;
  a.batch = 1, a.heads = heads, a.kv_heads = kv, a.queries = tokens, a.size = a.value_size = size;
  a.q = rows_of(q.data(), tokens);
  a.y = {DType::float32, y.data(), 0, tokens * size, size};
  a.parts = {&part, 1};
  a.scale = 0.125, a.right = 0;
  tenon::ThreadPool pool(static_cast<int>(state.range(3)));
  const tenon::ScopedPool scope(pool);
  for (auto _ : state) attention<float>(a);
  const double pairs = static_cast<double>(heads) * static_cast<double>(tokens * (tokens + 1) / 2);
  state.counters["FLOP/s"] = benchmark::Counter(4 * pairs * size * static_cast<double>(state.iterations()),
                                                benchmark::Counter::kIsRate);
}

void caches(benchmark::internal::Benchmark* b) {
  for (int64_t threads : {1, 2})
    for (int64_t kv : {32, 8, 4}) b->Args({32, kv, 4096, threads});
  b->UseRealTime();
}
void prompts(benchmark::internal::Benchmark* b) {
  for (int64_t threads : {1, 2})
    for (int64_t tokens : {128, 512, 2048}) b->Args({32, 8, tokens, threads});
  b->UseRealTime();
}

BENCHMARK(step<float>)->Apply(caches);
BENCHMARK(step<tenon::float16>)->Apply(caches);
BENCHMARK(step<int8_t>)->Apply(caches);
BENCHMARK(prompt)->Apply(prompts);

}  // namespace

BENCHMARK_MAIN();
