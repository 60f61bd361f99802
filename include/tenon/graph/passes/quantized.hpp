// Queries of constants for fuse_qdq and pack_quantized.
#pragma once

#include <cmath>
#include <vector>

#include "tenon/base/lasting.hpp"
#include "tenon/graph/fused/quantized.hpp"
#include "tenon/graph/passes/packed.hpp"
#include "tenon/graph/passes/shared_layout.hpp"

namespace tenon::TENON_ABI::passes {

namespace quantized_detail {

/// The number of a single-element constant float.
inline std::optional<float> one_float(const Program& program, ValueId v) {
  const AnyTensor* t = constant_floats(program, v);
  if (t == nullptr || t->size() != 1 || t->dtype() != DType::float32) return {};
  return t->view().as<float>()[0];
}

/// The tensor of a constant, else null.
inline const AnyTensor* constant_tensor(const Program& program, ValueId v) {
  return v >= 0 && program.constant(v).is_tensor() ? &program.constant(v).tensor() : nullptr;
}

/// An input of a node, or -1.
inline ValueId input(const Graph::Node& n, std::size_t k) { return k < n.inputs.size() ? n.inputs[k] : -1; }

inline bool is_bytes(DType type) { return type == DType::int8 || type == DType::uint8; }

inline int32_t byte_at(const AnyTensor& t, int64_t k) {
  return t.dtype() == DType::int8 ? int32_t{t.view().as<int8_t>()[k]} : int32_t{t.view().as<uint8_t>()[k]};
}

/// The scale and zero point of numbers of `type`, if they are single-element constants.
inline std::optional<ByteScale> scale_of(const Program& program, ValueId scale, ValueId zero, DType type) {
  const auto factor = one_float(program, scale);
  if (!factor || !(*factor > 0) || !std::isfinite(*factor) || !is_bytes(type)) return {};
  ByteScale s{type, *factor, 0};
  if (zero >= 0) {
    const AnyTensor* z = constant_tensor(program, zero);
    if (z == nullptr || z->size() != 1 || z->dtype() != type) return {};
    s.zero = byte_at(*z, 0);
  }
  return s;
}

/// Constant 8-bit weights with scales and zero points per tensor or per index of an axis.
struct Weights {
  const AnyTensor* data;
  std::vector<float> scales;  ///< one, or one for each channel
  const AnyTensor* zero;      ///< or nullptr
  float scale(int64_t channel) const {
    return scales[scales.size() > 1 ? static_cast<std::size_t>(channel) : 0];
  }
};
inline std::optional<Weights> weights_of(const Program& program, ValueId v, ValueId scales, ValueId zero,
                                         int axis) {
  const AnyTensor *data = constant_tensor(program, v), *scale = constant_floats(program, scales);
  if (data == nullptr || scale == nullptr || !is_bytes(data->dtype()) || scale->dtype() != DType::float32 ||
      data->size() == 0 || data->rank() < 2)
    return {};
  Weights w{data, {}, constant_tensor(program, zero)};
  const int64_t channels = data->extents()[axis];
  if (scale->size() != 1 && (scale->rank() != 1 || scale->size() != channels)) return {};
  if (zero >= 0 && (w.zero == nullptr || w.zero->dtype() != data->dtype() ||
                    (w.zero->size() != 1 && w.zero->size() != channels)))
    return {};
  for (int64_t k = 0; k < scale->size(); ++k) {
    w.scales.push_back(scale->view().as<float>()[k]);
    if (!(w.scales.back() > 0) || !std::isfinite(w.scales.back())) return {};
  }
  return w;
}

/// Scales of the sums of products over the results' scale, channel by channel.
inline Storage scales_of(const Weights& w, const ByteScale& x, const ByteScale& y, int64_t channels) {
  Storage scales = Storage::make<float>(channels);
  auto* to = scales.as<float>();
  for (int64_t c = 0; c < channels; ++c) to[c] = x.scale * w.scale(c) / y.scale;
  return scales;
}

/// A matrix (K, N), or with `transposed` (N, K), as quant_gemm reads it.
inline Storage packed_matrix(const Program& program, const AnyTensor& b, const AnyTensor* zero,
                             bool transposed) {
  const int64_t rows = b.extents()[0], columns = b.extents()[1];
  kernels::QuantGemmArgs args;
  args.k = transposed ? columns : rows, args.n = transposed ? rows : columns;
  args.b.data = b.data();
  args.b.row = transposed ? 1 : columns, args.b.col = transposed ? columns : 1;
  args.b.is_signed = b.dtype() == DType::int8;
  if (zero != nullptr) args.b.zero = zero->data(), args.b.zero_step = zero->size() > 1;
  const auto add = [&](ConstantKey& key) {
    key.add(transposed);
    detail::add_tensor(key, &b), detail::add_tensor(key, zero);
  };
  return detail::shared_weights(program, "bytes", add, [&] {
    Storage packed = Storage::make<int32_t>(kernels::quant_packed_b_size(args), lasting_allocator());
    kernels::quant_pack_b(args, packed.as<int32_t>());
    return packed;
  });
}

/// Weights of the extents of `q` as quant_conv reads them.
inline Storage packed_filter(const Program& program, const QuantizedConv& q, kernels::QuantConvArgs args) {
  const Extents& e = q.extents;
  kernels::ConvGeometry& g = args.geometry;
  constexpr int64_t one = 1;
  g.rank = std::max(1, e.size() - 2);
  g.groups = q.conv.group;
  g.in_channels = e[1] * g.groups;
  g.out_channels = e[0];
  g.kernel = e.size() > 2 ? &e[2] : &one;
  const auto add = [&](ConstantKey& key) {
    const DType type = args.w_signed ? DType::int8 : DType::uint8;
    detail::add_weights(key, type, e, g.groups, args.w);
    const int64_t zeros = args.w_zero == nullptr ? 0 : args.w_zero_step != 0 ? e[0] : 1;
    key.add_content(args.w_zero, static_cast<std::size_t>(zeros));
  };
  return detail::shared_weights(program, "filter of bytes", add, [&] {
    Storage packed =
        Storage::make<int32_t>(kernels::quant_conv_packed_weight_size(args), lasting_allocator());
    kernels::quant_conv_pack_weights(args, packed.as<int32_t>());
    return packed;
  });
}

/// Gives a convolution its weights: plain ones, whose layout later passes choose, if they fit into int8
/// without their zero points.
inline void set_filter(const Program& program, QuantizedConv& q, const Weights& w) {
  const AnyTensor& from = *w.data;
  const int64_t size = from.size(), each = size / q.extents[0];
  const auto zero_at = [&](int64_t c) {
    return w.zero == nullptr ? 0 : byte_at(*w.zero, w.zero->size() > 1 ? c : 0);
  };
  bool centred = from.dtype() == DType::int8;
  for (int64_t c = 0; c < q.extents[0] && centred; ++c) centred = zero_at(c) == 0;
  if (centred) {
    q.plain = from.storage();
    return;
  }
  q.plain = Storage::make<int8_t>(size, lasting_allocator());
  auto* const to = q.plain.as<int8_t>();
  int32_t wrong = 0;
  visit_types<int8_t, uint8_t>(from.dtype(), [&]<class T>() {
    const T* x = from.view().as<T>().data();
    for (int64_t c = 0; c < q.extents[0]; ++c) {
      const int32_t zero = zero_at(c);
      for (int64_t k = c * each; k < (c + 1) * each; ++k) {
        const int32_t number = x[k] - zero;
        to[k] = static_cast<int8_t>(number);
        wrong |= number ^ to[k];
      }
    }
  });
  if (wrong == 0) return;
  q.plain = {};
  kernels::QuantConvArgs args;
  args.w = from.data(), args.w_signed = from.dtype() == DType::int8;
  if (w.zero != nullptr) args.w_zero = w.zero->data(), args.w_zero_step = w.zero->size() > 1;
  q.weights = packed_filter(program, q, args);
}

}  // namespace quantized_detail

}  // namespace tenon::TENON_ABI::passes
