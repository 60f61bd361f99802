#include "tenon/array/arithmetic.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace tenon {
namespace {

template <Array A>
auto list(const A& x) {
  const auto t = eval(x);
  return std::vector<array_detail::element_of<A>>(t.begin(), t.end());
}

TEST_CASE("types and extents are the operators'") {
  Tensor<float, Shape<2, 3>> x{{1, 2, 3}, {4, 5, 6}};
  Tensor<float, Shape<3>> b{10, 20, 30};
  auto e = x * 2 + b;
  static_assert(std::is_same_v<decltype(e)::value_type, float>);
  static_assert(std::is_same_v<decltype(eval(e)), Tensor<float, Shape<2, 3>>>);
  static_assert(std::is_same_v<decltype(eval(x < 3)), Tensor<bool, Shape<2, 3>>>);
  static_assert(std::is_same_v<decltype(eval(x + Tensor<float>())), Tensor<float>>);
  static_assert(std::is_convertible_v<decltype(e), Tensor<float>>);
  static_assert(std::is_convertible_v<decltype(e), Tensor<float, Shape<dyn, 3>>>);
  static_assert(!std::is_convertible_v<decltype(e), Tensor<float, Shape<3, 2>>>);
  static_assert(!std::is_convertible_v<decltype(e), Tensor<double, Shape<2, 3>>>);
  static_assert(!std::is_constructible_v<bool, decltype(x == x)>);

  const auto sum_of = [](const Tensor<float>& t) {
    float s = 0;
    for (float v : t) s += v;
    return s;
  };
  CHECK(sum_of(e) == 162);  // as an argument
  Tensor<float, Shape<2, 3>> y;
  y = x - 1.5;  // by assignment; a double among floats is a float
  CHECK(y(0, 0) == -0.5f);
  y = y * y;
  CHECK(y(0, 0) == 0.25f);
  Tensor<bool> m = ((x < 3) & ~(x == 1)) | ((x >= 6) ^ false);
  CHECK(std::vector<bool>(m.begin(), m.end()) == std::vector<bool>{false, true, false, false, false, true});
  Tensor<bool> n = x != x;
  CHECK(!n(1, 1));
  CHECK(eval(where(x > 3, 1.0f, 0.0f))(1, 0) == 1);
  CHECK(eval(where(x > 3, x, -1))(0, 0) == -1);
  CHECK(eval(2 / x)(0, 1) == 1);
  const Tensor<std::string> words({2}, {"a", "b"}), others({2}, {"a", "c"});
  static_assert(std::is_same_v<decltype(words == others), Tensor<bool>>);  // strings do not chain
  CHECK((words == others)[0]);
}

TEST_CASE("an expression refers to what lives on and owns what does not") {
  const auto make = [](float v) { return Tensor<float, Shape<2>>{v, v + 1}; };
  Tensor<float, Shape<2>> x{1, 2};
  auto e = make(10) * x + make(100);
  auto copy = e;
  x[0] = 5;
  CHECK(eval(e)[0] == 150);
  CHECK(eval(copy)[1] == 123);
  auto nested = e * 2;
  CHECK(eval(nested)[0] == 300);
  TensorView<const float, Shape<2>> v = x;
  CHECK(eval(v + std::move(x))[0] == 10);
  CHECK_THROWS_WITH_AS(eval(x + 1.0f), "Add: input A is missing", Error);  // x was moved from
}

TEST_CASE("compound assignment writes into the left side's memory") {
  Tensor<float, Shape<2, 3>> x{{1, 2, 3}, {4, 5, 6}};
  const Tensor<float, Shape<3>> b{10, 20, 30};
  const float* const data = x.data();
  x += b;
  x *= 2;
  x -= x / 2;
  CHECK(x.data() == data);
  CHECK(x(1, 2) == 36);
  TensorView<float> v = x;
  v /= 2;
  CHECK(x(1, 2) == 18);
  TensorView<float, Shape<2>> first(x.data(), {2});
  TensorView<float, Shape<2, 2>> all_of(x.data(), {2, 2});
  all_of += first;  // the first row is read for the second after it has changed
  CHECK(x[0] == 11);
  CHECK(x[1] == 22);
  CHECK(x[2] == 22);
  CHECK(x[3] == 18);
  Tensor<float> small({3}, {1, 2, 3});
  CHECK_THROWS_WITH_AS(small += x, "Add: a tensor of extents (3) cannot become one of (2,3)", Error);
}

TEST_CASE("integers have C++'s operators") {
  Tensor<int32_t, Shape<4>> i{7, -7, 8, -9};
  CHECK(list(i % 4) == std::vector<int32_t>{3, -3, 0, -1});
  CHECK(list(i - i / 4 * 4) == list(i % 4));
  CHECK(list(100 % i) == std::vector<int32_t>{2, 2, 4, 1});
  i %= 4;
  CHECK(list(i) == std::vector<int32_t>{3, -3, 0, -1});
  i &= 5;
  i |= 8;
  i ^= 1;
  CHECK(list(i) == std::vector<int32_t>{8, 12, 9, 12});
  const Tensor<uint8_t, Shape<2>> u{3, 255};
  CHECK(list((u << 1) + (u >> 4)) == std::vector<uint8_t>{6, 254 + 15 - 256});
  CHECK(list(u << 8) == std::vector<uint8_t>{0, 0});
  Tensor<uint8_t, Shape<2>> w{3, 255};
  w <<= 1;
  w >>= Tensor<uint8_t, Shape<2>>{0, 4};
  CHECK(list(w) == std::vector<uint8_t>{6, 15});
  Tensor<bool, Shape<2>> b{true, false};
  b |= true;
  b ^= b;
  CHECK(!b[0]);
  CHECK(list(Tensor<float, Shape<2>>{-1.5f, 5} % 2) == std::vector<float>{-1.5f, 1});
  CHECK_THROWS_WITH_AS(eval(i % 0), "Mod: an integer is divided by zero", Error);
}

TEST_CASE("the only element of an expression") {
  const Tensor<float, Shape<>> x = 3.0f;
  static_assert(std::is_same_v<decltype((x * x).item()), float>);
  CHECK((x * x).item() == 9);
  CHECK_THROWS_WITH_AS((x + Tensor<float>({2})).item(), "one element expected, not (2)", Error);
}

TEST_CASE("what does not fit is an Error that names the operator") {
  const Tensor<float> x({2}, {1, 2}), y({3}, {1, 2, 3});
  CHECK_THROWS_WITH_AS(static_cast<void>(x * y), "Mul: extents (2) and (3) do not broadcast", Error);
  const Tensor<int32_t> i({2}, {1, 0});
  CHECK_THROWS_WITH_AS(eval(3 / i), "Div: an integer is divided by zero", Error);
  const Tensor<uint8_t> u({1}, {1});
  CHECK_THROWS_WITH_AS(eval(u + 256), "Add: the number 256 is no uint8", Error);
  CHECK_THROWS_WITH_AS(eval(u + -1), "Add: the number -1 is no uint8", Error);
  CHECK(eval(u + 255)[0] == 0);
}

}  // namespace
}  // namespace tenon

TEST_CASE("the lesser and the greater of const operands in a program that uses namespace std, too") {
  using namespace std;
  using namespace tenon;
  const Tensor<float, Shape<2>> x{1, 5}, y{3, 2};
  CHECK(eval(max(x, y))[0] == 3);
  CHECK(eval(min(x, y))[0] == 1);
  const auto e = x + 1, f = y + 1;
  CHECK(eval(max(e, f))[1] == 6);
  CHECK(eval(min(x, 2))[1] == 2);
}
