// Shape inference on any model: it comes out with more types, or an Error, and the same each time.
#include "loader/infer/infer.hpp"

#include "tests/fuzz/support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon::fuzz;
  const Input input(data, size);
  tenon::onnx::ModelProto model;
  if (!input.read(model)) return 0;
  const tenon::InferOptions options{.registry = &tenon::fuzz::registry(),
                                    .strict = (input.choice & 1) != 0,
                                    .check_types = (input.choice & 2) != 0,
                                    .max_nodes = 20'000};
  tenon::onnx::ModelProto again = model;
  const bool told = accepted([&] { tenon::loader::infer_shapes(model, options); });
  if ((input.choice & 4) == 0) return 0;
  require(told == accepted([&] { tenon::loader::infer_shapes(again, options); }),
          "inference says the same each time");
  if (told)
    require(model.SerializeAsString() == again.SerializeAsString(), "inference tells the same each time");
  return 0;
}
