// Tensors as Eigen's matrices and Eigen's matrices as tensors (Eigen 3.4: Debian's libeigen3-dev).
//
//     as_eigen(y).noalias() = as_eigen(w) * as_eigen(x);      tensors of one or two axes, not copied
//     TensorView<double, Shape<dyn, 3>> v = view_of(points);  of a Matrix<double, -1, 3, RowMajor>
//     auto t = to_tensor(a.transpose() * a);                  a copy of any expression
//
// Tensors are row-major, Eigen's matrices column-major by default. Static extents stay static. Not part of
// <tenon/array.hpp>, which needs no other library.
#pragma once

#if __has_include(<Eigen/Core>)
#include <Eigen/Core>
#else
#include <eigen3/Eigen/Core>
#endif

#include "tenon/array/shape.hpp"

namespace tenon::TENON_ABI {

/// The element types that Eigen computes with.
template <class T>
concept EigenElement = Element<T> && (std::is_arithmetic_v<T> || is_complex(dtype_of<T>));

namespace array_detail {

constexpr int eigen_extent(int64_t e) { return e == dyn ? Eigen::Dynamic : static_cast<int>(e); }
constexpr int64_t extent_of_eigen(int e) { return e == Eigen::Dynamic ? dyn : e; }

template <class S>
struct EigenShape {
  static_assert(
      S::rank == 1 || S::rank == 2,
      "as_eigen takes tensors of one or two axes: x.as<Shape<dyn, dyn>>() states that there are two");
};
template <int64_t N>
struct EigenShape<Shape<N>> {
  template <class T>
  using matrix = Eigen::Matrix<T, eigen_extent(N), 1>;
};
template <int64_t N, int64_t M>
struct EigenShape<Shape<N, M>> {
  // Eigen has no row-major column vectors; for one column, both orders are the same.
  template <class T>
  using matrix = Eigen::Matrix<T, eigen_extent(N), eigen_extent(M),
                               M == 1 && N != 1 ? Eigen::ColMajor : Eigen::RowMajor>;
};

template <class T, class S>
using EigenMatrix = typename EigenShape<S>::template matrix<std::remove_const_t<T>>;
template <class T, class S>
using EigenMap =
    Eigen::Map<std::conditional_t<std::is_const_v<T>, const EigenMatrix<T, S>, EigenMatrix<T, S>>>;

template <class T, class S>
EigenMap<T, S> eigen_map(const TensorView<T, S>& v) {
  if (!v) raise(ErrorCode::invalid_shape, "as_eigen", "no tensor");
  const auto extent = [&](int axis) { return static_cast<Eigen::Index>(v.extent(axis)); };
  if constexpr (S::rank == 1) return EigenMap<T, S>(v.data(), extent(0));
  else return EigenMap<T, S>(v.data(), extent(0), extent(1));
}

/// The shape of a matrix; vectors have one axis.
template <class D>
using ShapeOfEigen =
    std::conditional_t<D::IsVectorAtCompileTime != 0, Shape<extent_of_eigen(D::SizeAtCompileTime)>,
                       Shape<extent_of_eigen(D::RowsAtCompileTime), extent_of_eigen(D::ColsAtCompileTime)>>;

template <class D>
Extents extents_of_eigen(const D& m) {
  if constexpr (D::IsVectorAtCompileTime != 0) return {static_cast<int64_t>(m.size())};
  else return {static_cast<int64_t>(m.rows()), static_cast<int64_t>(m.cols())};
}

template <class Pointer, class D>
auto view_of_eigen(Pointer data, const D& m) {
  static_assert(D::IsVectorAtCompileTime != 0 || D::IsRowMajor != 0,
                "a column-major matrix is no tensor's row-major elements: to_tensor(m) copies them in order");
  const bool dense =
      m.size() == 0 || ((m.innerStride() == 1 || (D::IsVectorAtCompileTime != 0 && m.size() == 1)) &&
                        (D::IsVectorAtCompileTime != 0 || m.rows() == 1 || m.outerStride() == m.cols()));
  if (!dense)
    raise(ErrorCode::invalid_shape, "view_of",
          "the matrix has gaps between its elements: to_tensor(m) copies them without");
  return TensorView<std::remove_pointer_t<Pointer>, ShapeOfEigen<D>>(data, extents_of_eigen(m));
}

/// Eigen objects whose elements lie in memory: Matrix, Array, Map, Ref, or a Block of one of these.
template <class D>
concept EigenMemory = std::derived_from<D, Eigen::DenseBase<D>> && (D::Flags & Eigen::DirectAccessBit) != 0 &&
                      requires(const D& d) { d.data(); };

}  // namespace array_detail

/// A tensor's elements as an Eigen::Map with the tensor's static extents: a column vector for one axis, a
/// row-major matrix for two. The map refers to the tensor, and is read-only for a const tensor or a view of
/// const elements.
template <EigenElement T, class S>
[[nodiscard]] auto as_eigen(Tensor<T, S>& t) {
  return array_detail::eigen_map(t.view());
}
template <EigenElement T, class S>
[[nodiscard]] auto as_eigen(const Tensor<T, S>& t) {
  return array_detail::eigen_map(t.view());
}
template <class T, class S>
  requires EigenElement<std::remove_const_t<T>>
[[nodiscard]] auto as_eigen(const TensorView<T, S>& v) {
  return array_detail::eigen_map(v);
}

/// The elements of a vector or a row-major matrix as a tensor, without a copy; they must outlive the view. A
/// column-major matrix does not compile; gaps between rows are an Error{invalid_shape}.
template <array_detail::EigenMemory D>
[[nodiscard]] auto view_of(D& m) {
  return array_detail::view_of_eigen(m.data(), m);
}
template <array_detail::EigenMemory D>
[[nodiscard]] auto view_of(const D& m) {
  return array_detail::view_of_eigen(static_cast<const typename D::Scalar*>(m.data()), m);
}

/// A tensor with the elements of any matrix, vector or expression, row-major whatever the matrix's order.
template <class D>
  requires EigenElement<typename D::Scalar>
[[nodiscard]] auto to_tensor(const Eigen::DenseBase<D>& expression) {
  using S = array_detail::ShapeOfEigen<D>;
  auto t = Tensor<typename D::Scalar, S>::uninitialized(array_detail::extents_of_eigen(expression.derived()));
  auto map = as_eigen(t);
  if constexpr (S::rank == 1 && D::ColsAtCompileTime != 1) map = expression.derived().transpose();
  else map = expression.derived();
  return t;
}

}  // namespace tenon::TENON_ABI
