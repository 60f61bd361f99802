// `tenon bench`: times a model on inputs from files or at random.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>

#include "loader/tool/command.hpp"
#include "tenon/base/convert.hpp"

namespace tenon::tool {
namespace {

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

void show_progress(double done) {
  constexpr int width = 40;
  const int filled = static_cast<int>(done * width);
  std::fprintf(stderr, "\r[%s%s] %3d %%", std::string(static_cast<std::size_t>(filled), '#').c_str(),
               std::string(static_cast<std::size_t>(width - filled), ' ').c_str(),
               static_cast<int>(done * 100));
}

// --- Integers that networks accept ---

constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

int64_t extent(const op::Info& info, int64_t axis) {
  if (!info.dims.ranked()) return unlimited;
  const int rank = info.dims.rank();
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || !info.dims[static_cast<int>(axis)].known()) return unlimited;
  return info.dims[static_cast<int>(axis)].value();
}

int64_t axis_of(const AnyOperator& op) {
  for (const op::AttributeInfo& a : op.attributes())
    if (a.name == "axis")
      if (const int64_t* const axis = std::get_if<int64_t>(&a.value)) return *axis;
  return 0;
}

// For each value of a graph, the number that its integers stay below where operators look something up by
// them: the extent of the axis that a Gather indexes with the value itself, or with its elements after they
// were moved.
std::vector<int64_t> index_limits(const Graph& g) {
  constexpr std::string_view lookups[] = {"Gather", "GatherElements", "GatherND"};
  constexpr std::string_view moves[] = {"Cast",  "Concat", "Expand",  "Flatten", "Identity",  "Reshape",
                                        "Slice", "Split",  "Squeeze", "Tile",    "Transpose", "Unsqueeze"};
  std::vector<int64_t> limits(g.values().size(), unlimited);
  auto limit = [&](ValueId v, int64_t below) {
    if (v < 0) return;
    int64_t& known = limits[static_cast<std::size_t>(v)];
    known = std::min(known, below);
  };
  for (auto node = g.nodes().rbegin(); node != g.nodes().rend(); ++node) {
    const Graph::Node& n = *node;
    const std::string_view name = n.op.spec().name;
    auto is_one_of = [&](const auto& names) { return std::ranges::find(names, name) != std::end(names); };
    if (!n.op.spec().domain.empty()) continue;
    if (is_one_of(lookups) && n.inputs.size() > 1 && n.inputs[0] >= 0) {
      const op::Info& table = g.entry(n.inputs[0]).info;
      if (name != "GatherND") limit(n.inputs[1], extent(table, axis_of(n.op)));
      else
        for (int k = 0; table.dims.ranked() && k < table.dims.rank(); ++k)
          limit(n.inputs[1], extent(table, k));
    } else if (is_one_of(moves)) {
      const std::size_t moved =
          name == "Concat" ? n.inputs.size() : std::min<std::size_t>(1, n.inputs.size());
      for (ValueId out : n.outputs)
        for (std::size_t k = 0; k < moved && out >= 0; ++k)
          limit(n.inputs[k], limits[static_cast<std::size_t>(out)]);
    }
    if (n.captures.empty()) continue;
    for (const op::AttributeInfo& a : n.op.attributes())
      detail::if_capturing(a.value, [&](const op::BodyRef&, const CapturingBody& body) {
        const std::vector<int64_t> inner = index_limits(body.graph());
        for (ValueId c : body.graph().captures())
          limit(body.graph().entry(c).outer, inner[static_cast<std::size_t>(c)]);
      });
  }
  return limits;
}

// Integers of 32 and 64 bits are indices, if the graph uses them so, or else masks, positions and counts, for
// which 0 and 1 are valid everywhere.
Value made_input(const Graph::ValueEntry& e, const Extents& extents, int64_t limit, uint64_t seed) {
  const DType element = e.info.type.element;
  if (e.info.type.kind != Kind::tensor || (element != DType::int64 && element != DType::int32))
    return random_value(e.info.type, extents, seed);
  const AnyTensor noise = random_value(DType::float64, extents, seed).tensor();
  const double below = limit == unlimited ? 2 : static_cast<double>(std::max<int64_t>(limit, 1));
  AnyTensor t = AnyTensor::uninitialized(element, extents);
  visit_dtype(element, [&]<class T>() {
    const auto out = t.out().as<T>();
    for (int64_t k = 0; k < out.size(); ++k)
      out[k] = convert<T>(static_cast<int64_t>(static_cast<const double*>(noise.data())[k] * below));
  });
  return t;
}

// From a file, or made up: with the extents of "random:1x3x224x224", or the declared ones for "".
Value input(const Graph::ValueEntry& e, const std::string& source, int64_t limit, uint64_t seed) {
  if (source.empty()) return made_input(e, default_extents(e.info.dims), limit, seed);
  if (source.starts_with("random:")) return made_input(e, parse_extents(source.substr(7)), limit, seed);
  if (source.ends_with(".npy")) return read_npy(source);
  if (source.ends_with(".pb")) return read_pb(source, e.info.type);
  throw UsageError{concat("input '", e.name, "': '", source, "' is no .npy, no .pb and no random:SHAPE")};
}

void save(const std::filesystem::path& folder, std::string_view kind, std::size_t k, const Value& value,
          std::string_view name) {
  write_pb(folder / concat(kind, "_", k, ".pb"), value, name);
}

}  // namespace

