#include "tenon/tensor/view.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include "tenon/base/types.hpp"

namespace tenon {

TEST_CASE("TensorView: typed, of static and of run-time extents") {
  float data[6] = {0, 1, 2, 3, 4, 5};
  const TensorView<float, Shape<2, 3>> s(data, {2, 3});
  const TensorView<float> d(data, {3, 2});
  CHECK(s.rank() == 2);
  CHECK(s.extent(-1) == 3);
  CHECK(s(1, 2) == 5);
  CHECK(d(2, 0) == 4);
  CHECK(d[3] == 3);
  CHECK(std::accumulate(d.begin(), d.end(), 0.0f) == 15);
  CHECK(d.span().size() == 6);
  CHECK(s.size() == 6);
  s(0, 0) = 7;
  CHECK(d(0, 0) == 7);
  CHECK_THROWS_AS(s.extent(2), Error);

  const TensorView<const float> scalar(data, {});
  CHECK(scalar.rank() == 0);
  CHECK(scalar.size() == 1);
  CHECK(scalar() == 7);
  CHECK(scalar.item() == 7);
  CHECK_THROWS_WITH_AS(d.item(), "one element expected, not (3,2)", Error);

  const TensorView<float> empty(data, {2, 0});
  CHECK(empty.empty());
  CHECK(static_cast<bool>(empty));
  CHECK(empty.begin() == empty.end());
  CHECK_THROWS_AS(empty(0, 0), Error);
}

TEST_CASE("TensorView: indices outside") {
  const float data[6]{};
  const TensorView<const float> v(data, {2, 3});
  CHECK_THROWS_WITH_AS(v(2, 0), "index 2 outside of axis 0 of extents (2,3)", Error);
  CHECK_THROWS_WITH_AS(v(0, 3), "index 3 outside of axis 1 of extents (2,3)", Error);
  CHECK_THROWS_AS(v(-1, 0), Error);
  CHECK_THROWS_WITH_AS(v(1), "1 indices for rank 2", Error);
  CHECK_THROWS_AS(v(0, 0, 0), Error);
  CHECK_THROWS_AS(v(), Error);
  CHECK_THROWS_AS(v(INT64_MAX, INT64_MAX), Error);
}

TEST_CASE("TensorView: absent") {
  const TensorView<float> v;
  CHECK_FALSE(static_cast<bool>(v));
  CHECK(v.empty());
  CHECK_THROWS_AS(v(0), Error);
  CHECK_THROWS_AS(v.item(), Error);
  const TensorView<float, Shape<2, 2>> s;
  CHECK_THROWS_AS(s(0, 0), Error);
  CHECK(s.begin() == s.end());
  CHECK_FALSE(static_cast<bool>(TensorView<const float>(s)));
  CHECK_FALSE(static_cast<bool>(AnyView(s)));
  CHECK_FALSE(static_cast<bool>(AnyView(AnyOut(v))));
  CHECK_FALSE(static_cast<bool>(s.as<Shape<2, 2>>()));
  CHECK_THROWS_AS(AnyView().as<float>(), Error);
}

TEST_CASE("TensorView: extents that fit no tensor") {
  const float data[4]{};
  CHECK_THROWS_AS((TensorView<const float, Shape<2, 2>>(data, {4})), Error);
  CHECK_THROWS_WITH_AS((TensorView<const float, Shape<dyn, 2>>(data, {1, 4})),
                       "extents (1,4) do not fit the type (dyn,2)", Error);
  CHECK_THROWS_AS((TensorView<const float, Shape<dyn>>(data, {-1})), Error);
  CHECK_THROWS_AS(TensorView<const float>(data, {INT64_MAX, 2}), Error);
  const std::vector<int64_t> seventeen(17, 1);
  CHECK_THROWS_AS(TensorView<const float>(data, std::span<const int64_t>(seventeen)), Error);
}

TEST_CASE("TensorView: static extents, of which nothing is repeated") {
  using View = TensorView<const float, Shape<2, 3>>;
  static constexpr float data[6] = {0, 1, 2, 3, 4, 5};
  static constexpr std::array<float, 6> array{0, 1, 2, 3, 4, 5};
  constexpr View views[] = {View(data), View(&data[0]), View(array), View(std::span(data)),
                            View(std::span<const float>(data))};
  for (const View& v : views) {
    CHECK(static_cast<bool>(v));
    CHECK(v.size() == 6);
    CHECK(to_string(v.extents()) == "(2,3)");
    CHECK(v(1, 2) == 5);
  }
  static_assert(views[1](1, 1) == 4);
  std::vector<float> list(6, 1);
  const TensorView<float, Shape<2, 3>> writer = list;
  writer(1, 0) = 7;
  CHECK(list[3] == 7);
  const auto item = [](TensorView<const float, Shape<>> v) { return v.item(); };
  CHECK(item(&data[4]) == 4);
  uint8_t bytes[2] = {0x21, 0x03};
  CHECK(int4(TensorView<int4, Shape<3>>(element_pointer<int4>(static_cast<void*>(bytes)))[2]) == int4(3));

  list.pop_back();
  CHECK_THROWS_WITH_AS((TensorView<float, Shape<2, 3>>(list)), "extents (2,3) need 6 elements, not 5", Error);
  CHECK_THROWS_AS(View(std::span(data).subspan(1)), Error);
  const std::span<const float> seven(data, 7);
  CHECK_THROWS_AS((View{seven}), Error);

  static_assert(!std::is_constructible_v<View, const double*>);
  static_assert(!std::is_constructible_v<View, std::nullptr_t>);
  static_assert(!std::is_constructible_v<View, const std::vector<double>&>);
  static_assert(!std::is_constructible_v<View, TensorView<const float>>);
  static_assert(!std::is_constructible_v<TensorView<float, Shape<2, 3>>, const float*>);
  static_assert(!std::is_constructible_v<TensorView<float, Shape<2, 3>>, const std::vector<float>&>);
  static_assert(!std::is_constructible_v<TensorView<const float, Shape<2, dyn>>, const float*>);
  static_assert(!std::is_constructible_v<TensorView<const float>, std::span<const float>>);
}

TEST_CASE("TensorView: wider and narrower extents") {
  float data[6] = {0, 1, 2, 3, 4, 5};
  const TensorView<float, Shape<2, 3>> s(data, {2, 3});
  const TensorView<float, Shape<dyn, 3>> half = s;
  const TensorView<const float> any = half;
  CHECK(any.data() == data);
  CHECK(any.extent(1) == 3);
  CHECK(any.as<Shape<2, dyn>>()(1, 1) == 4);
  CHECK_THROWS_AS((any.as<Shape<3, 2>>()), Error);
  CHECK_THROWS_AS(any.as<Shape<6>>(), Error);

  using F22 = TensorView<float, Shape<2, 2>>;
  static_assert(std::is_convertible_v<F22, TensorView<float, Shape<2, dyn>>>);
  static_assert(std::is_convertible_v<F22, TensorView<const float>>);
  static_assert(!std::is_convertible_v<TensorView<const float>, TensorView<float>>);
  static_assert(!std::is_convertible_v<TensorView<float>, F22>);
  static_assert(!std::is_convertible_v<TensorView<float, Shape<dyn, 2>>, F22>);
  static_assert(!std::is_convertible_v<F22, TensorView<float, Shape<4>>>);
  static_assert(!std::is_convertible_v<F22, TensorView<double, Shape<2, 2>>>);
}

TEST_CASE("TensorView: packed elements") {
  uint8_t bytes[2] = {0x21, 0xf3};  // the low half of a byte comes first
  const TensorView<int4> v(element_pointer<int4>(static_cast<void*>(bytes)), {2, 2});
  CHECK(int4(v(0, 0)) == int4(1));
  CHECK(int4(v(0, 1)) == int4(2));
  CHECK(int4(v(1, 0)) == int4(3));
  CHECK(int4(v(1, 1)) == int4(-1));
  v(0, 1) = int4(-8);
  CHECK(bytes[0] == 0x81);
  const AnyView any = v;
  CHECK(any.dtype() == DType::int4);
  CHECK(any.data() == bytes);
  CHECK(any.bytes() == 2);
  CHECK(int4(any.as<int4>()[1]) == int4(-8));
}

TEST_CASE("AnyView: of every element type") {
  for (int d = 1; d < dtype_count; ++d) {
    const auto dtype = static_cast<DType>(d);
    visit_dtype(dtype, [&]<class T>() {
      alignas(64) std::byte memory[sizeof(std::string) * 3]{};
      if constexpr (std::is_same_v<T, std::string>)
        std::uninitialized_default_construct_n(reinterpret_cast<T*>(memory), 3);
      const AnyOut out(dtype, memory, Extents{3});
      const AnyView v = out;
      CHECK(v.dtype() == dtype);
      CHECK(v.size() == 3);
      CHECK(v.bytes() == packed_bytes(3, dtype));
      CHECK(v.as<T>().size() == 3);
      static_assert(std::is_same_v<decltype(v.as<T>()), TensorView<const T>>);
      static_assert(std::is_same_v<decltype(out.as<T>()), TensorView<T>>);
      const AnyView back = out.as<T>();
      CHECK(back.data() == memory);
      if constexpr (std::is_same_v<T, float>) CHECK_THROWS_AS(v.as<double>(), Error);
      else CHECK_THROWS_AS(v.as<float>(), Error);
      if constexpr (std::is_same_v<T, std::string>) std::destroy_n(reinterpret_cast<T*>(memory), 3);
    });
  }
  static_assert(!std::is_convertible_v<TensorView<const float>, AnyOut>);
  static_assert(std::is_convertible_v<TensorView<float>, AnyOut>);
  static_assert(!std::is_convertible_v<AnyView, AnyOut>);
}

}  // namespace tenon
