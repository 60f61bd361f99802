// `tenon run`: runs a model once, with inputs from files or random inputs.
#include <algorithm>
#include <optional>
#include <set>

#include "loader/display.hpp"
#include "loader/format/file.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/json.hpp"
#include "loader/tool/values.hpp"
#include "tenon/base/convert.hpp"
#include "tenon/tensor/print.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

void report(const Profile& profile, const std::string& file) {
  std::string json = "[";
  for (const Profile::Entry& e : profile.entries) {
    const auto thousandths = [](double us) {
      return tenon::detail::format_digits(us, std::chars_format::fixed, 3);
    };
    json += str_cat(json.size() > 1 ? ",\n" : "\n", "{\"name\":", json_string(e.node),
                    ",\"cat\":", json_string(e.op),
                    ",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":", thousandths(e.start_us),
                    ",\"dur\":", thousandths(e.duration_us), "}");
  }
  loader::write_file(file, json + "\n]\n");
  std::vector<Profile::Entry> slowest = profile.entries;
  std::sort(slowest.begin(), slowest.end(),
            [](const auto& a, const auto& b) { return a.duration_us > b.duration_us; });
  double total = 0;
  for (const auto& e : slowest) total += e.duration_us;
  std::printf("%10s %6s  %-24s %s\n", "us", "%", "operator", "node");
  for (const auto& e : slowest)
    std::printf(
        "%10s %6s  %-24s %s\n",
        tenon::detail::format_digits(e.duration_us, std::chars_format::fixed, 1).c_str(),
        tenon::detail::format_digits(100 * e.duration_us / total, std::chars_format::fixed, 2).c_str(),
        e.op.c_str(), e.node.c_str());
}

// Requests the graph's outputs, the named values, and if `all`, all other inputs and results of nodes.
// Returns the number of values to show.
std::size_t keep(const Graph& g, const std::vector<std::string>& names, bool all, RunOptions& options) {
  std::set<std::string_view> asked;
  const auto ask = [&](const std::string& name) {
    if (asked.insert(name).second) options.outputs.push_back(name);
  };
  for (const auto& [name, id] : g.outputs()) ask(name);
  for (const std::string& name : names) {
    if (g.find(name) < 0 && !asked.contains(name))
      throw Error(ErrorCode::invalid_argument, "--keep",
                  str_cat("the main graph has no value '", name, "'; values of bodies cannot be kept"));
    ask(name);
  }
  const std::size_t shown = options.outputs.size();
  for (const Graph::ValueEntry& e : g.values())
    if (all && !e.name.empty() && (e.source == Graph::Source::node || e.source == Graph::Source::input))
      ask(e.name);
  return shown;
}

bool has_bodies(const Graph& g) {
  bool found = false;
  for (const Graph::Node& n : g.nodes())
    for (const op::AttributeInfo& a : n.op.attributes())
      tenon::detail::if_capturing(a.value, [&](const op::BodyRef&, const CapturingBody&) { found = true; });
  return found;
}

}  // namespace

int run(Arguments arguments) {
  std::string model, output, trace, keep_all;
  std::vector<std::string> kept;
  std::vector<InputSource> inputs;
  SessionOptions options;
  RunOptions run_options;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--input") inputs.push_back(parse_input(word, arguments.value(word)));
    else if (word == "--keep") {
      kept.push_back(arguments.value(word));
      // After the model, all words up to the next option are names.
      while (!model.empty() && !arguments.empty() && !arguments.next().starts_with("--"))
        kept.push_back(arguments.take());
    } else if (word == "--keep-all") keep_all = arguments.value(word);
    else if (word == "--output") output = arguments.value(word);
    else if (word == "--threads") options.threads = static_cast<int>(arguments.integer(word, 1, 1024));
    else if (word == "--explain") options.explain = true;
    else if (word == "--profile") trace = arguments.value(word);
    else if (word == "--time-limit")
      run_options.time_limit =
          std::chrono::milliseconds(static_cast<int64_t>(1000 * arguments.number(word, 0, 1'000'000'000)));
    else if (word == "--max-iterations") run_options.max_iterations = arguments.integer(word, 0, no_bound);
    else if (word == "--max-bytes") run_options.max_bytes = arguments.integer(word, 0, no_bound);
    else if (word.starts_with("--")) throw UsageError{str_cat("run has no option ", word)};
    else if (model.empty()) model = word;
    else throw UsageError{str_cat("one model at a time, and '", word, "' is another")};
  }
  if (model.empty()) throw UsageError{"run needs a model"};
  const Session session = load(model, options, {.registry = arguments.registry()});
  for (const PassReport& r : session.reports()) std::printf("%s\n", to_string(r).c_str());
  const Graph& g = session.graph();
  const Feeds feeds = make_feeds(g, inputs, model);
  Profile profile;
  if (!trace.empty()) run_options.profile = &profile;
  std::size_t shown = g.outputs().size();
  if (!kept.empty() || !keep_all.empty()) shown = keep(g, kept, !keep_all.empty(), run_options);
  Outputs out = session.run(feeds, run_options);
  std::optional<ValueFiles> files, all_files;
  if (!output.empty()) files.emplace(output);
  if (!keep_all.empty()) all_files.emplace(keep_all);
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (k < shown) {
      std::printf("%s: %s\n", loader::visible(out.names()[k]).c_str(), to_string(out[k]).c_str());
      if (files) files->write(out.names()[k], out[k]);
    }
    if (all_files) all_files->write(out.names()[k], out[k]);
  }
  if (all_files) {
    all_files->write_table();
    std::printf("%zu values are in %s, listed in values.tsv\n", out.size(), keep_all.c_str());
    if (has_bodies(g)) std::printf("values of bodies are not kept: each run of a body has its own\n");
  }
  if (!trace.empty()) report(profile, trace);
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
