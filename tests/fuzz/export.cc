// The graph of any model as a model again: it says what the graph is, or an Error.
#include "tests/fuzz/support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  using namespace tenon::fuzz;
  static const Folder folder;
  const Input input(data, size);
  Graph graph;
  if (!accepted([&] {
        graph = parse_model(std::as_bytes(input.bytes))
                    .graph({.registry = &registry(), .max_bytes = 1 << 24, .max_nodes = 5'000});
      }))
    return 0;
  ExportOptions options{.registry = &registry()};
  if ((input.choice & 1) != 0) options.opset = 6 + input.choice / 8 % 22;
  if ((input.choice & 2) != 0) options.ir_version = 3 + input.choice / 8 % 12;
  Model model;
  if (!accepted([&] { model = to_model(graph, options); })) return 0;
  Graph again;
  std::string said;
  try {
    again = model.graph({.registry = &registry()});
  } catch (const Error& e) {
    said = e.what();
  }
  require(said.empty(), "an exported model can be loaded", said);
  require(again.inputs().size() == graph.inputs().size() && again.outputs().size() == graph.outputs().size(),
          "inputs and outputs stay");
  for (std::size_t k = 0; k < graph.outputs().size(); ++k)
    require(again.outputs()[k].first == graph.outputs()[k].first, "outputs keep their names");
  if ((input.choice & 4) == 0) return 0;
  const auto file = folder.write("model.onnx", "");
  const SaveOptions saved{.external_threshold =
                              (input.choice & 64) != 0 ? std::optional<int64_t>(8) : std::nullopt};
  if (accepted([&] { save(model, file, saved); }))
    require(accepted([&] { return load_graph(file, {.registry = &registry()}); }),
            "a saved model can be loaded");
  return 0;
}
