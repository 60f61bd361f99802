// peak: what this machine can do at best. Fused multiply-adds and products of bytes per second at each
// instruction-set level, and bytes per second of copying, adding and reading, by size, with one thread and
// with two. Kernels are judged by their share of these. Prints JSON objects, one a line: `peak read` those
// whose names have the word.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>

#include "tenon/simd/tiles.hpp"
#endif

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

// The work per second of all threads, the best of a few rounds. make() gives each thread a function of its
// own that does some work, a millisecond at most, and returns its amount.
template <class Make>
double rate(int threads, Make make) {
  constexpr int rounds = 4;
  constexpr double seconds = 0.1;
  std::vector<double> totals(rounds);
  for (double& total : totals) {
    std::vector<double> rates(static_cast<std::size_t>(threads));
    std::atomic<int> ready = 0;
    std::vector<std::jthread> pool;
    for (double& own : rates)
      pool.emplace_back([&] {
        auto work = make();
        work();
        ++ready;
        while (ready < threads) {
        }
        const auto start = Clock::now();
        double done = 0, spent = 0;
        while (spent < seconds) done += work(), spent = seconds_since(start);
        own = done / spent;
      });
    pool.clear();
    for (double r : rates) total += r;
  }
  return *std::max_element(totals.begin(), totals.end());
}

std::string_view wanted;

template <class Make>
void report(std::string_view what, const char* unit, Make make) {
  if (what.find(wanted) == what.npos) return;
  std::printf("{\"what\": \"%.*s\", \"unit\": \"%s\", \"rates\": [%.1f, %.1f]}\n",
              static_cast<int>(what.size()), what.data(), unit, rate(1, make) * 1e-9, rate(2, make) * 1e-9);
  std::fflush(stdout);
}

// --- Arithmetic ---

#if defined(__x86_64__)

// Twelve independent chains cover the latency of four cycles on two ports, and fit into sixteen registers
// together with the two factors. The factors keep the values finite.
constexpr int chains = 12;
constexpr int steps = 10000;

double fma_baseline() {
  __m128 sums[chains], a = _mm_set1_ps(0.5f), b = _mm_set1_ps(0.25f);
  for (__m128& sum : sums) sum = a;
  asm volatile("" : "+x"(a), "+x"(b));
  for (int i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c) sums[c] = _mm_add_ps(_mm_mul_ps(sums[c], a), b);
  }
  for (__m128& sum : sums) asm volatile("" : "+x"(sum));
  return 2.0 * 4 * chains * steps;
}

__attribute__((target("avx2,fma"))) double fma_avx2() {
  __m256 sums[chains], a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f);
  for (__m256& sum : sums) sum = a;
  asm volatile("" : "+x"(a), "+x"(b));
  for (int i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c) sums[c] = _mm256_fmadd_ps(sums[c], a, b);
  }
  for (__m256& sum : sums) asm volatile("" : "+x"(sum));
  return 2.0 * 8 * chains * steps;
}

__attribute__((target("avx512f"))) double fma_avx512() {
  __m512 sums[chains], a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f);
  for (__m512& sum : sums) sum = a;
  asm volatile("" : "+v"(a), "+v"(b));
  for (int i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c) sums[c] = _mm512_fmadd_ps(sums[c], a, b);
  }
  for (__m512& sum : sums) asm volatile("" : "+v"(sum));
  return 2.0 * 16 * chains * steps;
}

// Products of bytes: twelve chains, four products a lane.

__attribute__((target("avx2"))) double bytes_avx2() {
  __m256i sums[chains], a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(-2), one = _mm256_set1_epi16(1);
  for (__m256i& sum : sums) sum = a;
  asm volatile("" : "+x"(a), "+x"(b), "+x"(one));
  for (int i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c) {
      __m256i pairs = _mm256_maddubs_epi16(a, b);
      asm volatile("" : "+x"(pairs));  // or it is computed once
      sums[c] = _mm256_add_epi32(sums[c], _mm256_madd_epi16(pairs, one));
    }
  }
  for (__m256i& sum : sums) asm volatile("" : "+x"(sum));
  return 2.0 * 32 * chains * steps;
}

__attribute__((target("avx512f,avx512vnni"))) double bytes_vnni() {
  __m512i sums[chains], a = _mm512_set1_epi32(0x03030303), b = _mm512_set1_epi32(0x02020202);
  for (__m512i& sum : sums) sum = a;
  asm volatile("" : "+v"(a), "+v"(b));
  for (int i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c) sums[c] = _mm512_dpbusd_epi32(sums[c], a, b);
  }
  for (__m512i& sum : sums) asm volatile("" : "+v"(sum));
  return 2.0 * 64 * chains * steps;
}

