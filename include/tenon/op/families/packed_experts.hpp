// A layer of experts whose weights are integers of few bits, laid out for products.
#pragma once

#include <algorithm>
#include <cmath>

#include "tenon/base/lasting.hpp"
#include "tenon/op/families/narrow_packing.hpp"
#include "tenon/op/families/packed_codes.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/tensor/value.hpp"

namespace tenon::TENON_ABI::op {

/// Refuses scales and zero points that do not fit weights of these (experts, rows, columns), `each` numbers
/// of a byte, whose rows have one scale or one for each block.
constexpr void check_expert_scales(Infer& i, int scales, int zeros, const Dims& w, int64_t block_size,
                                   bool blocks, int64_t each) {
  if (i.failed()) return;
  const auto ceil = [](Dim a, int64_t b) { return (a + (b - 1)) / b; };
  const Dim count = blocks ? ceil(w[2], block_size) : Dim(1);
  if (!i.expect_extents(scales, block_size == 0 ? Dims{w[0], w[1]} : Dims{w[0], w[1], count})) return;
  i.expect_extents(zeros, blocks ? Dims{w[0], w[1], ceil(count, each)} : Dims{w[0], ceil(w[1], each)});
}

/// y (m, n) = x (m, k) w^T + bias of an expert.
struct PackedExpertLayer {
  int64_t n = 0, k = 0;
  Storage codes{}, zeros{}, biases{};            ///< of all experts; biases (experts, n) of float, or empty
  std::vector<kernels::NarrowMatrix> experts{};  ///< in codes and zeros

  auto product() const {
    return [this](Scratch&, int64_t expert, const float* x, int64_t m, float* y) {
      kernels::GemmArgs<float> g;
      g.m = m, g.n = n, g.k = k;
      g.a = x, g.a_row = k;
      g.c = y, g.c_row = n;
      if (biases) g.col_bias = static_cast<const float*>(biases.data()) + expert * n;
      kernels::narrow_gemm(g, experts[static_cast<std::size_t>(expert)]);
    };
  }

  /// A layer of constant codes w (experts, n, k / codes in a byte), scales, zero points or null, and biases
  /// or null. Without experts if products cannot read it.
  static PackedExpertLayer packed(const AnyTensor& w, const AnyTensor& scales, const AnyTensor* zeros,
                                  const AnyTensor* biases, int64_t bits, int64_t block) {
    const int64_t count = w.extents()[0], each = 8 / bits;
    PackedExpertLayer l{.n = w.extents()[1], .k = w.extents()[2] * each};
    kernels::NarrowSource s{.type = unsigned_of(bits), .k = l.k, .n = l.n, .transposed = true};
    s.block = block == 0 ? s.k : block;
    if (count * s.n * s.k == 0 || !kernels::narrow_fits(s)) return l;
    const int64_t blocks = (s.k - 1) / s.block + 1, groups = s.n * blocks;
    s.scale_row = 1, s.scale_col = blocks;

    Scratch scratch;
    const float* factors = numbers<float>(scratch, scales.view());
    if (!std::all_of(factors, factors + count * groups, [](float x) { return std::isfinite(x); })) return l;
    const int64_t zero_bytes = (groups + each - 1) / each;
    auto* zero = scratch.take<uint8_t>(zero_bytes);
    std::fill_n(zero, zero_bytes, static_cast<uint8_t>(middle_codes(bits)));
    // Each row's zero points begin a byte; without blocks, each expert's do.
    const int64_t rows = block == 0 ? 1 : s.n, columns = groups / rows,
                  row_bytes = (columns + each - 1) / each;
    s.zero = zero;
    const auto source = [&](int64_t expert) {
      s.codes = static_cast<const uint8_t*>(w.data()) + expert * s.n * w.extents()[2];
      s.scale = factors + expert * groups;
      if (zeros != nullptr)
        pack_codes(static_cast<const uint8_t*>(zeros->data()) + expert * rows * row_bytes, row_bytes, rows,
                   columns, bits, zero);
      return s;
    };
    const auto whole = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
    kernels::NarrowSize size = kernels::narrow_size(source(0));
    size.data = whole(size.data), size.zeros = whole(size.zeros);
    l.codes = Storage::make<std::byte>(count * size.data, lasting_allocator());
    l.zeros = Storage::make<uint8_t>(count * size.zeros, lasting_allocator());
    for (int64_t e = 0; e < count; ++e)
      l.experts.push_back(pack_by_threads(source(e), l.codes.as<std::byte>() + e * size.data,
                                          l.zeros.as<uint8_t>() + e * size.zeros));
    if (std::none_of(l.experts.begin(), l.experts.end(), [](const auto& m) { return m.zeros != nullptr; }))
      l.zeros = {};
    if (biases != nullptr) {
      l.biases = Storage::make<float>(biases->size());
      std::copy_n(numbers<float>(scratch, biases->view()), biases->size(), l.biases.as<float>());
    }
    return l;
  }
};

}  // namespace tenon::TENON_ABI::op
