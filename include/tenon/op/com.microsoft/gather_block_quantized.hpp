// GatherBlockQuantized: rows of a table of integers of few bits, dequantised.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.GatherBlockQuantized
#pragma once

#include "tenon/base/parallel.hpp"
#include "tenon/op/families/packed_codes.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// output = Gather(dequantised(data), indices) along gather_axis. Numbers are (code - zero point) * scale,
/// where `block_size` neighbours along quantize_axis share a scale and a zero point: these have data's
/// extents, with the number of blocks on that axis. data and zero_points are int4, uint4, or uint8, which
/// hold `bits` bits of a number, or several numbers, the first in the lowest bits, along the last axis. Zero
/// points left out are 0, or 2^(bits - 1) in uint8. A negative index counts from the end. An index beyond is
/// an error, as in ONNX Runtime, though the documentation says zeros.
/// op::com_microsoft::GatherBlockQuantized{.block_size = 16}(data, ids, scales) of (9,16), (4) and (9,2)
/// gives (4,32) where data is uint8.
struct GatherBlockQuantized {
  int64_t bits = 4;
  int64_t block_size = 128;
  int64_t gather_axis = 0;
  int64_t quantize_axis = 1;

  static constexpr Spec spec{.name = "GatherBlockQuantized",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"data", "T1"},
                                        {.name = "indices", .type = "Tind", .looks_up = 0},
                                        {"scales", "T2"},
                                        {"zero_points", "T1", optional}},
                             .outputs = {{"output", "T2"}},
                             .types = {{"T2", types::float32 | types::float16 | types::bfloat16},
                                       {"Tind", types::indices},
                                       {"T1", types::int4s | types::uint8}}};
  static constexpr Attributes attributes{attr("bits", &GatherBlockQuantized::bits),
                                         attr("block_size", &GatherBlockQuantized::block_size),
                                         attr("gather_axis", &GatherBlockQuantized::gather_axis),
                                         attr("quantize_axis", &GatherBlockQuantized::quantize_axis)};

  constexpr void infer(Infer& i) const {
    const bool bytes = i.dtype(0) == DType::uint8;
    if (bytes ? !i.expect_choice("bits", bits, {2, 4, 8}) : !i.expect_choice("bits", bits, {4})) return;
    if (!expect_block_size(i, block_size)) return;
    if (!i.expect_rank_at_least(0, bytes ? 2 : 1) || !i.ranked(0)) return;
    Dims data = i.dims(0);
    const int rank = data.rank(), gathered = i.axis(gather_axis, rank), blocked = i.axis(quantize_axis, rank);
    if (i.failed()) return;
    const int64_t each = bytes ? 8 / bits : 1;
    if (bytes && (gathered != 0 || blocked != rank - 1))
      return i.fail_type("uint8: gather_axis is ", gathered, ", expected 0, and quantize_axis is ", blocked,
                         ", expected ", rank - 1);
    data[rank - 1] = data[rank - 1] * each;
    Dims scales = data, zeros;
    scales[blocked] = data[blocked] / block_size + (data[blocked] % block_size).differs(0);
    if (!data[blocked].known()) scales[blocked] = Dim();
    zeros = scales;
    zeros[blocked] = scales[blocked].known() ? Dim((scales[blocked].value() + each - 1) / each) : Dim();
    if (!i.expect_extents(2, scales) || !i.expect_extents(3, zeros) || !i.ranked(1)) return;
    Dims y = Dims::of_rank(0);
    for (int k = 0; k < gathered; ++k) y.push_back(data[k]);
    for (const Dim d : i.dims(1)) y.push_back(d);
    for (int k = gathered + 1; k < rank; ++k) y.push_back(data[k]);
    i.out(0, y);
  }
  template <class T, class I>
  void compute(AnyView data, TensorView<const I> indices, TensorView<const T> scales, AnyView zero_points,
               TensorView<T> output) const {
    const int rank = data.rank(), gathered = resolve_axis(gather_axis, rank),
              blocked = resolve_axis(quantize_axis, rank);
    Blocks b;
    b.bytes = data.dtype() == DType::uint8, b.is_signed = data.dtype() == DType::int4;
    const int64_t each = b.bytes ? 8 / bits : 1, places = data.extent(gathered);
    int64_t outer = 1, inner = each;
    for (int k = 0; k < gathered; ++k) outer *= data.extent(k);
    for (int k = gathered + 1; k < rank; ++k) inner *= data.extent(k);
    b.inner = 1;
    for (int k = blocked + 1; k < rank; ++k) b.inner *= data.extent(k);
    b.extent = data.extent(blocked) * (blocked == rank - 1 ? each : 1);
    b.blocks = scales.extent(blocked);
    for (const I index : indices)
      if (index < -places || index >= places)
        raise(ErrorCode::out_of_range, spec.name, "index ", index, " outside of [", -places, ", ", places - 1,
              "]");
    if (output.empty()) return;
    const int64_t count = indices.size();
    parallel_for(outer * count, std::max<int64_t>(1, 4096 / inner), [&](int64_t first, int64_t last) {
      for (int64_t at = first; at < last; ++at) {
        const auto index = static_cast<int64_t>(indices.data()[at % count]);
        dequantise(b, data.data(), scales.data(), zero_points.data(),
                   (at / count * places + (index < 0 ? index + places : index)) * inner, inner,
                   output.data() + at * inner);
      }
    });
  }
  /// Over the axes of indices, the axes of data that neither blocks nor indices run along, whole blocks, and
  /// rows that are looked up. Blocks whose zero points share a byte stay together.
  template <class L>
  void loops(L& l) const {
    const Dims& data = l.dims(0);
    if (!data.ranked() || !l.dims(1).ranked()) return;
    const int rank = data.rank(), indices = l.dims(1).rank(), gathered = resolve_axis(gather_axis, rank),
              blocked = resolve_axis(quantize_axis, rank);
    const auto over = [&](int axis, Dim count) {
      const int place = axis < gathered ? axis : axis + indices - 1;
      l.over({{0, axis}, {2, axis}, {3, axis}}, {{0, place}}, count);
    };
    for (int d = 0; d < rank; ++d)
      if (d != gathered && d != blocked) over(d, data[d]);
    for (int d = 0; d < indices; ++d) l.over({{1, d}}, {{0, gathered + d}});
    if (gathered == blocked) return;
    const int64_t each = l.in(0).type.element == DType::uint8 ? 8 / bits : 1;
    const Dim step = block_size / (blocked == rank - 1 ? each : 1) * (l.has(3) ? each : 1);
    if ((data[blocked] % step).is(0)) over(blocked, data[blocked] / step);
    l.sum({{0, gathered}, {2, gathered}, {3, gathered}}).lookup = {1, gathered};
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  struct Blocks {
    bool bytes = false, is_signed = false;
    int64_t extent = 0, blocks = 0, inner = 0;  // of the axis in blocks; the product of the extents after it
  };

  /// Integer number i of `codes`.
  int code(const Blocks& b, const void* codes, int64_t i) const {
    const int64_t each = 8 / bits;
    const int raw = static_cast<const uint8_t*>(codes)[i / each] >> (i % each * bits) & ((1 << bits) - 1);
    return b.is_signed && raw >= 8 ? raw - 16 : raw;
  }

  /// Numbers [first, first + count), counted without regard to axes.
  template <class T>
  void dequantise(const Blocks& b, const void* codes, const T* scales, const void* zeros, int64_t first,
                  int64_t count, T* y) const {
    // Rows of zero points in bytes are whole bytes.
    const int64_t zero_row = b.bytes ? (b.blocks * bits + 7) / 8 * (8 / bits) : b.blocks;
    const int64_t end = first + count, step = b.inner == 1 ? 0 : 1;
    for (int64_t i = first, run; i < end; i += run) {
      // Neighbours share a scale, or have one after the other.
      const int64_t line = i / b.inner / b.extent, place = i / b.inner % b.extent, block = place / block_size;
      const int64_t whole =
          b.inner == 1 ? std::min((block + 1) * block_size, b.extent) - place : b.inner - i % b.inner;
      run = std::min(whole, end - i);
      const int64_t zero_at = (line * zero_row + block) * b.inner + i % b.inner;
      const T* scale = scales + (line * b.blocks + block) * b.inner + i % b.inner;
      for (int64_t k = 0; k < run; ++k) {
        const int zero = zeros != nullptr ? code(b, zeros, zero_at + k * step)
                         : b.bytes        ? 1 << (bits - 1)
                                          : 0;
        *y++ = static_cast<T>(static_cast<float>(code(b, codes, i + k) - zero) *
                              static_cast<float>(scale[k * step]));
      }
    }
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::GatherBlockQuantized)
