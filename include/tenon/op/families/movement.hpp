// The operators that only move elements share types, strides of dense layouts, and the propagation of
// elements.
#pragma once

#include "tenon/kernels/move/gather.hpp"
#include "tenon/kernels/move/move.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// T of Transpose, Squeeze, …
inline constexpr TypeVar all_tensors = every_type("T");
/// T of Concat, Slice, Gather, …: the types of ONNX's IR 4.
inline constexpr TypeVar all_tensors_ir4{"T", {{1, types::all}, {13, types::all_ir4}}};

/// Strides of a dense row-major array, in elements. If an extent is 0, they may wrap and are meaningless.
constexpr Extents dense_strides(std::span<const int64_t> extents) {
  Extents strides = Extents::filled(static_cast<int>(extents.size()), 1);
  uint64_t step = 1;
  for (int d = strides.size(); d-- > 0; step *= static_cast<uint64_t>(extents[static_cast<std::size_t>(d)]))
    strides[d] = static_cast<int64_t>(step);
  return strides;
}

/// `compute` of the operators that only change extents: copies if the result has memory of its own.
inline void copy_elements(AnyView x, AnyOut y) {
  if (x.size() != y.size())
    raise(ErrorCode::invalid_shape, {}, x.size(), " elements cannot become ", to_string(y.extents()));
  kernels::copy(x.dtype(), y.data(), x.data(), x.size());
}

/// An element of an int32 or int64 operand.
inline int64_t int_at(AnyView v, int64_t k) {
  return v.dtype() == DType::int32 ? static_cast<const int32_t*>(v.data())[k]
                                   : static_cast<const int64_t*>(v.data())[k];
}
/// The same element as the rule sees it, if it is known. Unlike Infer::element it is exact in all of int64's
/// range.
constexpr Opt<int64_t> int_at(const Infer& i, int input, int64_t k) {
  const void* data = i.in(input).data;
  if (data != nullptr && i.dtype(input) == DType::int64) return static_cast<const int64_t*>(data)[k];
  const Dim d = i.element(input, k);
  return d.known() ? Opt<int64_t>(d.value()) : Opt<int64_t>();
}
/// An element of a float operand that stands for an integer, as in old versions.
inline int64_t truncated_at(DType d, const void* data, int64_t k) {
  using tenon::detail::truncate_to;
  if (d == DType::float64) return truncate_to<int64_t>(static_cast<const double*>(data)[k]);
  if (d == DType::float32) return truncate_to<int64_t>(static_cast<const float*>(data)[k]);
  return truncate_to<int64_t>(static_cast<float>(static_cast<const float16*>(data)[k]));
}

/// Calls f with a pointer to the elements of indices, which are int32 or int64.
template <class F>
void with_indices(AnyView indices, F&& f) {
  if (indices.dtype() == DType::int32) f(static_cast<const int32_t*>(indices.data()));
  else f(static_cast<const int64_t*>(indices.data()));
}
/// Error{out_of_range} unless all indices lie in [-extent, extent).
inline void check_indices(std::string_view name, AnyView indices, int64_t extent) {
  with_indices(indices, [&](const auto* p) {
    if (kernels::indices_within(p, indices.size(), -extent, extent)) return;
    for (int64_t k = 0; k < indices.size(); ++k)
      if (p[k] < -extent || p[k] >= extent)
        raise(ErrorCode::out_of_range, name, "index ", p[k], " outside of [", -extent, ", ", extent - 1, "]");
  });
}

/// The extents that the elements of a vector state; fails if one is negative.
constexpr Dims requested_extents(Infer& i, int input) {
  if (!i.expect_rank(input, 1)) return {};
  Dims d = i.of_rank(i.length(input));
  for (int k = 0; k < d.rank(); ++k) {
    d[k] = i.element(input, k);
    if (!i.expect_at_least("extent", d[k], 0)) return {};
  }
  return d;
}

/// Whether input 0 propagates elements and has known extents, none of which is 0.
constexpr bool propagates_array(const Infer& i) {
  const Dim count = i.dims(0).count();
  return i.propagates(0) && i.dims(0).known() && count.known() && !count.is(0);
}
/// Propagates `count` elements of an input to an output: element `from(k)` becomes element k.
template <class F>
constexpr void propagate(Infer& i, int input, int output, int64_t count, F from) {
  PropagatedData& v = i.out(output).propagated;
  if (!i.propagates(input) || !v.begin(count)) return;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t at = from(k);
    v.push_back(at >= 0 && at < i.element_count(input) ? i.propagated(input, at) : Dim{});
  }
}
/// Output 0 has input 0's elements under other extents.
constexpr void propagate(Infer& i) {
  if (i.propagates(0)) propagate(i, 0, 0, i.element_count(0), [](int64_t k) { return k; });
}
/// Propagates to each index of output 0, whose extents are set, input 0's element at offset + the sum of
/// index[d] * strides[d]. propagates_array() holds.
constexpr void propagate_strided(Infer& i, int64_t offset, std::span<const int64_t> strides) {
  const Dims d = i.out(0).dims;
  if (!d.known() || !d.count().known()) return;
  propagate(i, 0, 0, d.count().value(), [&](int64_t k) {
    int64_t at = offset;
    for (int a = d.rank(); a-- > 0; k /= d[a].value())
      at += k % d[a].value() * strides[static_cast<std::size_t>(a)];
    return at;
  });
}

}  // namespace tenon::TENON_ABI::op
