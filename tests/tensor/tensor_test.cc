#include "tenon/tensor/tensor.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <list>
#include <numeric>

#include "tenon/base/convert.hpp"

namespace tenon {
namespace {

struct CountingAllocator final : Allocator {
  int taken = 0, given = 0;
  void* allocate(size_t bytes, size_t alignment) override {
    ++taken;
    return ::operator new(bytes, std::align_val_t(alignment));
  }
  void deallocate(void* memory, size_t bytes, size_t alignment) noexcept override {
    ++given;
    ::operator delete(memory, bytes, std::align_val_t(alignment));
  }
};

template <class T>
Extents extents_of(const T& t) {
  return Extents(t.extents());
}

template <class T, class S>
std::vector<T> values_of(const Tensor<T, S>& t) {
  return std::vector<T>(t.begin(), t.end());
}

}  // namespace

TEST_CASE("Tensor: from nested lists") {
  const Tensor<float, Shape<2, 3>> a{{1, 2, 3}, {4, 5, 6}};
  CHECK(extents_of(a) == Extents{2, 3});
  CHECK(values_of(a) == std::vector<float>{1, 2, 3, 4, 5, 6});
  const Tensor<int64_t, Shape<dyn, dyn, dyn>> b{{{1}, {2}}, {{3}, {4}}, {{5}, {6}}};
  CHECK(extents_of(b) == Extents{3, 2, 1});
  CHECK(b(2, 1, 0) == 6);
  const Tensor<std::string, Shape<2>> c{"a", "b"};
  CHECK(c(1) == "b");
  const Tensor<bool, Shape<dyn>> d{true, false};
  CHECK(values_of(d) == std::vector<bool>{true, false});
  const Tensor<int4, Shape<3>> e{int4(1), int4(-2), int4(7)};
  CHECK(int4(e[1]) == int4(-2));
  const Tensor<double, Shape<>> scalar = 2.5;
  CHECK(scalar.item() == 2.5);
  const Tensor<int32_t, Shape<dyn, dyn>> rows_of_nothing{{}, {}};
  CHECK(extents_of(rows_of_nothing) == Extents{2, 0});

  using Matrix = Tensor<float, Shape<dyn, dyn>>;
  using Square = Tensor<float, Shape<2, 2>>;
  CHECK_THROWS_WITH_AS((Matrix{{1, 2}, {3}}), "Tensor: nested lists of unequal lengths", Error);
  CHECK_THROWS_AS((Matrix{{1}, {2, 3}}), Error);
  CHECK_THROWS_AS((Matrix{{}, {2}}), Error);
  CHECK_THROWS_AS((Square{{1, 2}}), Error);
  CHECK_THROWS_AS((Square{{1, 2, 3}, {4, 5, 6}}), Error);
}

TEST_CASE("Tensor: from extents and values") {
  const Tensor<float> list({2, 2}, {1, 2, 3, 4});
  CHECK(list(1, 0) == 3);
  const double numbers[] = {1, 2, 3};
  CHECK(values_of(Tensor<double>({3}, std::span<const double>(numbers))) == std::vector<double>{1, 2, 3});
  const std::list<int> chain{1, 2, 3, 4};
  CHECK(values_of(Tensor<float, Shape<2, dyn>>({2, 2}, chain.begin(), chain.end())) ==
        std::vector<float>{1, 2, 3, 4});
  const double far[] = {-1.5, 3e9, 1e300, std::numeric_limits<double>::quiet_NaN()};  // of no int32, as Cast
  constexpr int32_t least = std::numeric_limits<int32_t>::min();
  CHECK(values_of(Tensor<int32_t>({4}, std::begin(far), std::end(far))) ==
        std::vector<int32_t>{-1, least, least, least});
  const std::vector<int64_t> vector{5, 6};
  CHECK(values_of(Tensor<int64_t>({2}, vector)) == vector);
  CHECK(Tensor<float>({}, {3}).item() == 3);
  CHECK(Tensor<float>({0, 4}, {}).size() == 0);

  CHECK_THROWS_WITH_AS(Tensor<float>({2, 2}, {1, 2, 3}), "Tensor: extents (2,2) need 4 values, not fewer",
                       Error);
  CHECK_THROWS_WITH_AS(Tensor<float>({2}, {1, 2, 3}), "Tensor: extents (2) need 2 values, not more", Error);
  CHECK_THROWS_AS(Tensor<float>({0}, {1}), Error);
  CHECK_THROWS_AS((Tensor<float, Shape<2>>({3}, {1, 2, 3})), Error);
  CHECK_THROWS_AS((Tensor<float, Shape<2>>({2, 1}, {1, 2})), Error);
}

TEST_CASE("Tensor: zeros, and elements that are not set yet") {
  const Tensor<float> zeros(Extents{2, 3});
  CHECK(values_of(zeros) == std::vector<float>(6));
  const Tensor<float, Shape<2, 2>> of_type;
  CHECK(values_of(of_type) == std::vector<float>(4));
  const Tensor<float, Shape<2, dyn>> dynamic;
  CHECK(extents_of(dynamic) == Extents{2, 0});
  CHECK(Tensor<float>().size() == 0);
  const Tensor<std::string> strings(Extents{2});
  CHECK(strings[1].empty());
  CHECK(Tensor<float>::uninitialized(Extents{4}).size() == 4);
  CHECK(Tensor<std::string>::uninitialized(Extents{4})[3].empty());
}

TEST_CASE("Tensor: extents that cannot be") {
  CHECK_THROWS_AS(Tensor<float>(Extents{-1}), Error);
  CHECK_THROWS_AS(Tensor<float>(Extents{2, -3}), Error);
  CHECK_THROWS_AS(Tensor<float>(Extents{INT64_MAX, 2}), Error);
  CHECK_THROWS_AS(Tensor<double>(Extents{INT64_MAX}), Error);
  CHECK_THROWS_AS(Tensor<std::string>(Extents{INT64_MAX / 2}), Error);
  CHECK_THROWS_AS(Tensor<float>::uninitialized(Extents{int64_t{1} << 40, int64_t{1} << 40}), Error);
  CHECK_THROWS_AS(Tensor<float>::from_storage(Storage::allocate(7), Extents{2}), Error);
  CHECK_THROWS_AS(Tensor<float>::from_storage(Storage::allocate(8), Extents{-1, -2}), Error);
  CHECK_THROWS_AS(Tensor<float>::from_storage(Storage::borrow(static_cast<void*>(nullptr), 8), Extents{2}),
                  Error);
  float two[2] = {};
  const auto within = Storage::borrow(two, sizeof two).slice(1, 4);
  CHECK_THROWS_WITH_AS(Tensor<float>::from_storage(within, Extents{1}),
                       "Tensor: the memory is not aligned for float", Error);
  try {
    Tensor<float>(Extents{3, -3});
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::invalid_shape);
  }
}

