#include "tenon/array/eigen.hpp"

#include <doctest/doctest.h>

#include "tenon/array/iterate.hpp"
#include "tenon/base/types.hpp"

namespace tenon {
namespace {

template <class T, class S>
std::vector<T> values_of(const Tensor<T, S>& t) {
  return std::vector<T>(t.begin(), t.end());
}
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, 3, Eigen::RowMajor>;

}  // namespace

TEST_CASE("as_eigen: tensors as matrices and vectors") {
  Tensor<float, Shape<2, 3>> w{{1, 2, 3}, {4, 5, 6}};
  const Tensor<float, Shape<3>> x{1, 0, -1};
  Tensor<float, Shape<dyn>> y{0, 0};
  as_eigen(y).noalias() = as_eigen(w) * as_eigen(x);
  CHECK(values_of(y) == std::vector<float>{-2, -2});
  const auto m = as_eigen(w);
  static_assert(decltype(m)::RowsAtCompileTime == 2 && decltype(m)::ColsAtCompileTime == 3);
  CHECK((m.data() == w.data() && m(1, 0) == 4));
  as_eigen(w).row(1).setZero();
  CHECK(w(1, 2) == 0);
  static_assert(std::is_const_v<std::remove_pointer_t<decltype(as_eigen(x).data())>>);
  const Tensor<double, Shape<dyn, dyn>> d{{1, 2}, {3, 4}};
  CHECK(as_eigen(d).trace() == 5);
  CHECK(as_eigen(d.view()).sum() == 10);
  const Tensor<int64_t, Shape<3, 1>> column{{1}, {2}, {3}};
  CHECK(as_eigen(column)(2, 0) == 3);
  const Tensor<complex64, Shape<1, 2>> row{{complex64(0, 1), 2}};
  CHECK(as_eigen(row).squaredNorm() == 5);
  CHECK(as_eigen(Tensor<float, Shape<dyn, 4>>({0, 4}).view()).rows() == 0);
  CHECK_THROWS_AS((as_eigen(TensorView<float, Shape<2>>())), Error);
}

TEST_CASE("view_of: matrices as tensors") {
  RowMajor points(2, 3);
  points << 1, 2, 3, 4, 5, 6;
  const auto v = view_of(points);
  static_assert(std::is_same_v<decltype(view_of(points)), TensorView<double, Shape<dyn, 3>>>);
  CHECK((v.data() == points.data() && v(1, 0) == 4));
  v(1, 0) = 9;
  CHECK(points(1, 0) == 9);
  const auto& constant = points;
  static_assert(std::is_same_v<decltype(view_of(constant)), TensorView<const double, Shape<dyn, 3>>>);
  CHECK(rows(view_of(constant))[1](2) == 6);
  Eigen::Vector3f vector(1, 2, 3);
  static_assert(std::is_same_v<decltype(view_of(vector)), TensorView<float, Shape<3>>>);
  CHECK(view_of(vector)(2) == 3);
  Eigen::RowVectorXi ints = Eigen::RowVectorXi::LinSpaced(4, 0, 3);
  static_assert(std::is_same_v<decltype(view_of(ints)), TensorView<int, Shape<dyn>>>);
  CHECK(view_of(ints)(3) == 3);
  Eigen::Array<float, 2, 2, Eigen::RowMajor> array;
  array << 1, 2, 3, 4;
  CHECK(view_of(array)(1, 0) == 3);
  // Parts of a matrix: rows lie dense, columns do not.
  CHECK(view_of(points.topRows(1))(0, 2) == 3);
  CHECK(view_of(points.row(1))(0) == 9);
  CHECK_THROWS_AS(view_of(points.leftCols(2)), Error);
  CHECK_THROWS_AS(view_of(points.col(1)), Error);
  const Eigen::Map<const RowMajor> map(points.data(), 2, 3);
  CHECK(view_of(map)(1, 1) == 5);
  CHECK(view_of(RowMajor(0, 3)).empty());
}

TEST_CASE("to_tensor: copies of any order and of expressions") {
  Eigen::Matrix2d columns;
  columns << 1, 2, 3, 4;
  const auto t = to_tensor(columns);
  static_assert(std::is_same_v<decltype(to_tensor(columns)), Tensor<double, Shape<2, 2>>>);
  CHECK(values_of(t) == std::vector<double>{1, 2, 3, 4});
  CHECK(values_of(to_tensor(columns.transpose() * columns)) == std::vector<double>{10, 14, 14, 20});
  CHECK(values_of(to_tensor(columns.col(1))) == std::vector<double>{2, 4});
  CHECK(values_of(to_tensor(columns.row(1))) == std::vector<double>{3, 4});
  CHECK(values_of(to_tensor(columns.array() + 1)) == std::vector<double>{2, 3, 4, 5});
  Eigen::MatrixXf dynamic = Eigen::MatrixXf::Identity(2, 3);
  static_assert(std::is_same_v<decltype(to_tensor(dynamic)), Tensor<float, Shape<dyn, dyn>>>);
  CHECK(values_of(to_tensor(dynamic)) == std::vector<float>{1, 0, 0, 0, 1, 0});
  CHECK(to_tensor(Eigen::MatrixXf(0, 2)).empty());
}

}  // namespace tenon
