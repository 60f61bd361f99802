#include "tenon/op/logical/xor.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Xor: cases") {
  const Value a = t<bool>({2, 2}, {true, true, false, false});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{a, t<bool>({2, 2}, {true, false, true, false})}, t<bool>({2, 2}, {false, true, true, false})},
      {{a, t<bool>({2}, {false, true})}, t<bool>({2, 2}, {true, false, false, true})},
      {{t<bool>({2, 1}, {true, false}), t<bool>({2}, {true, true})},
       t<bool>({2, 2}, {false, false, true, true})},
      {{t<bool>({}, {true}), t<bool>({}, {true})}, t<bool>({}, {false})},
      {{t<bool>({0, 2}, {}), t<bool>({1}, {true})}, t<bool>({0, 2}, {})},
  };
  for (const Row& row : rows) check(op::Xor{}, row.in, {row.out});
  check_in_place(op::Xor{}, {a, t<bool>({2}, {true, false})}, 0);
  check_in_place(op::Xor{}, {t<bool>({}, {true}), a}, 1);
}

TEST_CASE("Xor: version 1 aligns B by axis") {
  const Value a = t<bool>({2, 2}, {true, true, true, false}), b = t<bool>({2}, {true, false}),
              itself = t<bool>({2, 2}, {false, false, false, false});
  check(op::Xor_1{}, {a, a}, {itself});
  check(op::Xor_1{.broadcast = 1}, {a, b}, {t<bool>({2, 2}, {false, true, false, false})});
  check(op::Xor_1{.axis = 0, .broadcast = 1}, {a, b}, {t<bool>({2, 2}, {false, false, true, false})});
  check_fails(op::Xor_1{}, {a, b}, "extents without broadcast differ");
  const Attributes stretched{{"broadcast", int64_t{1}}},
      first{{"axis", int64_t{0}}, {"broadcast", int64_t{1}}};
  check(stated<op::Xor_1>(1), {a, a}, {itself});
  check(stated<op::Xor_1>(1, stretched), {a, b}, {t<bool>({2, 2}, {false, true, false, false})});
  check(stated<op::Xor_1>(1, first), {a, b}, {t<bool>({2, 2}, {false, false, true, false})});
  check_fails(stated<op::Xor_1>(1), {a, b}, "extents without broadcast differ");
  check_refused<op::Xor_1>(1, {{"consumed_inputs", ints{0}}}, "version 1 has no attribute 'consumed_inputs'");
}

TEST_CASE("Xor: what is refused, shape arithmetic, typed calls") {
  check_fails(op::Xor{}, {t<uint8_t>({1}, {1}), t<bool>({1}, {true})}, "input A cannot be tensor(uint8)");
  check_fails(op::Xor{}, {t<bool>({2}, {true, true}), t<bool>({3}, {true, true, true})}, "do not broadcast");
  const auto unknown = Dim::unknown();
  const auto out = infer(op::Xor{}, {info(DType::bool_, {4}, {1, 0, unknown, 1}),
                                     info(DType::bool_, {4}, {1, 0, unknown, unknown})});
  CHECK(out[0].propagated[0].is(false));
  CHECK(out[0].propagated[1].is(false));
  CHECK_FALSE(out[0].propagated[2].known());
  CHECK_FALSE(out[0].propagated[3].known());
  const auto y = op::Xor{}(Tensor<bool, Shape<2>>{true, false}, false);
  static_assert(std::is_same_v<decltype(y), const Tensor<bool, Shape<2>>>);
  CHECK(y[0]);
  CHECK_FALSE(y[1]);
}
}  // namespace tenon
