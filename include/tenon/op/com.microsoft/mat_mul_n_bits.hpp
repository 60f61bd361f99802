// MatMulNBits: Y = A dequantised(B)^T + bias, B in 2, 4 or 8 bits.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MatMulNBits
#pragma once

#include <cstring>

#include "tenon/op/families/packed_codes.hpp"
#include "tenon/op/framework/registry.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/sub.hpp"
#include "tenon/op/quantization/dequantize_linear.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/slice.hpp"
#include "tenon/op/tensor/transpose.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

namespace packed_detail {

/// The first `columns` integers of `bits` bits in each of `rows` rows of bytes, lowest bits first, as an
/// unsigned (rows, columns). Shares the bytes if rows have no others.
inline AnyTensor unpacked(const AnyTensor& bytes, int64_t rows, int64_t columns, int64_t bits) {
  const int64_t row = bytes.size() / rows;
  const Extents extents{rows, columns};
  if (row * (8 / bits) == columns) return {unsigned_of(bits), extents, bytes.storage()};
  AnyTensor result = AnyTensor::uninitialized(unsigned_of(bits), extents);
  pack_codes(static_cast<const uint8_t*>(bytes.data()), row, rows, columns, bits,
             static_cast<uint8_t*>(result.out().data()));
  return result;
}

/// An unsigned (rows, columns) of `bits` bits whose integers are all 2^(bits - 1).
inline AnyTensor middles(int64_t rows, int64_t columns, int64_t bits) {
  AnyTensor result = AnyTensor::uninitialized(unsigned_of(bits), {rows, columns});
  std::memset(result.out().data(), middle_codes(bits), static_cast<std::size_t>(result.bytes()));
  return result;
}

inline AnyTensor list(std::vector<int64_t> numbers) {
  return input_from_attribute(std::move(numbers), DType::int64);
}

/// Input `input` has one of these extents, as far as they are known.
constexpr bool expect_either(Infer& i, int input, const Dims& expected, const Dims& other) {
  if (!i.dims(input).fits(expected) && !i.dims(input).fits(other))
    i.fail(i.name(input), ": ", i.dims(input), ", expected ", expected, " or ", other);
  return !i.failed();
}

}  // namespace packed_detail

/// Y (..., N) = A (..., K) W^T + bias, where W (N, K) is (code - zero point) * scale. B has the codes, `bits`
/// bits each and the first in the lowest bits, as (N, blocks, block_size * bits / 8) bytes; a row's last
/// block may exceed K. scales, (N, blocks) or flat, has one number for each block. zero_points are packed
/// like B, each row in whole bytes, or floats like scales; left out, they are 2^(bits - 1). With g_idx,
/// column k of W has the scale and the zero point of block g_idx[k]; packed zero points are then ignored, as
/// in ONNX Runtime. accuracy_level 4 permits rounding A to 8 bits, with a scale for each block of a row:
/// products with integers of 4 and 8 bits that pack_narrow packs do so (kernels/gemm/narrow_rounded.hpp),
/// except with g_idx or zero points in floats. Other levels, and nodes that no pass packs, compute exactly.
/// op::com_microsoft::MatMulNBits{.K = 32, .N = 2, .block_size = 16}(a, b, scales) of (5,32), (2,2,8) and
/// (2,2) gives (5,2).
struct MatMulNBits {
  Opt<int64_t> K{};
  Opt<int64_t> N{};
  int64_t accuracy_level = 0;
  int64_t bits = 4;
  Opt<int64_t> block_size{};
  int64_t weight_prepacked = 0;  ///< only 0: other layouts are of one graphics processor

