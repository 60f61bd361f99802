// Products with one lane of a vector, and of blocks of bytes.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "tenon/simd/batch.hpp"

using namespace tenon;

namespace {

using Arch = simd::Native;
template <class T>
using V = simd::batch<T, Arch>;

template <class T>
std::vector<T> numbers(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> v(static_cast<std::size_t>(count));
  for (T& x : v) x = static_cast<T>(static_cast<int32_t>(random()));
  return v;
}

template <class T>
V<T> vector(const std::vector<T>& v) {
  return simd::loadu<Arch>(v.data());
}

template <class T>
std::vector<T> lanes_of(const V<T>& v) {
  std::vector<T> lane(V<T>::size);
  simd::storeu(lane.data(), v);
  return lane;
}

template <class T, class F>
void for_lanes(F f) {
  [&]<int... lane>(std::integer_sequence<int, lane...>) {
    (f(std::integral_constant<int, lane>{}), ...);
  }(std::make_integer_sequence<int, simd::lanes<T, Arch>>{});
}

int32_t wrapped(int64_t x) { return static_cast<int32_t>(static_cast<uint64_t>(x)); }
int64_t half(int32_t x, int at) { return static_cast<int16_t>(x >> 16 * at); }
int32_t unsigned_byte(int32_t x, int at) { return x >> 8 * at & 255; }
int32_t signed_byte(int32_t x, int at) { return static_cast<int8_t>(x >> 8 * at & 255); }

}  // namespace

TEST_CASE_TEMPLATE("mul_add_lane: every lane, rounded as mul_add does", T, float, double) {
  const auto x = numbers<T>(simd::lanes<T, Arch>, 1), y = numbers<T>(simd::lanes<T, Arch>, 2),
             z = numbers<T>(simd::lanes<T, Arch>, 3);
  for_lanes<T>([&]<int lane>(std::integral_constant<int, lane>) {
    CHECK(lanes_of<T>(simd::mul_add_lane<lane>(vector(x), vector(y), vector(z))) ==
          lanes_of<T>(simd::mul_add(V<T>(x[lane]), vector(y), vector(z))));
  });
  for (std::size_t at = 0; at < x.size(); ++at) {
    const V<T> loaded = simd::load_lane<Arch>(x.data() + at);
    CHECK(lanes_of<T>(loaded)[0] == x[at]);
  }
}

TEST_CASE("lanes of pairs and of bytes") {
  const auto x = numbers<int32_t>(simd::lanes<int32_t, Arch>, 1),
             y = numbers<int32_t>(simd::lanes<int32_t, Arch>, 2),
             z = numbers<int32_t>(simd::lanes<int32_t, Arch>, 3);
  constexpr int32_t low = simd::dot_bytes_lowers<Arch>;
  const bool has_dots = !simd::has_dot_bytes_16<Arch> || simd::has_dot_bytes<Arch>();
  const auto dot = [](int32_t u, int32_t s, int32_t sum) {
    for (int e = 0; e < 4; ++e) sum = wrapped(int64_t{sum} + (unsigned_byte(u, e) - low) * signed_byte(s, e));
    return sum;
  };
  for_lanes<int32_t>([&]<int lane>(std::integral_constant<int, lane>) {
    const auto pairs = lanes_of<int32_t>(simd::mul_add_pairs_lane<lane>(vector(x), vector(y), vector(z))),
               plain = lanes_of<int32_t>(simd::mul_add_pairs(vector(x), vector(y), vector(z)));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto expected = [&](int32_t a) {
        return wrapped(int64_t{z[i]} + half(a, 0) * half(y[i], 0) + half(a, 1) * half(y[i], 1));
      };
      CHECK(pairs[i] == expected(x[lane]));
      CHECK(plain[i] == expected(x[i]));
    }
    if (!has_dots) return;
    const auto of_x = lanes_of<int32_t>(simd::dot_bytes_lane<lane>(vector(x), vector(y), vector(z))),
               of_y = lanes_of<int32_t>(simd::dot_bytes_by_lane<lane>(vector(x), vector(y), vector(z)));
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(of_x[i] == dot(x[lane], y[i], z[i]));
      CHECK(of_y[i] == dot(x[i], y[lane], z[i]));
    }
  });
}

