// Compiles the models of cases in the layout of ONNX's backend tests to headers, about a hundred a
// translation unit, and compares what they compute with a session's results, bit by bit:
//   compile_cases FOLDER CXX CASES_A_UNIT CASE…
// FOLDER receives the units. CXX is a compiler with its flags. Prints the cases that differ, how many nodes'
// models were refused for which reasons, and ends with 1 where any differs, or a unit does not compile.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "loader/compile/compile.hpp"
#include "loader/tool/embedded_headers.hpp"
#include "tenon/loader.hpp"

namespace fs = std::filesystem;
using namespace tenon;

namespace {

struct Case {
  std::string path;
  ModelPart part;
  std::string input, expected;   // bytes of all inputs, of all outputs
  std::vector<int64_t> in, out;  // bytes of each
};

std::string bytes_of(const Value& v) {
  return {static_cast<const char*>(v.tensor().data()), static_cast<std::size_t>(v.tensor().bytes())};
}

// The case with its model compiled, and a session's results. Error where the model is refused.
Case read_case(const std::string& path, std::size_t number) {
  Case c{path, {}, {}, {}, {}, {}};
  const fs::path file = fs::path(path) / "model.onnx";
  const Session session = load(file);
  const Graph& g = session.graph();
  CompileOptions options{.name = str_cat("c", number)};
  Feeds feeds;
  ShapeSet shapes;
  std::vector<ValueId> ids;
  for (const ValueId v : g.inputs())
    if (!g.entry(v).optional) ids.push_back(v);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const Graph::ValueEntry& e = g.entry(ids[k]);
    const fs::path data = fs::path(path) / "test_data_set_0" / str_cat("input_", k, ".pb");
    if (!fs::exists(data)) break;
    Value& v = feeds.emplace_back(e.name, read_pb(data, e.info.type)).second;
    // Files have the bits of bfloat16 as uint16.
    if (e.info.type == Type(DType::bfloat16) && v.is_tensor() && v.tensor().dtype() == DType::uint16)
      v = AnyTensor(DType::bfloat16, v.tensor().extents(), v.tensor().storage());
    if (!feeds.back().second.is_tensor())
      throw Error(ErrorCode::not_supported, "compile", "an input is no tensor");
    if (feeds.back().second.tensor().dtype() == DType::string)
      throw Error(ErrorCode::not_supported, "compile", "an input has strings");
    shapes.emplace_back(e.name, feeds.back().second.tensor().extents());
    c.input += bytes_of(feeds.back().second);
    c.in.push_back(feeds.back().second.tensor().bytes());
  }
  options.shapes.push_back(shapes);
  c.part = compile_part(load_model(file), options);
  Outputs results = session.run(feeds);
  for (std::size_t o = 0; o < results.size(); ++o) {
    c.expected += bytes_of(results[o]);
    c.out.push_back(results[o].tensor().bytes());
  }
  return c;
}

std::string unit_text(const std::vector<Case>& cases) {
  std::string text = "#include <cstdio>\n#include <cstdlib>\n\nnamespace cases {\n";
  text += "template <class V>\nstruct Of;\ntemplate <class T, std::int64_t... E>\n";
  text +=
      "struct Of<TensorView<T, Shape<E...>>> {\n  static auto at(void* p) { return tenon::op::at<T, "
      "E...>(p); }\n};\n";
  text +=
      "inline void take(void* p, std::size_t n) {\n  if (std::fread(p, 1, n, stdin) != n) "
      "std::_Exit(3);\n}\n";
  std::string list;
  for (const Case& c : cases) {
    // Not all of them at once: hundreds of cases may have gigabytes.
    text += str_cat("static void test_", c.part.name, "() {\n  auto* const memory = new ", c.part.name,
                    "::Memory;\n");
    std::string call, after;
    for (std::size_t k = 0; k < c.part.views.size(); ++k) {
      const bool input = k < c.in.size();
      const int64_t bytes = input ? c.in[k] : c.out[k - c.in.size()];
      text += str_cat("  void* const v", k, " = std::aligned_alloc(64, ", (bytes / 64 + 1) * 64, ");\n");
      if (input) text += str_cat("  take(v", k, ", ", bytes, ");\n");
      else after += str_cat("  std::fwrite(v", k, ", 1, ", bytes, ", stdout);\n");
      after += str_cat("  std::free(v", k, ");\n");
      call += str_cat("Of<", c.part.views[k], ">::at(v", k, "), ");
    }
    text += str_cat("  ", c.part.name, "::run(", call, "*memory);\n", after, "  delete memory;\n}\n");
    list += str_cat("test_", c.part.name, ", ");
  }
  text += str_cat("}  // namespace cases\n\nint main() {\n  using namespace cases;\n  for (auto* test : {",
                  list, "}) test(), std::fflush(stdout);\n}\n");
  return text;
}

