// write_sharded FOLDER: models for two ranks, and inputs for them. Their numbers are small integers, whose
// sums are exact in any order.
#include "tests/loader/perceptron.hpp"

namespace {

// y = Gather(Relu(x), rows); Relu is stage 0, Gather stage 1.
tenon::Model pipeline() {
  tenon::Model m = tenon::parse_text(R"(<ir_version: 11, opset_import: ["": 21]>
    g (float[4, 4] x, int64[1] rows) => (float[1, 4] y) {
      r = Relu (x)
      y = Gather (r, rows)
    })");
  auto& proto = m.proto();
  for (const char* name : {"two", "same"}) {
    auto& c = *proto.add_configuration();
    c.set_name(name);
    c.set_num_devices(2);
  }
  for (int stage = 0; stage < 2; ++stage) {
    auto& c = *proto.mutable_graph()->mutable_node(stage)->add_device_configurations();
    c.set_configuration_id("two");
    c.set_pipeline_stage(stage);
  }
  return m;
}

}  // namespace

int main(int, char** argv) {
  const std::filesystem::path folder = argv[1];
  save(tenon::perceptron(tenon::small_integers({4, 6}), tenon::small_integers({6, 3})),
       folder / "perceptron.onnx", {.external_threshold = 1});
  save(pipeline(), folder / "pipeline.onnx");
  tenon::write_npy(folder / "x.npy", tenon::small_integers({4, 4}));
  for (const int64_t row : {3, 4})
    tenon::write_npy(folder / ("row" + std::to_string(row) + ".npy"),
                     tenon::Tensor<int64_t>(tenon::Extents{1}, {row}));
}
