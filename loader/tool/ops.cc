// `tenon ops`: the operators that models may use, from their specifications.
#include "loader/opsets.hpp"
#include "loader/tool/command.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

// "float float16 seq(float)"
std::string list(const TypeSet& set) {
  std::string text;
  const auto add = [&](uint32_t mask, std::string_view before, std::string_view behind) {
    for (int d = 1; d < dtype_count; ++d)
      if (mask >> d & 1)
        text += str_cat(text.empty() ? "" : " ", before, name_of(static_cast<DType>(d)), behind);
  };
  add(set.tensor, "", "");
  add(set.sequence, "seq(", ")");
  add(set.optional, "optional(", ")");
  add(set.optional_sequence, "optional(seq(", "))");
  add(set.sparse_tensor, "sparse(", ")");
  add(set.map_int64, "map(int64,", ")");
  add(set.map_string, "map(string,", ")");
  add(set.sequence_map_int64, "seq(map(int64,", "))");
  add(set.sequence_map_string, "seq(map(string,", "))");
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

}  // namespace

int ops(Arguments arguments) {
  const Registry& registry = loader::registry_of(arguments.registry());
  if (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--matrix" && arguments.empty()) return print_matrix(registry);
    throw UsageError{str_cat("ops takes no '", word, "'")};
  }
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

}  // namespace tenon::TENON_ABI::tool
