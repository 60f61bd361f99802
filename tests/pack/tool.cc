// The tool of a program that has a pack: its commands know the pack's operators.
#include "loader/tool/commands.hpp"
#include "tenon/loader.hpp"
#include "tenon/op/example.pack.hpp"

namespace tenon::TENON_ABI::tool {
std::span<const HeaderText> example_pack_headers();
}

int main(int argc, char** argv) {
  tenon::Registry registry = tenon::standard_registry();
  tenon::register_example_pack(registry);
  return tenon::tool::run_command(argc, argv,
                                  {.registry = &registry, .headers = {tenon::tool::example_pack_headers()}});
}
