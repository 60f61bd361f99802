// ort: times a model in ONNX Runtime's shared library, as `tenon bench` times it in Tenon: see
// bench/README.md.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ort_library.hpp"

namespace {

// --- Tensors and their files ---

// ONNX's numbers of element types are also the library's.
constexpr int float32 = 1, float16 = 10, float64 = 11;

std::size_t element_bits(int type) {
  constexpr std::size_t bits[] = {0,  32, 8,  8,   16, 16, 32, 64, 0, 8, 16, 64,
                                  32, 64, 64, 128, 16, 8,  8,  8,  8, 4, 4};
  return type >= 0 && static_cast<std::size_t>(type) < std::size(bits) ? bits[type] : 0;
}

struct Tensor {
  std::string name;
  int type = 0;
  std::vector<std::int64_t> extents;
  std::vector<std::byte> bytes;

  std::size_t size_in_bytes() const {
    std::size_t count = 1;
    for (std::int64_t e : extents) count *= static_cast<std::size_t>(e);
    const std::size_t bits = element_bits(type);
    if (bits == 0)
      throw std::runtime_error(name + ": elements of type " + std::to_string(type) + " are not supported");
    return (count * bits + 7) / 8;
  }
};

// The fields of protobuf's wire format.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  int number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;

  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t tag = varint();
    number = static_cast<int>(tag >> 3);
    value = 0, bytes = {};
    switch (tag & 7) {
      case 0: value = varint(); break;
      case 1: bytes = take(8); break;
      case 2: bytes = take(varint()); break;
      case 5: bytes = take(4); break;
      default: throw std::runtime_error("not a TensorProto");
    }
    return true;
  }
  std::uint64_t varint() {
    std::uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      v |= std::uint64_t{byte & 127u} << shift;
      if (byte < 128) break;
    }
    return v;
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) throw std::runtime_error("a TensorProto ends too early");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::string_view rest_;
};

Tensor read_tensor(const std::string& name, const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(stream)), {});
  if (!stream) throw std::runtime_error("cannot read " + file);
  Tensor t;
  t.name = name;
  for (Fields f(content); f.next();) {
    if (f.number == 1 && f.bytes.empty()) t.extents.push_back(static_cast<std::int64_t>(f.value));
    else if (f.number == 1)
      for (Fields packed(f.bytes); !packed.empty();)
        t.extents.push_back(static_cast<std::int64_t>(packed.varint()));
    else if (f.number == 2) t.type = static_cast<int>(f.value);
    else if (f.number == 9) {
      const auto* const first = reinterpret_cast<const std::byte*>(f.bytes.data());
      t.bytes.assign(first, first + f.bytes.size());
    }
  }
  if (t.bytes.size() != t.size_in_bytes())
    throw std::runtime_error(file + " holds no raw data for its extents");
  return t;
}

void write_tensor(const Tensor& t, const std::filesystem::path& file) {
  std::string out;
  auto varint = [&](std::uint64_t v) {
    for (; v >= 128; v >>= 7) out += static_cast<char>((v & 127) | 128);
    out += static_cast<char>(v);
  };
  auto bytes = [&](unsigned field, const void* data, std::size_t size) {
    varint(field << 3 | 2);
    varint(size);
    out.append(static_cast<const char*>(data), size);
  };
  for (std::int64_t e : t.extents) varint(1 << 3), varint(static_cast<std::uint64_t>(e));
  varint(2 << 3), varint(static_cast<std::uint64_t>(t.type));
  bytes(8, t.name.data(), t.name.size());
  bytes(9, t.bytes.data(), t.bytes.size());
  std::ofstream(file, std::ios::binary) << out;
}

// Floats in [0, 1), and zeros of all other types, which are indices into anything.
void fill(Tensor& t) {
  t.bytes.resize(t.size_in_bytes());
  std::uint32_t x = 1;
  auto random = [&] { return x ^= x << 13, x ^= x >> 17, x ^= x << 5; };
  auto each = [&]<class T>(T, auto next) {
    for (std::size_t k = 0; k < t.bytes.size(); k += sizeof(T)) {
      const T v = next();
      std::memcpy(&t.bytes[k], &v, sizeof v);
    }
  };
  if (t.type == float32) each(float{}, [&] { return static_cast<float>(random() >> 8) * 0x1p-24f; });
  if (t.type == float64) each(double{}, [&] { return random() * 0x1p-32; });
  if (t.type == float16)  // in [0.5, 1)
    each(std::uint16_t{}, [&] { return static_cast<std::uint16_t>(14u << 10 | random() >> 22); });
}

