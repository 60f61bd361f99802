// The operators by which the graphs of several ranks exchange values. No file contains them: a partition
// inserts them (partition.hpp).
//
// Each has the transport of its rank as a field, so that a graph belongs to one rank and a program may have
// several computations at once. `after` and `done` order the operators of a rank: `done` of one is `after` of
// the next, so that all ranks make the calls that concern them in the same order, whatever passes do.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <tuple>

#include "tenon/devices/transport.hpp"
#include "tenon/op/framework/call.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/tensor/part_rows.hpp"

namespace tenon::TENON_ABI::devices {

namespace detail {

inline constexpr TypeSet tensors = types::all_ir13;

constexpr op::Spec exchange(std::string_view name, const op::InputParams& inputs,
                            const op::OutputParams& outputs, op::Memory memory = op::Memory::fresh) {
  op::Spec spec = op::own_spec(name, inputs, outputs, {{"T", tensors}});
  spec.memory = memory;
  spec.deterministic = false;  // not folded
  return spec;
}

inline constexpr op::Param after{.name = "after", .type = "tensor(bool)", .arity = op::optional};
inline constexpr op::Param done{.name = "done", .type = "tensor(bool)"};

inline void expect_link(op::Infer& i, const std::shared_ptr<Transport>& transport, const Ranks& ranks) {
  if (transport == nullptr) return i.fail("has no transport");
  for (const int64_t rank : ranks)
    if (rank < 0 || rank >= transport->size())
      return i.fail("has rank ", rank, ", and the transport has ", transport->size(), " ranks");
}

inline std::span<std::byte> bytes_of(AnyOut x) {
  return {static_cast<std::byte*>(x.data()), static_cast<std::size_t>(x.bytes())};
}

inline void finish(AnyOut done) { *static_cast<bool*>(done.data()) = true; }

/// A rank's place among others, their number if it is none of them.
inline std::size_t place_among(const Ranks& ranks, const Transport& transport) {
  return static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), transport.rank()) - ranks.begin());
}

inline Dim sum_of(std::span<const int64_t> pieces) {
  Dim sum = 0;
  for (const int64_t piece : pieces) sum = sum + Dim(piece);
  return sum;
}

/// The axis that an operator's `pieces`, one for each of its ranks, cut X along; -1 if X's rank is not known.
template <class Op>
int axis_of_pieces(const Op& op, op::Infer& i) {
  expect_link(i, op.transport, op.ranks);
  if (i.failed()) return -1;
  if (op.pieces.size() != op.ranks.size() || place_among(op.ranks, *op.transport) == op.ranks.size())
    i.fail(op.pieces.size(), " pieces of ", op.ranks.size(), " ranks");
  for (const int64_t piece : op.pieces)
    if (op.stretches < 1 || piece % op.stretches != 0)
      i.fail("a piece of ", piece, " elements in ", op.stretches, " stretches");
  return i.failed() || !i.dims(0).ranked() ? -1 : i.axis(op.axis, i.dims(0).rank());
}

/// Where the pieces of a tensor lie that is cut along an axis, in each of its stretches.
inline std::vector<PartRows> parts_of(AnyView whole, int64_t axis, std::span<const int64_t> pieces,
                                      int64_t stretches) {
  std::vector<PartRows> parts;
  int64_t first = 0;
  for (const int64_t piece : pieces) {
    const int64_t end = first + piece / stretches;
    parts.emplace_back(Extents(whole.extents()), whole.dtype(),
                       AxisPart{resolve_axis(axis, whole.rank()), first, end, stretches});
    first = end;
  }
  return parts;
}

/// The bytes of each part.
inline std::vector<std::size_t> sizes_of(std::span<const PartRows> parts) {
  std::vector<std::size_t> sizes;
  for (const PartRows& part : parts) sizes.push_back(static_cast<std::size_t>(part.bytes()));
  return sizes;
}

/// The extents of a tensor without those that only the run knows, ahead of its elements.
struct Header {
  int64_t rank = 0;
  int64_t extents[max_rank]{};
};

}  // namespace detail

/// Y is the sum of the ranks' X, (…) each.
struct AllReduce {
  std::shared_ptr<Transport> transport{};
  Ranks ranks{};

