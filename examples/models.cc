// A model as its file says it: checked, changed, converted, saved. And a graph built in code, saved as a
// model.
#include <cstdio>
#include <exception>

#include "tenon/model.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/tensor/print.hpp"

namespace {

using namespace tenon;

// ONNX's textual syntax.
constexpr std::string_view scale = R"(
  <ir_version: 8, opset_import: ["" : 13]>
  scale (float[batch, 3] x) => (float[batch, 3] y)
  <float[3] w = {1, 2, 3}, int64[1] axis = {0}>
  {
    shape = Shape (x)
    rows = Gather (shape, axis)
    row = Unsqueeze (w, axis)
    y = Mul (x, row)
  })";

// A folder that is there as long as the example runs.
struct Folder {
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path = std::filesystem::temp_directory_path() / "tenon_models_example";
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const Folder folder;
    Model model = argc > 1 ? load_model(argv[1]) : parse_text(scale);
    for (const Diagnostic& d : check(model, {.full = true})) std::printf("%s\n", to_string(d).c_str());
    model.set_symbol("batch", 1);
    simplify(model);
    convert_opset(model, 21);
    save(model, folder.path / "model.onnx", {.external_threshold = 1 << 20});
    std::printf("%s\n", print_text(model).c_str());

    Graph g;
    g.output("y", g.add(op::Relu{}, g.input<float, Shape<dyn, 3>>("x")));
    save(g, folder.path / "relu.onnx", {.opset = 17, .ir_version = 8});
    const Model both = merge(model, to_model(g, {.opset = 21, .ir_version = model.header().ir_version}),
                             {.connect = {{"y", "x"}}, .prefix_b = "relu/"});
    const Tensor<float, Shape<1, 3>> x{{-1, 2, 3}};
    Outputs out = Session(both.graph()).run({{"x", x}});
    std::printf("%s\n", to_string(out[0]).c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "models: %s\n", e.what());
    return 1;
  }
}
