#include "tenon/kernels/lookup.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace tenon::kernels {
namespace {

TEST_CASE("Lookup: the last place of a key") {
  const std::vector<int64_t> ints = {4, -1, 4, 0, INT64_MIN};
  const Lookup<int64_t> of_int(ints);
  CHECK(of_int.find(4) == 2);
  CHECK(of_int.find(-1) == 1);
  CHECK(of_int.find(INT64_MIN) == 4);
  CHECK(of_int.find(5) == -1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> floats = {0.0f, nan, 1.5f, -nan, -0.0f};
  const Lookup<float> of_float(floats);
  CHECK(of_float.find(nan) == 3);
  CHECK(of_float.find(0.0f) == 4);
  CHECK(of_float.find(1.5f) == 2);
  CHECK(of_float.find(-1.5f) == -1);
  const std::vector<std::string> strings = {"", "a", "ab", "a"};
  const Lookup<std::string> of_string(strings);
  CHECK(of_string.find("a") == 3);
  CHECK(of_string.find("") == 0);
  CHECK(of_string.find("b") == -1);
  CHECK(Lookup<int64_t>(std::span<const int64_t>()).find(0) == -1);
}

/// The key whose hash is h.
int64_t key_of(uint64_t h) {
  const auto inverse = [](uint64_t odd) {
    uint64_t x = odd;
    for (int k = 0; k < 5; ++k) x *= 2 - odd * x;
    return x;
  };
  const auto unshifted = [](uint64_t v, int by) {
    uint64_t x = v;
    for (int k = by; k < 64; k += by) x = v ^ (x >> by);
    return x;
  };
  h = unshifted(h, 31) * inverse(0x94d049bb133111eb);
  h = unshifted(h, 27) * inverse(0xbf58476d1ce4e5b9);
  return static_cast<int64_t>(unshifted(h, 30));
}

TEST_CASE("Lookup: keys that were chosen to share a bucket do not cost the square of their number") {
  constexpr std::size_t count = 200'000;
  std::vector<int64_t> keys;
  for (std::size_t k = 0; k < count; ++k) keys.push_back(key_of(k << 32));
  REQUIRE(detail::hash_key(keys[3]) == uint64_t{3} << 32);
  const Lookup<int64_t> lookup(keys);
  std::size_t found = 0;
  for (std::size_t k = 0; k < count; ++k) {
    found += lookup.find(keys[k]) == static_cast<int64_t>(k);
    found += lookup.find(key_of((count + k) << 32)) == -1;
  }
  CHECK(found == 2 * count);
}

}  // namespace
}  // namespace tenon::kernels
