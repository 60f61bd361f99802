// `tenon simplify`: folds a model's constants and removes its dead nodes.
#include "loader/edit/simplify.hpp"

#include "loader/message.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"
#include "loader/tool/shapes.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

int count_nodes(const onnx::GraphProto& g) {
  int count = g.node_size();
  for (const auto& n : g.node())
    for (const auto& a : n.attribute())
      if (a.has_g()) count += count_nodes(a.g());
  return count;
}

}  // namespace

int simplify(Arguments arguments) {
  std::filesystem::path file;
  ModelOutput output;
  ShapeSet shapes;
  SimplifyOptions options{.registry = arguments.registry()};
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (output.takes(word, arguments)) continue;
    if (word == "--max-bytes") {
      options.max_bytes = arguments.integer(word, 0, int64_t{1} << 31);
    } else if (word == "--time-limit") {
      options.time_limit =
          std::chrono::milliseconds(static_cast<int64_t>(1000 * arguments.number(word, 0, 1'000'000'000)));
    } else if (word == "--shape") {
      add_shapes(shapes, arguments.value(word));
    } else if (word.starts_with("-") || !file.empty()) {
      throw UsageError{str_cat("simplify takes one model, and not '", word, "'")};
    } else {
      file = loader::path_named(word);
    }
  }
  if (file.empty() || !output.is_given()) throw UsageError{"simplify needs a model and -o"};
  Model model(read_model(file), loader::folder_of(file));
  const int before = count_nodes(model.proto().graph());
  loader::in_file(file, [&] {
    fix_shapes(model, shapes, arguments.registry());
    loader::simplify(model.proto(), options);
  });
  const int after = count_nodes(model.proto().graph());
  output.write(std::move(model.proto()), model.folder());
  std::printf("%d nodes, before %d\n", after, before);
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
