#include "tenon/op/tensor/is_inf.hpp"

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

template <class T>
void check_signs(bool infinite = std::numeric_limits<T>::has_infinity) {
  Value x = cast<T>({5}, {1, INFINITY, -INFINITY, NAN, 0});
  // Conversions to the float8 types give no infinity.
  if constexpr (std::is_same_v<T, float8e5m2>)
    x = t<T>({5}, {T(1.0f), T::from_bits(0x7c), T::from_bits(0xfc), T::from_bits(0x7d), T(0.0f)});
  for (int64_t negative : {0, 1, -3})
    for (int64_t positive : {0, 1, 7}) {
      const Value y = t<bool>({5}, {false, infinite && positive, infinite && negative, false, false});
      check(op::IsInf{.detect_negative = negative, .detect_positive = positive}, {x}, {y});
      if (dtype_of<T> == DType::float32 || dtype_of<T> == DType::float64)
        check(op::IsInf{.detect_negative = negative, .detect_positive = positive}, {x}, {y}, 0, 0, 10);
    }
}

TEST_CASE("IsInf: cases") {
  check_signs<float>();
  check_signs<double>();
  check_signs<float16>();
  check_signs<bfloat16>();
  check_signs<float8e5m2>();
  check_signs<float8e4m3fn>();
  check_signs<float8e4m3fnuz>();
  check_signs<float8e5m2fnuz>();
  CHECK_FALSE(std::numeric_limits<float8e5m2fnuz>::has_infinity);
  const Value both = t<float>({2, 1}, {INFINITY, -INFINITY});
  for (int version : {10, 20}) {
    check(stated<op::IsInf>(version), {both}, {t<bool>({2, 1}, {true, true})});
    check(stated<op::IsInf>(version, {{"detect_negative", int64_t{0}}}), {both},
          {t<bool>({2, 1}, {true, false})});
    check(stated<op::IsInf>(version, {{"detect_positive", int64_t{0}}}), {both},
          {t<bool>({2, 1}, {false, true})});
    check(op::IsInf{}, {t<float>({}, {INFINITY})}, {t<bool>({}, {true})}, 0, 0, version);
    check(op::IsInf{}, {t<double>({0, 2}, {})}, {t<bool>({0, 2}, {})}, 0, 0, version);
  }
  check_fails(op::IsInf{}, {cast<float16>({}, {1})}, "cannot be tensor(float16)", 1, 10);
  check_fails(op::IsInf{}, {t<int32_t>({1}, {1})}, "input X cannot be tensor(int32)");
}

TEST_CASE("IsInf: symbols, typed") {
  const Dims dims{Dim::symbol(1), 3};
  const auto out = infer(op::IsInf{}, {info(DType::float32, dims)})[0];
  CHECK((out.dims == dims && out.type == Type(DType::bool_)));
  const auto y = apply<op::IsInf{.detect_negative = 0}>(Tensor<float, Shape<2>>{INFINITY, -INFINITY});
  static_assert(std::is_same_v<decltype(y), const Tensor<bool, Shape<2>>>);
  CHECK((y[0] && !y[1]));
}
}  // namespace tenon
