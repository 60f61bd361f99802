#include "tenon/simd/tiles.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

using namespace tenon::simd;

namespace {

#if defined(TENON_X86_64)
bool lacks_tiles() {
  if (amx()) return false;
  std::puts("skipped: the processor has no tile registers (AMX)");
  return true;
}
#endif

// The four sums of a tile after two steps, rows of 32.
template <class Unit>
std::vector<int32_t> sums(int rows, const std::vector<uint8_t>& bytes) {
  std::vector<int32_t> sum(32 * 32, 7);
  const uint8_t *a = bytes.data(), *b = a + 32 * 100;
  Unit unit({rows});
  unit.template zero<0>();
  unit.template load<1>(a, 0);
  unit.template zero<2>();
  unit.template zero<3>();
  for (int step = 0; step < 2; ++step, a += 5, b += 1000) {
    unit.template load<4>(a, 100);
    unit.template load<5>(a + 16 * 100, 100);
    unit.template load<6>(b, 128);
    unit.template load<7>(b + 64, 128);
    unit.template add_products<0, 4, 6>();
    unit.template add_products<1, 4, 7>();
    unit.template add_products<2, 5, 6>();
    unit.template add_products<3, 5, 7>();
  }
  unit.template store<0>(sum.data(), 128);
  unit.template store<1>(sum.data() + 16, 128);
  if (rows > 16) {
    unit.template store<2>(sum.data() + 512, 128);
    unit.template store<3>(sum.data() + 528, 128);
  }
  return sum;
}

}  // namespace

TEST_CASE("PlainTiles: against the definition") {
  std::mt19937 random(3);
  std::vector<uint8_t> bytes(8192);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  const std::vector<int32_t> sum = sums<PlainTiles>(20, bytes);
  for (int r = 0; r < 32; ++r)
    for (int c = 0; c < 32; ++c) {
      CAPTURE(r);
      CAPTURE(c);
      uint32_t expected = r < 20 ? 0 : 7;
      if (r < 16 && c >= 16)
        for (int e = 3; e >= 0; --e) expected = expected << 8 | bytes[static_cast<size_t>(4 * (c - 16) + e)];
      for (int k = 0; r < 20 && k < 128; ++k) {
        const int step = k / 64, p = k % 64;
        const uint8_t u = bytes[static_cast<size_t>(100 * r + p + 5 * step)];
        const auto s =
            static_cast<int8_t>(bytes[static_cast<size_t>(3200 + 1000 * step + p / 4 * 128 + 4 * c + p % 4)]);
        expected += static_cast<uint32_t>(u * s);
      }
      CHECK(sum[static_cast<size_t>(32 * r + c)] == static_cast<int32_t>(expected));
    }
}

#if defined(TENON_X86_64)
TEST_CASE("AmxTiles: the same as PlainTiles") {
  if (lacks_tiles()) return;
  std::mt19937 random(5);
  std::vector<uint8_t> bytes(8192);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  for (const int rows : {1, 15, 16, 17, 32})
    CHECK(sums<AmxTiles>(rows, bytes) == sums<PlainTiles>(rows, bytes));
}
#endif

TEST_CASE("products of bfloat16: against the definition") {
  // Halves of whole numbers, whose sums are exact in any order.
  std::vector<uint16_t> bytes(2048);
  std::mt19937 random(7);
  for (uint16_t& half : bytes) {
    const float number = static_cast<float>(static_cast<int>(random() % 65) - 32) / 2;
    half = static_cast<uint16_t>(std::bit_cast<uint32_t>(number) >> 16);
  }
  const auto number = [&](int at) {
    return std::bit_cast<float>(static_cast<uint32_t>(bytes[static_cast<size_t>(at)]) << 16);
  };
  const auto check = [&]<class Unit>(Unit unit) {
    float sum[16][16];
    unit->template zero<3>();
    unit->template load<5>(bytes.data(), 64);
    unit->template load<7>(bytes.data() + 1024, 128);
    unit->template add_bfloat16_products<3, 5, 7>();
    unit->template store<3>(sum, 64);
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 16; ++c) {
        float expected = 0;
        for (int k = 0; k < 32; ++k)
          expected += number(32 * r + k) * number(1024 + k / 2 * 64 + 2 * c + k % 2);
        CHECK(sum[r][c] == expected);
      }
  };
  PlainTiles plain({32});
  check(&plain);
#if defined(TENON_X86_64)
  if (lacks_tiles()) return;
  AmxTiles tiles({32});
  check(&tiles);
#endif
}
