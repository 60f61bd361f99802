// `tenon compare`: where two runs diverge.
#include "loader/compare.hpp"

#include <fstream>

#include "loader/display.hpp"
#include "loader/os.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/shapes.hpp"
#include "loader/tool/values.hpp"
#include "tenon/base/convert.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

namespace fs = std::filesystem;
using loader::CompareOptions;
using loader::ValueDifference;
using loader::visible;

struct Request {
  std::string first, second;
  std::vector<std::string> levels;
  bool passes = false;
  fs::path folder;
  std::vector<InputSource> inputs;
  ShapeSet shapes;
  SessionOptions session;
  LoadOptions load;
  CompareOptions compare;
};

Session open(const std::string& model, const SessionOptions& options, const Request& r) {
  return load(loader::path_named(model), options, r.load);
}

Feeds feeds_for(const Graph& g, const Request& r) {
  return r.folder.empty() ? make_feeds(g, r.inputs, r.shapes, r.first) : read_inputs(g, r.folder, r.first);
}

// The first model's inputs as the second's: by name, else by position among the inputs that have no value of
// their own.
Feeds feeds_for_second(const Graph& first, const Feeds& feeds, const Graph& second, const Request& r) {
  const auto required = [](const Graph& g) {
    std::vector<std::string_view> names;
    for (ValueId v : g.inputs())
      if (!g.entry(v).optional) names.push_back(g.entry(v).name);
    return names;
  };
  const std::vector<std::string_view> ours = required(first), theirs = required(second);
  Feeds result;
  for (ValueId v : second.inputs()) {
    const Graph::ValueEntry& e = second.entry(v);
    auto feed = std::ranges::find(feeds, std::string_view(e.name), &Feeds::value_type::first);
    if (feed == feeds.end() && !e.optional && ours.size() == theirs.size()) {
      const auto k = std::ranges::find(theirs, std::string_view(e.name)) - theirs.begin();
      feed = std::ranges::find(feeds, ours[static_cast<std::size_t>(k)], &Feeds::value_type::first);
    }
    if (feed != feeds.end()) result.emplace_back(e.name, feed->second);
    else if (!e.optional)
      throw Error(ErrorCode::invalid_argument, r.second,
                  str_cat("no input of the first model is for input '", e.name, "'"));
  }
  return result;
}

std::vector<ValueDifference> compare_models(const Request& r) {
  const Session first = open(r.first, r.session, r), second = open(r.second, r.session, r);
  const Feeds feeds = feeds_for(first.graph(), r);
  return loader::compare(first, second, feeds, feeds_for_second(first.graph(), feeds, second.graph(), r),
                         r.compare);
}

std::vector<ValueDifference> compare_passes(const Request& r) {
  SessionOptions none = r.session;
  none.passes.emplace();
  const Session first = open(r.first, none, r), second = open(r.first, r.session, r);
  const Feeds feeds = feeds_for(first.graph(), r);
  CompareOptions options = r.compare;
  options.computed_only = true;
  return loader::compare(first, second, feeds, feeds, options);
}

// --- Two levels: a process has one, so each run takes a child process, which stores its values in files ---

struct TemporaryFolder {
  fs::path path = loader::os::make_temporary_folder("tenon-compare-");
  TemporaryFolder() = default;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

fs::path value_file(const fs::path& folder, std::size_t k) { return folder / str_cat(k, ".pb"); }

// Writes the values that the program computes for the outputs, by number; a line of the list has the number
// among all values of the graph, and the type. Names are left out, because they may contain any characters.
void write_run(const Request& r, const fs::path& folder) {
  const Session session = open(r.first, r.session, r);
  CompareOptions options = r.compare;
  options.computed_only = true;
  const std::vector<std::string> names = loader::common_values(session, session, options);
  Outputs values = session.run(feeds_for(session.graph(), r), {.outputs = names});
  std::ofstream list(folder / "list", std::ios::binary);
  const std::vector<std::string> makers = loader::makers_of(session.graph(), names);
  for (std::size_t k = 0; k < names.size(); ++k) {
    const Type type = values[k].type();
    write_pb(value_file(folder, k), values[k]);
    list << static_cast<int>(type.kind) << ' ' << static_cast<int>(type.element) << ' '
         << static_cast<int>(type.key) << ' ' << names[k].size() << ' ' << makers[k].size() << '\n'
         << names[k] << makers[k] << '\n';
  }
  if (!list.flush()) throw Error(ErrorCode::io, loader::path_text(folder), "cannot be written");
}

void run_in_child(const Request& r, const std::string& level, const fs::path& folder) {
  const bool done = loader::os::run_in_copy([&] {
    try {
      loader::os::set_variable("TENON_ARCH", level);
      simd::check_request();
      write_run(r, folder);
      return 0;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "tenon: %s\n", visible(e.what()).c_str());
      return 1;
    }
  });
  if (!done) throw Error(ErrorCode::invalid_argument, str_cat("level ", level), "the run failed");
}

