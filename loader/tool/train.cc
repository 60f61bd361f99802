// `tenon train`: steps of a model's training information.
#include <algorithm>
#include <set>

#include "loader/message.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"
#include "loader/tool/values.hpp"
#include "tenon/base/convert.hpp"
#include "tenon/training.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

namespace fs = std::filesystem;

// Whether a value is printed as a number: outputs of one float.
bool is_number(const Value& v) {
  return v.is_tensor() && v.tensor().size() == 1 && is_float(v.tensor().dtype());
}
double number(const AnyTensor& t) {
  double result = 0;
  visit_dtype(t.dtype(), [&]<class T>() {
    if constexpr (is_float(dtype_of<T>)) {
      const T element = t.view().as<T>()[0];
      result = convert<double>(element);
    }
  });
  return result;
}

struct Command {
  std::string file;
  ModelOutput output;
  std::vector<fs::path> folders;
  std::vector<InputSource> inputs;
  std::vector<std::size_t> algorithms;
  SessionOptions options;
  LoadOptions load;
  int64_t steps = 0;
  bool initialize = true;

  explicit Command(Arguments arguments) {
    load.registry = arguments.registry();
    while (!arguments.empty()) {
      const std::string word = arguments.take();
      if (word == "--steps") steps = arguments.integer(word, 0, 1'000'000'000);
      else if (word == "--data") folders.push_back(arguments.file(word));
      else if (word == "--input") inputs.push_back(parse_input(word, arguments.value(word)));
      else if (word == "--algorithm")
        algorithms.push_back(static_cast<std::size_t>(arguments.integer(word, 0, 1'000'000)));
      else if (word == "--no-init") initialize = false;
      else if (word == "--threads") options.threads = static_cast<int>(arguments.integer(word, 1, 1024));
      else if (output.takes(word, arguments)) continue;
      else if (word.starts_with("-")) throw UsageError{str_cat("train has no option ", word)};
      else if (file.empty()) file = word;
      else throw UsageError{str_cat("one model at a time, and '", word, "' is another")};
    }
    if (file.empty()) throw UsageError{"train needs a model"};
    if (folders.empty()) folders.emplace_back();
  }
};

// The inputs of each algorithm, from each folder in turn.
std::vector<std::vector<Feeds>> read_batches(const Training& training, const Command& c) {
  const std::vector<std::string> variables = training.variables();
  std::set<std::string_view> known;
  std::vector<std::vector<Feeds>> batches;
  for (const fs::path& folder : c.folders) {
    if (!folder.empty() && !fs::is_directory(folder))
      throw Error(ErrorCode::io, loader::path_text(folder), "not a folder");
    std::vector<Feeds>& batch = batches.emplace_back();
    for (std::size_t algorithm : c.algorithms) {
      const Graph& g = training.graph(algorithm);
      Feeds& feeds = batch.emplace_back();
      for (ValueId id : g.inputs()) {
        const Graph::ValueEntry& e = g.entry(id);
        known.insert(e.name);
        const auto given = std::ranges::find(c.inputs, e.name, &InputSource::name);
        fs::path from;
        if (given != c.inputs.end()) from = loader::path_named(given->source);
        else if (!folder.empty() && std::ranges::find(variables, e.name) == variables.end())
          from = file_of_value(folder, e.name);
        if (!from.empty()) feeds.emplace_back(e.name, read_value(e, from));
      }
    }
  }
  for (const InputSource& i : c.inputs)
    if (!known.contains(i.name))
      throw Error(ErrorCode::invalid_argument, c.file, str_cat("the training has no input '", i.name, "'"));
  return batches;
}

void print_numbers(const onnx::GraphProto& algorithm, Outputs& out) {
  const char* between = "";
  for (const auto& v : algorithm.output())
    if (const Value& value = out[v.name()]; is_number(value)) {
      std::printf(
          "%s%s %s", between, v.name().c_str(),
          tenon::detail::format_digits(number(value.tensor()), std::chars_format::general, 6).c_str());
      between = ", ";
    }
  std::printf("\n");
}

}  // namespace

int train(Arguments arguments) {
  Command c(std::move(arguments));
  const fs::path file = loader::path_named(c.file);
  Model model(read_model(file), loader::folder_of(file));
  if (model.proto().training_info_size() == 0)
    throw Error(ErrorCode::invalid_model, c.file, "the model has no training information");
  Training training = loader::in_file(file, [&] { return Training(model, c.options, c.load); });
  if (c.algorithms.empty())
    for (std::size_t k = 0; k < training.stages(); ++k) c.algorithms.push_back(k);
  const std::vector<std::vector<Feeds>> batches = read_batches(training, c);

  if (c.initialize) training.initialize();
  for (int64_t step = 0; step < c.steps; ++step) {
    const std::vector<Feeds>& batch = batches[static_cast<std::size_t>(step) % batches.size()];
    for (std::size_t k = 0; k < c.algorithms.size(); ++k) {
      const std::size_t algorithm = c.algorithms[k];
      Outputs out = training.step(batch[k], algorithm);
      std::printf("step %s, algorithm %zu: ", std::to_string(step + 1).c_str(), algorithm);
      print_numbers(model.proto().training_info(static_cast<int>(algorithm)).algorithm(), out);
    }
  }
  if (!c.output.is_given()) return 0;
  training.store(model);
  c.output.write(std::move(model.proto()), loader::folder_of(file));
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