TEST_CASE("Tensor: a vector's buffer is taken over") {
  std::vector<float> v{1, 2, 3, 4};
  const float* before = v.data();
  const Tensor<float, Shape<2, 2>> t({2, 2}, std::move(v));
  CHECK(t.data() == before);
  CHECK(t(1, 1) == 4);
  std::vector<std::string> s{"a", "b"};
  const std::string* strings = s.data();
  CHECK(Tensor<std::string>({2}, std::move(s)).data() == strings);
  CHECK_THROWS_WITH_AS(Tensor<float>({3}, std::vector<float>{1, 2}),
                       "Tensor: extents (3) need 3 values, not 2", Error);
  CHECK_THROWS_AS(Tensor<float>({-3}, std::vector<float>{1, 2}), Error);
}

TEST_CASE("Tensor: alignment and allocators") {
  for (int64_t n : {0, 1, 3, 64, 1000}) {
    const Tensor<float> t(Extents{n});
    CHECK(reinterpret_cast<uintptr_t>(t.data()) % 64 == 0);
    const Tensor<int4> p(Extents{n});
    CHECK(reinterpret_cast<uintptr_t>(p.storage().data()) % 64 == 0);
  }
  CountingAllocator mine;
  {
    Tensor<float> t(Extents{4, 4}, mine);
    CHECK(mine.taken == 1);
    CHECK(values_of(t) == std::vector<float>(16));
    Tensor<float> moved = std::move(t);
    CHECK(mine.taken == 1);
    const Tensor<float> copy = moved.clone(mine);
    CHECK(mine.taken == 2);
    const auto raw = Tensor<std::string>::uninitialized(Extents{3}, mine);
    CHECK(mine.taken == 3);
    CHECK(mine.given == 0);
  }
  CHECK(mine.given == 3);
}

