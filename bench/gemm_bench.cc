// Matrix products: rates in floating-point operations per second, to be held against peak.cc. Names are
// product/m/n/k: `plain` packs both operands as it goes, `packed` has B packed beforehand, `transposed` has B
// with K as its dense axis; `threads` runs on two. Rates of the first three count processor time, so that
// other work on the machine disturbs little.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "tenon/base/thread_pool.hpp"
#include "tenon/kernels/gemm/gemm.hpp"
#include "tenon/kernels/gemm/quant_gemm.hpp"

namespace {

using namespace tenon::kernels;

template <class T>
struct Operands {
  std::vector<T> a, b, c;
  GemmArgs<T> args;

  Operands(const benchmark::State& state, bool b_transposed) {
    const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
    a.assign(static_cast<size_t>(m * k), T(0.5));
    b.assign(static_cast<size_t>(k * n), T(0.25));
    c.assign(static_cast<size_t>(m * n), T(0));
    args.m = m, args.n = n, args.k = k;
    args.a = a.data(), args.a_row = k;
    args.b = b.data(), args.b_row = b_transposed ? 1 : n, args.b_col = b_transposed ? k : 1;
    args.c = c.data(), args.c_row = n;
  }
};

void count_flops(benchmark::State& state) {
  const double flops = 2.0 * static_cast<double>(state.range(0)) * static_cast<double>(state.range(1)) *
                       static_cast<double>(state.range(2)) * static_cast<double>(state.iterations());
  state.counters["FLOP/s"] = benchmark::Counter(flops, benchmark::Counter::kIsRate);
}

template <class T>
void plain(benchmark::State& state) {
  Operands<T> o(state, false);
  for (auto _ : state) gemm(o.args);
  count_flops(state);
}

template <class T>
void transposed(benchmark::State& state) {
  Operands<T> o(state, true);
  for (auto _ : state) gemm(o.args);
  count_flops(state);
}

template <class T>
void packed(benchmark::State& state) {
  Operands<T> o(state, false);
  const int64_t size = packed_b_size<T>(o.args.k, o.args.n);
  std::vector<T> space(static_cast<size_t>(size) + 16);
  T* packed = space.data();
  while (reinterpret_cast<uintptr_t>(packed) % 64 != 0) ++packed;
  pack_b(o.args, packed);
  o.args.packed_b = packed;
  for (auto _ : state) gemm(o.args);
  count_flops(state);
}

template <class T>
void threads(benchmark::State& state) {
  Operands<T> o(state, false);
  tenon::ThreadPool pool(2);
  const tenon::ScopedPool scope(pool);
  for (auto _ : state) gemm(o.args);
  count_flops(state);
}

/// Integer products of int8 (s) or uint8 (u) operands; with `packed` B is constant, and with `small` numbers
/// its packed form is the narrow one where there is no VNNI.
template <bool a_signed, bool b_signed, bool packed, bool small = false>
void quant(benchmark::State& state) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  std::vector<uint8_t> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n));
  uint32_t seed = 1;
  const auto next = [&] { return (seed = seed * 1664525u + 1013904223u) >> 24; };
  for (uint8_t& x : a) x = static_cast<uint8_t>(next());
  for (uint8_t& x : b) x = static_cast<uint8_t>(small ? next() % 64 + (b_signed ? 224 : 96) : next());
  const uint8_t a_zero = a_signed ? 0 : 131, b_zero = b_signed ? 0 : 128;
  std::vector<int32_t> c(static_cast<size_t>(m * n));
  QuantGemmArgs args;
  args.m = m, args.n = n, args.k = k;
  args.a = {a.data(), k, 1, a_signed, &a_zero, 0};
  args.b = {b.data(), n, 1, b_signed, &b_zero, 0};
  args.c = c.data(), args.c_row = n;
  std::vector<int32_t> space(static_cast<size_t>(quant_packed_b_size(args)) + 16);
  int32_t* to = space.data();
  while (reinterpret_cast<uintptr_t>(to) % 64 != 0) ++to;
  quant_pack_b(args, to);
  if (packed) args.packed_b = to;
  for (auto _ : state) quant_gemm(args);
  count_flops(state);
}

void quant_shapes(benchmark::internal::Benchmark* b) {
  b->Args({256, 256, 256})->Args({512, 512, 512})->Args({1024, 1024, 1024})->Args({128, 768, 768});
  b->Args({1, 4096, 4096});
}

void shapes(benchmark::internal::Benchmark* b) {
  for (int64_t n : {8, 16, 32, 64, 128, 256, 512, 1024}) b->Args({n, n, n});
  b->Args({196, 768, 3072})->Args({196, 3072, 768})->Args({64, 3136, 576})->Args({512, 49, 4608});
  b->Args({1, 4096, 4096})
      ->Args({4, 4096, 4096})
      ->Args({4096, 1, 4096})
      ->Args({4096, 3, 4096})
      ->Args({16, 4096, 4096});
}

BENCHMARK(plain<float>)->Apply(shapes);
BENCHMARK(packed<float>)->Apply(shapes);
BENCHMARK(transposed<float>)->Apply(shapes);
BENCHMARK(threads<float>)->Apply(shapes)->UseRealTime();
BENCHMARK(plain<double>)->Args({256, 256, 256})->Args({1024, 1024, 1024});
BENCHMARK(plain<int32_t>)->Args({256, 256, 256});
BENCHMARK(plain<int64_t>)->Args({256, 256, 256});
BENCHMARK(quant<false, true, false>)->Apply(quant_shapes);
BENCHMARK(quant<true, true, false>)->Apply(quant_shapes);
BENCHMARK(quant<false, false, false>)->Apply(quant_shapes);
BENCHMARK(quant<false, true, true>)->Apply(quant_shapes);
BENCHMARK(quant<false, true, true, true>)->Apply(quant_shapes);

}  // namespace

BENCHMARK_MAIN();
