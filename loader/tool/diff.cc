// `tenon diff`: differences in the structure of two models.
#include "loader/edit/diff.hpp"

#include "loader/format/file.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"

namespace tenon::TENON_ABI::tool {

int diff(Arguments arguments) {
  std::vector<std::string> files;
  while (!arguments.empty()) files.push_back(arguments.take());
  if (files.size() != 2 || files[0].starts_with("-") || files[1].starts_with("-"))
    throw UsageError{"diff takes two models"};
  constexpr int most = 1000;
  const std::filesystem::path a = loader::path_named(files[0]), b = loader::path_named(files[1]);
  const auto lines =
      loader::differences(read_model(a), read_model(b), most, loader::folder_of(a), loader::folder_of(b));
  for (const auto& line : lines) std::printf("%s\n", line.c_str());
  return lines.empty() ? 0 : 1;
}

}  // namespace tenon::TENON_ABI::tool
