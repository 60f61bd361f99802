// `tenon train`: steps of the training that a model has information of.
#include <algorithm>
#include <set>

#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"
#include "tenon/base/convert.hpp"
#include "tenon/training.hpp"

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;
using Named = std::pair<std::string, std::string>;

// A file's value; in a folder, that of NAME.npy or NAME.pb, and nothing where there is neither.
Value read_file(const Graph::ValueEntry& e, const std::string& file) {
  if (file.ends_with(".npy")) return read_npy(file);
  if (file.ends_with(".pb")) return read_pb(file, e.info.type);
  throw UsageError{concat("input '", e.name, "': '", file, "' is no .npy and no .pb")};
}
Value read_in_folder(const Graph::ValueEntry& e, const std::string& folder) {
  // A name from a model leads nowhere else.
  if (folder.empty() || e.name.find('/') != std::string::npos) return {};
  for (const char* kind : {".npy", ".pb"})
    if (const fs::path file = fs::path(folder) / (e.name + kind); fs::exists(file))
      return read_file(e, file.string());
  return {};
}

// A number as it is shown: outputs of one float.
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

}  // namespace

int train(Arguments arguments) {
  std::string file;
  ModelOutput output;
  std::vector<std::string> folders;
  std::vector<Named> inputs;
  std::vector<std::size_t> algorithms;
  SessionOptions options;
  int64_t steps = 0;
  bool initialize = true;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--steps") steps = arguments.integer(word, 0, 1'000'000'000);
    else if (word == "--data") folders.push_back(arguments.value(word));
    else if (word == "--input") {
      const std::string given = arguments.value(word);
      const std::size_t equals = given.find('=');
      if (equals == std::string::npos) throw UsageError{concat("--input takes NAME=FILE, not '", given, "'")};
      inputs.emplace_back(given.substr(0, equals), given.substr(equals + 1));
    } else if (word == "--algorithm")
      algorithms.push_back(static_cast<std::size_t>(arguments.integer(word, 0, 1'000'000)));
    else if (word == "--no-init") initialize = false;
    else if (word == "--threads") options.threads = static_cast<int>(arguments.integer(word, 1, 1024));
    else if (output.takes(word, arguments)) continue;
    else if (word.starts_with("-")) throw UsageError{concat("train has no option ", word)};
    else if (file.empty()) file = word;
    else throw UsageError{concat("one model at a time, and '", word, "' is another")};
  }
  if (file.empty()) throw UsageError{"train needs a model"};

  Model model(read_model(file), folder_of(file));
  if (model.proto().training_info_size() == 0)
    throw Error(ErrorCode::invalid_model, file, "the model has no training information");
  Training training(model, options);
  if (algorithms.empty())
    for (std::size_t k = 0; k < training.stages(); ++k) algorithms.push_back(k);

  // The inputs of each algorithm, from each folder in turn.
  if (folders.empty()) folders.emplace_back();
  const std::vector<std::string> variables = training.variables();
  std::set<std::string_view> known;
  std::vector<std::vector<Feeds>> batches;
  for (const std::string& folder : folders) {
    if (!folder.empty() && !fs::is_directory(folder)) throw Error(ErrorCode::io, folder, "not a folder");
    std::vector<Feeds>& batch = batches.emplace_back();
    for (std::size_t algorithm : algorithms) {
      const Graph& g = training.graph(algorithm);
      Feeds& feeds = batch.emplace_back();
      for (ValueId id : g.inputs()) {
        const Graph::ValueEntry& e = g.entry(id);
        known.insert(e.name);
        const auto given = std::ranges::find(inputs, e.name, &Named::first);
        Value value;
        if (given != inputs.end()) value = read_file(e, given->second);
        else if (std::ranges::find(variables, e.name) == variables.end()) value = read_in_folder(e, folder);
        if (value) feeds.emplace_back(e.name, std::move(value));
      }
    }
  }
  for (const Named& i : inputs)
    if (!known.contains(i.first))
      throw Error(ErrorCode::invalid_argument, file, concat("the training has no input '", i.first, "'"));

  if (initialize) training.initialize();
  for (int64_t step = 0; step < steps; ++step)
    for (std::size_t k = 0; k < algorithms.size(); ++k) {
      const std::vector<Feeds>& batch = batches[static_cast<std::size_t>(step) % batches.size()];
      Outputs out = training.step(batch[k], algorithms[k]);
      std::string line;
      for (const auto& v : model.proto().training_info(static_cast<int>(algorithms[k])).algorithm().output())
        if (const Value& value = out[v.name()]; is_number(value)) {
          char text[40];
          std::snprintf(text, sizeof text, "%.6g", number(value.tensor()));
          line += concat(line.empty() ? "" : ", ", v.name(), " ", text);
        }
      std::printf("step %s, algorithm %zu: %s\n", std::to_string(step + 1).c_str(), algorithms[k],
                  line.c_str());
    }
  if (!output.is_given()) return 0;
  training.store(model);
  output.write(std::move(model.proto()), folder_of(file));
  return 0;
}

}  // namespace tenon::tool
