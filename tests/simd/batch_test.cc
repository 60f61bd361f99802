#include "tenon/simd/batch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace tenon;

namespace {

template <class T>
using Batch = simd::batch<T, simd::Native>;

// Whether all lanes are as expected.
template <class T>
bool all_of(const simd::batch_bool<T, simd::Native>& v, bool expected) {
  return expected ? simd::all(v) : !simd::any(v);
}

}  // namespace

TEST_CASE_TEMPLATE("comparisons with NaN", T, float, double) {
  using L = std::numeric_limits<T>;
  const T numbers[] = {T(0), T(-0.0), T(1), T(-1), L::infinity(), -L::infinity(), L::quiet_NaN()};
  for (const T a : numbers)
    for (const T b : numbers) {
      CAPTURE(a);
      CAPTURE(b);
      const Batch<T> x(a), y(b);
      CHECK(all_of<T>(x == y, a == b));
      CHECK(all_of<T>(simd::not_equal(x, y), a != b));
      CHECK(all_of<T>(x < y, a < b));
      CHECK(all_of<T>(x <= y, a <= b));
      CHECK(all_of<T>(x > y, a > b));
      CHECK(all_of<T>(x >= y, a >= b));
      CHECK(all_of<T>(simd::isnan(x), a != a));
    }
}

TEST_CASE_TEMPLATE("max and min: the second where the first is NaN", T, float, double) {
  const Batch<T> nan(std::numeric_limits<T>::quiet_NaN()), one(T(1)), two(T(2));
  CHECK(all_of<T>(simd::max(nan, one) == one, true));
  CHECK(all_of<T>(simd::min(nan, one) == one, true));
  CHECK(all_of<T>(simd::max(one, two) == two, true));
  CHECK(all_of<T>(simd::min(one, two) == one, true));
}

TEST_CASE_TEMPLATE("mul_add rounds once where the level has FMA", T, float, double) {
  const T e = std::numeric_limits<T>::epsilon();
  // (1 + e) (1 - e) - 1 = -e^2, which a product that is rounded first has lost.
  T lane[simd::lanes<T, simd::Native>];
  const Batch<T> x(1 + e), y(1 - e), z(T(-1));
  simd::storeu(lane, simd::mul_add(x, y, z));
  const T fused = -e * e;
  for (const T v : lane) {
    if (std::is_same_v<simd::Native, simd::Baseline>) CHECK((v == fused || v == 0));
    else CHECK(v == fused);
  }
}

TEST_CASE_TEMPLATE("folds of lanes", T, float, double) {
  using L = std::numeric_limits<T>;
  constexpr int width = simd::lanes<T, simd::Native>;
  for (int at = 0; at < width; ++at) {
    T lane[width];
    for (int i = 0; i < width; ++i) lane[i] = static_cast<T>(i);
    lane[at] = T(-3);
    const auto fold = [&](auto f) { return f(simd::loadu<simd::Native>(lane)); };
    const auto greatest = [](const auto& v) { return simd::max_of_lanes(v); };
    const auto least = [](const auto& v) { return simd::min_of_lanes(v); };
    CHECK(fold(least) == T(-3));
    CHECK(fold(greatest) == static_cast<T>(at == width - 1 ? width - 2 : width - 1));
    for (const T special : {L::infinity(), -L::infinity()}) {
      lane[at] = special;
      CHECK(fold(least) == (special < 0 ? special : T(at == 0)));
      CHECK((fold(greatest) == special) == (special > 0));
    }
    lane[at] = L::quiet_NaN();
    CHECK(std::isnan(fold(greatest)));
    CHECK(std::isnan(fold(least)));
  }
  CHECK(!std::signbit(simd::min_of_lanes(Batch<T>(T(0)))));
  CHECK(std::signbit(simd::min_of_lanes(Batch<T>(T(-0.0)))));
  CHECK(!std::signbit(simd::max_of_lanes(Batch<T>(T(0)))));
}

TEST_CASE_TEMPLATE("first_n takes lanes from both", T, float, double) {
  constexpr int width = simd::lanes<T, simd::Native>;
  for (int n = 0; n <= width; ++n) {
    T lane[width];
    simd::storeu(lane, simd::first_n(Batch<T>(T(1)), n, Batch<T>(T(2))));
    for (int i = 0; i < width; ++i) CHECK(lane[i] == (i < n ? T(1) : T(2)));
  }
}