// Four tiles of sums, which leaves two registers for each operand.
double bytes_amx() {
  tenon::simd::AmxTiles tiles({2 * tenon::simd::tile_rows});
  for (int i = 0; i < steps; ++i) {
    tiles.add_products<0, 4, 6>();
    tiles.add_products<1, 4, 7>();
    tiles.add_products<2, 5, 6>();
    tiles.add_products<3, 5, 7>();
  }
  return 4 * 2.0 * 16 * 16 * 64 * steps;
}

void report_arithmetic() {
  report("multiply and add, baseline", "GFLOP/s", [] { return fma_baseline; });
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    report("fused multiply-add, AVX2", "GFLOP/s", [] { return fma_avx2; });
  if (__builtin_cpu_supports("avx512f"))
    report("fused multiply-add, AVX-512", "GFLOP/s", [] { return fma_avx512; });
  if (__builtin_cpu_supports("avx2")) report("products of bytes, AVX2", "GOP/s", [] { return bytes_avx2; });
  if (__builtin_cpu_supports("avx512vnni"))
    report("products of bytes, AVX-512 VNNI", "GOP/s", [] { return bytes_vnni; });
  if (tenon::simd::amx()) report("products of bytes, AMX", "GOP/s", [] { return bytes_amx; });
}

#else
void report_arithmetic() {}
#endif

// --- Memory ---

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("default", "avx2", "avx512f"), optimize("O3")))
#endif
void add_arrays(const float* a, const float* b, float* c, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("default", "avx2", "avx512f"), optimize("O3")))
#endif
std::uint64_t
sum_of(const std::uint64_t* a, std::size_t n) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i];
  return sum;
}

// Small arrays are gone through many times in one call, so that the clock costs nothing.
std::size_t repeats(std::size_t bytes) { return std::max<std::size_t>(1, (std::size_t{1} << 20) / bytes); }

// Sizes are of one array; bytes count reads and writes, but not the lines that a cache fetches before a
// write.
void report_copy(const char* what, std::size_t bytes) {
  report(what, "GB/s", [bytes] {
    auto from = std::make_unique<char[]>(bytes), to = std::make_unique<char[]>(bytes);
    return [bytes, from = std::move(from), to = std::move(to)] {
      for (std::size_t k = 0; k < repeats(bytes); ++k) {
        std::memcpy(to.get(), from.get(), bytes);
        asm volatile("" : : "r"(to.get()) : "memory");
      }
      return 2.0 * static_cast<double>(bytes * repeats(bytes));
    };
  });
}

void report_add(const char* what, std::size_t bytes) {
  report(what, "GB/s", [bytes] {
    const std::size_t n = bytes / sizeof(float);
    auto a = std::make_unique<float[]>(n), b = std::make_unique<float[]>(n), c = std::make_unique<float[]>(n);
    return [bytes, n, a = std::move(a), b = std::move(b), c = std::move(c)] {
      for (std::size_t k = 0; k < repeats(bytes); ++k) {
        add_arrays(a.get(), b.get(), c.get(), n);
        asm volatile("" : : "r"(c.get()) : "memory");
      }
      return 3.0 * static_cast<double>(bytes * repeats(bytes));
    };
  });
}

void report_read(const char* what, std::size_t bytes) {
  report(what, "GB/s", [bytes] {
    const std::size_t n = bytes / sizeof(std::uint64_t);
    auto a = std::make_unique<std::uint64_t[]>(n);
    return [bytes, n, a = std::move(a)] {
      for (std::size_t k = 0; k < repeats(bytes); ++k) {
        std::uint64_t sum = sum_of(a.get(), n);
        asm volatile("" : "+r"(sum) : : "memory");
      }
      return static_cast<double>(bytes * repeats(bytes));
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) wanted = argv[1];
  report_arithmetic();
  report_copy("copy of 8 KB", 8 << 10);
  report_copy("copy of 128 KB", 128 << 10);
  report_copy("copy of 2 MB", 2 << 20);
  report_copy("copy of 128 MB", 128 << 20);
  report_add("sum of two arrays of 8 KB", 8 << 10);
  report_add("sum of two arrays of 128 KB", 128 << 10);
  report_add("sum of two arrays of 2 MB", 2 << 20);
  report_add("sum of two arrays of 128 MB", 128 << 20);
  report_read("read of 128 KB", 128 << 10);
  report_read("read of 2 MB", 2 << 20);
  report_read("read of 128 MB", 128 << 20);
}
