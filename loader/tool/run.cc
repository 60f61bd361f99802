// `tenon run`: runs a model once, with inputs from files or random inputs.
#include <set>

#include "loader/tool/profile.hpp"
#include "loader/tool/run_request.hpp"

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

}  // namespace

int run(Arguments arguments) {
  std::string trace;
  std::filesystem::path keep_all;
  std::vector<std::string> kept;
  RunRequest request;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--keep") {
      kept.push_back(arguments.value(word));
      // After the model, all words up to the next option are names.
      while (!request.model.empty() && !arguments.empty() && !arguments.next().starts_with("--"))
        kept.push_back(arguments.take());
    } else if (word == "--keep-all") keep_all = arguments.file(word);
    else if (word == "--explain") request.session.explain = true;
    else if (word == "--profile") trace = arguments.value(word);
    else if (!request.takes(word, arguments)) throw UsageError{str_cat("run has no option ", word)};
  }
  if (request.model.empty()) throw UsageError{"run needs a model"};
  const Session session =
      load(loader::path_named(request.model), request.session, {.registry = arguments.registry()});
  for (const PassReport& r : session.reports()) std::printf("%s\n", to_string(r).c_str());
  const Graph& g = session.graph();
  const Feeds feeds = make_feeds(g, request.inputs, request.shapes, request.model);
  std::size_t shown = g.outputs().size();
  if (!kept.empty() || !keep_all.empty()) shown = keep(g, kept, !keep_all.empty(), request.run);
  const Outputs out = request.run_once(g, feeds, [&] { return session.run(feeds, request.run); });
  request.show(out, shown);
  if (!keep_all.empty()) {
    ValueFiles files(keep_all);
    for (std::size_t k = 0; k < out.size(); ++k) files.write(out.names()[k], out[k]);
    files.write_table();
    std::printf("%zu values are in %s, listed in values.tsv\n", out.size(),
                loader::path_text(keep_all).c_str());
    if (has_bodies(g)) std::printf("values of bodies are not kept: each run of a body has its own\n");
  }
  if (!trace.empty()) profile_runs(session, feeds, request.run, trace);
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
