// Products of floats that were converted from halves, by tile registers (simd/tiles.hpp), which multiply only
// bfloat16.
//
// A bfloat16 has 8 significant bits; a float16, with 11, is exactly the sum of two bfloat16, its parts. A
// product of matrices therefore takes one product of parts, or four, at 512 multiply-adds a cycle per core,
// compared to 32 with two fma units. Sums are floats, as elsewhere.
//
// Infinities and NaN have no parts: products that contain them are left to fma. So are matrices of numbers
// below 2^-60, because parts and sums below 2^-126 count as zero here.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <numeric>

#include "tenon/base/scratch.hpp"
#include "tenon/base/types.hpp"
#include "tenon/kernels/gemm/blocks.hpp"
#include "tenon/simd/batch.hpp"
#include "tenon/simd/tiles.hpp"

namespace tenon::TENON_ABI::kernels::gemm_detail {

/// The operations of a product whose operands are split on the fly.
template <class U, int p>
struct Split {
  using Unit = U;
  static constexpr int parts = p;
  using Cell = float;
  using Out = float;
  static constexpr int per_cell = 1;
};

/// Packed operands are the same as for Single<float>.
template <class Unit, int parts, class Arch>
struct Tile<Split<Unit, parts>, Arch> {
  static constexpr int rows = 2 * simd::tile_rows, cols = Tile<Single<float>, Arch>::cols;
  static constexpr int64_t depth = Tile<Single<float>, Arch>::depth;
};

/// Numbers of K in a register, and columns in two.
inline constexpr int64_t split_step = 32, split_cols = 32;

/// Computes parts, and tracks the greatest number, as the bits of its absolute value times two.
template <class Arch, int parts>
class Splitter {
 public:
  using F = simd::batch<float, Arch>;
  using U = simd::batch<uint32_t, Arch>;

  /// The parts of x, each with zeros in its low half.
  void split(const F& x, U (&part)[parts]) {
    const U bits = simd::bits_as<uint32_t>(x);
    greatest_ = simd::max(greatest_, U(bits << 1));
    if constexpr (parts == 1) {
      part[0] = bits;
    } else {
      part[0] = bits & U(0xffff0000u);
      part[1] = simd::bits_as<uint32_t>(F(x - simd::bits_as<float>(part[0])));
    }
  }
  uint32_t greatest() const {
    uint32_t lane[simd::lanes<uint32_t, Arch>];
    simd::storeu(lane, greatest_);
    return *std::max_element(std::begin(lane), std::end(lane));
  }

