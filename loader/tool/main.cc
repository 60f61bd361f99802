#include "loader/tool/commands.hpp"
#include "tenon/loader.hpp"

namespace tenon::TENON_ABI {

void register_com_microsoft(Registry& registry);  // generated

namespace tool {
std::span<const HeaderText> com_microsoft_headers();  // generated
}

}  // namespace tenon::TENON_ABI

int main(int argc, char** argv) {
  tenon::Registry registry = tenon::standard_registry();
  tenon::register_com_microsoft(registry);
  return tenon::tool::run_command(argc, argv,
                                  {.registry = &registry, .headers = {tenon::tool::com_microsoft_headers()}});
}
