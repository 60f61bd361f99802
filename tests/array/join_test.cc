#include "tenon/array/join.hpp"

#include <doctest/doctest.h>

#include <list>

#include "tenon/array/slice.hpp"

namespace tenon {
namespace {

template <class T, class S>
std::vector<T> values_of(const Tensor<T, S>& t) {
  return std::vector<T>(t.begin(), t.end());
}
template <class X, class T, class S>
constexpr bool is_tensor = std::is_same_v<X, Tensor<T, S>>;

}  // namespace

TEST_CASE("concat and stack: axes that the compiler knows") {
  const Tensor<float, Shape<2, 2>> a{{1, 2}, {3, 4}};
  const Tensor<float, Shape<1, 2>> b{{5, 6}};
  const auto c = concat<0>(a, b, a);
  static_assert(is_tensor<decltype(concat<0>(a, b, a)), float, Shape<5, 2>>);
  CHECK(values_of(c) == std::vector<float>{1, 2, 3, 4, 5, 6, 1, 2, 3, 4});
  static_assert(is_tensor<decltype(concat<-1>(a, a)), float, Shape<2, 4>>);
  CHECK(values_of(concat<-1>(a, a.view())) == std::vector<float>{1, 2, 1, 2, 3, 4, 3, 4});
  const Tensor<float> any({1, 2}, {7, 8});
  CHECK(values_of(concat<0>(any, any)) == std::vector<float>{7, 8, 7, 8});
  const Tensor<float, Shape<dyn, 2>> some{{9, 9}};
  static_assert(is_tensor<decltype(concat<0>(a, some)), float, Shape<dyn, 2>>);
  CHECK(concat<0>(a, some).extent(0) == 3);

  static_assert(is_tensor<decltype(stack<0>(a, a)), float, Shape<2, 2, 2>>);
  static_assert(is_tensor<decltype(stack<-1>(b, b, b)), float, Shape<1, 2, 3>>);
  CHECK(values_of(stack<0>(a, a)) == std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4});
  CHECK(values_of(stack<1>(a, a)) == std::vector<float>{1, 2, 1, 2, 3, 4, 3, 4});
  CHECK(values_of(stack<-1>(a, a)) == std::vector<float>{1, 1, 2, 2, 3, 3, 4, 4});
  CHECK(values_of(stack<2>(any, any)) == std::vector<float>{7, 7, 8, 8});
  const Tensor<std::string, Shape<>> s = std::string("x");
  CHECK(values_of(stack<0>(s, s)) == std::vector<std::string>{"x", "x"});
  CHECK_THROWS_AS(stack<4>(any, any), Error);
  CHECK_THROWS_AS(concat<0>(any, Tensor<float>({1, 3})), Error);
}

TEST_CASE("concat and stack: expressions and slices") {
  const Tensor<float, Shape<2, 2>> a{{1, 2}, {3, 4}};
  static_assert(is_tensor<decltype(concat<0>(a * 2, a)), float, Shape<4, 2>>);
  CHECK(values_of(concat<0>(a * 2, a, a(range<0, 1>(), all))) ==
        std::vector<float>{2, 4, 6, 8, 1, 2, 3, 4, 1, 2});
  static_assert(is_tensor<decltype(stack<1>(a(0, all), a(all, 1), a(1, all) + 1)), float, Shape<2, 3>>);
  CHECK(values_of(stack<1>(a(0, all), a(all, 1), a(1, all) + 1)) == std::vector<float>{1, 2, 4, 2, 4, 5});
}

TEST_CASE("concat and stack: containers") {
  std::vector<Tensor<float, Shape<dyn, 2>>> parts;
  for (int k = 0; k < 3; ++k)
    parts.push_back(Tensor<float, Shape<dyn, 2>>({1, 2}, {float(k), float(10 + k)}));
  const auto c = concat(parts, 0);
  static_assert(is_tensor<decltype(concat(parts, 0)), float, Shape<dyn, dyn>>);
  CHECK(values_of(c) == std::vector<float>{0, 10, 1, 11, 2, 12});
  CHECK(values_of(concat(parts, -1)) == values_of(c));
  const auto s = stack(parts, std::size_t{2});
  static_assert(is_tensor<decltype(stack(parts, 2)), float, Shape<dyn, dyn, dyn>>);
  CHECK(Extents(s.extents()) == Extents{1, 2, 3});
  CHECK(values_of(s) == std::vector<float>{0, 1, 2, 10, 11, 12});
  std::list<Tensor<int64_t>> any;
  any.push_back(Tensor<int64_t>({2}, {1, 2}));
  any.push_back(Tensor<int64_t>({1}, {3}));
  CHECK(values_of(concat(any, 0)) == std::vector<int64_t>{1, 2, 3});
  const std::array views{any.front().view(), any.front().view()};
  CHECK(values_of(stack(views, 1)) == std::vector<int64_t>{1, 1, 2, 2});
  // Messages are joined as before.
  CHECK(str_cat("axis ", 1) == "axis 1");

  const auto refused = [](const char* words, auto f) { CHECK_THROWS_WITH_AS(f(), words, Error); };
  refused("concat: no tensors", [] { return concat(std::vector<Tensor<float>>(), 0); });
  refused("stack: no tensors", [] { return stack(std::vector<Tensor<float>>(), 0); });
  refused("concat: axis 2 of extents (1,2)", [&] { return concat(parts, 2); });
  refused("stack: axis -4 of a result of 3 axes", [&] { return stack(parts, -4); });
  refused("stack: extents (1,2) and (1,1) differ off axis 0", [&] { return stack(any, 0); });
  any.push_back(Tensor<int64_t>({1, 1}, {3}));
  refused("concat: extents (2) and (1,1) differ off axis 0", [&] { return concat(any, 0); });
  refused("stack: the ranks differ", [&] {
    any.erase(std::next(any.begin()));
    (void)stack(any, 0);
  });
  any.front() = Tensor<int64_t>(std::move(any.back()));
  refused("concat: a tensor is absent", [&] { return concat(any, 0); });
  refused("stack: a tensor is absent", [&] { return stack(any, 0); });
  Tensor<float, Shape<2>> gone;
  const auto elsewhere = std::move(gone);
  refused("stack: a tensor is absent", [&] { return stack<0>(gone, elsewhere); });
}

}  // namespace tenon
