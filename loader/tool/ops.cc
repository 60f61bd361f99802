// `tenon ops`: the operators that models may use, from their specifications.
#include "loader/draw/operators.hpp"
#include "loader/format/file.hpp"
#include "loader/opsets.hpp"
#include "loader/tool/command.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

// "float float16 seq(float)"
std::string list(const TypeSet& set) {
  std::string text;
  for (const loader::TypeKind& kind : loader::type_kinds)
    for (int d = 1; d < dtype_count; ++d)
      if (set.*kind.elements >> d & 1)
        text += str_cat(text.empty() ? "" : " ", kind.before, name_of(static_cast<DType>(d)), kind.after);
  return text;
}

// A line for each operator, version and type variable; a column for each element type of tensors.
int print_matrix(const Registry& registry) {
  std::size_t width = 0;
  for (const auto& [key, versions] : registry.operators())
    width = std::max(width, key.first.size() + key.second.size() + 1);
  const int column = static_cast<int>(width);
  const auto heading = [&](int row) {  // names of types, downwards
    std::string text;
    for (int d = 1; d < dtype_count; ++d) {
      const std::string_view type = name_of(static_cast<DType>(d));
      text += ' ';
      text += static_cast<std::size_t>(row) < type.size() ? type[static_cast<std::size_t>(row)] : ' ';
    }
    return text;
  };
  std::size_t rows = 0;
  for (int d = 1; d < dtype_count; ++d) rows = std::max(rows, name_of(static_cast<DType>(d)).size());
  for (std::size_t row = 0; row < rows; ++row)
    std::printf("%*s%s\n", column + 9, "", heading(static_cast<int>(row)).c_str());
  int cells = 0;
  for (const auto& [key, versions] : registry.operators())
    for (const auto& [version, c] : versions)
      for (int v = 0; v < c->spec->types.size(); ++v) {
        const TypeSet set = c->spec->types_at(v, version);
        if (set == TypeSet()) continue;
        std::string marks;
        for (int d = 1; d < dtype_count; ++d) {
          const bool permitted = set.tensor >> d & 1;
          marks += permitted ? " x" : " .";
          cells += permitted;
        }
        std::printf("%-*s %-3d %-4.*s%s\n", column,
                    str_cat(key.first, key.first.empty() ? "" : ".", key.second).c_str(), version,
                    static_cast<int>(c->spec->types[v].name.size()), c->spec->types[v].name.data(),
                    marks.c_str());
      }
  std::printf("%d cells\n", cells);
  return 0;
}

// A line for each operator, and one for each of its versions and type variables.
int print_list(const Registry& registry) {
  int operators = 0, schemas = 0;
  for (const auto& [key, versions] : registry.operators()) {
    ++operators;
    std::string since;
    for (const auto& [version, c] : versions) since += str_cat(since.empty() ? "" : ",", version);
    std::printf("%s.%s since %s\n", key.first.empty() ? "ai.onnx" : key.first.c_str(), key.second.c_str(),
                since.c_str());
    for (const auto& [version, c] : versions) {
      ++schemas;
      for (int v = 0; v < c->spec->types.size(); ++v)
        if (const std::string text = list(c->spec->types_at(v, version)); !text.empty())
          std::printf("  %-3d %-4.*s %s\n", version, static_cast<int>(c->spec->types[v].name.size()),
                      c->spec->types[v].name.data(), text.c_str());
    }
  }
  std::printf("%d operators, %d versions\n", operators, schemas);
  return 0;
}

}  // namespace

int ops(Arguments arguments) {
  bool as_matrix = false, as_html = false;
  std::filesystem::path output;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--matrix") as_matrix = true;
    else if (word == "--html") as_html = true;
    else if (word == "-o") output = arguments.file(word);
    else throw UsageError{str_cat("ops takes no '", word, "'")};
  }
  if (as_matrix && as_html) throw UsageError{"ops takes --matrix or --html"};
  if (!output.empty() && !as_html) throw UsageError{"ops takes -o with --html alone"};
  const Registry& registry = loader::registry_of(arguments.registry());
  if (!as_html) return as_matrix ? print_matrix(registry) : print_list(registry);
  const std::string page = loader::operators_page(registry, arguments.headers());
  if (!output.empty()) loader::write_file(output, page);
  else std::fwrite(page.data(), 1, page.size(), stdout);
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
