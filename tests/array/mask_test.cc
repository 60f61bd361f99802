#include "tenon/array/mask.hpp"

#include <doctest/doctest.h>

#include "tenon/array/math.hpp"

namespace tenon {
namespace {

using Square = Tensor<float, Shape<2, 2>>;

template <class T>
std::vector<T> list(const Tensor<T>& x) {
  return {x.begin(), x.end()};
}

}  // namespace

TEST_CASE("masks: elements under a mask are assigned") {
  Square x{{1, -2}, {-3, 4}};
  x(x < 0.0f) = 0.0f;
  CHECK(list<float>(x.clone()) == std::vector<float>{1, 0, 0, 4});
  const Tensor<bool, Shape<2, 2>> m{{true, false}, {false, true}};
  x(m) += 10.0f;
  CHECK(list<float>(x.clone()) == std::vector<float>{11, 0, 0, 14});
  const Square y{{1, 2}, {3, 4}};
  x(~m) = y * y;
  CHECK(list<float>(x.clone()) == std::vector<float>{11, 4, 9, 14});
  (x(m) -= 1.0f) *= y;
  CHECK(list<float>(x.clone()) == std::vector<float>{10, 4, 9, 52});
  x(m) /= 2.0f;
  CHECK(list<float>(x.clone()) == std::vector<float>{5, 4, 9, 26});
}

TEST_CASE(
    "masks: masks and values broadcast, parts of tensors have masks, operands may be the tensor itself") {
  Square x{{1, 2}, {3, 4}};
  const Tensor<bool, Shape<2>> columns{true, false};
  x(columns) = Tensor<float, Shape<2, 1>>{{7}, {8}};
  CHECK(list<float>(x.clone()) == std::vector<float>{7, 2, 8, 4});
  x(all, 1)(slice(x, all, 1) > 3.0f) = -1.0f;
  CHECK(list<float>(x.clone()) == std::vector<float>{7, 2, 8, -1});
  slice(x, 0)(slice(x, 0) > 3.0f) = slice(x, 1);
  CHECK(list<float>(x.clone()) == std::vector<float>{8, 2, 8, -1});
  x(x > transpose(x)) = transpose(x);
  CHECK(list<float>(x.clone()) == std::vector<float>{8, 2, 2, -1});
  Tensor<int64_t> d(Extents{3}, {1, 2, 3});
  d(d == 2) = int64_t{5};
  CHECK(list(d) == std::vector<int64_t>{1, 5, 3});
  d(d > 2) %= 2;
  d(d == 1) |= 8;
  CHECK(list(d) == std::vector<int64_t>{9, 9, 9});
  Tensor<bool> bits(Extents{3}, {true, false, true});
  bits(bits) = Tensor<bool>(Extents{3}, {false, false, true});
  bits(~bits) ^= true;
  CHECK(all(bits));
}

TEST_CASE("masks: slice(x, mask) is x(mask), and a part is given what a mask selects") {
  Square x{{1, -2}, {-3, 4}};
  const Square& same = x;
  slice(x, x < -2.0f) = 7.0f;
  CHECK(list<float>(slice(same, same > 0.0f)) == std::vector<float>{1, 7, 4});
  x(0, all) = x(x > 3.0f);
  CHECK(list<float>(x.clone()) == std::vector<float>{7, 4, 7, 4});
  x(all, 1) = slice(x, x > 5.0f);
  CHECK(list<float>(x.clone()) == std::vector<float>{7, 7, 7, 7});
  CHECK_THROWS_AS(x(0, all) = x(x > 0.0f), Error);
}

TEST_CASE("masks: elements under a mask are read") {
  const Square x{{1, -2}, {-3, 4}};
  const Tensor<float> negative = x(x < 0.0f);
  CHECK(list(negative) == std::vector<float>{-2, -3});
  CHECK(sum(x(x > 0.0f)).item() == 5);
  CHECK(eval(x(all, 0)(slice(x, all, 0) > 0.0f)).size() == 1);
  CHECK(eval(x(x > 9.0f)).size() == 0);
  const Tensor<float> scalar({}, {3});
  CHECK(list<float>(scalar(scalar > 2.0f)) == std::vector<float>{3});
  CHECK(eval(scalar(scalar > 3.0f)).size() == 0);
}

TEST_CASE("masks: extents that do not fit") {
  Tensor<float> x(Extents{2, 2}, {1, 2, 3, 4});
  const Tensor<bool> m(Extents{3}, {true, true, false}), row(Extents{2}, {true, false});
  CHECK_THROWS_WITH_AS(x(m) = 0.0f, doctest::Contains("broadcast"), Error);
  CHECK_THROWS_WITH_AS(x(row) = Tensor<float>(Extents{2, 2, 2}),
                       doctest::Contains("cannot be given elements"), Error);
  CHECK_THROWS_WITH_AS(eval(x(row)), doctest::Contains("a mask of extents (2)"), Error);
  Tensor<bool, Shape<2, 2>> gone;
  const auto elsewhere = std::move(gone);
  CHECK_THROWS_WITH_AS(eval(x(gone)), "Compress: input condition is missing", Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(any(gone)), "any: the tensor holds nothing", Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(all(gone)), "all: the tensor holds nothing", Error);
}

}  // namespace tenon
