// Slices written to, or combined with, the places that indices name. The order of the indices is kept for any
// number of threads, so the later of two writes to one place wins.
#pragma once

#include <complex>

#include "tenon/kernels/move/move.hpp"

namespace tenon::TENON_ABI::kernels {

enum class ScatterOp : uint8_t { none, add, mul, max, min };

/// Where the slices of scatter_nd lie: index row u (depth) stands for the slice of `inner` elements that
/// starts at sum of index[d] * strides[d]; indices below 0 count from the end of `extents`.
struct ScatterPlan {
  const int64_t* indices = nullptr;  ///< (count, depth), in range
  int64_t count = 0;
  int depth = 0;
  const int64_t* extents = nullptr;  ///< (depth)
  const int64_t* strides = nullptr;  ///< (depth)
  int64_t inner = 1;

  int64_t place(int64_t u) const {
    int64_t at = 0;
    for (int d = 0; d < depth; ++d) {
      const int64_t i = indices[u * depth + d];
      at += (i < 0 ? i + extents[d] : i) * strides[d];
    }
    return at;
  }
};

namespace detail {
// Threads divide the elements within a slice, never the slices: two slices may have the same place.
template <class F>
void for_slices(const ScatterPlan& plan, int64_t element_bytes, bool serial, F&& f) {
  if (plan.count == 0 || plan.inner == 0) return;
  for_rows(plan.inner, plan.count * element_bytes, serial, [&](int64_t begin, int64_t end) {
    for (int64_t u = 0; u < plan.count; ++u) f(plan.place(u) + begin, u * plan.inner + begin, end - begin);
  });
}

template <ScatterOp op, class T>
T scattered(const T& old, const T& update) {
  if constexpr (std::is_same_v<T, bool>) {
    return op == ScatterOp::add || op == ScatterOp::max ? old || update : old && update;
  } else if constexpr (op == ScatterOp::add || op == ScatterOp::mul) {
    if constexpr (std::is_integral_v<T>) {
      const auto a = static_cast<uint64_t>(old), b = static_cast<uint64_t>(update);  // wraps
      return static_cast<T>(op == ScatterOp::add ? a + b : a * b);
    } else if constexpr (std::is_floating_point_v<T> || is_complex(dtype_of<T>)) {
      return op == ScatterOp::add ? old + update : old * update;
    } else {
      return T(scattered<op>(static_cast<float>(old), static_cast<float>(update)));
    }
  } else if constexpr (std::is_arithmetic_v<T>) {
    if (update != update) return update;
    return (op == ScatterOp::max ? update > old : update < old) ? update : old;  // a NaN in place stays
  } else if constexpr (!is_complex(dtype_of<T>)) {
    return T(scattered<op>(static_cast<float>(old), static_cast<float>(update)));
  } else {
    return update;  // complex numbers have no order
  }
}
}  // namespace detail

/// to[place(u) + i] = updates[u * inner + i], u ascending. Elements of type d.
inline void scatter_nd(DType d, void* to, const void* updates, const ScatterPlan& plan) {
  detail::with_mover(d, to, updates, [&]<class Mover>(Mover mover) {
    const int64_t step = plan.inner == 1 ? 0 : 1;
    detail::for_slices(plan, Mover::size, detail::shares_bytes<Mover>,
                       [&](int64_t t, int64_t u, int64_t n) { mover.row(t, step, u, step, n); });
  });
}

/// The same, but each element becomes op(element, update). Integers wrap. For bool, add and max are `or`, mul
/// and min are `and`. In max and min NaN wins; complex types support neither.
template <class T>
void scatter_nd(ScatterOp op, T* to, const T* updates, const ScatterPlan& plan) {
  auto apply = [&]<ScatterOp o>() {
    detail::for_slices(plan, sizeof(T), false, [&](int64_t t, int64_t u, int64_t n) {
      for (int64_t i = 0; i < n; ++i) to[t + i] = detail::scattered<o>(to[t + i], updates[u + i]);
    });
  };
  switch (op) {
    case ScatterOp::none: return scatter_nd(dtype_of<T>, to, updates, plan);
    case ScatterOp::add: return apply.template operator()<ScatterOp::add>();
    case ScatterOp::mul: return apply.template operator()<ScatterOp::mul>();
    case ScatterOp::max: return apply.template operator()<ScatterOp::max>();
    case ScatterOp::min: return apply.template operator()<ScatterOp::min>();
  }
}

namespace detail {
// Calls put(place in the result, u) for each update u in order. Threads divide the axes before `axis`:
// updates that differ there never have the same place.
template <class I, class Put>
void for_scattered(std::span<const int64_t> to_extents, const I* indices, std::span<const int64_t> extents,
                   int axis, int64_t element_bytes, Put&& put) {
  const auto along = static_cast<std::size_t>(axis);
  CopyPlan plan;  // `to` is the place in the updates, `from` in the result without the axis
  plan.rank = static_cast<int>(extents.size());
  int64_t scale = 1, step = 1, before = 1;
  for (std::size_t a = extents.size(); a-- > 0;) {
    plan.extents[a] = extents[a];
    plan.to[a] = plan.size;
    plan.from[a] = a == along ? 0 : step;
    if (a == along) scale = step;
    if (a < along) before *= extents[a];
    plan.size *= extents[a];
    step *= to_extents[a];
  }
  if (plan.size == 0) return;
  const int last = plan.rank - 1;
  const int64_t n = extents.back(), extent = to_extents[along], last_step = plan.from[last];
  const int64_t rows = plan.size / n / before;
  const auto row = [&](int64_t u, int64_t t) {
    for (int64_t j = 0; j < n; ++j) {
      const auto i = static_cast<int64_t>(indices[u + j]);
      put(t + j * last_step + (i < 0 ? i + extent : i) * scale, u + j);
    }
  };
  for_rows(before, plan.size / before * element_bytes, false,
           [&](int64_t begin, int64_t end) { for_each_outer(plan, last, begin * rows, end * rows, row); });
}
}  // namespace detail

/// to[index with its entry on `axis` replaced by indices[index]] = updates[index], for all indices below
/// `extents`, the extents of `updates` and `indices`, which on axes other than `axis` are at most to's. Each
/// entry of `indices` lies in [-extent, extent). Elements of type d, a whole number of bytes each.
template <class I>
void scatter_elements(DType d, void* to, std::span<const int64_t> to_extents, const I* indices,
                      const void* updates, std::span<const int64_t> extents, int axis) {
  detail::with_mover(d, to, updates, [&]<class Mover>(Mover mover) {
    detail::for_scattered(to_extents, indices, extents, axis, Mover::size,
                          [=](int64_t t, int64_t u) { mover.row(t, 0, u, 0, 1); });
  });
}

/// The same, but each element becomes op(element, update), as in scatter_nd.
template <class T, class I>
void scatter_elements(ScatterOp op, T* to, std::span<const int64_t> to_extents, const I* indices,
                      const T* updates, std::span<const int64_t> extents, int axis) {
  const auto apply = [&]<ScatterOp o>() {
    detail::for_scattered(to_extents, indices, extents, axis, sizeof(T),
                          [=](int64_t t, int64_t u) { to[t] = detail::scattered<o>(to[t], updates[u]); });
  };
  switch (op) {
    case ScatterOp::none:
      return scatter_elements(dtype_of<T>, to, to_extents, indices, updates, extents, axis);
    case ScatterOp::add: return apply.template operator()<ScatterOp::add>();
    case ScatterOp::mul: return apply.template operator()<ScatterOp::mul>();
    case ScatterOp::max: return apply.template operator()<ScatterOp::max>();
    case ScatterOp::min: return apply.template operator()<ScatterOp::min>();
  }
}

}  // namespace tenon::TENON_ABI::kernels
