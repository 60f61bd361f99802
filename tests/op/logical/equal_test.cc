#include "tenon/op/logical/equal.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Equal: cases") {
  const Value f = t<float>({2, 2}, {1, 2, 3, 4});
  const float inf = INFINITY;
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{f, t<float>({2}, {1, 4})}, t<bool>({2, 2}, {true, false, false, true})},
      {{t<float>({2, 1}, {1, 4}), f}, t<bool>({2, 2}, {true, false, false, true})},
      {{t<double>({}, {1}), t<double>({}, {1})}, t<bool>({}, {true})},
      {{t<float>({0, 2}, {}), t<float>({1}, {1})}, t<bool>({0, 2}, {})},
      {{t<float>({3}, {NAN, inf, 0}), t<float>({3}, {NAN, inf, -0.0f})}, t<bool>({3}, {false, true, true})},
      {{t<bool>({4}, {true, false, true, false}), t<bool>({4}, {true, false, false, true})},
       t<bool>({4}, {true, true, false, false})},
      {{t<bool>({2}, {true, false}), t<bool>({}, {true})}, t<bool>({2}, {true, false})},
      {{t<std::string>({2}, {"a", ""}), t<std::string>({2, 1}, {"a", "b"})},
       t<bool>({2, 2}, {true, false, false, false})},
      {{t<std::string>({0}, {}), t<std::string>({}, {"a"})}, t<bool>({0}, {})},
      {{t<int8_t>({2}, {-1, 1}), t<int8_t>({2}, {-1, -1})}, t<bool>({2}, {true, false})},
      {{t<uint16_t>({2}, {9, 1}), t<uint16_t>({}, {9})}, t<bool>({2}, {true, false})},
      {{t<int64_t>({2}, {INT64_MAX, 1}), t<int64_t>({}, {INT64_MAX - 1})}, t<bool>({2}, {false, false})},
      {{t<uint64_t>({1}, {UINT64_MAX}), t<uint64_t>({}, {UINT64_MAX})}, t<bool>({1}, {true})},
      {{cast<float16>({2}, {0.5, 2}), cast<float16>({}, {2})}, t<bool>({2}, {false, true})},
      {{cast<bfloat16>({2}, {0.5, NAN}), cast<bfloat16>({2}, {0.5, NAN})}, t<bool>({2}, {true, false})},
  };
  for (const Row& row : rows) check(op::Equal{}, row.in, {row.out});
  const Value b = t<bool>({3}, {true, false, false});
  check_in_place(op::Equal{}, {b, t<bool>({}, {false})}, 0);
  check_in_place(op::Equal{}, {t<bool>({1}, {true}), b}, 1);
}

TEST_CASE("Equal: version 1 aligns B by axis") {
  check_legacy<int32_t, bool>(
      op::Equal_1{}, [](Opt<int64_t> axis) { return op::Equal_1{.axis = axis, .broadcast = 1}; },
      {false, true, false, false}, {true, false, false, false}, {true, false, true, false});
  check_fails(op::Equal_1{}, {t<float>({1}, {1}), t<float>({1}, {1})}, "cannot be tensor(float)");
}

TEST_CASE("Equal: errors, shape arithmetic, typed calls") {
  const Value s = t<std::string>({1}, {"a"}), f = t<float>({1}, {1});
  check_fails(op::Equal{}, {s, s}, "cannot be tensor(string)", 1, 13);
  check_fails(op::Equal{}, {f, f}, "cannot be tensor(float)", 1, 7);
  check_fails(op::Equal{}, {f, t<double>({1}, {1})}, "input B is tensor(double), but T is tensor(float)");

  // Exported models ask which requested extents are -1.
  const auto n = Dim::symbol(1), unknown = Dim::unknown();
  const auto out = infer(op::Equal{}, {info(DType::int64, {5}, {-1, n, n, n, unknown}),
                                       info(DType::int64, {5}, {-1, -1, n, 3, -1})});
  CHECK(out[0].type == Type(DType::bool_));
  CHECK(out[0].propagated[0].is(1));
  CHECK(out[0].propagated[1].is(0));
  CHECK(out[0].propagated[2].is(1));
  CHECK_FALSE(out[0].propagated[3].known());
  CHECK_FALSE(out[0].propagated[4].known());

  const auto y = op::Equal{}(Tensor<float, Shape<2>>{3, 4}, 4.0f);
  static_assert(std::is_same_v<decltype(y), const Tensor<bool, Shape<2>>>);
  CHECK_FALSE(y[0]);
  CHECK(y[1]);
}
}  // namespace tenon
