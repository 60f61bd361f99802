#include "tenon/op/tensor/is_nan.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

// Every number of a narrow float.
template <class T>
void check_every_number(int version) {
  constexpr int64_t n = int64_t{1} << (8 * sizeof(T));
  Tensor<T> x(Extents{n});
  Tensor<bool> y(Extents{n});
  for (int64_t k = 0; k < n; ++k) {
    x[k] = T::from_bits(static_cast<typename T::Bits>(k));
    y[k] = std::isnan(static_cast<float>(T(x[k])));
  }
  check(op::IsNaN{}, {x}, {y}, 0, 0, version);
}

TEST_CASE("IsNaN: cases") {
  const Value y = t<bool>({2, 3}, {false, true, false, false, true, false});
  for (int version : {9, 13, 20}) {
    check(op::IsNaN{}, {t<float>({2, 3}, {1, NAN, INFINITY, -INFINITY, -NAN, 0})}, {y}, 0, 0, version);
    check(op::IsNaN{}, {t<double>({2, 3}, {1, NAN, INFINITY, 1e-310, -NAN, 0})}, {y}, 0, 0, version);
    check(op::IsNaN{}, {t<float>({}, {NAN})}, {t<bool>({}, {true})}, 0, 0, version);
    check(op::IsNaN{}, {t<float>({0, 2}, {})}, {t<bool>({0, 2}, {})}, 0, 0, version);
    check_every_number<float16>(version);
    if (version >= 13) check_every_number<bfloat16>(version);
    else check_fails(op::IsNaN{}, {cast<bfloat16>({}, {1})}, "cannot be tensor(bfloat16)", 1, version);
    if (version < 20) check_fails(op::IsNaN{}, {cast<float8e5m2>({}, {1})}, "cannot be", 1, version);
  }
  check_every_number<float8e4m3fn>(20);
  check_every_number<float8e4m3fnuz>(20);
  check_every_number<float8e5m2>(20);
  check_every_number<float8e5m2fnuz>(20);
  check_fails(op::IsNaN{}, {t<int32_t>({1}, {1})}, "input X cannot be tensor(int32)");
}

TEST_CASE("IsNaN: symbols, typed") {
  const Dims dims{Dim::symbol(1), 3};
  const auto out = infer(op::IsNaN{}, {info(DType::float32, dims)})[0];
  CHECK((out.dims == dims && out.type == Type(DType::bool_)));
  const auto y = op::IsNaN{}(Tensor<float, Shape<2>>{NAN, 1});
  static_assert(std::is_same_v<decltype(y), const Tensor<bool, Shape<2>>>);
  CHECK((y[0] && !y[1]));
}
}  // namespace tenon
