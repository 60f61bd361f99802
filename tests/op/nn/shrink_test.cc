#include "tenon/op/nn/shrink.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Shrink: floats") {
  const std::initializer_list<double> x = {-3, -0.5, 0, 0.25, 0.5, 3, INFINITY, -INFINITY, NAN};
  check_unary<float, double, float16>(op::Shrink{}, x, {-3, 0, 0, 0, 0, 3, INFINITY, -INFINITY, 0});
  check_unary<float, double, float16>(op::Shrink{.bias = 1.5f, .lambd = 0.25f}, x,
                                      {-1.5, 1, 0, 0, -1, 1.5, INFINITY, -INFINITY, 0});
  // With a negative lambd both conditions may hold; the first counts.
  check_unary<float, double, float16>(op::Shrink{.bias = 2, .lambd = -1}, x,
                                      {-1, 1.5, 2, 2.25, 2.5, 1, INFINITY, -INFINITY, 0});
  check(stated<op::Shrink>(9, {{"lambd", 2.0f}, {"bias", 1.0f}}), {t<float>({3}, {-3, 1, 3})},
        {t<float>({3}, {-2, 0, 2})});
  check_fails(op::Shrink{}, {cast<bfloat16>({1}, {1})}, "input cannot be tensor(bfloat16)");
  check_fails(op::Shrink{}, {t<bool>({1}, {true})}, "cannot be tensor(bool)");
}

template <class T>
void check_integers() {
  using L = std::numeric_limits<T>;
  constexpr T least = L::min(), most = L::max();
  const auto n = [](int v) { return static_cast<T>(v); };
  check(op::Shrink{}, {t<T>({4}, {most, least, 0, 1})}, {t<T>({4}, {most, least, 0, 1})});
  check(op::Shrink{.bias = 2, .lambd = 1}, {t<T>({4}, {0, 1, 2, 5})}, {t<T>({4}, {0, 0, 0, 3})});
  // Differences wrap below the least integer, and are cut towards zero.
  check(op::Shrink{.bias = 5}, {t<T>({2}, {3, 6})}, {t<T>({2}, {n(-2), 1})});
  check(op::Shrink{.bias = 1.5f}, {t<T>({4}, {1, 2, 3, 100})}, {t<T>({4}, {0, 0, 1, 98})});
  check(op::Shrink{.bias = 3.75f}, {t<T>({2}, {1, 2})}, {t<T>({2}, {n(-2), n(-1)})});
  check(op::Shrink{.bias = -1.5f}, {t<T>({2}, {1, 100})}, {t<T>({2}, {2, 101})});
  if constexpr (std::is_signed_v<T>) {
    check(op::Shrink{.bias = 1.5f}, {t<T>({4}, {-1, -2, -3, -100})}, {t<T>({4}, {0, 0, -1, -98})});
    check(op::Shrink{.bias = -1.5f}, {t<T>({2}, {-1, -100})}, {t<T>({2}, {-2, -101})});
    check(op::Shrink{.bias = -1}, {t<T>({2}, {most, least})}, {t<T>({2}, {least, most})});
  }
  check(op::Shrink{.bias = 1, .lambd = NAN}, {t<T>({2}, {1, 100})}, {t<T>({2}, {0, 0})});
  for (float bias : {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 0x1p63f, -0x1p63f, 0x1p64f})
    CHECK(run(op::Shrink{.bias = bias}, {t<T>({2}, {1, most})})[0].tensor().extents() == Extents{2});
  check(op::Shrink{}, {t<T>({}, {7})}, {t<T>({}, {7})});
  check(op::Shrink{}, {t<T>({0, 2}, {})}, {t<T>({0, 2}, {})});
  check_in_place(op::Shrink{.bias = 2}, {t<T>({3}, {1, 2, 3})}, 0);
}

TEST_CASE("Shrink: integers") {
  check_integers<int8_t>();
  check_integers<int16_t>();
  check_integers<int32_t>();
  check_integers<int64_t>();
  check_integers<uint8_t>();
  check_integers<uint16_t>();
  check_integers<uint32_t>();
  check_integers<uint64_t>();
  // Sums are exact where a double is not.
  check(op::Shrink{.bias = 1}, {t<int64_t>({1}, {(int64_t{1} << 60) + 3})},
        {t<int64_t>({1}, {(int64_t{1} << 60) + 2})});
  check(op::Shrink{.bias = 0x1p63f}, {t<uint64_t>({1}, {UINT64_MAX})}, {t<uint64_t>({1}, {UINT64_MAX >> 1})});
}

TEST_CASE("Shrink: symbols, typed") {
  const Dims dims{Dim::symbol(1), Dim(), 3};
  CHECK(infer(op::Shrink{}, {info(DType::float32, dims)})[0].dims == dims);
  const auto y = apply<op::Shrink{.bias = 1}>(Tensor<float, Shape<2>>{3, -3});
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2>>>);
  CHECK((y[0] == 2 && y[1] == -2));
}
}  // namespace tenon
