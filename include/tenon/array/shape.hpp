// Shapes derived from shapes: all dynamic, without the first axis, with one more axis. Types only.
#pragma once

#include <utility>

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/tensor/tensor.hpp"

namespace tenon::TENON_ABI {

namespace array_detail {

template <std::size_t... K>
Shape<(static_cast<int64_t>(K) * 0 + dyn)...> dynamic_shape(std::index_sequence<K...>);

template <class S>
struct Tail {
  using type = AnyShape;
};
template <int64_t First, int64_t... Rest>
struct Tail<Shape<First, Rest...>> {
  using type = Shape<Rest...>;
};

template <class S, std::size_t Axis>
struct Inserted {
  static constexpr int64_t extent(std::size_t k) { return k == Axis ? 1 : S::extents[k < Axis ? k : k - 1]; }
  template <std::size_t... K>
  static Shape<extent(K)...> shape(std::index_sequence<K...>);
  using type = decltype(shape(std::make_index_sequence<S::rank + 1>{}));
};

template <class S>
inline constexpr bool is_shape = false;
template <int64_t... E>
inline constexpr bool is_shape<Shape<E...>> = true;

/// Whether all extents of S are part of the type.
template <class S>
concept Static = is_shape<S> && Layout<S>::is_static();

/// Returns make(); its Errors name `place`.
template <class F>
auto named(std::string_view place, F make) {
  return tenon::detail::attempt<Error>(make, [&](const Error& e) { raise(e.code(), place, e.message()); });
}

}  // namespace array_detail

/// `Rank` axes with dynamic extents: DynamicShape<2> is Shape<dyn, dyn>.
template <std::size_t Rank>
using DynamicShape = decltype(array_detail::dynamic_shape(std::make_index_sequence<Rank>{}));

}  // namespace tenon::TENON_ABI
