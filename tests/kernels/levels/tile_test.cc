// Register tiles of products: packed and unpacked rows of A, every number of rows and vectors, any depth.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "tenon/kernels/gemm/bytes.hpp"
#include "tenon/kernels/gemm/tile.hpp"

using namespace tenon;
using namespace tenon::kernels::gemm_detail;
using Arch = simd::Native;

namespace {

// Cells as products read them: whole numbers in floats, anything in words.
template <class Cell>
std::vector<Cell> cells(int64_t count) {
  static std::mt19937 random(7);
  std::vector<Cell> v(static_cast<std::size_t>(count));
  for (Cell& x : v) {
    if constexpr (std::is_floating_point_v<Cell>) x = static_cast<Cell>(random() % 64) - 32;
    else x = static_cast<Cell>(random());
  }
  return v;
}

template <class Ops, class Cell>
Cell product(Cell a, Cell b) {
  if constexpr (Ops::per_cell == 1) {
    return a * b;
  } else {
    constexpr int bits = 32 / Ops::per_cell;
    uint32_t sum = 0;
    for (int e = 0; e < 32; e += bits) {
      const auto part = [&](int32_t x) {
        return static_cast<int32_t>(static_cast<uint32_t>(x) << (32 - bits - e)) >> (32 - bits);
      };
      int32_t x = part(a), y = part(b);
      if constexpr (std::is_same_v<Ops, Quad<true, true>>) y = (y & 255) - lowers<Ops, Arch>;
      if constexpr (std::is_same_v<Ops, Quad<false, true>>) x = (x & 255) - lowers<Ops, Arch>;
      sum += static_cast<uint32_t>(x * y);
    }
    return static_cast<Cell>(sum);
  }
}

template <class Ops>
void check(bool packed) {
  using Cell = typename Ops::Cell;
  using S = Tile<Ops, Arch>;
  constexpr int L = simd::lanes<Cell, Arch>;
  for (int rows = 1; rows <= S::rows; rows += rows == 1 ? 1 : 2)
    for (int vectors = 1; vectors <= S::vectors; ++vectors)
      for (const int64_t depth : {0, 1, 2, 3, 8, 33}) {
        CAPTURE(packed);
        CAPTURE(rows);
        CAPTURE(vectors);
        CAPTURE(depth);
        const int64_t pitch = depth + 3;
        const auto a = cells<Cell>(packed ? depth * S::rows + 1 : S::rows * pitch),
                   b = cells<Cell>(depth * S::cols + 1);
        const int64_t a_row = packed ? 1 : pitch, a_step = packed ? S::rows : 1;
        std::vector<Cell> sums(static_cast<std::size_t>(S::rows * S::cols));
        TileEnd<Cell> end{};
        end.alpha = 1, end.raw = sums.data();
        tile_for<Ops, Arch>(rows, vectors)(depth,
                                           {a.data(), a_row, a_step, b.data(), S::cols, 0, b.data(), 0}, end);
        int wrong = 0;
        for (int r = 0; r < rows; ++r)
          for (int j = 0; j < vectors * L; ++j) {
            Cell sum{0};
            for (int64_t p = 0; p < depth; ++p) {
              const Cell one = product<Ops>(a[static_cast<std::size_t>(r * a_row + p * a_step)],
                                            b[static_cast<std::size_t>(p * S::cols + j)]);
              if constexpr (std::is_floating_point_v<Cell>) sum += one;
              else sum = static_cast<Cell>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(one));
            }
            wrong += sums[static_cast<std::size_t>(r * vectors * L + j)] != sum;
          }
        CHECK(wrong == 0);
      }
}

}  // namespace

TEST_CASE("tiles of numbers and of pairs") {
  for (const bool packed : {false, true}) {
    check<Single<float>>(packed);
    check<Single<double>>(packed);
  }
  check<Pair>(true);
}

TEST_CASE("tiles of bytes" * doctest::skip(!simd::has_dot_bytes<Arch>())) {
  check<Quad<false, true>>(true);
  check<Quad<true, true>>(true);
  if (!always_packed<Quad<false, true>, Arch>) check<Quad<false, true>>(false);
}
