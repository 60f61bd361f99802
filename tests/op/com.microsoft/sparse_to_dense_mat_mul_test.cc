#include "tenon/op/com.microsoft/sparse_to_dense_mat_mul.hpp"

#include <algorithm>

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using op::com_microsoft::SparseToDenseMatMul;

namespace {
Value sparse(const Value& values, const Value& indices, const Extents& extents) {
  return SparseTensor{values.tensor(), indices.tensor(), extents};
}
template <class T>
Value numbers(const Extents& extents, std::initializer_list<int> list) {
  Tensor<T> t(extents);
  std::transform(list.begin(), list.end(), t.data(), [](int v) { return static_cast<T>(v); });
  return t;
}

// A is ((0,2,0),(3,0,4)).
template <class T>
void check_products() {
  const Value places = t<int64_t>({3}, {1, 3, 5}), coordinates = t<int64_t>({3, 2}, {0, 1, 1, 0, 1, 2});
  for (const Value& indices : {places, coordinates}) {
    const Value a = sparse(numbers<T>({3}, {2, 3, 4}), indices, {2, 3});
    check(SparseToDenseMatMul{}, {a, numbers<T>({3, 2}, {1, 2, 3, 4, 5, 6})},
          {numbers<T>({2, 2}, {6, 8, 23, 30})});
    check(SparseToDenseMatMul{.transB = 1}, {a, numbers<T>({2, 3}, {1, 3, 5, 2, 4, 6})},
          {numbers<T>({2, 2}, {6, 8, 23, 30})});
    check(SparseToDenseMatMul{.transA = 1}, {a, numbers<T>({2, 1}, {1, 10})},
          {numbers<T>({3, 1}, {30, 2, 40})});
    check(SparseToDenseMatMul{.transA = 1, .transB = 1}, {a, numbers<T>({1, 2}, {1, 10})},
          {numbers<T>({3, 1}, {30, 2, 40})});
    const bool scales = std::is_same_v<T, float>;
    check(SparseToDenseMatMul{.alpha = 3}, {a, numbers<T>({3, 1}, {1, 1, 1})},
          {numbers<T>({2, 1}, {scales ? 6 : 2, scales ? 21 : 7})});
  }
}
}  // namespace

TEST_CASE("com.microsoft.SparseToDenseMatMul: each type") {
  check_products<float>();
  check_products<double>();
  check_products<int32_t>();
  check_products<int64_t>();
  check_products<uint32_t>();
  check_products<uint64_t>();
  // Wraps.
  const Value one = t<int64_t>({1}, {0}), big = t<int32_t>({1, 1}, {INT32_MAX});
  check(SparseToDenseMatMul{}, {sparse(t<int32_t>({1}, {2}), one, {1, 1}), big}, {t<int32_t>({1, 1}, {-2})});
}

TEST_CASE("com.microsoft.SparseToDenseMatMul: nothing, and much") {
  const Value none = t<int64_t>({0}, {}), no_values = t<float>({0}, {});
  check(SparseToDenseMatMul{}, {sparse(no_values, none, {2, 3}), t<float>({3, 1}, {1, 2, 3})},
        {t<float>({2, 1}, {0, 0})});
  check(SparseToDenseMatMul{}, {sparse(no_values, none, {2, 0}), t<float>({0, 2}, {})},
        {t<float>({2, 2}, {0, 0, 0, 0})});
  check(SparseToDenseMatMul{}, {sparse(no_values, none, {0, 2}), t<float>({2, 0}, {})},
        {t<float>({0, 0}, {})});
  // No memory holds the dense form.
  constexpr int64_t side = 1 << 20;
  Tensor<float> column(Extents{side, 1});
  std::fill_n(column.data(), side, 0.0f);
  column.data()[side - 1] = 7;
  const Value large = sparse(t<float>({2}, {2, 3}), t<int64_t>({2, 2}, {5, side - 1, 6, 0}), {side, side});
  const Value product = run(SparseToDenseMatMul{}, {large, column})[0];
  CHECK(product.view<float>()[5] == 14);
  CHECK(product.view<float>()[6] == 0);
  // The columns are divided among threads.
  constexpr int64_t width = 100'000;
  Tensor<float> many(Extents{2, width});
  for (int64_t k = 0; k < 2 * width; ++k) many.data()[k] = static_cast<float>(k % 97);
  const Value y =
      run(SparseToDenseMatMul{}, {sparse(t<float>({2}, {2, -1}), t<int64_t>({2}, {0, 1}), {1, 2}), many})[0];
  bool right = true;
  for (int64_t k = 0; k < width; ++k)
    right = right && y.view<float>()[k] == 2 * many.data()[k] - many.data()[width + k];
  CHECK(right);
}

TEST_CASE("com.microsoft.SparseToDenseMatMul: refused, symbols") {
  const Value two = t<float>({2}, {8, 9}), b = t<float>({3, 1}, {1, 2, 3});
  const auto refused = [&](const Value& indices, std::string_view text) {
    check_fails(SparseToDenseMatMul{}, {sparse(two, indices, {2, 3}), b}, text);
  };
  refused(t<int64_t>({2}, {1, 6}), "index 6 outside of (2,3)");
  refused(t<int64_t>({2}, {-1, 1}), "index -1 outside of (2,3)");
  refused(t<int64_t>({2, 2}, {0, 1, 1, 3}), "index 3 outside of (2,3)");
  refused(t<int64_t>({1}, {1}), "indices (1) do not fit 2 values of (2,3)");
  refused(t<int32_t>({2}, {1, 2}), "do not fit");
  const Value places = t<int64_t>({2}, {1, 2});
  check_fails(SparseToDenseMatMul{}, {t<float>({2, 3}, {1, 2, 3, 4, 5, 6}), b}, "A cannot be tensor(float)");
  check_fails(SparseToDenseMatMul{}, {sparse(two, places, {2, 3}), t<double>({3, 1}, {1, 2, 3})},
              "A has elements of float, B of double");
  check_fails(SparseToDenseMatMul{}, {sparse(two, places, {6}), b}, "A: rank 1, expected 2");
  check_fails(SparseToDenseMatMul{}, {sparse(two, places, {2, 3}), t<float>({3}, {1, 2, 3})},
              "B: rank 1, expected 2");
  check_fails(SparseToDenseMatMul{.transB = 1}, {sparse(two, places, {2, 3}), b},
              "inner extents differ: 3 and 1");
  const auto n = Dim::symbol(1), m = Dim::symbol(2);
  op::Info a = info(DType::float32, {n, 3});
  a.type = Type(Kind::sparse_tensor, DType::float32);
  CHECK(infer(SparseToDenseMatMul{}, {a, info(DType::float32, {3, m})})[0].dims == Dims{n, m});
  CHECK(infer(SparseToDenseMatMul{.transA = 1}, {a, info(DType::float32, {n, 5})})[0].dims == Dims{3, 5});
}
}  // namespace tenon
