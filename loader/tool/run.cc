// `tenon run`: a model once, with inputs from files or at random.
#include <algorithm>

#include "loader/file.hpp"
#include "loader/tool/command.hpp"
#include "tenon/tensor/print.hpp"

namespace tenon::tool {
namespace {

struct Input {
  std::string name, source;
};

Value read_input(const Graph::ValueEntry& e, const std::string& source, uint64_t seed) {
  if (source.starts_with("random:")) return random_value(e.info.type, parse_extents(source.substr(7)), seed);
  if (source.ends_with(".npy")) return read_npy(source);
  if (source.ends_with(".pb")) return read_pb(source, e.info.type);
  throw UsageError{concat("input '", e.name, "': '", source, "' is no .npy, no .pb and no random:SHAPE")};
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

void report(const Profile& profile, const std::string& file) {
  std::string json = "[";
  for (const Profile::Entry& e : profile.entries) {
    char times[80];
    std::snprintf(times, sizeof times, "\"ts\":%.3f,\"dur\":%.3f", e.start_us, e.duration_us);
    json += concat(json.size() > 1 ? ",\n" : "\n", "{\"name\":", json_string(e.node),
                   ",\"cat\":", json_string(e.op), ",\"ph\":\"X\",\"pid\":1,\"tid\":1,", times, "}");
  }
  loader::write_file(file, json + "\n]\n");
  std::vector<Profile::Entry> slowest = profile.entries;
  std::sort(slowest.begin(), slowest.end(),
            [](const auto& a, const auto& b) { return a.duration_us > b.duration_us; });
  double total = 0;
  for (const auto& e : slowest) total += e.duration_us;
  std::printf("%10s %6s  %-24s %s\n", "us", "%", "operator", "node");
  for (const auto& e : slowest)
    std::printf("%10.1f %6.2f  %-24s %s\n", e.duration_us, 100 * e.duration_us / total, e.op.c_str(),
                e.node.c_str());
}

// Output names may hold any character; files' names may not.
std::string file_name(std::string_view output) {
  std::string name(output);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-' && c != '_') c = '_';
  if (name.empty() || name.front() == '.') name.insert(name.begin(), '_');
  return name;
}

bool numpy_has(const Value& v) {
  if (!v.is_tensor()) return false;
  const DType d = v.tensor().dtype();
  return d != DType::string && !is_packed(d) && d != DType::bfloat16 && !(is_float(d) && bits(d) == 8);
}

}  // namespace

int run(Arguments arguments) {
  std::string model, output, trace;
  std::vector<Input> inputs;
  SessionOptions options;
  RunOptions run_options;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--input") {
      const std::string given = arguments.value(word);
      const std::size_t equals = given.find('=');
      if (equals == std::string::npos)
        throw UsageError{concat("--input takes NAME=SOURCE, not '", given, "'")};
      inputs.push_back({given.substr(0, equals), given.substr(equals + 1)});
    } else if (word == "--output") output = arguments.value(word);
    else if (word == "--threads") options.threads = static_cast<int>(arguments.integer(word, 1, 1024));
    else if (word == "--explain") options.explain = true;
    else if (word == "--profile") trace = arguments.value(word);
    else if (word == "--time-limit")
      run_options.time_limit =
          std::chrono::milliseconds(static_cast<int64_t>(1000 * arguments.number(word, 0, 1'000'000'000)));
    else if (word == "--max-iterations") run_options.max_iterations = arguments.integer(word, 0, no_bound);
    else if (word == "--max-bytes") run_options.max_bytes = arguments.integer(word, 0, no_bound);
    else if (word.starts_with("--")) throw UsageError{concat("run has no option ", word)};
    else if (model.empty()) model = word;
    else throw UsageError{concat("one model at a time, and '", word, "' is another")};
  }
  if (model.empty()) throw UsageError{"run needs a model"};
  const Session session = load(model, options);
  for (const PassReport& r : session.reports()) std::printf("%s\n", to_string(r).c_str());
  const Graph& g = session.graph();
  Feeds feeds;
  for (std::size_t k = 0; k < g.inputs().size(); ++k) {
    const Graph::ValueEntry& e = g.entry(g.inputs()[k]);
    const auto given =
        std::find_if(inputs.begin(), inputs.end(), [&](const Input& i) { return i.name == e.name; });
    if (given != inputs.end()) {
      feeds.emplace_back(e.name, read_input(e, given->source, k + 1));
      inputs.erase(given);
    } else if (!e.optional) {
      feeds.emplace_back(e.name, random_value(e.info.type, default_extents(e.info.dims), k + 1));
    }
  }
  if (!inputs.empty())
    throw Error(ErrorCode::invalid_argument, model, concat("the model has no input '", inputs[0].name, "'"));
  Profile profile;
  if (!trace.empty()) run_options.profile = &profile;
  Outputs out = session.run(feeds, run_options);
  if (!output.empty()) std::filesystem::create_directories(output);
  for (std::size_t k = 0; k < out.size(); ++k) {
    std::printf("%s: %s\n", out.names()[k].c_str(), to_string(out[k]).c_str());
    if (output.empty()) continue;
    const auto stem = std::filesystem::path(output) / file_name(out.names()[k]);
    if (numpy_has(out[k])) write_npy(stem.string() + ".npy", out[k]);
    else write_pb(stem.string() + ".pb", out[k], out.names()[k]);
  }
  if (!trace.empty()) report(profile, trace);
  return 0;
}

}  // namespace tenon::tool