 private:
  U greatest_ = U(0u);
};

/// Whether parts suffice for a matrix with this greatest number: it is zero, or its exponent is -60 to 127.
constexpr bool splits(uint32_t greatest) {
  return greatest == 0 || (greatest >= 67u << 24 && greatest < 255u << 24);
}

/// The parts of up to 32 rows of A: row r at from + r * row, `depth` numbers. Part t of row r's numbers in a
/// step is written to to + t * part + (step * 32 + r) * 16 words.
template <class Arch, int parts>
void split_rows(Splitter<Arch, parts>& splitter, const float* from, int64_t row, int64_t rows, int64_t depth,
                uint32_t* to, int64_t part) {
  constexpr int L = simd::lanes<float, Arch>;
  using U = simd::batch<uint32_t, Arch>;
  const auto load = [&](const float* p, int64_t n) {
    return n >= L ? simd::loadu<Arch>(p) : simd::load_n<Arch>(p, std::max<int64_t>(n, 0));
  };
  for (int64_t r = 0; r < rows; ++r, from += row)
    for (int64_t k = 0; k < depth; k += split_step)
      for (int64_t e = 0; e < split_step; e += 2 * L) {
        U low[parts], high[parts];
        splitter.split(load(from + k + e, depth - k - e), low);
        splitter.split(load(from + k + e + L, depth - k - e - L), high);
        uint32_t* const words = to + (k / split_step * 32 + r) * 16 + e / 2;
        for (int t = 0; t < parts; ++t) simd::storeu(words + t * part, simd::high_halves(low[t], high[t]));
      }
}

/// The parts of a vector of `cols` columns of B: row k at from + k * row, `depth` rows. Words of rows 2 p and
/// 2 p + 1 are written to to + t * part + p * 32.
template <class Arch, int parts>
void split_columns(Splitter<Arch, parts>& splitter, const float* from, int64_t row, int64_t cols,
                   int64_t depth, uint32_t* to, int64_t part) {
  constexpr int L = simd::lanes<float, Arch>;
  using F = simd::batch<float, Arch>;
  using U = simd::batch<uint32_t, Arch>;
  const auto load = [&](int64_t k) {
    if (k >= depth) return F(0.0f);
    return cols == L ? simd::loadu<Arch>(from + k * row) : simd::load_n<Arch>(from + k * row, cols);
  };
  const int64_t end = (depth + split_step - 1) / split_step * split_step;
  for (int64_t k = 0; k < end; k += 2, to += split_cols) {
    U even[parts], odd[parts];
    splitter.split(load(k), even);
    splitter.split(load(k + 1), odd);
    for (int t = 0; t < parts; ++t) simd::storeu(to + t * part, U((even[t] >> 16) | odd[t]));
  }
}

/// The sums of 32 rows and 32 columns over `steps` steps of K, to `sums`.
template <int parts, bool high_rows, class Unit>
void sum_parts(Unit& unit, int64_t steps, const uint32_t* a, int64_t a_part, const uint32_t* b,
               int64_t b_part, float* sums) {
  constexpr int64_t words = split_step / 2 * 32;  // per step
  unit.template zero<0>();
  unit.template zero<1>();
  unit.template zero<2>();
  unit.template zero<3>();
  for (int64_t s = 0; s < steps; ++s, a += words, b += words)
    for (int t = 0; t < parts; ++t) {
      unit.template load<4>(a + t * a_part, 64);
      if constexpr (high_rows) unit.template load<5>(a + t * a_part + words / 2, 64);
      for (int u = 0; u < parts; ++u) {
        const uint32_t* const from = b + u * b_part;
        unit.template load<6>(from, 4 * split_cols);
        unit.template add_bfloat16_products<0, 4, 6>();
        unit.template load<7>(from + 16, 4 * split_cols);
        unit.template add_bfloat16_products<1, 4, 7>();
        if constexpr (high_rows) {
          unit.template add_bfloat16_products<2, 5, 6>();
          unit.template add_bfloat16_products<3, 5, 7>();
        }
      }
    }
  unit.template store<0>(sums, 4 * split_cols);
  unit.template store<1>(sums + 16, 4 * split_cols);
  if constexpr (high_rows) {
    unit.template store<2>(sums + 16 * split_cols, 4 * split_cols);
    unit.template store<3>(sums + 16 * split_cols + 16, 4 * split_cols);
  }
}

/// A product, and a record of what its operands contain.
template <class P>
struct SplitProduct : P {
  std::atomic<uint32_t>*greatest_a, *greatest_b;
};

inline void raise_to(std::atomic<uint32_t>& greatest, uint32_t value) {
  uint32_t old = greatest.load(std::memory_order_relaxed);
  while (old < value && !greatest.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
  }
}

/// C of rows [i0, i1), columns [j0, j1), which begin at whole panels. Parts of a block of K of 256 rows of A
/// and of 192 columns of B are 1 MB together.
template <class Ops, class Arch, class P>
  requires(requires { typename Ops::Unit; } && Ops::per_cell == 1)
void compute_range(const P& q, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  using S = Tile<Ops, Arch>;
  constexpr int parts = Ops::parts;
  constexpr int64_t rows = S::rows, cols = split_cols, L = simd::lanes<float, Arch>;
  constexpr int64_t most_rows = 8 * rows, most_cols = std::lcm(int64_t{4 * S::cols}, cols);
  constexpr int64_t a_part = most_rows * S::depth / 2, b_part = most_cols * S::depth / 2;
  static_assert(most_cols % cols == 0 && S::depth % split_step == 0 && S::cols % L == 0 && cols % L == 0);
  const int64_t padded_n = (q.n + S::cols - 1) / S::cols * S::cols;
  const int64_t block = block_depth<Single<float>, Arch>(q.depth);
  Scratch scratch;
  uint32_t* const a_parts = scratch.take<uint32_t>(parts * a_part);
  uint32_t* const b_parts = scratch.take<uint32_t>(parts * b_part);
  float* const panel =
      q.packed_b == nullptr && q.plain_b == nullptr ? scratch.take<float>(S::cols * S::depth + L) : nullptr;
  alignas(64) float sums[rows * cols];
  uint32_t greatest_a = 0, greatest_b = 0;
  for (int64_t i = i0; i < i1; i += most_rows)
    for (int64_t p = 0; p < q.depth; p += block) {
      const int64_t i_end = std::min(i + most_rows, i1), depth = std::min(block, q.depth - p);
      const int64_t steps = (depth + split_step - 1) / split_step;
      Splitter<Arch, parts> a_splitter;
      for (int64_t r = i; r < i_end; r += rows)
        split_rows(a_splitter, q.plain_a + r * q.plain_a_row + p, q.plain_a_row, std::min(rows, i_end - r),
                   depth, a_parts + (r - i) / rows * steps * 16 * rows, a_part);
      greatest_a = std::max(greatest_a, a_splitter.greatest());
      for (int64_t j = j0; j < j1; j += most_cols) {
        const int64_t j_end = std::min(j + most_cols, j1);
        Splitter<Arch, parts> b_splitter;
        for (int64_t c = j; c < j_end; c += S::cols) {
          const float* from = panel;
          if (q.packed_b != nullptr) from = q.packed_b + p * padded_n + c * depth;
          else if (q.plain_b != nullptr) from = q.plain_b + p * q.plain_b_row + c;
          else q.pack_b(c, std::min<int64_t>(S::cols, j_end - c), p, depth, panel);
          const int64_t row = q.packed_b == nullptr && q.plain_b != nullptr ? q.plain_b_row : S::cols;
          for (int64_t v = c; v < std::min(c + S::cols, j_end); v += L)
            split_columns(b_splitter, from + (v - c), row, std::min(L, j_end - v), depth,
                          b_parts + (v - j) / cols * steps * 16 * cols + (v - j) % cols, b_part);
        }
        greatest_b = std::max(greatest_b, b_splitter.greatest());
        const bool first = p == 0, last = p + depth == q.depth;
        for (int64_t r = i; r < i_end; r += rows) {
          const int64_t count = std::min(rows, i_end - r);
          typename Ops::Unit unit({static_cast<int>(count)});
          for (int64_t c = j; c < j_end; c += cols) {
            const uint32_t* const a = a_parts + (r - i) / rows * steps * 16 * rows;
            const uint32_t* const b = b_parts + (c - j) / cols * steps * 16 * cols;
            if (count > rows / 2) sum_parts<parts, true>(unit, steps, a, a_part, b, b_part, sums);
            else sum_parts<parts, false>(unit, steps, a, a_part, b, b_part, sums);
            finish_sums<Arch>(sums, cols, count, std::min(cols, j_end - c), r, c, q.finish, first, last, q.c,
                              q.c_row);
          }
        }
      }
    }
  raise_to(*q.greatest_a, greatest_a);
  raise_to(*q.greatest_b, greatest_b);
}

/// Computes the products, created by product(item), if the operands have parts; otherwise returns false and
/// leaves C undefined.
template <class Unit, int parts, class Arch, class MakeProduct>
bool run_split(const GemmArgs<float>& g, int64_t items, const MakeProduct& product) {
  std::atomic<uint32_t> greatest_a{0}, greatest_b{0};
  const auto split = [&](int64_t item) {
    auto q = product(item);
    q.plain_a = g.a + batch_offset<Arch>(g.batch, g.batch.a, item);
    q.plain_a_row = g.a_row;
    return SplitProduct<decltype(q)>{q, &greatest_a, &greatest_b};
  };
  run_products<Split<Unit, parts>, Arch>(split(0), items, split);
  return splits(greatest_a) && splits(greatest_b);
}

/// run_split if numbers have few bits, the processor has the registers and it pays; otherwise false.
template <class Arch, class MakeProduct>
bool split_product(const GemmArgs<float>& g, int64_t items, const MakeProduct& product) {
  // The type list of a compiled model contains only the types of its values.
  constexpr bool has_halves = all_types::contains<float16> || all_types::contains<bfloat16>;
  if constexpr (simd::may_have_tiles<Arch> && has_halves) {
    // Splitting B takes as long as its products with about ten rows of A.
    if (g.parts == 0 || g.packed_a != nullptr || g.a_col != 1 || g.m < 32 || g.n < split_cols ||
        g.k < split_step || g.d == g.c || !simd::has_tiles<Arch>())
      return false;
    using Unit = simd::Tiles<Arch>;
    return g.parts == 1 ? run_split<Unit, 1, Arch>(g, items, product)
                        : run_split<Unit, 2, Arch>(g, items, product);
  }
  return false;
}

}  // namespace tenon::TENON_ABI::kernels::gemm_detail