int bench(Arguments arguments) {
  std::string file, folder;
  SessionOptions options;
  int64_t iterations = 0;
  double seconds = 5;
  std::vector<std::pair<std::string, std::string>> inputs;
  auto add_input = [&](const std::string& word, std::string_view form, std::string_view prefix) {
    const std::string given = arguments.value(word);
    const std::size_t equals = given.find('=');
    if (equals == std::string::npos)
      throw UsageError{concat(word, " takes NAME=", form, ", not '", given, "'")};
    inputs.emplace_back(given.substr(0, equals), concat(prefix, given.substr(equals + 1)));
  };
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--threads") options.threads = static_cast<int>(arguments.integer(word, 1, 1024));
    else if (word == "--iters") iterations = arguments.integer(word, 1, 1'000'000'000);
    else if (word == "--seconds") seconds = arguments.number(word, 0, 3600);
    else if (word == "--input") add_input(word, "SOURCE", "");
    else if (word == "--shape") add_input(word, "1x3x224x224", "random:");
    else if (word == "--save") folder = arguments.value(word);
    else if (word.starts_with("--")) throw UsageError{concat("bench has no option ", word)};
    else if (file.empty()) file = word;
    else throw UsageError{concat("one model at a time, and '", word, "' is another")};
  }
  if (file.empty()) throw UsageError{"bench needs a model"};
  if (!folder.empty()) std::filesystem::create_directories(folder);

  const auto start = Clock::now();
  const Session session = load(file, options);
  const double load_ms = ms_since(start);
  const Graph& g = session.graph();
  const std::vector<int64_t> limits = index_limits(g);
  Feeds feeds;
  for (std::size_t k = 0; k < g.inputs().size(); ++k) {
    const ValueId id = g.inputs()[k];
    const Graph::ValueEntry& e = g.entry(id);
    const auto given = std::ranges::find(inputs, e.name, &std::pair<std::string, std::string>::first);
    if (given == inputs.end() && e.optional) continue;
    const std::string source = given == inputs.end() ? "" : given->second;
    if (given != inputs.end()) inputs.erase(given);
    feeds.emplace_back(e.name, input(e, source, limits[static_cast<std::size_t>(id)], k + 1));
    if (!folder.empty()) save(folder, "input", feeds.size() - 1, feeds.back().second, e.name);
  }
  if (!inputs.empty())
    throw Error(ErrorCode::invalid_argument, file, concat("the model has no input '", inputs[0].first, "'"));
  const auto first = Clock::now();
  Outputs out = session.run(feeds);
  const double first_ms = ms_since(first);
  if (!folder.empty())
    for (std::size_t k = 0; k < out.size(); ++k) save(folder, "output", k, out[k], out.names()[k]);
  Binding bound = session.bind(feeds, std::move(out));
  const auto warm = Clock::now();
  do bound.run();
  while (iterations == 0 && ms_since(warm) < seconds * 100);

  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  std::vector<double> times;
  const auto begin = Clock::now();
  auto shown = begin;
  while (iterations > 0 ? static_cast<int64_t>(times.size()) < iterations
                        : ms_since(begin) < seconds * 1000 || times.empty()) {
    const auto t = Clock::now();
    bound.run();
    times.push_back(ms_since(t));
    if (terminal && ms_since(shown) > 100) {
      shown = Clock::now();
      show_progress(iterations > 0 ? static_cast<double>(times.size()) / static_cast<double>(iterations)
                                   : std::min(1.0, ms_since(begin) / (seconds * 1000)));
    }
  }
  if (terminal) std::fprintf(stderr, "\r%60s\r", "");
  std::sort(times.begin(), times.end());
  const std::size_t n = times.size();
  const double median = n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
  const double p90 = times[std::min(n - 1, n * 9 / 10)];
  std::printf("%s: %zu runs, median %.3f ms, min %.3f ms\n", file.c_str(), n, median, times[0]);
  std::printf(
      "{\"median_ms\": %.6f, \"min_ms\": %.6f, \"p90_ms\": %.6f, \"load_ms\": %.3f, \"first_ms\": %.3f, "
      "\"rss_mb\": %.1f, "
      "\"iters\": %zu, \"threads\": %d, \"level\": \"%s\", \"version\": \"%s\"}\n",
      median, times[0], p90, load_ms, first_ms, peak_mb(), n, options.threads,
      std::string(simd::levels[static_cast<std::size_t>(simd::level())].name).c_str(), library_version);
  return 0;
}

}  // namespace tenon::tool