  static constexpr op::Spec spec = detail::exchange("AllReduce", {{"X", "T"}, detail::after},
                                                    {{"Y", "T"}, detail::done}, op::Memory::elementwise);
  static constexpr op::Attributes attributes{op::attr("ranks", &AllReduce::ranks)};

  void infer(op::Infer& i) const {
    detail::expect_link(i, transport, ranks);
    i.out(0, i.dims(0));
    i.out(1, Dims::of_rank(0));
  }
  void compute(AnyView x, AnyView, AnyOut y, AnyOut done) const {
    if (y.data() != x.data() && !x.empty())
      std::memcpy(y.data(), x.data(), static_cast<std::size_t>(x.bytes()));
    transport->all_reduce(ranks, y.dtype(), detail::bytes_of(y));
    detail::finish(done);
  }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

/// Y is the ranks' X in the order of `ranks`, joined along `axis`; `pieces` are their extents there. Each of
/// the `stretches` of Y's axis is joined from the same stretches of X.
struct AllGather {
  std::shared_ptr<Transport> transport{};
  Ranks ranks{};
  int64_t axis = 0;
  std::vector<int64_t> pieces{};
  int64_t stretches = 1;

  static constexpr op::Spec spec =
      detail::exchange("AllGather", {{"X", "T"}, detail::after}, {{"Y", "T"}, detail::done});
  static constexpr op::Attributes attributes{
      op::attr("ranks", &AllGather::ranks), op::attr("axis", &AllGather::axis),
      op::attr("pieces", &AllGather::pieces), op::attr("stretches", &AllGather::stretches)};

  void infer(op::Infer& i) const {
    const int along = detail::axis_of_pieces(*this, i);
    i.out(1, Dims::of_rank(0));
    if (i.failed() || along < 0) return;
    Dims y = i.dims(0);
    y[along] = detail::sum_of(pieces);
    i.out(0, y);
  }
  void compute(AnyView x, AnyView, AnyOut y, AnyOut done) const {
    const std::vector<PartRows> parts = detail::parts_of(y, axis, pieces, stretches);
    const std::vector<std::size_t> sizes = detail::sizes_of(parts);
    const std::size_t me = detail::place_among(ranks, *transport);
    if (static_cast<std::size_t>(x.bytes()) != sizes[me])
      raise(ErrorCode::invalid_shape, spec.name, "X is not piece ", me, " of ", pieces.size());
    auto* const to = static_cast<std::byte*>(y.data());
    Scratch scratch;
    // Pieces of the outermost axis lie one after the other.
    const bool in_place = parts[me].rows == 1;
    std::byte* const all = in_place ? to : scratch.take<std::byte>(y.bytes());
    const std::size_t first =
        std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(me), std::size_t{0});
    if (!x.empty()) std::memcpy(all + first, x.data(), sizes[me]);
    transport->all_gather(ranks, sizes, {all, static_cast<std::size_t>(y.bytes())});
    for (std::size_t k = 0, at = 0; !in_place && k < parts.size(); at += sizes[k++])
      parts[k].put(all + at, to + parts[k].begin);
    detail::finish(done);
  }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

/// Y is this rank's piece of the sum of the ranks' X. The sum is cut along `axis` into pieces of these
/// extents, in each of its `stretches`.
struct ReduceScatter {
  std::shared_ptr<Transport> transport{};
  Ranks ranks{};
  int64_t axis = 0;
  std::vector<int64_t> pieces{};
  int64_t stretches = 1;

  static constexpr op::Spec spec =
      detail::exchange("ReduceScatter", {{"X", "T"}, detail::after}, {{"Y", "T"}, detail::done});
  static constexpr op::Attributes attributes{
      op::attr("ranks", &ReduceScatter::ranks), op::attr("axis", &ReduceScatter::axis),
      op::attr("pieces", &ReduceScatter::pieces), op::attr("stretches", &ReduceScatter::stretches)};

