// channels_last: quantised convolutions, and whatever lies between them, work on bytes whose channels lie
// last: (N, C, spatial...) becomes (N, 1, spatial..., C), an ordinary tensor of unsigned bytes. So tables,
// pools, sums and Concat stay the nodes that they are, and a sum behind a convolution becomes part of it.
// Only where the processor has the instruction that sums products of four bytes.
#pragma once

#include <map>

#include "tenon/graph/passes/quantized.hpp"
#include "tenon/kernels/conv/quant_conv_last.hpp"
#include "tenon/kernels/move/move.hpp"
#include "tenon/op/nn/max_pool.hpp"
#include "tenon/op/tensor/concat.hpp"

namespace tenon::passes {

/// Signed bytes raised to the unsigned range, with their zero point.
inline ByteScale raised(ByteScale s) {
  if (s.is_signed()) s.type = DType::uint8, s.zero += 128;
  return s;
}
inline ByteRange raised(ByteRange r) {
  if (r.as.is_signed()) r.lo += 128, r.hi += 128;
  r.as = raised(r.as);
  return r;
}

/// Y (N, 1, spatial..., C) from X (N, C, spatial...), or with `back` X from Y. Bytes of int8 are raised by
/// 128.
struct MoveChannels {
  DType type = DType::undefined;  ///< int8 or uint8, of (N, C, spatial...)
  bool back = false;

  static constexpr op::Spec spec{.name = "MoveChannels",
                                 .domain = "tenon",
                                 .since = {1},
                                 .inputs = {{"X", "T1"}},
                                 .outputs = {{"Y", "T2"}},
                                 .types = {{"T1", byte_types}, {"T2", byte_types}}};
  static constexpr op::Attributes attributes{};

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != (back ? DType::uint8 : type)) return i.fail("X is ", i.dtype(0));
    if (!i.ranked(0)) return i.fail("the rank of X is not known");
    if (!i.expect_rank_at_least(0, back ? 4 : 3)) return;
    const Dims& x = i.dims(0);
    const int last = x.rank() - 1;
    Dims y{x[0], back ? x[last] : Dim(1)};
    for (int k = 2; k < (back ? last : last + 1); ++k) y.push_back(x[k]);
    if (!back) y.push_back(x[1]);
    i.out(0, y);
    i.out(0).type = back ? type : DType::uint8;
  }
  void compute(AnyView x, AnyOut y) const {
    if (y.empty()) return;
    const int64_t channels = back ? y.extent(1) : x.extent(1), cells = y.size() / x.extent(0) / channels;
    const int64_t extents[] = {x.extent(0), back ? cells : channels, back ? channels : cells};
    constexpr int64_t permutation[] = {0, 2, 1};
    kernels::transpose(DType::uint8, y.data(), x.data(), extents, permutation);
    if (type == DType::uint8) return;
    auto* to = static_cast<uint8_t*>(y.data());
    for (int64_t k = 0, n = y.size(); k < n; ++k) to[k] ^= 128;
  }
};

/// QuantizedConv of channels that lie last, plus Z if `sum` is there.
struct LastConv {
  op::Conv conv;
  ByteScale x;  ///< the bytes of X are raised unless it is plain
  ByteRange y;  ///< raised
  Extents extents;
  bool plain_x = false;  ///< X is (N, C, H, W)
  Storage weights{};     ///< as quant_conv_last_pack writes them
  Storage scales{};      ///< float (M), of the sums over that of Y
  struct Sum {
    ByteScale z;
    ByteRange y;
  };
  std::optional<Sum> sum{};