TEST_CASE("dot_blocks: two rows by two rows of eight bytes") {
  const auto x = numbers<int32_t>(simd::lanes<int32_t, Arch>, 1),
             y = numbers<int32_t>(simd::lanes<int32_t, Arch>, 2);
  std::vector<int32_t> z(x.size());
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = static_cast<int32_t>(1000 * i) - 500;
  const auto blocks = lanes_of<int32_t>(simd::dot_blocks(vector(x), vector(y), vector(z)));
  for (std::size_t i = 0; i < z.size(); ++i) {
    const std::size_t four = i / 4 * 4, row = four + i % 4 / 2 * 2, column = four + i % 2 * 2;
    int32_t sum = z[i];
    for (std::size_t word = 0; word < 2; ++word)
      for (int e = 0; e < 4; ++e) sum += unsigned_byte(x[row + word], e) * signed_byte(y[column + word], e);
    CHECK(blocks[i] == sum);
  }
}

TEST_CASE("bytes become words and back, rounded and bounded") {
  constexpr int width = simd::lanes<int32_t, Arch>;
  std::vector<uint8_t> bytes(width + 1), to(4 * width + 1);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(250 - 7 * i);
  const auto words = lanes_of<int32_t>(simd::load_bytes<Arch>(bytes.data() + 1));
  for (int i = 0; i < width; ++i)
    CHECK(words[static_cast<std::size_t>(i)] == bytes[static_cast<std::size_t>(i + 1)]);
  std::vector<int8_t> codes(width + 1);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int8_t>(i % 2 == 0 ? i : i - 128);
  const auto signed_words = lanes_of<int32_t>(simd::load_signed_bytes<Arch>(codes.data() + 1));
  for (int i = 0; i < width; ++i)
    CHECK(signed_words[static_cast<std::size_t>(i)] == codes[static_cast<std::size_t>(i + 1)]);
  simd::store_bytes(to.data() + 1, V<int32_t>(simd::load_bytes<Arch>(bytes.data() + 1) + V<int32_t>(256)));
  for (int i = 0; i < width; ++i)
    CHECK(to[static_cast<std::size_t>(i + 1)] == bytes[static_cast<std::size_t>(i + 1)]);

  const auto check = [&]<int count>(std::integral_constant<int, count>) {
    std::vector<float> x(count * width);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = i % 5 == 3 ? 1e9f : i % 5 == 4 ? -1e9f : static_cast<float>(i) * 2.5f - 60;
    V<float> v[count];
    for (int k = 0; k < count; ++k) v[k] = simd::loadu<Arch>(x.data() + k * width);
    for (int64_t n = 0; n <= count * width; ++n) {
      std::fill(to.begin(), to.end(), uint8_t{77});
      const bool all = n == 0;  // the whole vectors, flipped
      if (all) simd::store_rounded<count>(to.data(), v, 100, 20, 230, 128);
      else simd::store_rounded_n<count>(to.data(), v, 100, 20, 230, n);
      const std::size_t written = static_cast<std::size_t>(all ? count * width : n);
      for (std::size_t i = 0; i < written; ++i) {
        const double near = std::nearbyint(double{x[i]}) + 100;
        const int expected = static_cast<int>(std::min(std::max(near, 20.0), 230.0));
        CHECK(to[i] == (all ? expected ^ 128 : expected));
      }
      CHECK(to[written] == 77);
    }
  };
  check(std::integral_constant<int, 1>{});
  check(std::integral_constant<int, 2>{});
  check(std::integral_constant<int, 3>{});
  check(std::integral_constant<int, 4>{});
}

TEST_CASE("interleave_rows and interleave_vectors: every place") {
  constexpr int width = simd::lanes<int32_t, Arch>;
  const auto bytes = numbers<uint8_t>(16 * width + 64, 5);
  const uint8_t* const row[4] = {bytes.data(), bytes.data() + 4 * width + 1, bytes.data() + 8 * width + 2,
                                 bytes.data() + 12 * width + 3};
  for (int rows = 1; rows <= 4; ++rows) {
    uint8_t to[80];
    simd::interleave_rows<Arch>(row, rows, 128, to);
    for (int j = 0; j < 16; ++j)
      for (int r = 0; r < rows; ++r) CHECK(to[j * rows + r] == (row[r][j] ^ 128));
  }
  V<int32_t> words[4];
  simd::interleave_vectors<Arch>(row[0], row[1], row[2], row[3], words);
  for (int k = 0; k < 4; ++k) {
    const auto lane = lanes_of<int32_t>(words[k]);
    for (int i = 0; i < width; ++i)
      for (int r = 0; r < 4; ++r)
        CHECK(unsigned_byte(lane[static_cast<std::size_t>(i)], r) == row[r][k * width + i]);
  }
}
