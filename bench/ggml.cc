// ggml: times the products of a language model's step in ggml, with weights of its type q4_0, which has 4
// bits and a scale for 32 of them as MatMulNBits has: see bench/README.md.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

// Normal scales, and integers of any bits.
void fill(ggml_tensor* weights) {
  std::vector<std::uint8_t> bytes(ggml_nbytes(weights));
  std::uint32_t x = 1;
  for (std::uint8_t& b : bytes)
    x ^= x << 13, x ^= x >> 17, x ^= x << 5, b = static_cast<std::uint8_t>(x >> 24);
  constexpr std::size_t block = 18;
  constexpr std::uint16_t scale = 0x2000;
  for (std::size_t k = 0; k < bytes.size(); k += block) std::memcpy(&bytes[k], &scale, sizeof scale);
  ggml_backend_tensor_set(weights, bytes.data(), 0, bytes.size());
}

// The memory whose weights ggml lays out for its kernels, or the plain one if it has none for the processor.
ggml_backend_buffer_type_t weights_memory(ggml_backend_t cpu) {
  const ggml_backend_dev_t device = ggml_backend_get_device(cpu);
  const auto extra = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(ggml_backend_reg_get_proc_address(
      ggml_backend_dev_backend_reg(device), "ggml_backend_dev_get_extra_bufts"));
  for (auto* types = extra != nullptr ? extra(device) : nullptr; types != nullptr && *types != nullptr;
       ++types)
    if (std::string_view(ggml_backend_buft_name(*types)).find("REPACK") != std::string_view::npos)
      return *types;
  return ggml_backend_get_default_buffer_type(cpu);
}

}  // namespace

// Products of rows of IN numbers, one or a prompt's, and matrices of IN by OUT, each COUNT times with its own
// weights.
int main(int argc, char** argv) {
  int threads = 1, steps = 16, rows_each = 1;
  std::vector<const char*> products;
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    if (word == "--threads" && k + 1 < argc) threads = std::atoi(argv[++k]);
    else if (word == "--steps" && k + 1 < argc) steps = std::atoi(argv[++k]);
    else if (word == "--prompt" && k + 1 < argc) rows_each = std::atoi(argv[++k]);
    else products.push_back(argv[k]);
  }
  constexpr std::size_t most = 4096;
  ggml_context* const context =
      ggml_init({most * ggml_tensor_overhead() + ggml_graph_overhead_custom(most, false), nullptr, true});
  ggml_context* const of_weights = ggml_init({most * ggml_tensor_overhead(), nullptr, true});
  ggml_cgraph* const graph = ggml_new_graph_custom(context, most, false);
  std::vector<ggml_tensor*> weights, rows;
  for (const char* const text : products) {
    int in = 0, out = 0, count = 0;
    if (std::sscanf(text, "%dx%dx%d", &in, &out, &count) != 3)
      return std::fprintf(stderr, "usage: ggml INxOUTxCOUNT… [--threads N] [--steps N] [--prompt N]\n"), 2;
    rows.push_back(ggml_new_tensor_2d(context, GGML_TYPE_F32, in, rows_each));
    for (; count > 0; --count) {
      weights.push_back(ggml_new_tensor_2d(of_weights, GGML_TYPE_Q4_0, in, out));
      ggml_build_forward_expand(graph, ggml_mul_mat(context, weights.back(), rows.back()));
    }
  }
  ggml_backend_t const cpu = ggml_backend_cpu_init();
  ggml_backend_cpu_set_n_threads(cpu, threads);
  if (ggml_backend_alloc_ctx_tensors(context, cpu) == nullptr ||
      ggml_backend_alloc_ctx_tensors_from_buft(of_weights, weights_memory(cpu)) == nullptr)
    return std::fprintf(stderr, "no memory\n"), 1;
  for (ggml_tensor* const w : weights) fill(w);
  for (ggml_tensor* const r : rows) {
    const std::vector<float> ones(static_cast<std::size_t>(ggml_nelements(r)), 1.0f);
    ggml_backend_tensor_set(r, ones.data(), 0, ggml_nbytes(r));
  }
  std::vector<double> ms;
  for (int k = 0; k < steps; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    if (ggml_backend_graph_compute(cpu, graph) != GGML_STATUS_SUCCESS) return 1;
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(ms.begin(), ms.end());
  std::printf("{\"min_ms\": %.6f, \"median_ms\": %.6f}\n", ms[0], ms[ms.size() / 2]);
}
