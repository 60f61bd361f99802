// `tenon shard`: annotates a model for several devices.
#include "loader/devices/shard.hpp"

#include <algorithm>

#include "loader/message.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"
#include "loader/tool/shapes.hpp"

namespace tenon::TENON_ABI::tool {

int shard(Arguments arguments) {
  std::filesystem::path file;
  ModelOutput output;
  ShapeSet shapes;
  loader::PlacementChoice choice{.devices = 0, .stages = {}};
  const auto set_stages = [&](int64_t stages) {
    if (choice.stages) throw UsageError{"shard takes one of --tensor and --pipeline"};
    choice.stages = static_cast<int>(stages);
  };
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (output.takes(word, arguments)) continue;
    if (word == "--devices")
      choice.devices = static_cast<int>(arguments.integer(word, 1, loader::most_devices));
    else if (word == "--tensor") set_stages(1);
    else if (word == "--pipeline") set_stages(arguments.integer(word, 1, loader::most_devices));
    else if (word == "--shape") add_shapes(shapes, arguments.value(word));
    else if (word.starts_with("-") || !file.empty())
      throw UsageError{str_cat("shard takes one model, and not '", word, "'")};
    else file = loader::path_named(word);
  }
  if (file.empty() || choice.devices == 0 || !output.is_given())
    throw UsageError{"shard needs a model, --devices and -o"};
  Model model(read_model(file), loader::folder_of(file));
  std::vector<loader::RankCost> costs;
  loader::in_file(file, [&] {
    fix_shapes(model, shapes, arguments.registry());
    costs = loader::shard(model, choice, {.registry = arguments.registry()});
  });
  const bool open = std::ranges::any_of(model.proto().graph().input(), [](const auto& input) {
    return std::ranges::any_of(input.type().tensor_type().shape().dim(),
                               [](const auto& d) { return !d.has_dim_value(); });
  });
  output.write(std::move(model.proto()), model.folder());
  for (std::size_t r = 0; r < costs.size(); ++r)
    std::printf("rank %zu: holds %lld bytes of weights, sends %lld bytes in a run\n", r,
                static_cast<long long>(costs[r].held), static_cast<long long>(costs[r].sent));
  if (open) std::printf("extents of inputs that the model leaves open count as 1; --shape sets them\n");
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
