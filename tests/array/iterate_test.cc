#include "tenon/array/iterate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <list>
#include <numeric>

namespace tenon {

TEST_CASE("rows") {
  Tensor<float, Shape<dyn, 3>> x{{1, 2, 3}, {4, 5, 6}};
  float sum = 0;
  for (auto row : rows(x)) {
    static_assert(std::is_same_v<decltype(row), TensorView<float, Shape<3>>>);
    sum += row(2);
    row(0) = 0;
  }
  CHECK(sum == 9);
  CHECK(x(1, 0) == 0);
  const auto& constant = x;
  static_assert(std::is_same_v<decltype(rows(constant)[0]), TensorView<const float, Shape<3>>>);
  static_assert(std::ranges::random_access_range<Rows<float, Shape<2, 3>>>);
  const auto all = rows(constant);
  CHECK(all.size() == 2);
  CHECK(all[1](1) == 5);
  CHECK(all.end() - all.begin() == 2);
  CHECK(all.begin()[1](2) == 6);

  const Tensor<int32_t> any({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const TensorView<const int32_t> second = rows(any)[1];
  CHECK(Extents(second.extents()) == Extents{2, 2});
  CHECK(rows(second)[1](1) == 8);
  const Tensor<float, Shape<3>> v{1, 2, 3};
  CHECK(rows(v)[2].item() == 3);
  int count = 0;
  for (auto row : rows(Tensor<float>({3, 0}).view())) count += row.empty();
  CHECK(count == 3);
  for (auto row : rows(Tensor<float>({0, 3}).view())) count += static_cast<int>(row.size());
  CHECK(count == 3);
  CHECK_THROWS_WITH_AS(rows(Tensor<float>(Extents{}).view()), "rows: a scalar has none", Error);
  CHECK_THROWS_WITH_AS((rows(TensorView<float, Shape<2, 3>>())), "rows: no tensor", Error);
}

TEST_CASE("elements are a range that std::span sees") {
  Tensor<float, Shape<2, 2>> x{{1, 2}, {3, 4}};
  static_assert(std::ranges::contiguous_range<Tensor<float>> && std::ranges::sized_range<Tensor<float>>);
  static_assert(std::ranges::contiguous_range<TensorView<const float>>);
  const std::span<float> s(x);
  CHECK(s.size() == 4);
  std::ranges::sort(x, std::greater{});
  CHECK(s[0] == 4);
  CHECK(std::accumulate(x.begin(), x.end(), 0.0f) == 10);
}

TEST_CASE("view_of: memory of others") {
  std::vector<float> v{1, 2, 3, 4, 5, 6};
  const auto flat = view_of(v);
  static_assert(std::is_same_v<decltype(view_of(v)), TensorView<float, Shape<dyn>>>);
  CHECK(flat.data() == v.data());
  view_of(v, {2, 3})(1, 0) = 7;
  static_assert(std::is_same_v<decltype(view_of(v, {2, 3})), TensorView<float, Shape<dyn, dyn>>>);
  CHECK(v[3] == 7);
  static_assert(std::is_same_v<decltype(view_of<Shape<2, 3>>(v)), TensorView<float, Shape<2, 3>>>);
  CHECK(view_of<Shape<2, 3>>(v)(1, 2) == 6);
  const auto& constant = v;
  static_assert(std::is_same_v<decltype(view_of(constant)), TensorView<const float, Shape<dyn>>>);
  CHECK(view_of(constant, flat.extents()).rank() == 1);
  std::array<int32_t, 4> a{1, 2, 3, 4};
  static_assert(std::is_same_v<decltype(view_of(a)), TensorView<int32_t, Shape<4>>>);
  CHECK(view_of<Shape<2, 2>>(a)(1, 0) == 3);
  double c[2] = {1, 2};
  static_assert(std::is_same_v<decltype(view_of(c)), TensorView<double, Shape<2>>>);
  CHECK(view_of(std::span<const double>(c))(1) == 2);
  CHECK(view_of(std::span<double>()).empty());
  CHECK_THROWS_WITH_AS(view_of(v, {2, 2}), "view_of: extents (2,2) for 6 elements", Error);
  CHECK_THROWS_WITH_AS(view_of(v, {-2, -3}), "view_of: negative extent in (-2,-3)", Error);
  CHECK_THROWS_AS(view_of(v, {INT64_MAX, 2}), Error);
  CHECK_THROWS_AS(view_of<Shape<7>>(v), Error);
}

TEST_CASE("to_tensor: copies, and vectors that are moved in") {
  const std::list<double> l{1, 2, 3};
  const auto t = to_tensor(l);
  static_assert(std::is_same_v<decltype(to_tensor(l)), Tensor<double, Shape<dyn>>>);
  CHECK((t.size() == 3 && t(2) == 3));
  std::vector<float> v{1, 2, 3, 4};
  CHECK(to_tensor(v, {2, 2})(1, 1) == 4);
  CHECK(to_tensor(std::vector<bool>{true, false})(0));
  const float* const data = v.data();
  const auto moved = to_tensor(std::move(v), {2, 2});
  CHECK(moved.data() == data);
  CHECK(to_tensor(std::vector<int64_t>{1, 2})(1) == 2);
  CHECK_THROWS_AS(to_tensor(l, {2, 2}), Error);
  CHECK_THROWS_AS(to_tensor(std::vector<float>(3), {2, 2}), Error);
}

}  // namespace tenon
