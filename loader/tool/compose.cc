// `tenon merge` and `tenon extract`: merging models, and extracting parts.
#include "loader/edit/compose.hpp"

#include "loader/message.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    names.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return names;
}

}  // namespace

int merge(Arguments arguments) {
  std::vector<std::filesystem::path> files;
  ModelOutput output;
  MergeOptions options;
  bool connecting = false;  // words are connections
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    const std::size_t equals = word.find('=');
    if (word == "--connect") connecting = true;
    else if (connecting && !word.starts_with("-") && equals != word.npos)
      options.connect.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    else if (word == "--prefix-a") options.prefix_a = arguments.value(word), connecting = false;
    else if (word == "--prefix-b") options.prefix_b = arguments.value(word), connecting = false;
    else if (output.takes(word, arguments)) connecting = false;
    else if (word.starts_with("-")) throw UsageError{str_cat("merge has no option '", word, "'")};
    else files.push_back(loader::path_named(word));
  }
  if (files.size() != 2 || !output.is_given()) throw UsageError{"merge takes two models, and -o"};
  const auto read = [](const std::filesystem::path& file) {
    return Model(read_model(file), loader::folder_of(file));
  };
  const Model first = read(files[0]), second = read(files[1]);
  const Model merged = loader::in_file(
      loader::path_named(str_cat(loader::path_text(files[0]), " and ", loader::path_text(files[1]))),
      [&] { return merge(first, second, options); });
  if (merged.folder().empty()) output.prefer_external();
  output.write(merged.proto(), merged.folder());
  return 0;
}

int extract(Arguments arguments) {
  std::filesystem::path file;
  ModelOutput output;
  std::vector<std::string> inputs, outputs;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--inputs") inputs = split_at_commas(arguments.value(word));
    else if (word == "--outputs") outputs = split_at_commas(arguments.value(word));
    else if (output.takes(word, arguments)) continue;
    else if (word.starts_with("-") || !file.empty())
      throw UsageError{str_cat("extract takes one model, and not '", word, "'")};
    else file = loader::path_named(word);
  }
  if (file.empty() || !output.is_given() || outputs.empty())
    throw UsageError{"extract needs a model, --inputs, --outputs and -o"};
  const onnx::ModelProto model = read_model(file);
  output.write(
      loader::in_file(file, [&] { return loader::extract(model, inputs, outputs, arguments.registry()); }),
      loader::folder_of(file));
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
