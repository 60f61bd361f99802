#include "tenon/op/math/cum_sum.hpp"

#include <cstring>

#include "tenon/base/thread_pool.hpp"
#include "tests/op/cumulation.hpp"

namespace tenon {
using namespace test;

TEST_CASE("CumSum: cases") {
  check_cumulation<op::CumSum>([](double x, double y) { return x + y; }, 0);
}

TEST_CASE("CumSum: edges") {
  const Value first = t<int32_t>({}, {0});
  const struct {
    Value in, out;
  } rows[] = {
      {t<int32_t>({2}, {INT32_MAX, 1}), t<int32_t>({2}, {INT32_MAX, INT32_MIN})},
      {t<int64_t>({2}, {INT64_MAX, 1}), t<int64_t>({2}, {INT64_MAX, INT64_MIN})},
      {t<uint32_t>({2}, {UINT32_MAX, 2}), t<uint32_t>({2}, {UINT32_MAX, 1})},
      {t<uint64_t>({2}, {UINT64_MAX, 2}), t<uint64_t>({2}, {UINT64_MAX, 1})},
      {t<float>({4}, {INFINITY, 1, -INFINITY, 1}), t<float>({4}, {INFINITY, INFINITY, NAN, NAN})},
      {cast<float16>({3}, {2048, 1, 1}), cast<float16>({3}, {2048, 2048, 2050})},
      {cast<bfloat16>({3}, {256, 1, 1}), cast<bfloat16>({3}, {256, 256, 258})},
  };
  for (const auto& row : rows) check(op::CumSum{}, {row.in, first}, {row.out}, 0, 0);
  check_fails(op::CumSum{}, {cast<float16>({1}, {1}), first}, "cannot be tensor(float16)", 1, 11);
}

TEST_CASE("CumSum: long and wide") {
  Tensor<float> x(Extents{3, 1 << 12, 70});
  for (float& v : x) v = 0.1f;
  const auto y = op::CumSum{}(x, constant<int64_t, 1>);
  for (int64_t k : {0, 1000, (1 << 12) - 1})
    CHECK(y(2, k, 69) == doctest::Approx(0.1f * double(k + 1)).epsilon(1e-7));
}

TEST_CASE("CumSum: the same bits for any number of threads") {
  for (const Extents& extents : {Extents{1, 9, 1100}, Extents{2, 5, 300}, Extents{1, 40, 130}}) {
    Tensor<float> x(extents);
    for (int64_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k * 37 % 101) / 7;
    for (int64_t reverse : {0, 1}) {
      const op::CumSum op{.reverse = reverse};
      const auto serial = op(x, constant<int64_t, 1>);
      ThreadPool pool(3);
      const ScopedPool scope(pool);
      const auto y = op(x, constant<int64_t, 1>);
      CHECK(std::memcmp(y.data(), serial.data(), static_cast<std::size_t>(x.size()) * sizeof(float)) == 0);
    }
  }
}

}  // namespace tenon
