#include "tenon/op/math/cum_prod.hpp"

#include "tests/op/cumulation.hpp"

namespace tenon {
using namespace test;

TEST_CASE("CumProd: cases") {
  check_cumulation<op::CumProd>([](double x, double y) { return x * y; }, 1);
}

TEST_CASE("CumProd: edges") {
  const struct {
    Value in, out;
  } rows[] = {
      {t<int32_t>({2}, {INT32_MAX, 2}), t<int32_t>({2}, {INT32_MAX, -2})},
      {t<int64_t>({2}, {INT64_MIN, -1}), t<int64_t>({2}, {INT64_MIN, INT64_MIN})},
      {t<uint32_t>({2}, {UINT32_MAX, 2}), t<uint32_t>({2}, {UINT32_MAX, UINT32_MAX - 1})},
      {t<uint64_t>({2}, {UINT64_MAX, 2}), t<uint64_t>({2}, {UINT64_MAX, UINT64_MAX - 1})},
      {t<float>({4}, {INFINITY, 1, 0, 1}), t<float>({4}, {INFINITY, INFINITY, NAN, NAN})},
      {cast<float16>({3}, {-2, 3, 0.5}), cast<float16>({3}, {-2, -6, -3})},
  };
  for (const auto& row : rows) check(op::CumProd{}, {row.in, t<int32_t>({}, {0})}, {row.out}, 0, 0);
}

}  // namespace tenon
