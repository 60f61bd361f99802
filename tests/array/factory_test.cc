#include "tenon/array/factory.hpp"

#include <doctest/doctest.h>

namespace tenon {
namespace {

template <class T, class S>
std::vector<T> values_of(const Tensor<T, S>& t) {
  return std::vector<T>(t.begin(), t.end());
}
template <class X, class T, class S>
constexpr bool is_tensor = std::is_same_v<X, Tensor<T, S>>;

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("zeros, ones, full: types and extents") {
  const auto a = zeros<float, Shape<2, 3>>();
  static_assert(is_tensor<decltype(zeros<float, Shape<2, 3>>()), float, Shape<2, 3>>);
  CHECK(values_of(a) == std::vector<float>(6, 0));
  const int64_t n = 2;
  const auto b = ones<double>({n, 3});
  static_assert(is_tensor<decltype(ones<double>({n, 3})), double, Shape<dyn, dyn>>);
  CHECK(Extents(b.extents()) == Extents{2, 3});
  CHECK(values_of(b) == std::vector<double>(6, 1));
  const auto c = full<int8_t>(b.extents(), 7);
  static_assert(is_tensor<decltype(full<int8_t>(b.extents(), 7)), int8_t, AnyShape>);
  CHECK(values_of(c) == std::vector<int8_t>(6, 7));
  const auto d = zeros<int64_t, Shape<dyn, 2>>({3, 2});
  static_assert(is_tensor<decltype(zeros<int64_t, Shape<dyn, 2>>({3, 2})), int64_t, Shape<dyn, 2>>);
  CHECK(d.extent(0) == 3);
  CHECK(zeros<float>({}).rank() == 0);
  CHECK(zeros<float>({}).item() == 0);
  CHECK(ones<float>({0, 4}).empty());
  CHECK(full<float, Shape<2>>(0.5)(1) == 0.5f);
  CHECK(full<float16>({2}, 1.5f)(1) == float16(1.5f));
  CHECK(full<uint8_t>({2}, -1.5)(1) == 255);
  CHECK(full<int32_t>({2}, std::nan(""))(1) == convert<int32_t>(std::nan("")));
  CHECK(full<std::string>({2}, "a")(1) == "a");
  CHECK(zeros<std::string>({1})(0).empty());
  CHECK(ones<bool>({1})(0));
  CHECK(ones<complex64>({1})(0) == complex64(1, 0));
  CHECK(int4(ones<int4>({3})(2)) == int4(1));
  CHECK(int4(full<int4, Shape<3>>(-3)(2)) == int4(-3));
}

TEST_CASE("factories: extents that are refused") {
  const int64_t most = INT64_MAX;
  CHECK(refusal([] { zeros<float>({2, -1}); }) == "zeros: negative extent in (2,-1)");
  CHECK(refusal([&] {
          return ones<float>({most, 2});
        }).starts_with("ones: extents (9223372036854775807,2) overflow"));
  CHECK(refusal([&] { return full<double>({most}, 1); }).starts_with("full: "));
  CHECK(refusal([] { zeros<float, Shape<dyn, 3>>({2, 2}); }) ==
        "zeros: extents (2,2) do not fit the type (dyn,3)");
  CHECK(refusal([&] { return eye<float>(-1); }).starts_with("eye: negative extent"));
  CHECK(refusal([&] { return eye<float>(most, most); }).starts_with("eye: extents"));
}

TEST_CASE("arange") {
  using F = std::vector<float>;
  CHECK(values_of(arange(4)) == std::vector<int32_t>{0, 1, 2, 3});
  CHECK(values_of(arange(3, 9, 2)) == std::vector<int32_t>{3, 5, 7});
  CHECK(values_of(arange<int64_t>(3, -4, -3)) == std::vector<int64_t>{3, 0, -3});
  CHECK(values_of(arange<uint8_t>(250, 255, 3)) == std::vector<uint8_t>{250, 253});
  CHECK(values_of(arange<int8_t>(-128, 127, 127)) == std::vector<int8_t>{-128, -1, 126});
  CHECK(values_of(arange<int64_t>(INT64_MAX - 1, INT64_MAX)) == std::vector<int64_t>{INT64_MAX - 1});
  CHECK(values_of(arange<int64_t>(INT64_MAX, INT64_MIN, INT64_MIN)) == std::vector<int64_t>{INT64_MAX, -1});
  CHECK(values_of(arange<float>(0, 1, 0.25f)) == F{0, 0.25f, 0.5f, 0.75f});
  CHECK(arange(0.0f, 1.0f, 0.1f).size() == 10);
  CHECK(arange(0.0, 1000.0, 0.1)(9990) == 999.0);
  CHECK(arange<float16>(float16(0.0f), float16(1.0f), float16(0.5f))(1) == float16(0.5f));
  CHECK(arange(3, 3).empty());
  CHECK(arange(3.0, 2.0).empty());
  CHECK(values_of(arange(0, 1, 0.25)) == std::vector<double>{0, 0.25, 0.5, 0.75});
  CHECK(values_of(arange(1, int64_t{3})) == std::vector<int64_t>{1, 2});
  static_assert(is_tensor<decltype(arange<int8_t>(0, 4, 1)), int8_t, Shape<dyn>>);
  static_assert(is_tensor<decltype(arange<float>(0, 1, 0.5)), float, Shape<dyn>>);
  static_assert(is_tensor<decltype(arange<int8_t, Shape<128>>()), int8_t, Shape<128>>);
  CHECK((arange<int8_t, Shape<128>>()(127) == 127));
  CHECK((values_of(arange<float, Shape<3>>()) == F{0, 1, 2}));
  CHECK((arange<float16, Shape<0>>().empty()));
  CHECK(refusal([] { arange(0, 3, 0); }) == "arange: a step of 0");
  CHECK(refusal([] { arange(0.0, 3.0, 0.0); }) == "arange: a step of 0");
  CHECK(refusal([] { arange(0.0f, INFINITY); }) == "arange: bounds and step are finite");
  CHECK(refusal([] { arange<double>(0, 1, NAN); }) == "arange: bounds and step are finite");
  CHECK(refusal([] { arange<int64_t>(INT64_MIN, INT64_MAX); }).starts_with("arange: more numbers"));
  CHECK(refusal([] { arange(-1e308, 1e308, 1e-300); }).starts_with("arange: more numbers"));
}

TEST_CASE("linspace") {
  CHECK(values_of(linspace(0.0, 1.0, 5)) == std::vector<double>{0, 0.25, 0.5, 0.75, 1});
  CHECK(values_of(linspace<float>(3, -1, 3)) == std::vector<float>{3, 1, -1});
  CHECK(values_of(linspace(2.0, 7.0, 1)) == std::vector<double>{2});
  CHECK(linspace(2.0, 7.0, 0).empty());
  const auto wide = linspace(-1e308, 1e308, 3);
  CHECK(values_of(wide) == std::vector<double>{-1e308, 0, 1e308});
  CHECK(linspace(0.1, 0.7, 97)(96) == 0.7);
  CHECK((values_of(linspace<float, Shape<3>>(0, 1)) == std::vector<float>{0, 0.5f, 1}));
  CHECK(linspace<float16>(0, 1, 3)(1) == float16(0.5f));
  CHECK(refusal([] { linspace(0.0, 1.0, -1); }) == "linspace: a count of -1");
  CHECK(refusal([] { linspace(0.0, NAN, 2); }) == "linspace: bounds are finite");
  CHECK(refusal([] { linspace(0.0, 1.0, INT64_MAX); }).starts_with("linspace: "));
}

TEST_CASE("eye") {
  using F = std::vector<float>;
  CHECK(values_of(eye<float>(2)) == F{1, 0, 0, 1});
  CHECK(values_of(eye<float>(2, 3, 1)) == F{0, 1, 0, 0, 0, 1});
  CHECK(values_of(eye<float>(3, 2, -1)) == F{0, 0, 1, 0, 0, 1});
  CHECK(values_of(eye<float, Shape<2, 2>>()) == F{1, 0, 0, 1});
  static_assert(is_tensor<decltype(eye<float, Shape<2, 2>>(1)), float, Shape<2, 2>>);
  for (int64_t far : {int64_t{2}, int64_t{-2}, INT64_MAX, INT64_MIN})
    CHECK(values_of(eye<float>(2, 2, far)) == F{0, 0, 0, 0});
  CHECK(eye<bool>(0).empty());
  CHECK(eye<bool>(2)(1, 1));
}

TEST_CASE("array: extents of lists") {
  const auto v = array({1, 2, 3});
  static_assert(is_tensor<decltype(array({1, 2, 3})), int32_t, Shape<3>>);
  CHECK(values_of(v) == std::vector<int32_t>{1, 2, 3});
  const auto m = array({{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}});
  static_assert(is_tensor<decltype(array({{1.0f}, {2.0f}})), float, Shape<2, 1>>);
  CHECK(m(2, 0) == 5);
  const auto c = array<double>({{{1, 2}}, {{3, 4}}});
  static_assert(is_tensor<decltype(array<double>({{{1, 2}}, {{3, 4}}})), double, Shape<2, 1, 2>>);
  CHECK(c(1, 0, 1) == 4);
  CHECK(array<std::string>({"a", "b"})(1) == "b");
  CHECK(int4(array<int4>({int4(1), int4(-2), int4(3)})(1)) == int4(-2));
}

}  // namespace tenon
