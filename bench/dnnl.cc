// dnnl: times one operator in oneDNN 2 (Debian's libdnnl-dev), the second peer of bench/compare. Weights, and
// the images of convolutions, lie in the layout that oneDNN prefers, and nothing is laid out anew in the
// runs.
#include <omp.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#if DNNL_VERSION_MAJOR != 2
#error "written for oneDNN 2"
#endif

namespace {

constexpr const char* usage =
    "usage: dnnl OPERATION [--threads N] [--iters N | --seconds N], OPERATION one of\n"
    "  matmul f32|u8s8|s8s8 MxKxN varying|constant   convolution NxCxHxW OxKHxKW STRIDE GROUPS\n"
    "  eltwise exp|gelu_erf|tanh|logistic|sqrt|soft_relu|mish EXTENTS   softmax EXTENTS   "
    "layer_normalization EXTENTS\n"
    "  add EXTENTS EXTENTS   reduce mean|sum EXTENTS AXIS\n";

using Dims = dnnl::memory::dims;
using Description = dnnl::memory::desc;
using Type = dnnl::memory::data_type;
using Layout = dnnl::memory::format_tag;

Dims parse(std::string_view text) {
  Dims d;
  for (const char *s = text.data(), *const end = s + text.size(); s < end; ++s)
    s = std::from_chars(s, end, d.emplace_back()).ptr;
  return d;
}

Description plain(const Dims& d, Type type = Type::f32) {
  constexpr Layout layouts[] = {Layout::a, Layout::ab, Layout::abc, Layout::abcd};
  return {d, type, layouts[d.size() - 1]};
}
Description any(const Dims& d, Type type = Type::f32) { return {d, type, Layout::any}; }

// A primitive with its operands, whose values are random.
struct Work {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive primitive{};
  std::unordered_map<int, dnnl::memory> operands{};

  void add(int role, const Description& description) {
    dnnl::memory m(description, engine);
    std::uint32_t x = 1;
    auto random = [&] { return x ^= x << 13, x ^= x >> 17, x ^= x << 5; };
    if (description.data_type() == Type::f32) {
      auto* const v = static_cast<float*>(m.get_data_handle());
      std::generate(v, v + description.get_size() / sizeof(float),
                    [&] { return static_cast<float>(random() >> 8) * 0x1p-24f; });
    } else {
      auto* const v = static_cast<std::uint8_t*>(m.get_data_handle());
      std::generate(v, v + description.get_size(), [&] { return static_cast<std::uint8_t>(random() >> 24); });
    }
    operands.emplace(role, m);
  }
  void run() {
    primitive.execute(stream, operands);
    stream.wait();
  }
};

dnnl::algorithm eltwise(std::string_view name) {
  using enum dnnl::algorithm;
  const std::unordered_map<std::string_view, dnnl::algorithm> all = {
      {"exp", eltwise_exp},           {"gelu_erf", eltwise_gelu_erf}, {"tanh", eltwise_tanh},
      {"logistic", eltwise_logistic}, {"sqrt", eltwise_sqrt},         {"soft_relu", eltwise_soft_relu},
      {"mish", eltwise_mish}};
  return all.at(name);
}

Work make(const std::vector<std::string>& words) {
  Work w;
  const std::string& operation = words.at(0);
  const auto inference = dnnl::prop_kind::forward_inference;
  if (operation == "matmul") {
    const Dims d = parse(words.at(2));
    const bool whole = words[1] != "f32";
    const Type left = words[1] == "u8s8" ? Type::u8
                      : whole            ? Type::s8
                                         : Type::f32,
               right = whole ? Type::s8 : Type::f32;
    const Dims b{d.at(1), d.at(2)};
    const dnnl::matmul::primitive_desc p(
        {plain({d[0], d[1]}, left), words.at(3) == "constant" ? any(b, right) : plain(b, right),
         plain({d[0], d[2]}, whole ? Type::s32 : Type::f32)},
        w.engine);
    w.primitive = dnnl::matmul(p);
    w.add(DNNL_ARG_SRC, p.src_desc());
    w.add(DNNL_ARG_WEIGHTS, p.weights_desc());
    w.add(DNNL_ARG_DST, p.dst_desc());
  } else if (operation == "convolution") {
    const Dims x = parse(words.at(1)), kernel = parse(words.at(2));
    const dnnl::memory::dim stride = parse(words.at(3)).at(0), groups = parse(words.at(4)).at(0);
    Dims y{x.at(0), kernel.at(0)}, weights{kernel[0], x.at(1) / groups}, strides, pads;
    if (groups > 1) weights = {groups, kernel[0] / groups, x[1] / groups};
    for (std::size_t k = 1; k < kernel.size(); ++k) {
      const dnnl::memory::dim pad = kernel[k] / 2;
      y.push_back((x.at(k + 1) + 2 * pad - kernel[k]) / stride + 1);
      weights.push_back(kernel[k]);
      strides.push_back(stride);
      pads.push_back(pad);
    }
    const dnnl::convolution_forward::primitive_desc p(
        {inference, dnnl::algorithm::convolution_direct, any(x), any(weights), any({kernel[0]}), any(y),
         strides, pads, pads},
        w.engine);
    w.primitive = dnnl::convolution_forward(p);
    w.add(DNNL_ARG_SRC, p.src_desc());
    w.add(DNNL_ARG_WEIGHTS, p.weights_desc());
    w.add(DNNL_ARG_BIAS, p.bias_desc());
    w.add(DNNL_ARG_DST, p.dst_desc());
  } else if (operation == "eltwise") {
    const Description x = plain(parse(words.at(2)));
    const dnnl::eltwise_forward::primitive_desc p({inference, eltwise(words.at(1)), x}, w.engine);
    w.primitive = dnnl::eltwise_forward(p);
    w.add(DNNL_ARG_SRC, x);
    w.add(DNNL_ARG_DST, x);
  } else if (operation == "softmax") {
    const Dims d = parse(words.at(1));
    const dnnl::softmax_forward::primitive_desc p({inference, plain(d), static_cast<int>(d.size()) - 1},
                                                  w.engine);
    w.primitive = dnnl::softmax_forward(p);
    w.add(DNNL_ARG_SRC, plain(d));
    w.add(DNNL_ARG_DST, plain(d));
  } else if (operation == "layer_normalization") {
    const Dims d = parse(words.at(1));
    const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
    const dnnl::layer_normalization_forward::primitive_desc p({inference, plain(d), 1e-5f, flags}, w.engine);
    w.primitive = dnnl::layer_normalization_forward(p);
    w.add(DNNL_ARG_SRC, plain(d));
    w.add(DNNL_ARG_SCALE, plain({d.back()}));
    w.add(DNNL_ARG_SHIFT, plain({d.back()}));
    w.add(DNNL_ARG_DST, plain(d));
  } else if (operation == "add") {
    const Description a = plain(parse(words.at(1))), b = plain(parse(words.at(2)));
    const dnnl::binary::primitive_desc p({dnnl::algorithm::binary_add, a, b, a}, w.engine);
    w.primitive = dnnl::binary(p);
    w.add(DNNL_ARG_SRC_0, a);
    w.add(DNNL_ARG_SRC_1, b);
    w.add(DNNL_ARG_DST, a);
  } else if (operation == "reduce") {
    const Dims x = parse(words.at(2));
    Dims y = x;
    y.at(static_cast<std::size_t>(parse(words.at(3)).at(0))) = 1;
    const auto how = words.at(1) == "mean" ? dnnl::algorithm::reduction_mean : dnnl::algorithm::reduction_sum;
    const dnnl::reduction::primitive_desc p({how, plain(x), plain(y), 0, 0}, w.engine);
    w.primitive = dnnl::reduction(p);
    w.add(DNNL_ARG_SRC, plain(x));
    w.add(DNNL_ARG_DST, plain(y));
  } else {
    throw std::invalid_argument(operation);
  }
  return w;
}

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point t) {
  return std::chrono::duration<double, std::milli>(Clock::now() - t).count();
}