// --- The command line ---

constexpr const char* usage =
    "usage: ort LIBRARY MODEL [--threads N] [--iters N | --seconds N] [--input NAME=FILE.pb]… [--shape "
    "NAME=1x3]…\n"
    "       [--save DIR] [--level avx2|avx2-vnni] [--optimizations all|extended|none]\n"
    "       ort LIBRARY MODEL --write FILE [--optimizations all|extended|none]\n";

int optimization_level(std::string_view name) {
  if (name == "all") return 99;
  if (name == "extended") return 2;
  if (name == "none") return 0;
  throw std::invalid_argument("--optimizations all, extended or none");
}

struct Arguments {
  std::string library, model, save, write, level;
  int threads = 1;
  std::int64_t iterations = 0;
  double seconds = 5;
  int optimizations = optimization_level("all");
  std::vector<std::pair<std::string, std::string>> inputs, shapes;
};

std::pair<std::string, std::string> name_and_value(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) throw std::invalid_argument("NAME=VALUE expected");
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    if (!word.starts_with("--")) {
      (a.library.empty() ? a.library
       : a.model.empty() ? a.model
                         : throw std::invalid_argument("two models")) = word;
      continue;
    }
    if (++k == argc) throw std::invalid_argument("a value is missing");
    if (word == "--threads") a.threads = std::stoi(argv[k]);
    else if (word == "--iters") a.iterations = std::stoll(argv[k]);
    else if (word == "--seconds") a.seconds = std::stod(argv[k]);
    else if (word == "--input") a.inputs.push_back(name_and_value(argv[k]));
    else if (word == "--shape") a.shapes.push_back(name_and_value(argv[k]));
    else if (word == "--save") a.save = argv[k];
    else if (word == "--write") a.write = argv[k];
    else if (word == "--level") a.level = argv[k];
    else if (word == "--optimizations") a.optimizations = optimization_level(argv[k]);
    else throw std::invalid_argument(std::string(word));
  }
  if (a.model.empty()) throw std::invalid_argument("a library and a model");
  if (!a.level.empty() && a.level != "avx2" && a.level != "avx2-vnni")
    throw std::invalid_argument("--level avx2 or avx2-vnni");
  return a;
}

const std::string* find(const std::vector<std::pair<std::string, std::string>>& pairs,
                        const std::string& name) {
  for (const auto& [key, value] : pairs)
    if (key == name) return &value;
  return nullptr;
}

// --- Timing ---

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point t) {
  return std::chrono::duration<double, std::milli>(Clock::now() - t).count();
}

// The peak resident size in MB. Not from getrusage, which reports the parent's peak if that was greater.
double peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  return 0;
}

Tensor declared_input(const Library& ort, const TypeInfo* type, std::string name, const Arguments& a) {
  const auto* const info = ort.make<const TensorInfo*>(cast_to_tensor, type);
  if (info == nullptr) throw std::runtime_error("input '" + name + "' is no tensor");
  Tensor t;
  t.name = std::move(name);
  t.type = ort.make<int>(element_type, info);
  t.extents.resize(ort.make<std::size_t>(rank, info));
  ort(extents, info, t.extents.data(), t.extents.size());
  std::replace(t.extents.begin(), t.extents.end(), std::int64_t{-1}, std::int64_t{1});
  if (const std::string* const shape = find(a.shapes, t.name)) {
    t.extents.clear();
    for (const char *s = shape->data(), *const end = s + shape->size(); s < end;) {
      s = std::from_chars(s, end, t.extents.emplace_back()).ptr;
      if (s < end && *s++ != 'x')
        throw std::runtime_error("'" + *shape + "' is not a shape such as 1x3x224x224");
    }
  }
  fill(t);
  return t;
}

Tensor output(const Library& ort, Value* value, std::string name) {
  Tensor t;
  t.name = std::move(name);
  const auto* const info = ort.make<TensorInfo*>(tensor_info, value);
  t.type = ort.make<int>(element_type, info);
  t.extents.resize(ort.make<std::size_t>(rank, info));
  ort(extents, info, t.extents.data(), t.extents.size());
  const auto* const data = static_cast<const std::byte*>(ort.make<void*>(tensor_data, value));
  t.bytes.assign(data, data + t.size_in_bytes());
  return t;
}

