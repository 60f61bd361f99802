// compiled: times a model that `tenon compile --namespace compiled_model` wrote as a header, on one thread:
//   c++ … -include model.hpp compiled.cc -o compiled
//   compiled [--weights FILE] [--iters N | --seconds N]
// Floats of inputs are in [0, 1), their integers 0. The last line has the times.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Large blocks lie on large pages, as a session's do.
std::byte* block(std::size_t bytes) {
  const std::size_t large = std::size_t{1} << 21, alignment = bytes < large ? 64 : large;
  bytes = (bytes / alignment + 1) * alignment;
  void* const p = std::aligned_alloc(alignment, bytes);
  if (p == nullptr) std::abort();
  if (bytes >= large) madvise(p, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(std::memset(p, 0, bytes));
}

/// The argument for a parameter of `run`: memory that lives on for views, the model's own for the rest.
template <class P>
struct Argument {
  static P make(compiled_model::Memory& memory, const std::byte* weights) {
    if constexpr (std::is_reference_v<P>) return memory;
    else if constexpr (std::is_pointer_v<P>) return weights;
    else {
      using T = typename P::value_type;
      std::int64_t count = 1;
      for (const std::int64_t e : P::shape_type::extents) count *= e;
      T* const data = reinterpret_cast<T*>(block(static_cast<std::size_t>(count) * sizeof(T)));
      std::uint32_t x = 1;
      if constexpr (std::is_floating_point_v<T>)
        for (std::int64_t k = 0; k < count; ++k) {
          x ^= x << 13, x ^= x >> 17, x ^= x << 5;
          data[k] = static_cast<T>(x >> 8) / T(1 << 24);
        }
      return P(data, P::shape_type::extents);
    }
  }
};

const std::byte* read_weights(const char* name) {
  std::FILE* const file = std::fopen(name, "rb");
  if (file == nullptr) return nullptr;
  std::fseek(file, 0, SEEK_END);
  const auto size = static_cast<std::size_t>(std::ftell(file));
  std::rewind(file);
  std::byte* const bytes = block(size);
  const bool whole = std::fread(bytes, 1, size, file) == size;
  std::fclose(file);
  return whole ? bytes : nullptr;
}

template <class... P>
int time_runs(void (*run)(P...) noexcept, const std::byte* weights, long iters, double seconds) {
  auto* const memory = reinterpret_cast<compiled_model::Memory*>(block(sizeof(compiled_model::Memory)));
  const std::tuple<P...> arguments{Argument<P>::make(*memory, weights)...};
  const auto call = [&] { std::apply(run, arguments); };
  // Enough runs are timed together for the clock's own time to be negligible.
  long together = 1;
  for (double ms = 0; ms < 0.02 && together < 4096; together *= ms < 0.02 ? 2 : 1) {
    const auto start = Clock::now();
    for (long k = 0; k < together; ++k) call();
    ms = ms_since(start);
  }
  std::vector<double> times;
  for (const auto start = Clock::now();
       iters > 0 ? static_cast<long>(times.size()) < iters : ms_since(start) < 1000 * seconds;) {
    const auto begin = Clock::now();
    for (long k = 0; k < together; ++k) call();
    times.push_back(ms_since(begin) / static_cast<double>(together));
  }
  std::sort(times.begin(), times.end());
  std::printf("{\"median_ms\": %.6f, \"min_ms\": %.6f}\n", times[times.size() / 2], times[0]);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::byte* weights = nullptr;
  long iters = 0;
  double seconds = 1;
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string_view option = argv[k];
    if (option == "--weights" && (weights = read_weights(argv[k + 1])) == nullptr) {
      std::fprintf(stderr, "%s: cannot be read\n", argv[k + 1]);
      return 1;
    }
    if (option == "--iters") iters = std::atol(argv[k + 1]);
    if (option == "--seconds") seconds = std::atof(argv[k + 1]);
  }
  return time_runs(compiled_model::run, weights, iters, seconds);
}