  void infer(op::Infer& i) const {
    const int along = detail::axis_of_pieces(*this, i);
    i.out(1, Dims::of_rank(0));
    if (i.failed() || along < 0) return;
    Dims y = i.dims(0);
    i.unify(y[along], detail::sum_of(pieces), "extents of X and its pieces");
    y[along] = pieces[detail::place_among(ranks, *transport)];
    i.out(0, y);
  }
  void compute(AnyView x, AnyView, AnyOut y, AnyOut done) const {
    const std::vector<PartRows> parts = detail::parts_of(x, axis, pieces, stretches);
    const std::vector<std::size_t> sizes = detail::sizes_of(parts);
    const std::size_t me = detail::place_among(ranks, *transport);
    Scratch scratch;
    auto* const all = scratch.take<std::byte>(x.bytes());
    std::size_t first = 0;
    for (std::size_t k = 0, at = 0; k < parts.size(); at += sizes[k++]) {
      if (k == me) first = at;
      parts[k].take(static_cast<const std::byte*>(x.data()) + parts[k].begin, parts[k].rows, all + at);
    }
    transport->reduce_scatter(ranks, x.dtype(), sizes, {all, static_cast<std::size_t>(x.bytes())});
    if (!y.empty()) std::memcpy(y.data(), all + first, sizes[me]);
    detail::finish(done);
  }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

/// Gives X to the ranks after the first, which is this one: with several, a broadcast. `stated`: the
/// receivers know its extents.
struct Send {
  std::shared_ptr<Transport> transport{};
  Ranks ranks{};
  int64_t stated = 1;

  static constexpr op::Spec spec = detail::exchange("Send", {{"X", "T"}, detail::after}, {detail::done});
  static constexpr op::Attributes attributes{op::attr("ranks", &Send::ranks),
                                             op::attr("stated", &Send::stated)};

  void infer(op::Infer& i) const {
    detail::expect_link(i, transport, ranks);
    i.out(0, Dims::of_rank(0));
  }
  void compute(AnyView x, AnyView, AnyOut done) const {
    if (stated == 0) {
      detail::Header header{.rank = x.rank()};
      std::copy(x.extents().begin(), x.extents().end(), header.extents);
      transport->broadcast(ranks, std::as_writable_bytes(std::span(&header, 1)));
    }
    // The first rank's bytes are only read.
    transport->broadcast(
        ranks, {static_cast<std::byte*>(const_cast<void*>(x.data())), static_cast<std::size_t>(x.bytes())});
    detail::finish(done);
  }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

/// Y is the X that the first of the ranks sends. `dtype` is its element type, by ONNX's number, and `extents`
/// its extents, of which some may be known in the run only: -1. Without `ranked`, not even their number is
/// known.
struct Receive {
  std::shared_ptr<Transport> transport{};
  Ranks ranks{};
  int64_t dtype = 0;
  std::vector<int64_t> extents{};
  int64_t ranked = 1;

  static constexpr op::Spec spec = detail::exchange("Receive", {detail::after}, {{"Y", "T"}, detail::done});
  static constexpr op::Attributes attributes{
      op::attr("ranks", &Receive::ranks), op::attr("dtype", &Receive::dtype),
      op::attr("extents", &Receive::extents), op::attr("ranked", &Receive::ranked)};

  /// Whether the extents are known before the run, so that no header precedes the elements.
  bool stated() const {
    return ranked != 0 && std::find(extents.begin(), extents.end(), -1) == extents.end();
  }

  void infer(op::Infer& i) const {
    detail::expect_link(i, transport, ranks);
    const DType type = i.element_type("dtype", dtype);
    if (static_cast<int>(extents.size()) > max_rank) return i.fail(extents.size(), " axes");
    Dims y = ranked != 0 ? Dims::of_rank(static_cast<int>(extents.size())) : Dims();
    for (int k = 0; k < y.rank(); ++k)
      if (const int64_t e = extents[static_cast<std::size_t>(k)]; e >= 0) y[k] = e;
    i.out(0, type, y);
    i.out(1, Dims::of_rank(0));
  }
  std::tuple<Value, Tensor<bool>> compute(op::Context& c, AnyView) const {
    Extents e;
    for (const int64_t extent : extents) e.push_back(extent);
    if (!stated()) {
      detail::Header header;
      transport->broadcast(ranks, std::as_writable_bytes(std::span(&header, 1)));
      if (ranked == 0 && header.rank >= 0 && header.rank <= max_rank)
        e.resize(static_cast<int>(header.rank), -1);
      bool fits = header.rank == e.size();
      for (int k = 0; k < e.size() && fits; ++k) {
        fits = header.extents[k] >= 0 && (e[k] < 0 || e[k] == header.extents[k]);
        e[k] = header.extents[k];
      }
      if (!fits)
        raise(ErrorCode::invalid_shape, spec.name, "rank ", ranks[0], " sends a tensor of other extents");
    }
    AnyTensor y = AnyTensor::uninitialized(dtype_from_onnx(dtype), e, c.allocator());
    transport->broadcast(ranks, detail::bytes_of(y.out()));
    auto done = Tensor<bool>::uninitialized(Extents{}, c.allocator());
    done[0] = true;
    return {Value(std::move(y)), std::move(done)};
  }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

/// Y is the part of X from `first` to before `end` along each of the `stretches` of an axis.
struct TakePart {
  int64_t axis = 0, first = 0, end = 0, stretches = 1;

