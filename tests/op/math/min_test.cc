#include "tenon/op/math/min.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

namespace {
constexpr auto min = [](auto x, auto y) { return x < y ? x : y; };
}  // namespace

TEST_CASE("Min: cases") {
  const Value f = t<float>({2, 2}, {1, 4, -3, 2}), row = t<float>({2}, {2, 3}),
              column = t<float>({2, 1}, {0, 5});
  const float inf = INFINITY;
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{f}, f},
      {{f, row}, t<float>({2, 2}, {min(1, 2), min(4, 3), min(-3, 2), min(2, 3)})},
      {{f, row, column},
       t<float>({2, 2}, {min(min(1, 2), 0), min(min(4, 3), 0), min(min(-3, 2), 5), min(min(2, 3), 5)})},
      {{row, column}, t<float>({2, 2}, {min(2, 0), min(3, 0), min(2, 5), min(3, 5)})},
      {{row, column, row}, t<float>({2, 2}, {min(2, 0), min(3, 0), min(2, 5), min(3, 5)})},
      {{t<float>({}, {1}), t<float>({}, {2}), t<float>({}, {4})}, t<float>({}, {min(1, 4)})},
      {{t<float>({0, 2}, {}), row, row}, t<float>({0, 2}, {})},
      // NaN in any place
      {{t<float>({4}, {NAN, 1, -inf, inf}), t<float>({4}, {1, NAN, 0, 0})},
       t<float>({4}, {NAN, NAN, min(-inf, 0.0f), min(inf, 0.0f)})},
      {{t<float>({3}, {NAN, 1, 1}), t<float>({3}, {1, NAN, 1}), t<float>({3}, {1, 1, NAN})},
       t<float>({3}, {NAN, NAN, NAN})},
      {{cast<float16>({1}, {NAN}), cast<float16>({1}, {1})}, cast<float16>({1}, {NAN})},
      {{t<double>({1}, {1}), t<double>({1}, {2})}, t<double>({1}, {min(1, 2)})},
      {{cast<float16>({2}, {1, 4}), cast<float16>({2}, {3, 2})}, cast<float16>({2}, {min(1, 3), min(4, 2)})},
      {{cast<bfloat16>({2}, {1, 4}), cast<bfloat16>({2}, {3, 2}), cast<bfloat16>({}, {3})},
       cast<bfloat16>({2}, {min(1, 3), min(min(4, 2), 3)})},
      {{t<int8_t>({2}, {-128, 5}), t<int8_t>({}, {1})}, t<int8_t>({2}, {min(-128, 1), min(5, 1)})},
      {{t<uint8_t>({2}, {255, 5}), t<uint8_t>({}, {9})}, t<uint8_t>({2}, {min(255, 9), min(5, 9)})},
      {{t<int16_t>({1}, {-300}), t<int16_t>({}, {300}), t<int16_t>({}, {0})},
       t<int16_t>({1}, {min(-300, 300)})},
      {{t<uint16_t>({1}, {65535}), t<uint16_t>({}, {3})}, t<uint16_t>({1}, {min(65535, 3)})},
      {{t<int32_t>({1}, {INT32_MIN}), t<int32_t>({}, {INT32_MAX})},
       t<int32_t>({1}, {min(INT32_MIN, INT32_MAX)})},
      {{t<uint32_t>({1}, {UINT32_MAX}), t<uint32_t>({}, {1})}, t<uint32_t>({1}, {min(UINT32_MAX, 1u)})},
      {{t<int64_t>({1}, {INT64_MAX - 1}), t<int64_t>({}, {INT64_MAX})},
       t<int64_t>({1}, {min(INT64_MAX - 1, INT64_MAX)})},
      {{t<uint64_t>({1}, {UINT64_MAX}), t<uint64_t>({}, {1}), t<uint64_t>({}, {7})},
       t<uint64_t>({1}, {min(UINT64_MAX, uint64_t{1})})},
  };
  for (const Row& r : rows) check(op::Min{}, r.in, {r.out}, 0, 0);
  check_in_place(op::Min{}, {f, row}, 0);
  check_in_place(op::Min{}, {row, f}, 1);
  check_in_place(op::Min{}, {f, row, column, t<float>({2, 2}, {5, 6, 7, 8})}, 3);
}

TEST_CASE("Min: versions 1 and 6 do not broadcast") {
  const Value f = t<float>({2}, {1, 2}), g = t<float>({2}, {4, 0}), one = t<float>({1}, {1});
  for (int version : {1, 6}) {
    CAPTURE(version);
    check_fails(op::Min{}, {f, f, one}, "extents differ: 2 and 1", 1, version);
    check_fails(stated<op::Min>(version), {f, t<float>({1, 2}, {1, 2})}, "extents differ: (2) and (1,2)");
    check_fails(op::Min{}, {t<int32_t>({1}, {1})}, "cannot be tensor(int32)", 1, version);
  }
  check(stated<op::Min>(8), {f, one}, {t<float>({2}, {min(1, 1), min(2, 1)})});
  check_consumed_inputs<op::Min>({f, g}, t<float>({2}, {min(1, 4), min(2, 0)}));
  check_consumed_inputs<op::Min>({f, g, g}, t<float>({2}, {min(1, 4), min(2, 0)}));
  check_consumed_inputs<op::Min>({f}, f);
  check_fails(op::Min{}, {t<int32_t>({1}, {1})}, "cannot be tensor(int32)", 1, 8);
  check_fails(op::Min{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 12);
}

TEST_CASE("Min: what is refused, shape arithmetic, typed calls") {
  check_fails(op::Min{}, {}, "input data_0 is missing");
  check_fails(op::Min{}, {t<bool>({1}, {true})}, "cannot be tensor(bool)");
  check_fails(op::Min{}, {t<float>({1}, {1}), t<double>({1}, {1})},
              "is tensor(double), but T is tensor(float)");
  check_fails(op::Min{}, {t<float>({2}, {1, 2}), t<float>({1}, {1}), t<float>({3}, {1, 2, 3})},
              "do not broadcast");
  const auto n = Dim::symbol(1), m = Dim::symbol(2);
  const auto f = DType::float32, i = DType::int64;
  CHECK(infer(op::Min{}, {info(f, {n}), info(f, {2, 1}), info(f, {1})})[0].dims == Dims{2, n});
  CHECK_FALSE(infer(op::Min{}, {info(f, {n}), info(f, Dims())})[0].dims.ranked());
  const auto out =
      infer(op::Min{}, {info(i, {4}, {1, n, n, n}), info(i, {4}, {2, -1, n, m}), info(i, {}, {-2})});
  CHECK(out[0].propagated[0].is(min(min(1, 2), -2)));
  CHECK(out[0].propagated[1].same(min(1, 0) == 1 ? n : Dim(-2)));
  CHECK(out[0].propagated[2].same(min(1, 0) == 1 ? n : Dim(-2)));
  CHECK_FALSE(out[0].propagated[3].known());

  const auto y = op::Min{}(Tensor<int32_t, Shape<2, 1>>{{1}, {2}}, Tensor<int32_t, Shape<2>>{10, 0}, 1);
  static_assert(std::is_same_v<decltype(y), const Tensor<int32_t, Shape<2, 2>>>);
  CHECK(y(1, 0) == min(min(2, 10), 1));
}
}  // namespace tenon