struct Recorded {
  std::string name, node;
  Value value;
};
std::vector<Recorded> read_run(const fs::path& folder) {
  std::ifstream list(folder / "list", std::ios::binary);
  std::vector<Recorded> values;
  int kind = 0, element = 0, key = 0;
  std::size_t name = 0, node = 0;
  while (list >> kind >> element >> key >> name >> node) {
    Recorded one{std::string(name, '\0'), std::string(node, '\0'), {}};
    list.get();
    list.read(one.name.data(), static_cast<std::streamsize>(name));
    list.read(one.node.data(), static_cast<std::streamsize>(node));
    one.value = read_pb(value_file(folder, values.size()),
                        Type(static_cast<Kind>(kind), static_cast<DType>(element), static_cast<DType>(key)));
    values.push_back(std::move(one));
  }
  return values;
}

std::vector<ValueDifference> compare_levels(const Request& r) {
  const TemporaryFolder folder;
  for (std::size_t k = 0; k < 2; ++k) {
    fs::create_directory(folder.path / std::to_string(k));
    run_in_child(r, r.levels[k], folder.path / std::to_string(k));
  }
  const std::vector<Recorded> first = read_run(folder.path / "0"), second = read_run(folder.path / "1");
  std::map<std::string_view, const Value*> by_name;
  for (const Recorded& s : second) by_name.emplace(s.name, &s.value);
  std::vector<ValueDifference> differences;
  for (const Recorded& f : first)
    if (const auto it = by_name.find(f.name); it != by_name.end()) {
      differences.push_back(loader::compare(f.value, *it->second, r.compare.tolerance));
      differences.back().name = f.name;
      differences.back().node = f.node;
    }
  return differences;
}

// --- The report ---

int print(const std::vector<ValueDifference>& all) {
  const auto first = std::ranges::find_if(all, [](const ValueDifference& d) { return !d.within(); });
  const auto digits = [](double x, int count) {
    return tenon::detail::format_digits(x, std::chars_format::general, count);
  };
  if (first != all.end()) {
    std::printf("first difference: '%s', %s\n", visible(first->name).c_str(), visible(first->type).c_str());
    if (!first->node.empty()) std::printf("  made by %s\n", visible(first->node).c_str());
    std::printf("  %s\n", visible(first->reason).c_str());
    std::printf("  greatest difference: absolute %s, relative %s, %lld ulp\n",
                digits(first->absolute, 6).c_str(), digits(first->relative, 6).c_str(),
                static_cast<long long>(first->ulp));
  }
  std::printf("  %10s %10s %12s  value\n", "absolute", "relative", "ulp");
  std::size_t wrong = 0;
  for (const ValueDifference& d : all) {
    wrong += !d.within();
    std::printf("%c %10s %10s %12lld  %s\n", d.within() ? ' ' : '!', digits(d.absolute, 3).c_str(),
                digits(d.relative, 3).c_str(), static_cast<long long>(d.ulp), visible(d.name).c_str());
  }
  std::printf("%zu values compared, %zu differ\n", all.size(), wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int compare(Arguments arguments) {
  Request r;
  r.load.registry = arguments.registry();
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--inputs") r.folder = arguments.file(word);
    else if (word == "--input") r.inputs.push_back(parse_input(word, arguments.value(word)));
    else if (word == "--shape") add_shapes(r.shapes, arguments.value(word));
    else if (word == "--rtol") r.compare.tolerance.rtol = arguments.number(word, 0, 1'000'000'000);
    else if (word == "--atol") r.compare.tolerance.atol = arguments.number(word, 0, 1'000'000'000);
    else if (word == "--threads") r.session.threads = static_cast<int>(arguments.integer(word, 1, 1024));
    else if (word == "--passes") r.passes = true;
    else if (word == "--levels") r.levels = {arguments.value(word), arguments.value(word)};
    else if (word.starts_with("--")) throw UsageError{str_cat("compare has no option ", word)};
    else if (r.first.empty()) r.first = word;
    else if (r.second.empty()) r.second = word;
    else throw UsageError{str_cat("two models, and '", word, "' is another")};
  }
  if (r.first.empty()) throw UsageError{"compare needs a model"};
  if ((r.second.empty() ? 0 : 1) + (r.passes ? 1 : 0) + (r.levels.empty() ? 0 : 1) != 1)
    throw UsageError{"compare needs a second model, or --passes, or --levels and two of them"};
  if (!r.folder.empty() && !r.inputs.empty()) throw UsageError{"compare takes --inputs or --input"};
  return print(r.passes ? compare_passes(r) : r.levels.empty() ? compare_models(r) : compare_levels(r));
}

}  // namespace tenon::TENON_ABI::tool
