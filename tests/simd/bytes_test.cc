// Bytes in the order of quarters of vectors, and tables of bytes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tenon/simd/batch.hpp"

using namespace tenon;

namespace {

using Arch = simd::Native;
using Bytes = simd::batch<uint8_t, Arch>;
using Words = simd::batch<int32_t, Arch>;
constexpr int width = simd::lanes<int32_t, Arch>, columns = 4 * width;

// The column whose word is in lane i of vector k.
int column_of(int k, int i) { return i / 4 * 16 + 4 * k + i % 4; }

std::vector<uint8_t> random_bytes(std::size_t n) {
  std::mt19937 random(3);
  std::vector<uint8_t> bytes(n);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
  return bytes;
}

// Checks the vectors of interleave_quarters for `rows` rows.
template <int rows, bool high>
void check_quarters() {
  const std::vector<uint8_t> bytes = random_bytes(rows * columns);
  Bytes row[rows];
  for (int r = 0; r < rows; ++r) row[r] = simd::loadu<Arch>(bytes.data() + r * columns);
  Words to[2];
  simd::interleave_quarters<high>(row, to);
  for (int k = 0; k < 2; ++k) {
    int32_t lane[width];
    simd::storeu(lane, to[k]);
    for (int i = 0; i < width; ++i) {
      uint32_t word = 0;
      for (int r = 0; r < rows; ++r)
        word |= uint32_t{bytes[static_cast<size_t>(r * columns + column_of(k + 2 * high, i))]}
                << 32 / rows * r;
      CHECK(static_cast<uint32_t>(lane[i]) == word);
    }
  }
}

}  // namespace

TEST_CASE("interleave_quarters: the word of each column") {
  check_quarters<4, false>();
  check_quarters<4, true>();
  check_quarters<2, false>();
  check_quarters<2, true>();
}

TEST_CASE("store_rounded_quarters_n: the byte of each column, and no others") {
  simd::batch<float, Arch> x[4];
  for (int k = 0; k < 4; ++k) {
    float lane[width];
    for (int i = 0; i < width; ++i) lane[i] = static_cast<float>(3 * column_of(k, i)) - 20.25f;
    x[k] = simd::loadu<Arch>(lane);
  }
  const auto expected = [](int column) { return std::clamp(3 * column - 20 + 7, 5, 90); };
  for (int n = 1; n <= columns; ++n) {
    std::vector<uint8_t> to(columns + 1, 200);
    simd::store_rounded_quarters_n<false>(to.data(), nullptr, x, 7, 5, 90, n);
    for (int j = 0; j <= columns; ++j) CHECK(to[static_cast<size_t>(j)] == (j < n ? expected(j) : 200));
  }
  if constexpr (columns == 64)
    for (int n = 1; n <= columns / 2; ++n) {
      std::vector<uint8_t> low(columns / 2 + 1, 200), high = low;
      simd::store_rounded_quarters_n<true>(low.data(), high.data(), x, 7, 5, 90, n);
      for (int j = 0; j <= columns / 2; ++j) {
        CHECK(low[static_cast<size_t>(j)] == (j < n ? expected(j) : 200));
        CHECK(high[static_cast<size_t>(j)] == (j < n ? expected(j + columns / 2) : 200));
      }
    }
}

TEST_CASE("load_halves_n: bytes of two rows, then zeros") {
  const std::vector<uint8_t> bytes = random_bytes(2 * columns);
  const uint8_t *p = bytes.data(), *q = p + columns;
  for (int n = 0; n <= columns / 2; ++n) {
    uint8_t lane[columns];
    simd::storeu(lane, simd::load_halves_n<Arch>(p, q, n));
    for (int i = 0; i < columns / 2; ++i) {
      CHECK(lane[i] == (i < n ? p[i] : 0));
      CHECK(lane[i + columns / 2] == (i < n ? q[i] : 0));
    }
  }
}

TEST_CASE("look_up_bytes: every byte") {
  // The instruction is not on every processor of the level.
  if (columns == 64 && !simd::has_byte_tables<Arch>()) return;
  const std::vector<uint8_t> table = random_bytes(256);
  Bytes parts[256 / columns];
  for (int k = 0; k < 256 / columns; ++k) parts[k] = simd::loadu<Arch>(table.data() + k * columns);
  for (int first = 0; first < 256; first += columns) {
    uint8_t lane[columns];
    for (int i = 0; i < columns; ++i) lane[i] = static_cast<uint8_t>(255 - first - i);
    simd::storeu(lane, simd::look_up_bytes(parts, Bytes(simd::loadu<Arch>(lane))));
    for (int i = 0; i < columns; ++i) CHECK(lane[i] == table[static_cast<size_t>(255 - first - i)]);
  }
}