  static constexpr op::Spec spec =
      op::own_spec("TakePart", {{"X", "T"}}, {{"Y", "T"}}, {{"T", detail::tensors}});
  static constexpr op::Attributes attributes{
      op::attr("axis", &TakePart::axis), op::attr("first", &TakePart::first), op::attr("end", &TakePart::end),
      op::attr("stretches", &TakePart::stretches)};

  void infer(op::Infer& i) const {
    Dims y = i.dims(0);
    if (!y.ranked()) return;
    const int along = i.axis(axis, y.rank());
    if (i.failed()) return;
    if (first < 0 || end < first || stretches < 1 || (y[along] % stretches).differs(0) ||
        (y[along] / stretches).below(end))
      return i.fail("elements ", first, " to ", end, " of ", stretches, " stretches of ", y[along]);
    y[along] = Dim(end - first) * Dim(stretches);
    i.out(0, y);
  }
  void compute(AnyView x, AnyOut y) const {
    if (y.empty()) return;
    const PartRows part(Extents(x.extents()), x.dtype(),
                        {resolve_axis(axis, x.rank()), first, end, stretches});
    part.take(static_cast<const std::byte*>(x.data()) + part.begin, part.rows, y.data());
  }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

/// Y is the inputs joined along each of the `stretches` of an axis.
struct JoinParts {
  int64_t axis = 0, stretches = 1;

  static constexpr op::Spec spec =
      op::own_spec("JoinParts", {{"X", "T", op::variadic}}, {{"Y", "T"}}, {{"T", detail::tensors}});
  static constexpr op::Attributes attributes{op::attr("axis", &JoinParts::axis),
                                             op::attr("stretches", &JoinParts::stretches)};

  void infer(op::Infer& i) const {
    Dims y = i.dims(0);
    if (!y.ranked()) return;
    const int along = i.axis(axis, y.rank());
    if (stretches < 1) i.fail(stretches, " stretches");
    Dim sum = 0;
    for (int k = 0; k < i.inputs() && !i.failed(); ++k) {
      const Dims& x = i.dims(k);
      if (!x.ranked()) return;
      if (!i.expect_rank(k, y.rank())) return;
      if ((x[along] % stretches).differs(0)) i.fail("a part of ", x[along], " in ", stretches, " stretches");
      for (int d = 0; d < y.rank(); ++d)
        if (d != along) y[d] = i.unify(y[d], x[d], "extents of the parts");
      sum = sum + x[along];
    }
    if (i.failed()) return;
    y[along] = sum;
    i.out(0, y);
  }
  void compute(std::span<const AnyView> parts, AnyOut y) const {
    if (y.empty()) return;
    std::vector<int64_t> pieces;
    for (const AnyView& x : parts) pieces.push_back(x.extent(resolve_axis(axis, y.rank())));
    const std::vector<PartRows> places = detail::parts_of(y, axis, pieces, stretches);
    for (std::size_t k = 0; k < places.size(); ++k)
      places[k].put(parts[k].data(), static_cast<std::byte*>(y.data()) + places[k].begin);
  }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

/// Y is X, of any type, once the exchanges before it are done: an output that waits for those that only serve
/// other ranks.
struct After {
  static constexpr op::Spec spec = [] {
    constexpr uint32_t each = detail::tensors.tensor;
    op::Spec s = op::own_spec("After", {{"X", "V"}, detail::after}, {{"Y", "V"}},
                              {{"V", TypeSet{each, each, each, each, each, each, each, each, each, 1}}});
    s.deterministic = false;
    return s;
  }();

  constexpr void infer(op::Infer& i) const { i.out(0, i.dims(0)); }
  Value compute(op::Context& c, const Value& x, AnyView) const { return op::Identity{}.compute(c, x); }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::devices