void bench(const Arguments& a) {
  if (!a.level.empty()) stop_at_avx2(a.level == "avx2-vnni");
  const Library ort(a.library.c_str());
  const auto start = Clock::now();
  constexpr int errors_only = 3;
  const auto* const environment = ort.make<Environment*>(create_environment, errors_only, "bench");
  auto* const options = ort.make<SessionOptions*>(create_session_options);
  ort(set_optimization_level, options, a.optimizations);
  ort(set_threads, options, a.threads);
  ort(set_parallel_nodes, options, 1);
  if (!a.write.empty()) ort(set_optimized_model_file, options, a.write.c_str());
  auto* const session = ort.make<Session*>(create_session, environment, a.model.c_str(), options);
  const double load_ms = ms_since(start);
  if (!a.write.empty()) return;

  constexpr int arena = 1, default_memory = 0;
  const auto* const memory = ort.make<MemoryInfo*>(create_cpu_memory_info, arena, default_memory);
  auto* const allocator = ort.make<Allocator*>(default_allocator);
  auto* const binding = ort.make<Binding*>(create_binding, session);
  const std::size_t inputs = ort.make<std::size_t>(input_count, session);
  std::vector<std::unique_ptr<Tensor>> tensors;
  for (std::size_t k = 0; k < inputs; ++k) {
    const char* const name = ort.make<char*>(input_name, session, k, allocator);
    const std::string* const file = find(a.inputs, name);
    tensors.push_back(std::make_unique<Tensor>(
        file ? read_tensor(name, *file)
             : declared_input(ort, ort.make<TypeInfo*>(input_type, session, k), name, a)));
    Tensor& t = *tensors.back();
    ort(bind_input, binding, name,
        ort.make<Value*>(wrap_tensor, memory, t.bytes.data(), t.bytes.size(), t.extents.data(),
                         t.extents.size(), t.type));
  }
  // The first run makes the outputs, whose extents may depend on data, and all others write over them.
  const std::size_t outputs = ort.make<std::size_t>(output_count, session);
  std::vector<const char*> names;
  for (std::size_t k = 0; k < outputs; ++k) {
    names.push_back(ort.make<char*>(output_name, session, k, allocator));
    ort(bind_output_to_device, binding, names[k], memory);
  }
  const auto* const run_options = ort.make<RunOptions*>(create_run_options);
  const auto first = Clock::now();
  ort(run_bound, session, run_options, binding);
  const double first_ms = ms_since(first);
  Value** values = nullptr;
  std::size_t count = 0;
  ort(bound_outputs, binding, allocator, &values, &count);
  bool tensors_only = true;
  for (std::size_t k = 0; k < count; ++k)
    tensors_only = tensors_only && ort.make<int>(is_tensor, values[k]) != 0;
  if (tensors_only)
    for (std::size_t k = 0; k < count; ++k) ort(bind_output, binding, names[k], values[k]);
  if (!a.save.empty()) {
    std::filesystem::create_directories(a.save);
    for (std::size_t k = 0; k < count; ++k)
      if (ort.make<int>(is_tensor, values[k]) != 0)
        write_tensor(output(ort, values[k], names[k]),
                     std::filesystem::path(a.save) / ("output_" + std::to_string(k) + ".pb"));
  }

  const auto warm = Clock::now();
  do ort(run_bound, session, run_options, binding);
  while (a.iterations == 0 && ms_since(warm) < a.seconds * 100);
  std::vector<double> times;
  const auto begin = Clock::now();
  while (a.iterations > 0 ? static_cast<std::int64_t>(times.size()) < a.iterations
                          : times.empty() || ms_since(begin) < a.seconds * 1000) {
    const auto t = Clock::now();
    ort(run_bound, session, run_options, binding);
    times.push_back(ms_since(t));
  }
  std::sort(times.begin(), times.end());
  const std::size_t n = times.size();
  const double median = n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
  std::printf(
      "{\"median_ms\": %.6f, \"min_ms\": %.6f, \"p90_ms\": %.6f, \"load_ms\": %.3f, \"first_ms\": %.3f, "
      "\"rss_mb\": %.1f, \"iters\": %zu, \"threads\": %d, \"version\": \"%s\"}\n",
      median, times[0], times[std::min(n - 1, n * 9 / 10)], load_ms, first_ms, peak_mb(), n, a.threads,
      ort.version().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    bench(parse(argc, argv));
    std::fflush(stdout);
    std::_Exit(0);  // what was made lives as long as the process
  } catch (const std::invalid_argument& e) {
    std::fprintf(stderr, "ort: %s\n%s", e.what(), usage);
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ort: %s\n", e.what());
    return 1;
  }
}
