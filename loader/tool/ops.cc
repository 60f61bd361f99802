// `tenon ops`: the operators that models may use, from their specifications.
#include "loader/tool/command.hpp"

namespace tenon::tool {
namespace {

// "float float16 seq(float)"
std::string list(const TypeSet& set) {
  std::string text;
  const auto add = [&](uint32_t mask, std::string_view before, std::string_view behind) {
    for (int d = 1; d < dtype_count; ++d)
      if (mask >> d & 1) text += concat(text.empty() ? "" : " ", before, name(static_cast<DType>(d)), behind);
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

}  // namespace

int ops(Arguments arguments) {
  if (!arguments.empty()) throw UsageError{concat("ops takes no '", arguments.take(), "'")};
  int operators = 0, schemas = 0;
  for (const auto& [key, versions] : standard_registry().operators()) {
    ++operators;
    std::string since;
    for (const auto& [version, c] : versions) since += concat(since.empty() ? "" : ",", version);
    std::printf("%s.%s since %s\n", key.first.empty() ? "ai.onnx" : key.first.c_str(), key.second.c_str(),
                since.c_str());
    for (const auto& [version, c] : versions) {
      ++schemas;
      for (const op::TypeVar& v : c->spec->types)
        std::printf("  %-3d %-4.*s %s\n", version, static_cast<int>(v.name.size()), v.name.data(),
                    list(v.at(version)).c_str());
    }
  }
  std::printf("%d operators, %d versions\n", operators, schemas);
  return 0;
}

}  // namespace tenon::tool
