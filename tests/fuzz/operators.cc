// One use of an operator with attributes and operands that the input draws (tests/loader/draw.hpp): it gives
// what its rule said, or an Error. The first two bytes choose the operator and its version.
#include "tests/fuzz/support.hpp"
#include "tests/loader/draw.hpp"

namespace tenon::fuzz {
namespace {

/// Versions of operators by the hash of their names, so that inputs keep theirs when others are added.
struct Use {
  uint32_t hash;
  const OperatorClass* c;
  int version;
};

uint32_t hash_of(std::string_view text, uint32_t hash = 2166136261u) {
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash;
}

std::vector<Use> uses() {
  std::vector<Use> all;
  for (const auto& [key, versions] : registry().operators())
    for (const auto& [version, c] : versions)
      if (test::runs_alone(key))
        all.push_back({hash_of(str_cat(key.first, ".", key.second, "-", version)), c, version});
  std::sort(all.begin(), all.end(), [](const Use& a, const Use& b) { return a.hash < b.hash; });
  return all;
}

/// What libFuzzer takes for coverage in addition to the program's own: uses of each operator that end in
/// different ways.
[[gnu::section("__libfuzzer_extra_counters")]] uint8_t endings[1 << 15];

void note_ending(const Use& use, std::string_view ending) {
  std::string words;  // numbers tell nothing new
  for (const char c : ending)
    if (c < '0' || c > '9') words += c;
  endings[hash_of(words, use.hash) % std::size(endings)] = 1;
}

}  // namespace
}  // namespace tenon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  using namespace tenon::fuzz;
  static const std::vector<Use> all = uses();
  if (size < 2) return 0;
  const uint32_t wanted = static_cast<uint32_t>(data[0]) << 24 | static_cast<uint32_t>(data[1]) << 16;
  auto use =
      std::lower_bound(all.begin(), all.end(), wanted, [](const Use& u, uint32_t h) { return u.hash < h; });
  if (use == all.end()) use = all.begin();
  test::Draw draw(std::span(data + 2, size - 2));
  test::WantedType any;
  std::string ending = "accepted";
  try {
    test::use(draw, *use->c, use->version, any);
  } catch (const Error& e) {
    ending = e.message();
    require(std::string_view(e.what()).find("not what its rule said") == std::string_view::npos,
            "results are what the operator's rule said", str_cat(use->c->spec->name, ": ", e.what()));
  }
  note_ending(*use, ending);
  return 0;
}
