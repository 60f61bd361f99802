// Edits of any model, as its last bytes choose them: each is done, or refused with the model as it was.
#include "loader/message.hpp"
#include "tests/fuzz/support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon::fuzz;
  const Input input(data, size);
  tenon::Model model;
  if (!input.read(model.proto())) return 0;
  model.proto().mutable_graph();
  std::string bytes(input.last(4));
  bytes += static_cast<char>(input.choice);
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    const std::vector<std::string> names = value_names(model.proto().graph());
    const std::string name = names.empty() ? "x" : names[byte / 8 % names.size()];
    const std::string other = names.empty() ? "y" : names[(byte / 8 + 1u) % names.size()];
    const std::string before = model.proto().SerializeAsString();
    const bool done = accepted([&] {
      switch (byte % 8) {
        case 0: model.add_input(tenon::str_cat("float[N, 3] ", byte % 16 == 0 ? "fresh" : name)); break;
        case 1: model.add_output(tenon::str_cat("float[2] ", name)); break;
        case 2: model.add_initializer("w", tenon::Tensor<float>({2}, {1, 2})); break;
        case 3: model.add_node(tenon::str_cat("fresh_", byte, " = Add (", name, ", ", other, ")")); break;
        case 4: byte % 16 < 8 ? model.remove_output(name) : model.remove(name); break;
        case 5: model.rename(name, byte % 16 < 8 ? "renamed" : other); break;
        case 6: model.set_extents(name, byte % 16 < 8 ? "[N, 4]" : "[]"); break;
        default: model.set_symbol("N", byte);
      }
    });
    if (!done)
      require(model.proto().SerializeAsString() == before, "an edit that is refused changes nothing",
              tenon::str_cat("edit ", byte % 8, " of '", name, "'"));
  }
  // Bounds keep the time short.
  accepted([&] { return model.graph({.registry = &registry(), .max_bytes = 1 << 24, .max_nodes = 20'000}); });
  return 0;
}
