#include "tenon/op/com.microsoft/c_dist.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using op::com_microsoft::CDist;

TEST_CASE("com.microsoft.CDist: cases") {
  const Value a = t<float>({2, 3}, {1, 2, 3, 4, 5, 6}), b = t<float>({3, 3}, {1, 2, 3, 0, 0, 0, -1, 0.5f, 2});
  const Value squares = t<float>({2, 3}, {0, 14, 7.25f, 27, 77, 61.25f});
  check(CDist{}, {a, b}, {squares});
  check(CDist{.metric = "sqeuclidean"}, {a, b}, {squares});
  check(CDist{.metric = "euclidean"}, {a, b},
        {t<float>({2, 3}, {0, 3.74165738f, 2.69258240f, 5.19615242f, 8.77496439f, 7.82623792f})}, 1e-6);
  // More than a register holds.
  check(CDist{.metric = "euclidean"},
        {t<double>({1, 11}, {1, 0, 0, 0, 0, 0, 0, 0, 2, 2, 4}),
         t<double>({2, 11}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  //
                             1, 0, 0, 0, 0, 0, 0, 3, 2, 2, 0})},
        {t<double>({1, 2}, {5, 5})});
  check(CDist{}, {t<float>({0, 3}, {}), b}, {t<float>({0, 3}, {})});
  check(CDist{}, {a, t<float>({0, 3}, {})}, {t<float>({2, 0}, {})});
  check(CDist{}, {t<float>({2, 0}, {}), t<float>({1, 0}, {})}, {t<float>({2, 1}, {0, 0})});
}

TEST_CASE("com.microsoft.CDist: refused, symbols, called") {
  const Value a = t<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  check_fails(CDist{.metric = "cosine"}, {a, a}, "metric");
  check_fails(CDist{}, {a, t<float>({1, 2}, {1, 2})}, "lengths of rows");
  check_fails(CDist{}, {a, t<float>({3}, {1, 2, 3})}, "B: rank 1, expected 2");
  const auto n = Dim::symbol(1);
  CHECK(infer(CDist{}, {info(DType::float32, {n, 3}), info(DType::float32, {5, Dim()})})[0].dims ==
        Dims{n, 5});
  op::Info unranked;
  unranked.type = Type(DType::float32);
  CHECK(infer(CDist{}, {info(DType::float32, {n, 3}), unranked})[0].dims == Dims{n, Dim()});
  const auto y = CDist{}(Tensor<float, Shape<1, 2>>{{1, 2}}, Tensor<float, Shape<2, 2>>{{1, 2}, {1, 5}});
  CHECK(y[0] == 0);
  CHECK(y[1] == 9);
}
}  // namespace tenon