  static constexpr op::Spec spec{.name = "LastConv",
                                 .domain = "tenon",
                                 .since = {1},
                                 .inputs = {{"X", "T1"}, {"Z", "T2", op::optional}},
                                 .outputs = {{"Y", "T2"}},
                                 .types = {{"T1", byte_types}, {"T2", types::uint8}}};
  static constexpr op::Attributes attributes{};

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != x.type) return i.fail("X is ", i.dtype(0), ", not ", x.type);
    if (!i.ranked(0)) return i.fail("the rank of X is not known");
    if (!i.expect_rank(0, plain_x ? 4 : 5)) return;
    const Dims& in = i.dims(0);
    op::infer_conv(i, conv.window(), conv.group, Dims{in[0], plain_x ? in[1] : in[4], in[2], in[3]},
                   Dims(extents));
    if (i.failed() || !i.out(0).dims.ranked()) return;
    Dims out = i.out(0).dims;
    out[1] = 1;
    out.push_back(extents[0]);
    for (int k = 0; i.has(1) && i.ranked(1) && k < out.rank(); ++k)
      i.unify(i.dims(1)[k], out[k], "extents of Y and Z");
    i.out(0, out);
    i.out(0).type = DType::uint8;
  }
  void compute(AnyView in, AnyView z, AnyOut out) const {
    if (out.empty()) return;
    const op::WindowLayout l(conv.window(), in.extents(), out.extents(), std::span(extents).subspan(2));
    kernels::QuantConvLastArgs args;
    args.geometry = l.geometry<kernels::ConvGeometry>(in.extent(0), 1, extents[1], extents[0]);
    args.plain_x = plain_x;
    args.x_signed = x.is_signed();
    args.x = in.data();
    args.x_zero = raised(x).zero;
    args.packed_w = static_cast<const int32_t*>(weights.data());
    args.scale = static_cast<const float*>(scales.data());
    args.zero = y.as.zero, args.lo = y.lo, args.hi = y.hi;
    args.y = static_cast<uint8_t*>(out.data());
    if (sum)
      args.sum = {static_cast<const uint8_t*>(z.data()),
                  sum->z.zero,
                  y.as.scale / sum->y.as.scale,
                  sum->z.scale / sum->y.as.scale,
                  sum->y.as.zero,
                  sum->y.lo,
                  sum->y.hi};
    kernels::quant_conv_last(args);
  }
};

namespace detail {

class ChannelsLast {
 public:
  explicit ChannelsLast(Program& program) : p_(program) {}

  void apply() {
    if (!kernels::fast_conv_last()) return;
    p_.for_each_node([&](int n, const Graph::Node& node) {
      if (const auto* conv = node.op.as<QuantizedConv>()) take_convolution(n, *conv);
      else if (std::ranges::all_of(node.inputs, [&](ValueId v) { return last(v) >= 0; })) follow(n);
    });
  }

 private:
  /// The form of a value with its channels last, or -1.
  ValueId last(ValueId v) const {
    const auto found = last_.find(v);
    return found == last_.end() ? -1 : found->second;
  }
  ValueId to_last(ValueId v) {
    if (last(v) < 0)
      last_[v] = p_.add_node({}, AnyOperator::make(MoveChannels{p_.info(v).type.element}), {v})[0];
    return last(v);
  }
  /// Puts `to`, which is raised and has its channels last, in the place of a node's result.
  void give(int n, ValueId to, std::string_view text) {
    const ValueId y = p_.node(n).outputs[0];
    p_.applied(n, text);
    const ValueId plain =
        p_.add_node({}, AnyOperator::make(MoveChannels{p_.info(y).type.element, true}), {to})[0];
    p_.redirect(y, plain);
    last_[plain] = to;
  }
  ValueId add(int n, AnyOperator op, std::vector<ValueId> inputs) {
    return p_.add_node(p_.node(n).name, std::move(op), std::move(inputs))[0];
  }

  void take_convolution(int n, const QuantizedConv& q) {
    const ValueId x = p_.node(n).inputs[0], y = p_.node(n).outputs[0];
    const auto windows = q.conv.window();
    const int rank = q.extents.size() - 2;
    if (rank != 2) return p_.skipped(n, "it has not two spatial axes");
    const int64_t dilations[] = {windows.dilation(0), windows.dilation(1)};
    kernels::ConvGeometry g;
    g.rank = rank;
    g.groups = q.conv.group;
    g.in_channels = q.extents[1] * g.groups;
    g.out_channels = q.extents[0];
    g.kernel = &q.extents[2];
    g.dilations = dilations;
    // A copy with its padding grows with them.
    const auto near = [](int64_t step) { return -64 <= step && step <= 64; };
    for (int d = 0; d < rank; ++d)
      if (!near(windows.stride(d)) || !near(dilations[d]) || !near((g.kernel[d] - 1) * dilations[d]))
        return p_.skipped(n, "strides or dilations are large");
    if (!std::ranges::all_of(q.conv.pads, near)) return p_.skipped(n, "pads are large");
    LastConv c{.conv = q.conv, .x = q.x, .y = raised(q.y), .extents = q.extents, .scales = q.scales};
    c.plain_x = last(x) < 0 && kernels::fits_conv_last(g, true);
    if (!c.plain_x && !kernels::fits_conv_last(g, false))
      return p_.skipped(n, "groups or channels are no words");
    if (!p_.info(x).dims.ranked() || !fits(p_, n) || p_.is_captured(y))
      return p_.skipped(n, "the ranks are not known, or a body reads Y");
    const auto* scales = static_cast<const float*>(q.scales.data());
    if (!std::all_of(scales, scales + g.out_channels, [](float s) { return s < 1; }))
      return p_.skipped(n, "scales are large");
    if (!q.plain) return p_.skipped(n, "weights have zero points");
    c.weights = Storage::make<int32_t>(kernels::quant_conv_last_weight_size(g, c.plain_x));
    kernels::quant_conv_last_pack(g, c.plain_x, static_cast<const int8_t*>(q.plain.data()),
                                  q.bias ? static_cast<const int32_t*>(q.bias.data()) : nullptr,
                                  raised(q.x).zero, static_cast<int32_t*>(c.weights.data()));
    if (!c.plain_x) c.x = raised(c.x);
    give(n, add(n, AnyOperator::make(c), {c.plain_x ? x : to_last(x)}), "channels last");
  }

