// `tenon run`: runs a model once, with inputs from files or random inputs.
#include <optional>
#include <set>

#include "loader/display.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/profile.hpp"
#include "loader/tool/shapes.hpp"
#include "loader/tool/values.hpp"
#include "tenon/tensor/print.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

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

// Runs the session. An error of a run with extents that the tool chose says how to state them.
Outputs run_once(const Session& session, const Feeds& feeds, const RunOptions& options,
                 const std::string& open) {
  try {
    return session.run(feeds, options);
  } catch (const Error& e) {
    if (open.empty() || e.code() == ErrorCode::limit || e.code() == ErrorCode::cancelled) throw;
    throw Error(
        e.code(), e.where(),
        str_cat(
            e.message(),
            "\n  the model leaves extents open, which were 1 in this run; set them with --shape: ", open));
  }
}

}  // namespace

int run(Arguments arguments) {
  std::string model, output, trace, keep_all;
  std::vector<std::string> kept;
  std::vector<InputSource> inputs;
  ShapeSet shapes;
  SessionOptions options;
  RunOptions run_options;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--input") inputs.push_back(parse_input(word, arguments.value(word)));
    else if (word == "--shape") add_shapes(shapes, arguments.value(word));
    else if (word == "--keep") {
      kept.push_back(arguments.value(word));
      // After the model, all words up to the next option are names.
      while (!model.empty() && !arguments.empty() && !arguments.next().starts_with("--"))
        kept.push_back(arguments.take());
    } else if (word == "--keep-all") keep_all = arguments.value(word);
    else if (word == "--output") output = arguments.value(word);
    else if (word == "--threads") options.threads = static_cast<int>(arguments.integer(word, 1, 1024));
    else if (word == "--explain") options.explain = true;
    else if (word == "--no-passes") options.passes.emplace();
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
  const Feeds feeds = make_feeds(g, inputs, shapes, model);
  std::size_t shown = g.outputs().size();
  if (!kept.empty() || !keep_all.empty()) shown = keep(g, kept, !keep_all.empty(), run_options);
  Outputs out = run_once(session, feeds, run_options, open_extents(g, inputs, shapes));
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
  if (!trace.empty()) profile_runs(session, feeds, run_options, trace);
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