TEST_CASE("Tensor: indices") {
  Tensor<float, Shape<2, 3>> t{{0, 1, 2}, {3, 4, 5}};
  t(1, 2) = 50;
  t[0] = -1;
  CHECK(std::as_const(t)(1, 2) == 50);
  CHECK(std::accumulate(t.begin(), t.end(), 0.0f) == 59);
  CHECK_THROWS_WITH_AS(t(2, 0), "index 2 outside of axis 0 of extents (2,3)", Error);
  CHECK_THROWS_AS(t(0, -1), Error);
  CHECK_THROWS_AS(t.extent(2), Error);
  Tensor<float> any({2, 1}, {1, 2});
  CHECK_THROWS_WITH_AS(any(1), "1 indices for rank 2", Error);
  CHECK_THROWS_AS(any.item(), Error);
}

TEST_CASE("Tensor: wider and narrower extents") {
  Tensor<float, Shape<2, 2>> t{{1, 2}, {3, 4}};
  const float* data = t.data();
  Tensor<float, Shape<dyn, 2>> half = std::move(t);
  CHECK(half.data() == data);
  Tensor<float> any = std::move(half);
  CHECK(any.data() == data);
  CHECK(half.size() == 0);
  CHECK(half.begin() == half.end());

  TensorView<float, Shape<2, dyn>> view = any.as<Shape<2, dyn>>();
  view(0, 0) = 9;
  CHECK(std::as_const(any).as<Shape<2, 2>>()(0, 0) == 9);
  CHECK_THROWS_WITH_AS(any.as<Shape<4>>(), "extents (2,2) do not fit the type (4)", Error);
  CHECK_THROWS_AS((std::move(any).as<Shape<2, 3>>()), Error);
  CHECK(any.data() == data);  // what did not fit is still there
  const Tensor<float, Shape<2, 2>> back = std::move(any).as<Shape<2, 2>>();
  CHECK(back.data() == data);
  CHECK(any.size() == 0);

  using Square = Tensor<float, Shape<2, 2>>;
  static_assert(std::is_convertible_v<Square&&, Tensor<float, Shape<dyn, 2>>>);
  static_assert(std::is_convertible_v<Square&&, Tensor<float>>);
  static_assert(!std::is_convertible_v<const Square&, Tensor<float>>);
  static_assert(!std::is_copy_constructible_v<Square>);
  static_assert(!std::is_constructible_v<Square, Tensor<float>&&>);
  static_assert(!std::is_constructible_v<Square, Tensor<float, Shape<2, 3>>&&>);
  static_assert(!std::is_constructible_v<Square, Tensor<double, Shape<2, 2>>&&>);
  static_assert(std::is_convertible_v<const Square&, TensorView<const float>>);
  static_assert(std::is_convertible_v<Square&, TensorView<float, Shape<dyn, dyn>>>);
  static_assert(!std::is_convertible_v<const Square&, TensorView<float>>);
  static_assert(std::is_nothrow_move_constructible_v<Square> && std::is_nothrow_move_assignable_v<Square>);
}

