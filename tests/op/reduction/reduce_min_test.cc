#include "tenon/op/reduction/reduce_min.hpp"

#include "tests/op/reduction.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ReduceMin: cases") {
  const Value x = t<float>({2, 3}, {1, 5, 2, -3, -4, -1});
  const float nan = std::nanf(""), inf = INFINITY;
  struct Row {
    op::ReduceMin op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, t<int64_t>({1}, {1})}, t<float>({2, 1}, {1, -4})},
      {{.keepdims = 0}, {x, t<int64_t>({1}, {0})}, t<float>({3}, {-3, -4, -1})},
      {{.keepdims = 0}, {x}, t<float>({}, {-4})},
      {{.noop_with_empty_axes = 1}, {x}, x},
      {{}, {t<float>({}, {3})}, t<float>({}, {3})},
      {{}, {t<float>({3}, {1, nan, -inf})}, t<float>({1}, {nan})},
      {{}, {t<float>({0}, {})}, t<float>({1}, {inf})},
      {{}, {t<double>({2, 0}, {}), t<int64_t>({1}, {1})}, t<double>({2, 1}, {INFINITY, INFINITY})},
      {{}, {t<float>({2, 0}, {}), t<int64_t>({1}, {0})}, t<float>({1, 0}, {})},
      {{}, {t<int32_t>({0}, {})}, t<int32_t>({1}, {INT32_MAX})},
      {{}, {t<uint8_t>({0}, {})}, t<uint8_t>({1}, {255})},
      {{}, {cast<float16>({0}, {})}, cast<float16>({1}, {INFINITY})},
      {{}, {t<int64_t>({2}, {INT64_MIN, INT64_MAX})}, t<int64_t>({1}, {INT64_MIN})},
      {{}, {t<uint64_t>({2}, {UINT64_MAX, 1})}, t<uint64_t>({1}, {1})},
      {{}, {t<uint32_t>({2}, {UINT32_MAX, 1})}, t<uint32_t>({1}, {1})},
      {{}, {t<int8_t>({3}, {-128, 5, 7})}, t<int8_t>({1}, {-128})},
      {{}, {t<uint8_t>({3}, {128, 5, 7})}, t<uint8_t>({1}, {5})},
      {{}, {t<double>({2}, {1, -2})}, t<double>({1}, {-2})},
      {{}, {cast<float16>({2}, {1, -2})}, cast<float16>({1}, {-2})},
      {{}, {cast<bfloat16>({2}, {1, -2})}, cast<bfloat16>({1}, {-2})},
      {{},
       {t<bool>({2, 2}, {false, true, true, true}), t<int64_t>({1}, {1})},
       t<bool>({2, 1}, {false, true})},
      {{}, {t<bool>({0}, {})}, t<bool>({1}, {true})},
      {{}, {t<bool>({0, 2}, {}), t<int64_t>({1}, {0})}, t<bool>({1, 2}, {true, true})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out}, 0, 0);
}

TEST_CASE("ReduceMin: versions") {
  check_axes<op::ReduceMin>(t<float>({2, 2}, {1, 4, 3, 2}), t<float>({2, 1}, {1, 2}), t<float>({2}, {1, 2}),
                            t<float>({1, 1}, {1}), t<float>({2, 2}, {1, 4, 3, 2}));
  const Value i8 = t<int8_t>({2}, {1, 2}), b16 = cast<bfloat16>({2}, {1, 2}), b = t<bool>({1}, {true});
  check(op::ReduceMin{}, {i8}, {t<int8_t>({1}, {1})}, 0, 0, 12);
  check_fails(op::ReduceMin{}, {i8}, "input data cannot be tensor(int8)", 1, 11);
  check_fails(op::ReduceMin{}, {b16}, "input data cannot be tensor(bfloat16)", 1, 12);
  check_fails(op::ReduceMin{}, {b}, "input data cannot be tensor(bool)", 1, 18);
  check_fails(op::ReduceMin{}, {t<int16_t>({1}, {1})}, "input data cannot be tensor(int16)");
  check_unknown_axes<op::ReduceMin>();
}

TEST_CASE("ReduceMin: typed") {
  Tensor<uint8_t, Shape<2, 2>> x{{1, 2}, {3, 4}};
  const auto y = apply<op::ReduceMin{.keepdims = 0}>(x);
  static_assert(std::is_same_v<decltype(y), const Tensor<uint8_t, Shape<>>>);
  CHECK(y.item() == 1);
}
}  // namespace tenon