void write(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }
std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Compiles and runs a unit; returns how many cases differ.
int test_unit(const fs::path& folder, const std::string& compiler, int number,
              const std::vector<Case>& cases) {
  const std::string stem = (folder / str_cat("unit", number)).string();
  std::vector<ModelPart> parts;
  for (const Case& c : cases) parts.push_back(c.part);
  write(stem + ".cc", assemble(tool::embedded_headers(), parts, "cases") + unit_text(cases));
  const auto run = [](const std::string& command) { return std::system(command.c_str()); };
  if (run(str_cat(compiler, " ", stem, ".cc -o ", stem, " > ", stem, ".log 2>&1")) != 0) {
    std::printf("%s.cc does not compile\n", stem.c_str());
    return static_cast<int>(cases.size());
  }
  std::string input;
  for (const Case& c : cases) input += c.input;
  write(stem + ".in", input);
  const int ended = run(str_cat(stem, " < ", stem, ".in > ", stem, ".out"));
  const std::string output = read(stem + ".out");
  std::size_t at = 0;
  int wrong = 0;
  for (const Case& c : cases) {
    if (at + c.expected.size() > output.size()) {
      std::printf("%s: the program ended with %d\n", c.path.c_str(), ended);
      return wrong + 1;
    }
    const std::string_view got = std::string_view(output).substr(at, c.expected.size());
    at += c.expected.size();
    if (got == c.expected) continue;
    std::size_t bytes = 0;
    for (std::size_t k = 0; k < got.size(); ++k) bytes += got[k] != c.expected[k];
    std::printf("%s: %zu of %zu bytes differ\n", c.path.c_str(), bytes, got.size());
    ++wrong;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const fs::path folder = argv[1];
  const auto most = static_cast<std::size_t>(std::atoi(argv[3]));
  std::map<std::string, int> reasons;
  std::vector<Case> cases;
  int tested = 0, refused = 0, wrong = 0, units = 0;
  const auto flush = [&] {
    if (!cases.empty()) wrong += test_unit(folder, argv[2], units++, cases);
    tested += static_cast<int>(cases.size());
    cases.clear();
    std::fflush(stdout);
  };
  for (int k = 4; k < argc; ++k) {
    try {
      cases.push_back(read_case(argv[k], cases.size()));
    } catch (const Error& e) {
      ++refused;
      const std::string_view text = e.message();
      const std::size_t line = text.find("): ");
      ++reasons[std::string(
          line == std::string_view::npos ? text : text.substr(line + 3, text.find('\n', line) - line - 3))];
      if (std::getenv("LIST_REFUSED")) std::printf("%s: refused: %s\n", argv[k], e.what());
      continue;
    }
    if (cases.size() == most) flush();
  }
  flush();
  for (const auto& [reason, count] : reasons) std::printf("%6d refused: %s\n", count, reason.c_str());
  std::printf("%d cases compiled, %d of them differ, %d refused\n", tested, wrong, refused);
  return wrong > 0 ? 1 : 0;
}
