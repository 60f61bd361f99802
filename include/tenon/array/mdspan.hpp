// Tensors as mdspans and mdspans as tensors, without copies.
//
//     TensorView<float, Shape<dyn, 3>> v = view_of(m);     m: mdspan<float, extents<int, dynamic_extent, 3>>
//     auto m = as_mdspan(x);                               if the compiler has std::mdspan (C++23)
//     auto k = as_mdspan<Kokkos::mdspan<float, Kokkos::dextents<int, 2>>>(x);
//
// view_of takes any type with mdspan's interface (MdspanShaped), std's or another, also in C++20. A tensor's
// elements are dense and row-major (std::layout_right): other layouts are an Error{invalid_shape} at run
// time.
#pragma once

#include <concepts>
#include <version>

#include "tenon/array/shape.hpp"

#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

namespace tenon::TENON_ABI {

/// The interface of an mdspan: rank and static extents, extents and strides in elements, and a plain pointer
/// to the elements.
template <class M>
concept MdspanShaped =
    Element<std::remove_const_t<typename M::element_type>> && requires(const M& m, std::size_t axis) {
      { M::rank() } -> std::convertible_to<std::size_t>;
      { M::static_extent(axis) } -> std::convertible_to<std::size_t>;
      { m.extent(axis) } -> std::convertible_to<int64_t>;
      { m.stride(axis) } -> std::convertible_to<int64_t>;
      { m.data_handle() } -> std::same_as<typename M::element_type*>;
    };

namespace array_detail {

template <class M, std::size_t... K>
auto mdspan_shape(std::index_sequence<K...>) -> Shape<(M::static_extent(K) == static_cast<std::size_t>(-1)
                                                           ? dyn
                                                           : static_cast<int64_t>(M::static_extent(K)))...>;

template <class M, class T, class S, std::size_t... K>
M make_mdspan(const TensorView<T, S>& v, std::index_sequence<K...>) {
  constexpr auto dynamic = static_cast<std::size_t>(-1);
  using Index = typename M::index_type;
  const auto fits = [&](std::size_t axis) {
    const int64_t extent = v.extents()[axis];
    return std::in_range<Index>(extent) &&
           (M::static_extent(axis) == dynamic || M::static_extent(axis) == static_cast<std::size_t>(extent));
  };
  if (!v || v.rank() != static_cast<int>(sizeof...(K)) || !(fits(K) && ...))
    raise(ErrorCode::invalid_shape, "as_mdspan",
          v ? str_cat("extents ", to_string(v.extents()), " do not fit the type") : "no tensor");
  return M(v.data(), static_cast<Index>(v.extents()[K])...);
}

}  // namespace array_detail

/// The elements of an mdspan as a tensor with its static extents; they must outlive the view.
/// Error{invalid_shape} if the elements are not dense and row-major.
template <MdspanShaped M>
[[nodiscard]] auto view_of(const M& m) {
  using S = decltype(array_detail::mdspan_shape<M>(std::make_index_sequence<M::rank()>{}));
  return array_detail::named("view_of", [&] {
    Extents extents;
    for (std::size_t k = 0; k < M::rank(); ++k) extents.push_back(static_cast<int64_t>(m.extent(k)));
    const int64_t count = element_count(extents);
    int64_t step = 1;
    for (std::size_t k = M::rank(); count > 0 && k-- > 0; step *= extents[static_cast<int64_t>(k)])
      if (extents[static_cast<int64_t>(k)] > 1 && static_cast<int64_t>(m.stride(k)) != step)
        raise(ErrorCode::invalid_shape, {}, "axis ", k, " has a stride of ",
              static_cast<int64_t>(m.stride(k)), ", dense rows have ", step);
    return TensorView<typename M::element_type, S>(m.data_handle(), Layout<S>(extents), count);
  });
}

/// A tensor's elements as an mdspan of type M, which must have layout_right and a constructor from a pointer
/// and the extents. Error{invalid_shape} if the extents do not fit M.
template <MdspanShaped M, class T, class S>
[[nodiscard]] M as_mdspan(const TensorView<T, S>& v) {
  static_assert(S::rank < 0 || S::rank == static_cast<int>(M::rank()), "the ranks differ");
  return array_detail::make_mdspan<M>(v, std::make_index_sequence<M::rank()>{});
}
template <MdspanShaped M, class T, class S>
[[nodiscard]] M as_mdspan(Tensor<T, S>& t) {
  return as_mdspan<M>(t.view());
}
template <MdspanShaped M, class T, class S>
[[nodiscard]] M as_mdspan(const Tensor<T, S>& t) {
  return as_mdspan<M>(t.view());
}

#ifdef __cpp_lib_mdspan
namespace array_detail {

template <class T, class S>
struct StdMdspan;
template <class T, int64_t... E>
struct StdMdspan<T, Shape<E...>> {
  using type =
      std::mdspan<T,
                  std::extents<int64_t, (E == dyn ? std::dynamic_extent : static_cast<std::size_t>(E))...>>;
};

}  // namespace array_detail

/// The same as the std::mdspan that fits the tensor's shape.
template <class T, class S>
  requires(S::rank >= 0)
[[nodiscard]] auto as_mdspan(const TensorView<T, S>& v) {
  return as_mdspan<typename array_detail::StdMdspan<T, S>::type>(v);
}
template <class T, class S>
  requires(S::rank >= 0)
[[nodiscard]] auto as_mdspan(Tensor<T, S>& t) {
  return as_mdspan(t.view());
}
template <class T, class S>
  requires(S::rank >= 0)
[[nodiscard]] auto as_mdspan(const Tensor<T, S>& t) {
  return as_mdspan(t.view());
}
#endif

}  // namespace tenon::TENON_ABI
