// `tenon test`: cases in the layout of ONNX's backend tests: model.onnx and
// test_data_set_*/{input,output}_*.pb.
#include <algorithm>
#include <charconv>
#include <fstream>

#include "loader/tool/command.hpp"
#include "loader/tool/values.hpp"
#include "tenon/base/platform/decimal.hpp"
#include "tenon/tensor/difference.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

namespace fs = std::filesystem;

constexpr Tolerance usual{.rtol = 1e-3, .atol = 1e-7};  // the tolerance of ONNX's own runner

// The tolerance in a flat JSON object; `otherwise` supplies the values that the object lacks.
Tolerance read_tolerance(std::string_view json, Tolerance otherwise) {
  const auto read = [&](std::string_view key, double& number) {
    std::size_t at = json.find(key);
    if (at == std::string_view::npos) return;
    at = json.find_first_not_of(" \t\r\n:", at + key.size());
    const char* const end = json.data() + json.size();
    if (at == std::string_view::npos ||
        tenon::detail::read_decimal_number(json.data() + at, end, number).ec != std::errc())
      throw Error(ErrorCode::invalid_argument, "data.json", str_cat(key, " is no number"));
  };
  read("\"rtol\"", otherwise.rtol);
  read("\"atol\"", otherwise.atol);
  return otherwise;
}

// The tolerances in a case's data.json. The first is for outputs that "outputs" does not list.
std::vector<Tolerance> read_tolerances(const fs::path& folder) {
  std::ifstream in(folder / "data.json");
  std::string json{std::istreambuf_iterator<char>(in), {}}, list;
  if (const std::size_t begin = json.find("\"outputs\""); begin != std::string::npos) {
    list = json.substr(begin, json.find(']', begin) - begin);
    json.erase(begin, list.size());
  }
  std::vector<Tolerance> tolerances{read_tolerance(json, usual)};
  for (std::size_t at = 0; (at = list.find('{', at)) != std::string::npos; ++at)
    tolerances.push_back(read_tolerance(list.substr(at, list.find('}', at) - at), tolerances[0]));
  return tolerances;
}

// Throws, or returns a description of the failure.
std::string run_case(const fs::path& folder, const SessionOptions& options, const Registry* registry) {
  const Session session = load(folder / "model.onnx", options,
                               {.registry = registry, .declared_extents = false, .declared_outputs = false});
  const std::vector<Tolerance> tolerances = read_tolerances(folder);
  std::vector<fs::path> sets;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && loader::path_text(entry.path().filename()).starts_with("test_data_set_"))
      sets.push_back(entry.path());
  std::sort(sets.begin(), sets.end());
  for (const fs::path& set : sets) {
    const std::vector<fs::path> out = numbered(set, "output");
    const Feeds feeds = read_data_set(session.graph(), set);
    Outputs results = session.run(feeds);
    if (out.size() > results.size()) return str_cat(results.size(), " outputs instead of ", out.size());
    for (std::size_t k = 0; k < out.size(); ++k) {
      const Type type = results[k].type();
      const std::string d = difference(results[k], as_declared(read_pb(out[k], type), type),
                                       tolerances[k + 1 < tolerances.size() ? k + 1 : 0]);
      if (!d.empty()) return str_cat("output '", results.names()[k], "': ", d);
    }
  }
  return "";
}

void find_cases(const fs::path& folder, std::vector<fs::path>& cases) {
  if (!fs::is_directory(folder)) throw Error(ErrorCode::io, loader::path_text(folder), "no such folder");
  if (fs::exists(folder / "model.onnx")) {
    cases.push_back(folder);
    return;
  }
  std::vector<fs::path> below;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) below.push_back(entry.path());
  std::sort(below.begin(), below.end());
  for (const fs::path& p : below) find_cases(p, cases);
}

}  // namespace

int test(Arguments arguments) {
  std::vector<fs::path> cases;
  SessionOptions options{.threads = 1};
  bool any = false;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--threads") options.threads = static_cast<int>(arguments.integer(word, 1, 1024));
    else if (word == "--no-passes") options.passes.emplace();
    else if (word.starts_with("--")) throw UsageError{str_cat("test has no option ", word)};
    else find_cases(loader::path_named(word), cases), any = true;
  }
  if (!any) throw UsageError{"test needs a folder"};
  int passed = 0, failed = 0;
  for (const fs::path& c : cases) {
    std::string reason;
    try {
      reason = run_case(c, options, arguments.registry());
    } catch (const std::exception& e) {
      reason = e.what();
    }
    if (reason.empty()) {
      ++passed;
      continue;
    }
    ++failed;
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    std::printf("FAIL %s: %s\n", loader::path_text(c).c_str(), reason.c_str());
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace tenon::TENON_ABI::tool
