// Conversion of any model to any operator set: the model is at that set then, or is as it was.
#include "loader/convert/convert.hpp"

#include "tests/fuzz/support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon::fuzz;
  const Input input(data, size);
  tenon::onnx::ModelProto model;
  if (!input.read(model)) return 0;
  const int opset = input.choice % (tenon::newest_opset() + 3);
  const std::string before = model.SerializeAsString();
  if (!accepted([&] { tenon::loader::convert_opset(model, opset, tenon::fuzz::registry()); })) {
    require(model.SerializeAsString() == before, "a model that cannot be converted is as it was");
    return 0;
  }
  for (const auto& import : model.opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx")
      require(import.version() == opset, "a converted model imports the operator set asked for");
  return 0;
}
