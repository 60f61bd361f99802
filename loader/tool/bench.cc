// `tenon bench`: times a model on inputs from files or at random.
#include <algorithm>
#include <chrono>

#include "loader/os.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/profile.hpp"
#include "loader/tool/shapes.hpp"
#include "loader/tool/values.hpp"
#include "tenon/base/convert.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point t) {
  return std::chrono::duration<double, std::milli>(Clock::now() - t).count();
}

void show_progress(double done) {
  constexpr int width = 40;
  const int filled = static_cast<int>(done * width);
  std::fprintf(stderr, "\r[%s%s] %3d %%", std::string(static_cast<std::size_t>(filled), '#').c_str(),
               std::string(static_cast<std::size_t>(width - filled), ' ').c_str(),
               static_cast<int>(done * 100));
}

void save(const std::filesystem::path& folder, std::string_view kind, std::size_t k, const Value& value,
          std::string_view name) {
  write_pb(folder / str_cat(kind, "_", k, ".pb"), value, name);
}

// The milliseconds of each of `iterations` runs, or if that is 0, of the runs within `seconds`, after a
// warm-up of a tenth of that time.
std::vector<double> run_times(Binding& bound, int64_t iterations, double seconds) {
  const auto warm = Clock::now();
  do bound.run();
  while (iterations == 0 && ms_since(warm) < seconds * 100);

  const bool terminal = loader::os::is_terminal();
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
  return times;
}

}  // namespace

int bench(Arguments arguments) {
  std::string file;
  std::filesystem::path folder;
  SessionOptions options;
  int64_t iterations = 0;
  double seconds = 5;
  bool profile = false;
  std::vector<InputSource> inputs;
  ShapeSet shapes;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--threads") options.threads = static_cast<int>(arguments.integer(word, 1, 1024));
    else if (word == "--iters") iterations = arguments.integer(word, 1, 1'000'000'000);
    else if (word == "--seconds") seconds = arguments.number(word, 0, 3600);
    else if (word == "--input") inputs.push_back(parse_input(word, arguments.value(word)));
    else if (word == "--shape") add_shapes(shapes, arguments.value(word));
    else if (word == "--save") folder = arguments.file(word);
    else if (word == "--no-passes") options.passes.emplace();
    else if (word == "--profile") profile = true;
    else if (word.starts_with("--")) throw UsageError{str_cat("bench has no option ", word)};
    else if (file.empty()) file = word;
    else throw UsageError{str_cat("one model at a time, and '", word, "' is another")};
  }
  if (file.empty()) throw UsageError{"bench needs a model"};
  if (!folder.empty()) std::filesystem::create_directories(folder);

  const auto start = Clock::now();
  const Session session = load(loader::path_named(file), options, {.registry = arguments.registry()});
  const double load_ms = ms_since(start);
  const Feeds feeds = make_feeds(session.graph(), inputs, shapes, file);
  for (std::size_t k = 0; !folder.empty() && k < feeds.size(); ++k)
    save(folder, "input", k, feeds[k].second, feeds[k].first);
  const auto first = Clock::now();
  Outputs out = session.run(feeds);
  const double first_ms = ms_since(first);
  if (!folder.empty())
    for (std::size_t k = 0; k < out.size(); ++k) save(folder, "output", k, out[k], out.names()[k]);
  Binding bound = session.bind(feeds, std::move(out));
  std::vector<double> times = run_times(bound, iterations, seconds);
  if (profile) profile_runs(session, feeds, {}, {});
  std::sort(times.begin(), times.end());
  const std::size_t n = times.size();
  const double median = n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
  const double p90 = times[std::min(n - 1, n * 9 / 10)];
  const auto digits = [](double x, int decimals) {
    return tenon::detail::format_digits(x, std::chars_format::fixed, decimals);
  };
  std::printf("%s: %zu runs, median %s ms, min %s ms\n", file.c_str(), n, digits(median, 3).c_str(),
              digits(times[0], 3).c_str());
  std::printf(
      "{\"median_ms\": %s, \"min_ms\": %s, \"p90_ms\": %s, \"load_ms\": %s, \"first_ms\": %s, "
      "\"rss_mb\": %s, "
      "\"iters\": %zu, \"threads\": %d, \"level\": \"%s\", \"version\": \"%s\"}\n",
      digits(median, 6).c_str(), digits(times[0], 6).c_str(), digits(p90, 6).c_str(),
      digits(load_ms, 3).c_str(), digits(first_ms, 3).c_str(),
      digits(static_cast<double>(loader::os::peak_memory()) / (1 << 20), 1).c_str(), n, options.threads,
      std::string(simd::levels[static_cast<std::size_t>(simd::level())].name).c_str(), library_version);
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
