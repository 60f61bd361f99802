// The table of cases that the windows share.
#pragma once

#include <cmath>

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon::test {

/// W is a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N).
template <class W>
void check_window(double a0, double a1, double a2) {
  const auto number = [&](double n, double of) {
    const double angle = 2 * 3.14159265358979323846 * n / of;
    return a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
  };
  for (DType d : {DType::float16, DType::float32, DType::float64, DType::bfloat16})
    for (const Value& five : {Value(t<int32_t>({}, {5})), Value(t<int64_t>({1}, {5}))}) {
      const auto type = static_cast<int64_t>(d);
      const double rtol = d == DType::float64 ? 1e-14 : 1e-6;
      check(W{.output_datatype = type}, {five},
            {cast(d, {5}, {number(0, 5), number(1, 5), number(2, 5), number(3, 5), number(4, 5)})}, rtol,
            1e-7);
      check(W{.output_datatype = type, .periodic = 0}, {five},
            {cast(d, {5}, {number(0, 4), number(1, 4), 1, number(3, 4), number(4, 4)})}, rtol, 1e-7);
    }
  for (DType d : {DType::int8, DType::int16, DType::int32, DType::int64, DType::uint8, DType::uint16,
                  DType::uint32, DType::uint64})
    check(W{.output_datatype = static_cast<int64_t>(d)}, {t<int64_t>({}, {4})}, {cast(d, {4}, {0, 0, 1, 0})});
  check(stated<W>(17, {{"periodic", int64_t{0}}}), {t<int64_t>({}, {3})},
        {cast<float>({3}, {number(0, 2), 1, number(2, 2)})}, 1e-6, 1e-7);
  const Value long_one = run(W{.output_datatype = 11}, {t<int64_t>({}, {10001})})[0];
  double worst = 0;
  for (int64_t k = 0; k < 10001; ++k)
    worst = std::max(worst, std::abs(as_double(long_one.tensor().view(), k) - number(double(k), 10001)));
  CHECK(worst < 1e-14);
  CHECK(run(W{}, {t<int64_t>({}, {1})})[0].tensor().size() == 1);
  CHECK(std::isnan(as_double(run(W{.periodic = 0}, {t<int64_t>({}, {1})})[0].tensor().view(), 0)));
  for (int64_t size : {int64_t{0}, int64_t{-1}})
    check_fails(W{}, {t<int64_t>({}, {size})}, "expected at least 1");
  check_fails(W{}, {t<int64_t>({}, {INT64_MIN})}, "");
  check_fails(W{}, {t<int64_t>({}, {INT64_MAX})}, "");
  check_fails(W{}, {t<int64_t>({2}, {1, 2})}, "size: (2), expected one element");
  check_fails(W{.output_datatype = 9}, {t<int64_t>({}, {2})}, "output cannot be tensor(bool)");
  check_fails(W{.output_datatype = 77}, {t<int64_t>({}, {2})}, "'output_datatype' is 77, which is no type");
  CHECK(infer(W{.output_datatype = 10}, {info(DType::int64, {}, {10})})[0].dims == Dims{10});
  CHECK(infer(W{.output_datatype = 10}, {info(DType::int64, {})})[0].dims == Dims{Dim()});
  CHECK(infer(W{.output_datatype = 10}, {info(DType::int64, {})})[0].type == Type(DType::float16));
  const auto y = apply<W{}>(constant<int64_t, 2>);
  CHECK((y.extents()[0] == 2 && std::abs(y.view()[1] - 1) < 1e-6f));
}

}  // namespace tenon::test