TEST_CASE("Tensor: the source of a move holds nothing") {
  Tensor<float> a({2}, {1, 2});
  const float* data = a.data();
  Tensor<float> b = std::move(a);
  CHECK(b.data() == data);
  CHECK(a.size() == 0);
  CHECK(a.begin() == a.end());
  CHECK_FALSE(static_cast<bool>(a.view()));
  CHECK_THROWS_AS(a(0), Error);
  CHECK(a.clone().size() == 0);
  a = std::move(b);
  CHECK(a.data() == data);
  CHECK(b.size() == 0);
  Tensor<float>& same = a;
  a = std::move(same);
  CHECK(a.size() == 2);
  CHECK(a.data() == data);

  Tensor<float, Shape<2, 2>> s{{1, 2}, {3, 4}};
  const Tensor<float, Shape<2, 2>> t = std::move(s);
  CHECK_FALSE(static_cast<bool>(s.view()));
  CHECK(s.begin() == s.end());
  CHECK_THROWS_AS(s(1, 1), Error);
  CHECK_THROWS_AS(s.item(), Error);
  CHECK(values_of(s.clone()) == std::vector<float>(4));
  CHECK_FALSE(static_cast<bool>(s.as<Shape<2, 2>>()));

  Tensor<int4, Shape<3>> p{int4(1), int4(2), int4(3)};
  const Tensor<int4, Shape<3>> q = std::move(p);
  CHECK_FALSE(static_cast<bool>(p.view()));
  CHECK(int4(p.clone()[2]) == int4(0));
  CHECK(int4(q[2]) == int4(3));
}

TEST_CASE("Tensor: clones have elements of their own") {
  for (int d = 1; d < dtype_count; ++d) {
    visit_dtype(static_cast<DType>(d), []<class T>() {
      Tensor<T> t(Extents{3});
      if constexpr (std::is_same_v<T, std::string>) t[1] = std::string(100, 'x');
      else t[1] = convert<T>(1);
      const Tensor<T> copy = t.clone();
      CHECK(copy.storage().data() != t.storage().data());
      CHECK(T(copy[1]) == T(t[1]));
      if constexpr (std::is_same_v<T, std::string>) t[1] = std::string(100, 'y');
      else t[1] = convert<T>(0);
      CHECK(T(copy[1]) != T(t[1]));
      CHECK(extents_of(copy) == extents_of(t));
    });
  }
}

TEST_CASE("Tensor: packed elements") {
  Tensor<uint2> t({5}, {uint2(0), uint2(1), uint2(2), uint2(3), uint2(1)});
  CHECK(t.storage().size_bytes() == 2);
  CHECK(static_cast<const uint8_t*>(t.storage().data())[0] == 0xe4);  // low bits first
  CHECK(static_cast<const uint8_t*>(t.storage().data())[1] == 0x01);
  t(3) = uint2(0);
  CHECK(uint2(t(3)) == uint2(0));
  CHECK(uint2(t(2)) == uint2(2));
  int sum = 0;
  for (uint2 x : t.view()) sum += static_cast<int>(x);
  CHECK(sum == 4);
  CHECK_THROWS_AS(t(5), Error);
}

TEST_CASE("Tensor: storage is shared on request") {
  Tensor<float> a({2}, {1, 2});
  const auto b = Tensor<float, Shape<2>>::from_storage(a.storage(), Extents{2});
  CHECK(b.data() == a.data());
  CHECK(a.storage().use_count() == 2);
  CHECK(a.storage().writable());
  CHECK_FALSE(b.storage().writable());
  CHECK(b.storage().data() == a.data());
  const float constant[] = {1, 2};
  const char* const refused = "Tensor: memory that may only be read is no tensor's own";
  CHECK_THROWS_WITH_AS((Tensor<float>::from_storage(b.storage(), Extents{2})), refused, Error);
  CHECK_THROWS_WITH_AS((Tensor<float>::from_storage(Storage::borrow(constant, 8), Extents{2})), refused,
                       Error);
  CHECK(Tensor<float>::from_storage(Storage(), Extents{0}).empty());
  CHECK_THROWS_AS((Tensor<float, Shape<3>>::from_storage(a.storage(), Extents{2})), Error);
}

}  // namespace tenon
