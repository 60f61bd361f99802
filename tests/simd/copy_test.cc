#include "tenon/simd/copy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace {

using Copy = void (*)(void*, const void*, std::size_t);

void check_copy(Copy copy) {
  std::vector<unsigned char> from(20000), to(30000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 251);
  const auto start =
      4096 - (to.data() - from.data()) % 4096;  // to[start + k] lies k bytes past from[0] modulo 4096
  std::vector<std::size_t> sizes{1023, 1024, 1025, 4095, 8192, 16384};
  for (std::size_t bytes = 0; bytes <= 300; ++bytes) sizes.push_back(bytes);
  for (const std::size_t bytes : sizes)
    for (int distance : {0, 1, 15, 16, 63, 64, 4095}) {
      std::fill(to.begin(), to.end(), static_cast<unsigned char>(1));
      unsigned char* const target = to.data() + start + distance;
      copy(target, from.data(), bytes);
      CHECK(std::equal(target, target + bytes, from.begin()));
      CHECK(target[-1] == 1);
      CHECK(target[bytes] == 1);
    }
}

}  // namespace

TEST_CASE("copy moves all bytes and no others, at any distance modulo 4096") {
  check_copy(tenon::simd::copy);
}

TEST_CASE("so does copy_beyond_caches") {
  check_copy([](void* to, const void* from, std::size_t bytes) {
    tenon::simd::copy_beyond_caches(to, from, bytes);
    tenon::simd::end_copies_beyond_caches();
  });
}
