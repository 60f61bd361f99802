// Simplification of any model, and its IR version: a model that could be loaded still can be.
#include "loader/edit/simplify.hpp"

#include "loader/convert/convert.hpp"
#include "loader/message.hpp"
#include "tests/fuzz/support.hpp"

namespace tenon::fuzz {
namespace {

bool loads(const onnx::ModelProto& model) {
  return accepted(
      [&] { Model(model).graph({.registry = &registry(), .max_bytes = 1 << 24, .max_nodes = 20'000}); });
}

}  // namespace
}  // namespace tenon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon::fuzz;
  const Input input(data, size);
  tenon::onnx::ModelProto model;
  if (!input.read(model)) return 0;
  const bool loaded = loads(model);
  if ((input.choice & 1) == 0) {
    accepted([&] {
      tenon::loader::simplify(model, {.registry = &tenon::fuzz::registry(),
                                      .max_bytes = 1 << 16,
                                      .time_limit = std::chrono::seconds(2)});
    });
    require(!loaded || loads(model), "a simplified model can be loaded");
    return 0;
  }
  const int64_t ir = input.choice / 8 % 17;
  const std::string before = model.SerializeAsString();
  if (accepted([&] { tenon::loader::convert_ir_version(model, ir); })) {
    require(model.ir_version() == ir, "a converted model has the version asked for");
    require(!loaded || loads(model), "a model of another IR version can be loaded");
  } else {
    require(model.SerializeAsString() == before, "a model that cannot be converted is as it was");
  }
  return 0;
}
