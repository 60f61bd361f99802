#include "tenon/op/math/clip.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Clip: bounds are inputs") {
  const Value x = t<float>({2, 2}, {-INFINITY, -1, 3, NAN});
  const Value absent, low = t<float>({}, {-2}), high = t<float>({}, {2});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{x}, x},
      {{x, low}, t<float>({2, 2}, {-2, -1, 3, NAN})},
      {{x, absent, high}, t<float>({2, 2}, {-INFINITY, -1, 2, NAN})},
      {{x, low, high}, t<float>({2, 2}, {-2, -1, 2, NAN})},
      {{x, high, low}, t<float>({2, 2}, {-2, -2, -2, NAN})},  // min above max: all are max
      {{t<float>({}, {5}), low, high}, t<float>({}, {2})},
      {{t<float>({0}, {}), low, high}, t<float>({0}, {})},
      {{t<float>({1}, {5}), t<float>({1}, {-1}), t<float>({1, 1}, {1})}, t<float>({1}, {1})},
      {{t<double>({2}, {1e300, 0}), absent, t<double>({}, {1e200})}, t<double>({2}, {1e200, 0})},
      {{t<int8_t>({3}, {-128, 0, 127}), t<int8_t>({}, {-5}), t<int8_t>({}, {5})}, t<int8_t>({3}, {-5, 0, 5})},
      {{t<int64_t>({2}, {INT64_MAX, INT64_MIN}), t<int64_t>({}, {INT64_MIN + 1})},
       t<int64_t>({2}, {INT64_MAX, INT64_MIN + 1})},
      {{t<uint64_t>({2}, {UINT64_MAX, 0}), absent, t<uint64_t>({}, {UINT64_MAX - 1})},
       t<uint64_t>({2}, {UINT64_MAX - 1, 0})},
      {{t<uint16_t>({2}, {9, 1}), t<uint16_t>({}, {2})}, t<uint16_t>({2}, {9, 2})},
      {{cast<float16>({3}, {-INFINITY, 1, 3}), absent, cast<float16>({}, {2})},
       cast<float16>({3}, {-INFINITY, 1, 2})},
      {{cast<bfloat16>({3}, {-9, 1, INFINITY}), cast<bfloat16>({}, {0})},
       cast<bfloat16>({3}, {0, 1, INFINITY})},
  };
  for (const Row& row : rows) check(op::Clip{}, row.in, {row.out});
  check_in_place(op::Clip{}, {x, low, high}, 0);
  check_in_place(op::Clip{}, {t<float>({}, {5}), low, high}, 2);
}

TEST_CASE("Clip: bounds are attributes") {
  const float most = std::numeric_limits<float>::max();
  const Value x = t<float>({4}, {-INFINITY, -1, 3, NAN});
  check(op::Clip_6{}, {x}, {t<float>({4}, {-most, -1, 3, NAN})});
  check(op::Clip_6{.max = 2, .min = -2}, {x}, {t<float>({4}, {-2, -1, 2, NAN})});
  check(op::Clip_6{.max = 2}, {cast<float16>({2}, {-9, 9})}, {cast<float16>({2}, {-9, 2})});
  check(op::Clip_1{}, {x}, {x});
  check(op::Clip_1{.min = 0.0f}, {x}, {t<float>({4}, {0, 0, 3, NAN})});
  check(op::Clip_1{.max = 0.0f, .min = -1.5f}, {t<double>({2}, {-2, 2})}, {t<double>({2}, {-1.5, 0})});
  check_in_place(op::Clip_6{.max = 2}, {x}, 0);
}

TEST_CASE("Clip: what is refused, and typed calls") {
  const Value x = t<float>({2}, {1, 2});
  check_fails(op::Clip{}, {x, x}, "min has extents (2), not one element");
  check_fails(op::Clip{}, {x, Value(), t<float>({0}, {})}, "max has extents (0), not one element");
  check_fails(op::Clip{}, {x, t<double>({}, {1})}, "input min is tensor(double), but T is tensor(float)");
  check_fails(op::Clip{}, {t<int32_t>({1}, {1})}, "cannot be tensor(int32)", 1, 11);
  check_fails(op::Clip_6{}, {t<int32_t>({1}, {1})}, "cannot be tensor(int32)");

  const auto y = op::Clip{}(Tensor<float, Shape<2>>{-1, 9}, none, 6.0f);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2>>>);
  CHECK(y[0] == -1);
  CHECK(y[1] == 6);
}
}  // namespace tenon
