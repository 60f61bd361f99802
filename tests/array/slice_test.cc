#include "tenon/array/slice.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace tenon {
namespace {

/// 0, 1, 2, … under these extents.
template <class S>
Tensor<float, S> counted(const Extents& extents) {
  Tensor<float, S> t{std::span<const int64_t>(extents)};
  std::iota(t.begin(), t.end(), 0.0f);
  return t;
}
template <class S>
std::vector<float> list(const Tensor<float, S>& t) {
  return {t.begin(), t.end()};
}
using Floats = std::vector<float>;

TEST_CASE("a cut through the first axes is a view, any other is strided") {
  auto x = counted<Shape<2, 3, 4>>({2, 3, 4});
  static_assert(std::is_same_v<decltype(slice(x, 1)), DenseSlice<float, Shape<3, 4>>>);
  static_assert(std::is_same_v<decltype(slice(x, range(0, 1))), DenseSlice<float, Shape<dyn, 3, 4>>>);
  static_assert(std::is_same_v<decltype(slice(x, range<0, 1>())), DenseSlice<float, Shape<1, 3, 4>>>);
  static_assert(std::is_same_v<decltype(slice(x, 1, range(0, 2), all)), DenseSlice<float, Shape<dyn, 4>>>);
  static_assert(
      std::is_same_v<decltype(slice(x, newaxis, 1, newaxis, 2)), DenseSlice<float, Shape<1, 1, 4>>>);
  static_assert(std::is_same_v<decltype(slice(x, 1, 2, 3)), DenseSlice<float, Shape<>>>);
  static_assert(std::is_same_v<decltype(slice(x, all, 1)), StridedSlice<float, Shape<2, 4>>>);
  static_assert(
      std::is_same_v<decltype(slice(x, range(0, 1), range(0, 1))), StridedSlice<float, Shape<dyn, dyn, 4>>>);
  static_assert(std::is_same_v<decltype(slice(x, range(0, 2, 2))), StridedSlice<float, Shape<dyn, 3, 4>>>);
  static_assert(std::is_same_v<decltype(slice(std::as_const(x), 1)), DenseSlice<const float, Shape<3, 4>>>);

  CHECK(slice(x, 1).data() == x.data() + 12);
  CHECK(slice(x, -1, range(1, all)).data() == x.data() + 16);
  CHECK(slice(x, 1, 2, 3).item() == 23);
  CHECK(list(slice(x, all, 1).eval()) == Floats{4, 5, 6, 7, 16, 17, 18, 19});
  CHECK(list(slice(x, 0, all, range(1, 3)).eval()) == Floats{1, 2, 5, 6, 9, 10});
  CHECK(list(slice(x, 0, 0, range(-1, all, -2)).eval()) == Floats{3, 1});
  CHECK(list(slice(x, 0, 0, range(3, 0, -1)).eval()) == Floats{3, 2, 1});
  CHECK(list(slice(x, 0, 0, range(1, all, 2)).eval()) == Floats{1, 3});
  CHECK(list(slice(slice(x, all, 1), all, range(2, 4)).eval()) == Floats{6, 7, 18, 19});
  CHECK(slice(x, range(1, 1)).empty());
  CHECK(slice(x, all, range(3, 3)).eval().empty());
  const Tensor<float, Shape<2, 4>> copy = slice(x, all, 1);
  CHECK(copy(1, 0) == 16);

  auto any = counted<AnyShape>({2, 3});
  static_assert(std::is_same_v<decltype(slice(any, 1)), DenseSlice<float, AnyShape>>);
  CHECK(slice(any, 1).rank() == 1);
  CHECK(slice(any, all, newaxis, 2).eval().extents()[1] == 1);
}

TEST_CASE("a call with a range or `all` is a slice") {
  auto x = counted<Shape<2, 3>>({2, 3});
  static_assert(std::is_same_v<decltype(x(1, all)), DenseSlice<float, Shape<3>>>);
  static_assert(std::is_same_v<decltype(x(all, 1)), StridedSlice<float, Shape<2>>>);
  static_assert(std::is_same_v<decltype(std::as_const(x)(0, all)), DenseSlice<const float, Shape<3>>>);
  x(all, range(0, 2)) = x(all, range(1, 3)) + 1;
  CHECK(list(x) == Floats{2, 3, 2, 5, 6, 5});
  x(0, all) = x.view()(1, all);
  CHECK(x(0, 1) == 6);
}

TEST_CASE("strided slices have elements and parts") {
  auto x = counted<Shape<3, 4>>({3, 4});
  const auto inner = x(range(1, 3), range(1, all));
  CHECK(inner(0, 2) == 7);
  inner(1, 0) = 90;
  CHECK(x(2, 1) == 90);
  inner(0, all) = -1;
  inner(all, 2)(1) = -2;
  CHECK(list(x) == Floats{0, 1, 2, 3, 4, -1, -1, -1, 8, 90, 10, -2});
  CHECK(x(all, range(0, 4, 2))(range(2, 3), all)(0, 1) == 10);
  CHECK(x(range(1, 2), range(3, 4)).item() == -1);
  CHECK_THROWS_WITH_AS(inner(2, 0), "slice: index 2 outside of axis 0 of extents (2,3)", Error);
  CHECK_THROWS_AS(x(range(0, 2), range(0, 2)).item(), Error);
}

TEST_CASE("all of a tensor's bools") {
  const auto x = counted<Shape<3>>({3});
  CHECK(all(x < 3));
  CHECK(!all(x < 2));
  CHECK(all(Tensor<float>() < 1));
}

TEST_CASE("slices are operands") {
  auto x = counted<Shape<2, 3>>({2, 3});
  Tensor<float> y = slice(x, all, range(0, 2)) * 2 + slice(x, all, range(1, 3));
  CHECK(list(y) == Floats{1, 4, 10, 13});
  Tensor<float, Shape<2, 3, 3>> z = slice(x, all, all, newaxis) * slice(x, all, newaxis);
  CHECK(z(1, 2, 1) == 20);
  auto row = op::Neg{}(slice(x, 1));
  CHECK(row[0] == -3);
}

TEST_CASE("assignment to a slice writes the tensor's elements") {
  auto x = counted<Shape<3, 4>>({3, 4});
  slice(x, 0) = 1;
  slice(x, 1) = slice(x, 2) + slice(x, 0);
  slice(x, all, 0) = -1.0f;
  slice(x, all, range(2, 4)) = Tensor<float, Shape<2>>{50, 60};
  CHECK(list(x) == Floats{-1, 1, 50, 60, -1, 10, 50, 60, -1, 9, 50, 60});
  slice(x, 2) += 1;
  slice(x, all, 1) *= 2;
  auto row = slice(x, 0);
  row = slice(x, 2);
  CHECK(list(x) == Floats{0, 20, 51, 61, -1, 20, 50, 60, 0, 20, 51, 61});
  // Elements that are read and written.
  auto v = counted<Shape<5>>({5});
  slice(v, range(1, 5)) = slice(v, range(0, 4));
  CHECK(list(v) == Floats{0, 0, 1, 2, 3});
  slice(v, all) = slice(v, range(-1, all, -1));
  CHECK(list(v) == Floats{3, 2, 1, 0, 0});
  slice(v, range(0, 4)) += slice(v, range(1, 5));
  CHECK(list(v) == Floats{5, 3, 1, 0, 0});
  slice(v, range(0, all, 2)) = 7;
  CHECK(list(v) == Floats{7, 3, 7, 0, 7});
  const TensorView<float, Shape<4>> first = slice(x, 0);
  CHECK(first[1] == 20);
  Tensor<std::string> words({2, 2}, {"a", "b", "c", "d"});
  slice(words, all, 1) = slice(words, all, 0);
  CHECK(words(1, 1) == "c");
  Tensor<bool, Shape<2, 2>> bits{{true, false}, {false, true}};
  slice(bits, all, 1) = slice(bits, all, 0);
  CHECK(bits(0, 1));
  slice(bits, 1) = slice(bits, 0);
  CHECK(bits(1, 0));
}

TEST_CASE("slices have the compound assignments of tensors") {
  Tensor<uint8_t, Shape<2, 2>> x{{1, 2}, {3, 4}};
  slice(x, all, 0) <<= 1;
  slice(x, 1) >>= 1;
  slice(x, all, 1) %= 2;
  slice(x, all, 1) ^= slice(x, all, 0);
  CHECK(all(x == Tensor<uint8_t, Shape<2, 2>>{{2, 2}, {3, 3}}));
  (slice(x, all, 0) &= 2) |= 5;
  (slice(x, 0) -= 1) /= 2;
  CHECK(all(x == Tensor<uint8_t, Shape<2, 2>>{{3, 0}, {7, 3}}));
  Tensor<bool, Shape<2, 2>> bits{{true, false}, {false, true}};
  slice(bits, all, 0) ^= true;
  CHECK(!bits(0, 0));
}

TEST_CASE("slices that are swapped exchange their elements") {
  auto x = counted<Shape<2, 3>>({2, 3});
  swap(slice(x, 0), slice(x, 1));
  swap(slice(x, all, 0), slice(x, all, 2));
  CHECK(list(x) == Floats{5, 4, 3, 2, 1, 0});
  auto a = slice(x, 0), b = slice(x, 1);
  std::ranges::swap(a, b);
  CHECK(list(x) == Floats{2, 1, 0, 5, 4, 3});
  auto left = slice(x, all, range(0, 2)), right = slice(x, all, range(1, 3));
  using std::swap;
  swap(left, right);  // they overlap: what the second one is given stays
  CHECK(list(x) == Floats{1, 2, 1, 4, 5, 4});
  CHECK_THROWS_WITH_AS(swap(slice(x, range(0, 1)), slice(x, range(0, 2))),
                       "swap: parts of extents (1,3) and (2,3)", Error);
}

TEST_CASE("a value of a slice has elements of its own") {
  auto x = counted<Shape<2, 2>>({2, 2});
  const std::vector<std::pair<std::string_view, Value>> feeds{{"row", slice(x, 1)},
                                                              {"column", slice(x, all, 1)}};
  x(1, 1) = 9;
  CHECK(list(feeds[0].second.as<float>()) == Floats{2, 3});
  CHECK(list(feeds[1].second.as<float>()) == Floats{1, 3});
}

TEST_CASE("a tensor that was moved from gives a slice nothing") {
  auto x = counted<Shape<2, 2>>({2, 2});
  Tensor<float, Shape<2>> y{1, 2};
  const auto elsewhere = std::move(y);
  CHECK_THROWS_WITH_AS(slice(x, 0) = y, "slice: a part is given a tensor that holds nothing", Error);
  CHECK_THROWS_AS(slice(x, all, 0) = y, Error);
  CHECK_THROWS_WITH_AS(eval(y.view()), "eval: an absent view has no elements", Error);
  CHECK(list(x) == Floats{0, 1, 2, 3});
}

TEST_CASE("parts of a tensor without elements, whose other extents are too large to multiply") {
  constexpr int64_t large = int64_t{1} << 62;
  const Tensor<float> x(Extents{0, large, large});
  Tensor<float> y(Extents{0, large, large});
  CHECK(slice(x, all, large - 1, large - 1).size() == 0);
  CHECK(slice(x, all, range(-1, all, -3), range(1, all, 2)).extents()[1] == large / 3 + 1);
  slice(y, all, all, range(0, all, 5)) = slice(x, all, all, range(0, all, 5));
  slice(y, all, all, 5) = Tensor<float>({1}, {3});
  y = slice(x, all, range(0, 2));
  CHECK(y.extents()[1] == 2);
}

TEST_CASE("indices outside are an Error that names them") {
  auto x = counted<Shape<2, 3>>({2, 3});
  auto any = counted<AnyShape>({2, 3});
  CHECK_THROWS_WITH_AS(slice(x, 2), "slice: index 2 outside of axis 0 of extents (2,3)", Error);
  CHECK_THROWS_WITH_AS(slice(x, all, -4), "slice: index -4 outside of axis 1 of extents (2,3)", Error);
  CHECK_THROWS_WITH_AS(slice(x, all, range(1, 5)), "slice: range [1,5) outside of axis 1 of extents (2,3)",
                       Error);
  CHECK_THROWS_WITH_AS(slice(x, range(2, 1)), "slice: range [2,1) outside of axis 0 of extents (2,3)", Error);
  CHECK_THROWS_WITH_AS(slice(x, range(4, all)), "slice: range [4,all) outside of axis 0 of extents (2,3)",
                       Error);
  CHECK_THROWS_AS(slice(x, range(3, all, -1)), Error);
  CHECK_THROWS_AS(slice(x, range(INT64_MIN, INT64_MAX)), Error);
  CHECK_THROWS_WITH_AS(slice(x, range(0, 2, 0)), "slice: the step on axis 0 is 0", Error);
  CHECK(slice(x, range(1, all, INT64_MIN)).size() == 3);
  CHECK(slice(x, range(1, all, INT64_MAX)).size() == 3);
  std::size_t none = 0;  // minus one, it is no index from the end
  CHECK_THROWS_WITH_AS(slice(x, none - 1),
                       "slice: index 18446744073709551615 outside of axis 0 of extents (2,3)", Error);
  CHECK_THROWS_AS(slice(x, range(none, none - 1)), Error);
  CHECK_THROWS_AS(slice(x, range(none - 1, all, -1)), Error);
  CHECK_THROWS_WITH_AS(slice(any, 1, 1, 1), "slice: more indices than axes of extents (2,3)", Error);
  CHECK_THROWS_WITH_AS(slice(x, 0) = any,
                       "slice: a part of extents (3) cannot be given elements of extents (2,3)", Error);
  CHECK_THROWS_AS(slice(x, all, 0) = any, Error);
  CHECK_THROWS_AS(slice(TensorView<float, Shape<2>>(), 0), Error);
}

}  // namespace
}  // namespace tenon
