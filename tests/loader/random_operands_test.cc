// Every operator at every version, with attributes and operands drawn at random, extremes among them: it
// gives what its rule said, or an Error, and each accepts some. The sanitizers' configurations see what else
// it does.
#include <doctest/doctest.h>

#include "tests/loader/draw_recorded.hpp"

namespace tenon::test {
namespace {

/// One use, drawn from a seed: whether the operator accepts it.
bool accepts(const OperatorClass& c, int version, uint64_t seed, WantedType& wanted) {
  Draw draw(seed_of(seed, version));
  try {
    use_of_any(draw, c, version, wanted);
    return true;
  } catch (const Error& e) {
    CHECK_MESSAGE(std::string_view(e.what()).find("not what its rule said") == std::string_view::npos,
                  e.what());
    return false;
  }
}

TEST_CASE("Operators on random operands") {
  constexpr int wanted = 20, least = 100, most = 20000;  // accepted uses of each version, and uses in all
  for (const auto& [key, versions] : every_operator().operators())
    for (const auto& [version, c] : versions) {
      if (!runs_alone(key)) continue;
      CAPTURE(key.second);
      CAPTURE(version);
      int accepted = 0;
      for (uint64_t seed = 1; seed <= least || (accepted < wanted && seed <= most); ++seed) {
        CAPTURE(seed);
        WantedType any;
        accepted += accepts(*c, version, seed, any);
      }
      CHECK(accepted >= wanted);
    }
}

// `tenon ops --matrix` prints these cells.
TEST_CASE("Operators accept every type that they state, at every version") {
  constexpr uint64_t most = 10000;
  for (const auto& [key, versions] : every_operator().operators())
    for (const auto& [version, c] : versions) {
      if (!runs_alone(key)) continue;
      const op::Spec& spec = *c->spec;
      for (int v = 0; v < spec.types.size(); ++v) {
        for (int d = 1; spec.names_input(v, version) && d < dtype_count; ++d) {
          if (!(spec.types[v].at(version).tensor >> d & 1)) continue;
          bool met = false;
          for (uint64_t seed = 1; !met && seed <= most; ++seed) {
            WantedType wanted{v, static_cast<DType>(d)};
            met = accepts(*c, version, seed, wanted) && wanted.met;
          }
          CHECK_MESSAGE(met, key.second, "-", version, " ", std::string_view(spec.types[v].name), " ",
                        name_of(static_cast<DType>(d)));
        }
      }
    }
}

}  // namespace
}  // namespace tenon::test