  static constexpr TypeSet floats = types::float32 | types::float16 | types::bfloat16;
  static constexpr Spec spec{
      .name = "MatMulNBits",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"A", "T1"},
                 {"B", "T2"},
                 {"scales", "T1"},
                 {"zero_points", "T3", optional},
                 {"g_idx", "T4", optional},
                 {"bias", "T1", optional}},
      .outputs = {{"Y", "T1"}},
      .types = {{"T1", floats}, {"T2", types::uint8}, {"T3", floats | types::uint8}, {"T4", types::int32}}};
  static constexpr Attributes attributes{attr("K", &MatMulNBits::K).required(),
                                         attr("N", &MatMulNBits::N).required(),
                                         attr("accuracy_level", &MatMulNBits::accuracy_level),
                                         attr("bits", &MatMulNBits::bits),
                                         attr("block_size", &MatMulNBits::block_size).required(),
                                         attr("weight_prepacked", &MatMulNBits::weight_prepacked)};

  constexpr void infer(Infer& i) const {
    using namespace packed_detail;
    if (!i.expect_choice("bits", bits, {2, 4, 8}) ||
        !i.expect_choice("accuracy_level", accuracy_level, {0, 1, 2, 3, 4}) ||
        !i.expect_choice("weight_prepacked", weight_prepacked, {0}) ||
        !expect_block_size(i, block_size ? *block_size : 0) || !i.expect_at_least("K", K ? *K : 0, 1) ||
        !i.expect_at_least("N", N ? *N : 0, 1))
      return;
    const Dim n = *N, count = blocks();
    if (!i.expect_extents(1, {n, count, *block_size / 8 * bits}) ||
        !expect_either(i, 2, {n, count}, Dims{n * count}))
      return;
    if (i.has(3)) {
      const bool packed = i.dtype(3) == DType::uint8;
      if (!packed && i.dtype(3) != i.dtype(2))
        return i.fail_type("zero_points is ", i.dtype(3), ", scales is ", i.dtype(2));
      const Dim row = packed ? Dim((blocks() - 1) / (8 / bits) + 1) : count;
      if (!expect_either(i, 3, {n, row}, Dims{n * row})) return;
    }
    if (i.has(4) && !expect_either(i, 4, Dims{*K}, Dims{count * *block_size})) return;
    if (!i.expect_extents(5, {n}) || !i.expect_rank_at_least(0, 1) || !i.ranked(0)) return;
    Dims y = i.dims(0);
    if (y[y.rank() - 1].differs(*K)) return i.fail("A: ", y, " does not end with K, ", *K);
    y[y.rank() - 1] = n;
    i.out(0, y);
  }
  template <class L>
  int32_t lower(L& to) const {
    const AnyTensor codes = to.elements(1);
    if (!codes.storage()) return -1;
    const bool grouped = to.input(4) >= 0, packed_zeros = to.in(3).type.element == DType::uint8;
    const int32_t w = grouped || (to.input(3) >= 0 && !packed_zeros) ? matrix_of_floats(to, codes)
                                                                     : matrix_of_integers(to, codes);
    if (w < 0) return -1;
    const int32_t y = to.add(MatMul{}, {to.input(0), to.add(Transpose{.perm = {1, 0}}, {w})});
    return to.input(5) < 0 ? y : to.add(Add{}, {y, to.input(5)});
  }
  /// Over columns, rows of A, and the sum over blocks, of which those stay together whose zero points share a
  /// byte. Flat scales and zero points have a stretch for each column.
  template <class L>
  void loops(L& l) const {
    if (!l.dims(0).ranked()) return;
    const int last = l.dims(0).rank() - 1;
    l.over({{1, 0}, {2, 0}, {3, 0}, {5, 0}}, {{0, last}}, *N).attributes = {"N"};
    for (int axis = 0; axis < last; ++axis) l.over({{0, axis}}, {{0, axis}});
    const int64_t step = *block_size * (l.in(3).type.element == DType::uint8 ? 8 / bits : 1);
    if (l.has(4) || *K % step != 0) return;
    const auto blocks = [&](int k) {
      return l.dims(k).rank() == 1 ? typename L::Axis{k, 0, *N} : typename L::Axis{k, 1};
    };
    auto& sum = l.over({{0, last}, {1, 1}, blocks(2), blocks(3)}, {}, *K / step);
    sum.once = {5}, sum.attributes = {"K"};
  }
  template <class L>
  double multiplications(const L& l) const {
    return l.elements(l.out(0)) * static_cast<double>(*K);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  constexpr int64_t blocks() const { return (*K - 1) / *block_size + 1; }

  template <class L>
  static int32_t reshaped(L& to, int32_t value, std::vector<int64_t> extents) {
    return to.add(Reshape{}, {value, to.constant(packed_detail::list(std::move(extents)))});
  }
  /// The first K elements along `axis`.
  template <class L>
  int32_t first_k(L& to, int32_t value, int64_t axis) const {
    using packed_detail::list;
    return to.add(Slice{},
                  {value, to.constant(list({0})), to.constant(list({*K})), to.constant(list({axis}))});
  }

  /// W as a DequantizeLinear of B's integers, which passes leave packed.
  template <class L>
  int32_t matrix_of_integers(L& to, const AnyTensor& codes) const {
    const AnyTensor zeros = to.elements(3);
    if (to.input(3) >= 0 && !zeros.storage()) return -1;
    const int32_t zero = to.constant(to.input(3) < 0 ? packed_detail::middles(*N, blocks(), bits)
                                                     : packed_detail::unpacked(zeros, *N, blocks(), bits));
    return to.add(
        op::DequantizeLinear{.axis = 1, .block_size = *block_size, .round_activations = accuracy_level == 4},
        {to.constant(packed_detail::unpacked(codes, *N, *K, bits)), reshaped(to, to.input(2), {*N, blocks()}),
         zero});
  }

  /// W where zero points are floats or blocks are not of neighbours.
  template <class L>
  int32_t matrix_of_floats(L& to, const AnyTensor& codes) const {
    const bool grouped = to.input(4) >= 0;
    if (grouped) {
      const AnyTensor groups = to.elements(4);
      if (!groups.storage()) return -1;
      check_groups(groups);
    }
    const DType type = to.in(2).type.element;
    const int64_t whole = blocks() * *block_size, width = grouped ? *K : whole;
    int32_t w = to.add(Cast{.to = static_cast<int64_t>(type)},
                       {to.constant(packed_detail::unpacked(codes, *N, width, bits))});
    if (!grouped) w = reshaped(to, w, {*N, blocks(), *block_size});
    const int32_t groups = grouped ? first_k(to, to.input(4), 0) : -1;
    // A number of each block as one of each column, or as an operand that broadcasts along blocks.
    const auto of_blocks = [&](int32_t numbers) {
      if (grouped) return to.add(Gather{.axis = 1}, {reshaped(to, numbers, {*N, blocks()}), groups});
      return reshaped(to, numbers, {*N, blocks(), 1});
    };
    const bool given = to.input(3) >= 0 && to.in(3).type.element != DType::uint8;
    const int32_t zero = given ? of_blocks(to.input(3))
                               : to.constant(input_from_attribute(static_cast<float>(1 << (bits - 1)), type));
    w = to.add(Mul{}, {to.add(Sub{}, {w, zero}), of_blocks(to.input(2))});
    if (grouped) return w;
    w = reshaped(to, w, {*N, whole});
    return whole == *K ? w : first_k(to, w, 1);
  }

  void check_groups(const AnyTensor& groups) const {
    for (int64_t k = 0; k < groups.size(); ++k) {
      int32_t group;
      std::memcpy(&group, static_cast<const std::byte*>(groups.data()) + k * 4, 4);
      if (group < 0 || group >= blocks())
        raise(ErrorCode::out_of_range, spec.name, "g_idx has ", group, ", but there are ", blocks(),
              " blocks");
    }
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::MatMulNBits)
