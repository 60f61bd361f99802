#include "tenon/op/reduction/arg_min.hpp"

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ArgMin: cases") {
  const Value x = t<float>({2, 3}, {2, 1, 1, 3, 10, 0});
  const float nan = std::nanf("");
  struct Row {
    op::ArgMin op;
    Value in, out;
  } rows[] = {
      {{}, x, t<int64_t>({1, 3}, {0, 0, 1})},
      {{.axis = 1}, x, t<int64_t>({2, 1}, {1, 2})},
      {{.axis = -1, .keepdims = 0}, x, t<int64_t>({2}, {1, 2})},
      {{.axis = 1, .keepdims = 0, .select_last_index = 1}, x, t<int64_t>({2}, {2, 2})},
      {{.axis = 1}, t<float>({1, 3}, {1, nan, nan}), t<int64_t>({1, 1}, {1})},
      {{.axis = 1, .select_last_index = 1}, t<float>({1, 3}, {1, nan, nan}), t<int64_t>({1, 1}, {2})},
      {{.axis = 1}, t<float>({1, 2}, {INFINITY, -INFINITY}), t<int64_t>({1, 1}, {1})},
      {{.axis = 1}, t<float>({0, 3}, {}), t<int64_t>({0, 1}, {})},
      {{.axis = 1}, t<float>({1, 2, 2}, {1, 4, 3, 2}), t<int64_t>({1, 1, 2}, {0, 1})},
      {{}, t<int8_t>({3}, {-128, 5, 127}), t<int64_t>({1}, {0})},
      {{}, t<uint8_t>({3}, {128, 5, 127}), t<int64_t>({1}, {1})},
      {{}, t<int16_t>({3}, {-1, 5, 127}), t<int64_t>({1}, {0})},
      {{}, t<uint16_t>({3}, {65535, 5, 127}), t<int64_t>({1}, {1})},
      {{}, t<int32_t>({2}, {-1, 5}), t<int64_t>({1}, {0})},
      {{}, t<uint32_t>({2}, {UINT32_MAX, 5}), t<int64_t>({1}, {1})},
      {{}, t<int64_t>({2}, {INT64_MIN, INT64_MAX}), t<int64_t>({1}, {0})},
      {{}, t<uint64_t>({2}, {UINT64_MAX, 5}), t<int64_t>({1}, {1})},
      {{}, t<double>({2}, {1, 2}), t<int64_t>({1}, {0})},
      {{}, cast<float16>({2}, {3, 2}), t<int64_t>({1}, {1})},
      {{}, cast<bfloat16>({2}, {3, 2}), t<int64_t>({1}, {1})},
  };
  for (const Row& row : rows) check(row.op, {row.in}, {row.out});
  for (int version : {1, 11, 12, 13})
    check(stated<op::ArgMin>(version, {{"axis", int64_t{1}}}), {x}, {t<int64_t>({2, 1}, {1, 2})}, 0, 0);
}

TEST_CASE("ArgMin: what is refused") {
  const Value x = t<float>({2, 3}, {2, 1, 2, 3, 10, 10});
  check_fails(op::ArgMin{.axis = 2}, {x}, "axis 2 outside of [-2, 1]");
  check_fails(op::ArgMin{}, {t<float>({}, {1})}, "axis 0 outside of");
  check_fails(op::ArgMin{}, {t<float>({0, 2}, {})}, "no element along axis 0 of (0,2)");
  check_fails(op::ArgMin{}, {cast<bfloat16>({1}, {1})}, "input data cannot be tensor(bfloat16)", 1, 12);
  check_fails(op::ArgMin{}, {t<bool>({1}, {true})}, "input data cannot be tensor(bool)");
  for (int version : {1, 11})
    check_refused<op::ArgMin>(version, {{"select_last_index", int64_t{1}}},
                              "has no attribute 'select_last_index'");
}

TEST_CASE("ArgMin: typed, and extents that are not known yet") {
  Tensor<float, Shape<2, 3>> x{{1, 2, 3}, {6, 5, 4}};
  const auto y = apply<op::ArgMin{.axis = 1, .keepdims = 0}>(x);
  static_assert(std::is_same_v<decltype(y), const Tensor<int64_t, Shape<2>>>);
  CHECK(y(1) == 2);
  const auto n = Dim::symbol(1);
  const auto out = infer(op::ArgMin{.axis = 1}, {info(DType::float32, {n, 3, Dim()})});
  CHECK(out[0].dims == Dims{n, 1, Dim()});
  CHECK(out[0].type == Type(DType::int64));
}
}  // namespace tenon
