// ort_decoding: times the steps of a language model in ONNX Runtime, with each present bound to its past's
// memory: see bench/README.md.
#include <memory>

#include "decoding.hpp"
#include "ort_library.hpp"

namespace {

constexpr int float32 = 1, int64 = 7;

void bench(const DecodingArguments& a) {
  if (a.words.size() != 2) throw std::invalid_argument("a library and a model");
  if (!a.level.empty()) stop_at_avx2(a.level == "avx2-vnni");
  const Library ort(a.words[0].c_str());
  constexpr int errors_only = 3, all_optimizations = 99, arena = 1, default_memory = 0;
  const auto* const environment = ort.make<Environment*>(create_environment, errors_only, "bench");
  auto* const options = ort.make<SessionOptions*>(create_session_options);
  ort(set_optimization_level, options, all_optimizations);
  ort(set_threads, options, a.threads);
  ort(set_parallel_nodes, options, 1);
  auto* const session = ort.make<Session*>(create_session, environment, a.words[1].c_str(), options);
  const auto* const memory = ort.make<MemoryInfo*>(create_cpu_memory_info, arena, default_memory);
  auto* const allocator = ort.make<Allocator*>(default_allocator);
  auto* const binding = ort.make<Binding*>(create_binding, session);
  const auto wrap = [&](void* data, std::size_t bytes, const std::vector<std::int64_t>& extents, int type) {
    return ort.make<Value*>(wrap_tensor, memory, data, bytes, extents.data(), extents.size(), type);
  };

  std::vector<std::vector<float>> caches;
  const std::size_t inputs = ort.make<std::size_t>(input_count, session);
  for (std::size_t k = 0; k < inputs; ++k) {
    const std::string name = ort.make<char*>(input_name, session, k, allocator);
    if (name == "input_ids" || name == "attention_mask") continue;
    const auto* const info =
        ort.make<const TensorInfo*>(cast_to_tensor, ort.make<TypeInfo*>(input_type, session, k));
    std::vector<std::int64_t> dims(ort.make<std::size_t>(rank, info));
    ort(extents, info, dims.data(), dims.size());
    dims[0] = 1, dims[2] = a.rows();
    std::vector<float>& cache = caches.emplace_back(static_cast<std::size_t>(dims[1] * dims[2] * dims[3]));
    fill_cache(cache.data(), dims[1], dims[2], dims[3], a.past, static_cast<std::uint32_t>(caches.size()));
    const Value* const value = wrap(cache.data(), cache.size() * sizeof(float), dims, float32);
    ort(bind_input, binding, name.c_str(), value);
    ort(bind_output, binding, present_of(name).c_str(), value);
  }
  ort(bind_output_to_device, binding, "logits", memory);
  const auto* const run_options = ort.make<RunOptions*>(create_run_options);
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(std::max<std::int64_t>(a.prompt, 1)));
  std::vector<std::int64_t> mask(static_cast<std::size_t>(a.rows()), 1);
  std::vector<std::int64_t> logits_extents(3);
  ort(bind_input, binding, "input_ids",
      wrap(tokens.data(), tokens.size() * sizeof(std::int64_t), {1, std::ssize(tokens)}, int64));
  Value* logits = nullptr;
  std::size_t count = 0;
  decode(a, [&](const std::vector<std::int64_t>& next, std::int64_t length) {
    std::ranges::copy(next, tokens.begin());
    ort(bind_input, binding, "attention_mask",
        wrap(mask.data(), static_cast<std::size_t>(length) * sizeof(std::int64_t), {1, length}, int64));
    ort(run_bound, session, run_options, binding);
    if (logits == nullptr) {
      // The first run makes them, and all others write over them.
      Value** values = nullptr;
      std::size_t outputs = 0;
      ort(bound_outputs, binding, allocator, &values, &outputs);
      logits = values[outputs - 1];
      ort(extents, ort.make<TensorInfo*>(tensor_info, logits), logits_extents.data(), logits_extents.size());
      count = static_cast<std::size_t>(logits_extents[2]);
      ort(bind_output, binding, "logits", logits);
    }
    return std::span(static_cast<const float*>(ort.make<void*>(tensor_data, logits)), tokens.size() * count)
        .last(count);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const int status = run_program(
      "usage: ort_decoding LIBRARY MODEL [--threads N] [--past N] [--steps N] [--prompt N] "
      "[--level avx2|avx2-vnni]",
      [&] { bench(DecodingArguments(argc, argv)); });
  std::_Exit(status);  // what was made lives as long as the process
}