TEST_CASE("dot_bytes, dot_bytes_16, mul_add_bytes: each product and sum") {
  using V = Batch<int32_t>;
  constexpr int width = simd::lanes<int32_t, simd::Native>;
  const auto word = [](int a, int b, int c, int d) {
    const auto byte = [](int x, int shift) { return static_cast<uint32_t>(x & 255) << shift; };
    return static_cast<int32_t>(byte(a, 0) | byte(b, 8) | byte(c, 16) | byte(d, 24));
  };
  const auto lane0 = [](const V& v) {
    int32_t lane[width];
    simd::storeu(lane, v);
    for (int32_t x : lane) CHECK(x == lane[0]);
    return lane[0];
  };
  constexpr int low = simd::dot_bytes_lowers<simd::Native>;
  for (const int u : {0, 1, 127, 128, 255})
    for (const int s : {-128, -127, -1, 0, 1, 127}) {
      CAPTURE(u);
      CAPTURE(s);
      // The instruction of the first is not on every processor of the level.
      if (!simd::has_dot_bytes_16<simd::Native> || simd::has_dot_bytes<simd::Native>()) {
        CHECK(lane0(simd::dot_bytes(V(word(u, u, u, u)), V(word(s, s, s, s)), V(7))) ==
              4 * (u - low) * s + 7);
        CHECK(lane0(simd::dot_bytes(V(word(0, 0, u, 0)), V(word(0, 0, s, 1)), V(7))) ==
              (u - low) * s - low + 7);
        CHECK(lane0(simd::dot_bytes(V(word(1, 0, 0, u)), V(word(-1, 9, 9, s)), V(7))) ==
              (u - low) * s + low - 18 * low + 6);
        CHECK(lane0(simd::dot_low_bytes(V(word(u / 2, 1, 0, 3)), V(word(s, 9, 9, s)), V(7))) ==
              (u / 2 + 3) * s + 16);
      }
      CHECK(lane0(simd::dot_bytes_16(V(word(u, 5, 0, u)), V(word(s, 0, 9, s)), V(7))) ==
            2 * (u - low) * s - 9 * low + 7);
      CHECK(lane0(simd::sum_bytes(V(word(u, 5, 255, u)), V(s))) == 2 * u + 260 + s);
      const int32_t pairs = lane0(simd::mul_add_bytes(V(word(u, 0, 3, u)), V(word(s, 9, 2, s)), V(7)));
      CHECK(static_cast<int16_t>(pairs) == static_cast<int16_t>(u * s + 7));
      CHECK((pairs >> 16) == static_cast<int16_t>(u * s + 6));
    }
  CHECK(lane0(simd::dot_bytes_16(V(word(255, 255, 0, 0)), V(word(64, 64, 1, 1)), V(130 * low))) == 32640);
  CHECK(lane0(simd::dot_bytes_16(V(word(255, 255, 1, 1)), V(word(-64, -64, 0, 0)), V(-128 * low))) == -32640);
}

TEST_CASE("transpose_bytes: every place") {
  int32_t words[4];
  simd::transpose_bytes<simd::Native>(0x03020100, 0x13121110, 0x23222120, -0x0c0d0e10, words);
  CHECK(words[0] == static_cast<int32_t>(0xf0201000));
  CHECK(words[1] == static_cast<int32_t>(0xf1211101));
  CHECK(words[2] == static_cast<int32_t>(0xf2221202));
  CHECK(words[3] == static_cast<int32_t>(0xf3231303));
}

TEST_CASE("transpose_words, interleave_bytes, interleave_pairs: every place") {
  uint8_t bytes[4][32];
  for (int r = 0; r < 4; ++r)
    for (int i = 0; i < 32; ++i) bytes[r][i] = static_cast<uint8_t>(64 * r + i);
  uint32_t words[4 * 5], each[16];
  simd::transpose_words<simd::Native>(bytes[0] + 1, 32, words, 5);
  simd::interleave_bytes<simd::Native>(bytes[0], bytes[1], bytes[2], bytes[3], each);
  for (int i = 0; i < 4; ++i)
    for (int p = 0; p < 4; ++p)
      for (int e = 0; e < 4; ++e) CHECK((words[p * 5 + i] >> (8 * e) & 255) == bytes[i][1 + 4 * p + e]);
  for (int j = 0; j < 16; ++j)
    for (int e = 0; e < 4; ++e) CHECK((each[j] >> (8 * e) & 255) == bytes[e][j]);
  for (const int flip : {0, 128}) {
    int32_t pairs[16];
    simd::interleave_pairs<simd::Native>(bytes[2], bytes[3] + 5, static_cast<uint8_t>(flip), 200, pairs);
    for (int j = 0; j < 16; ++j) {
      CHECK(static_cast<int16_t>(pairs[j]) == (bytes[2][j] ^ flip) - 200);
      CHECK((pairs[j] >> 16) == (bytes[3][j + 5] ^ flip) - 200);
    }
  }
}

TEST_CASE_TEMPLATE("turn: every place of a block at any address, and no other", T, uint8_t, int16_t, float,
                   double) {
  constexpr int gap = 3;
  for (const int rows : {0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 33, 47, 64, 71})
    for (const int columns : {0, 1, 2, 3, 4, 7, 8, 12, 18}) {
      CAPTURE(rows);
      CAPTURE(columns);
      const int from_row = columns + gap, to_row = rows + gap;
      const auto number = [&](int i, int j) { return static_cast<T>((i * columns + j) % 251 + 1); };
      // No memory follows the last number.
      std::vector<char> bytes(1 + sizeof(T) * static_cast<std::size_t>(std::max(rows * from_row - gap, 0)));
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
          const T x = number(i, j);
          std::memcpy(bytes.data() + 1 + sizeof(T) * static_cast<std::size_t>(i * from_row + j), &x,
                      sizeof x);
        }
      std::vector<T> to(static_cast<std::size_t>(columns * to_row));
      simd::turn<simd::Native>(reinterpret_cast<const T*>(bytes.data() + 1), from_row, rows, columns,
                               to.data(), to_row);
      int wrong = 0;
      for (int j = 0; j < columns; ++j)
        for (int i = 0; i < to_row; ++i)
          wrong += to[static_cast<std::size_t>(j * to_row + i)] != (i < rows ? number(i, j) : T{0});
      CHECK(wrong == 0);
    }
}
