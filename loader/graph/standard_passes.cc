// The only unit of the loader that compiles all passes.
#include "tenon/graph/passes.hpp"

#include "loader/graph/import.hpp"

namespace tenon::TENON_ABI::loader {

SessionOptions with_standard_passes(SessionOptions options) {
  if (!options.passes) options.passes = standard_passes();
  return options;
}

}  // namespace tenon::TENON_ABI::loader
