#include "loader/opsets.hpp"
#include "tenon/loader.hpp"

namespace tenon::TENON_ABI {

void register_all(Registry& registry);  // generated

const Registry& standard_registry() {
  static const Registry registry = [] {
    Registry r;
    register_all(r);
    return r;
  }();
  return registry;
}

int newest_opset(std::string_view domain, const Registry* registry) {
  return loader::registry_of(registry).newest(domain);
}

}  // namespace tenon::TENON_ABI
