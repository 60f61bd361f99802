// The `tenon` tool as a library, for a tool that knows operators beyond ONNX's. Link //loader:tool_commands,
// or Tenon::tool.
#pragma once

#include <span>
#include <vector>

#include "loader/compile/amalgamate.hpp"

namespace tenon::TENON_ABI::tool {

/// What the commands know of operators.
struct Catalog {
  const Registry* registry = nullptr;  ///< that models may name; null: standard_registry()
  /// The headers of operators from outside of Tenon, whose texts `compile` and `amalgamate` write.
  std::vector<std::span<const HeaderText>> headers{};
};

/// The tool's `main`: runs the command that the words name, and returns the exit code.
///
///     int main(int argc, char** argv) {
///       tenon::Registry registry = tenon::standard_registry();
///       tenon::register_example_pack(registry);
///       return tenon::tool::run_command(argc, argv, {.registry = &registry});
///     }
int run_command(int argc, char** argv, const Catalog& catalog = {});

}  // namespace tenon::TENON_ABI::tool