  /// A node all of whose inputs are there with their channels last.
  void follow(int n) {
    const Graph::Node& node = p_.node(n);
    if (!fits(p_, n) || node.outputs.size() != 1 || p_.is_captured(node.outputs[0])) return;
    std::vector<ValueId> in;
    for (ValueId v : node.inputs) in.push_back(last(v));
    if (const auto* sum = node.op.as<QuantizedAdd>()) {
      const QuantizedAdd bytes{raised(sum->a), raised(sum->b), raised(sum->y)};
      if (add_to(n, 1, bytes.y) || add_to(n, 0, bytes.y)) return;
      give(n, add(n, AnyOperator::make(bytes), std::move(in)), "channels last");
    } else if (const auto* table = node.op.as<ByteTable>()) {
      ByteTable bytes{DType::uint8, DType::uint8};
      const std::size_t flip_x = table->x == DType::int8 ? 128 : 0,
                        flip_y = table->y == DType::int8 ? 128 : 0;
      for (std::size_t k = 0; k < 256; ++k)
        bytes.table[k ^ flip_x] = static_cast<uint8_t>(table->table[k] ^ flip_y);
      give(n, add(n, AnyOperator::make(bytes), std::move(in)), "channels last");
    } else if (node.op.as<op::MaxPool>()) {
      give(n, add(n, with_lanes(node.op), std::move(in)), "channels last");
    } else if (const auto* mean = node.op.as<QuantizedGlobalAverage>()) {
      p_.applied(n, "channels last");
      p_.replace(n, AnyOperator::make(QuantizedGlobalAverage{raised(mean->x), mean->y, true}), std::move(in));
    } else if (const auto* concat = node.op.as<op::Concat>()) {
      const int rank = p_.info(node.outputs[0]).dims.rank();
      if (concat->axis == 1 || concat->axis == 1 - rank)
        give(n, add(n, along(node.op, -1), std::move(in)), "channels last");
    }
  }

  /// Makes the sum n part of the convolution whose result is only its operand 1 - other.
  bool add_to(int n, std::size_t other, const ByteRange& y) {
    const Graph::Node& node = p_.node(n);
    const ValueId plain = node.inputs[1 - other], own = last(plain), z = last(node.inputs[other]);
    const int maker = p_.maker(own);
    if (maker < 0 || p_.only_reader(plain) != n || p_.only_reader(own) != p_.maker(plain)) return false;
    const auto* conv = p_.node(maker).op.as<LastConv>();
    if (conv == nullptr || conv->sum) return false;
    LastConv with = *conv;
    const auto* sum = node.op.as<QuantizedAdd>();
    with.sum = {raised(other == 0 ? sum->a : sum->b), y};
    give(n, add(n, AnyOperator::make(with), {p_.node(maker).inputs[0], z}), "part of a convolution");
    return true;
  }

  Program& p_;
  std::map<ValueId, ValueId> last_;
};

}  // namespace detail

inline void apply_channels_last(Program& program) { detail::ChannelsLast(program).apply(); }

inline constexpr Pass channels_last{"channels_last", apply_channels_last};

}  // namespace tenon::passes