// The peak resident size in MB. Not from getrusage, which reports the parent's peak if that was greater.
double peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

void bench(const std::vector<std::string>& words, int threads, std::int64_t iterations, double seconds) {
  omp_set_num_threads(threads);
  const auto start = Clock::now();
  Work w = make(words);
  const double load_ms = ms_since(start);
  const auto first = Clock::now();
  w.run();
  const double first_ms = ms_since(first);
  const auto warm = Clock::now();
  do w.run();
  while (iterations == 0 && ms_since(warm) < seconds * 100);
  std::vector<double> times;
  const auto begin = Clock::now();
  while (iterations > 0 ? static_cast<std::int64_t>(times.size()) < iterations
                        : times.empty() || ms_since(begin) < seconds * 1000) {
    const auto t = Clock::now();
    w.run();
    times.push_back(ms_since(t));
  }
  std::sort(times.begin(), times.end());
  const std::size_t n = times.size();
  const double median = n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
  const dnnl_version_t& v = *dnnl_version();
  std::printf(
      "{\"median_ms\": %.6f, \"min_ms\": %.6f, \"p90_ms\": %.6f, \"load_ms\": %.3f, \"first_ms\": %.3f, "
      "\"rss_mb\": %.1f, \"iters\": %zu, \"threads\": %d, \"version\": \"%d.%d.%d\"}\n",
      median, times[0], times[std::min(n - 1, n * 9 / 10)], load_ms, first_ms, peak_mb(), n, threads, v.major,
      v.minor, v.patch);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words;
  int threads = 1;
  std::int64_t iterations = 0;
  double seconds = 5;
  try {
    for (int k = 1; k < argc; ++k) {
      const std::string_view word = argv[k];
      if (!word.starts_with("--")) words.emplace_back(word);
      else if (++k == argc) throw std::invalid_argument("a value is missing");
      else if (word == "--threads") threads = std::stoi(argv[k]);
      else if (word == "--iters") iterations = std::stoll(argv[k]);
      else if (word == "--seconds") seconds = std::stod(argv[k]);
      else throw std::invalid_argument(std::string(word));
    }
    bench(words, threads, iterations, seconds);
  } catch (const std::logic_error& e) {
    std::fprintf(stderr, "dnnl: %s\n%s", e.what(), usage);
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "dnnl: %s\n", e.what());
    return 1;
  }
}
