#include "tenon/op/logical/and.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("And: cases") {
  const Value a = t<bool>({2, 2}, {true, true, false, false});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{a, t<bool>({2, 2}, {true, false, true, false})}, t<bool>({2, 2}, {true, false, false, false})},
      {{a, t<bool>({2}, {false, true})}, t<bool>({2, 2}, {false, true, false, false})},
      {{t<bool>({2, 1}, {true, false}), t<bool>({2}, {true, true})},
       t<bool>({2, 2}, {true, true, false, false})},
      {{t<bool>({}, {true}), t<bool>({}, {true})}, t<bool>({}, {true})},
      {{t<bool>({0, 2}, {}), t<bool>({1}, {true})}, t<bool>({0, 2}, {})},
  };
  for (const Row& row : rows) check(op::And{}, row.in, {row.out});
  check_in_place(op::And{}, {a, t<bool>({2}, {true, false})}, 0);
  check_in_place(op::And{}, {t<bool>({}, {true}), a}, 1);
}

TEST_CASE("And: version 1 aligns B by axis") {
  const Value a = t<bool>({2, 2}, {true, true, true, false}), b = t<bool>({2}, {true, false});
  check(op::And_1{}, {a, a}, {a});
  check(op::And_1{.broadcast = 1}, {a, b}, {t<bool>({2, 2}, {true, false, true, false})});
  check(op::And_1{.axis = 0, .broadcast = 1}, {a, b}, {t<bool>({2, 2}, {true, true, false, false})});
  check_fails(op::And_1{}, {a, b}, "extents without broadcast differ");
  const Attributes stretched{{"broadcast", int64_t{1}}},
      first{{"axis", int64_t{0}}, {"broadcast", int64_t{1}}};
  check(stated<op::And_1>(1), {a, a}, {a});
  check(stated<op::And_1>(1, stretched), {a, b}, {t<bool>({2, 2}, {true, false, true, false})});
  check(stated<op::And_1>(1, first), {a, b}, {t<bool>({2, 2}, {true, true, false, false})});
  check_fails(stated<op::And_1>(1), {a, b}, "extents without broadcast differ");
  check_refused<op::And_1>(1, {{"consumed_inputs", ints{0}}}, "version 1 has no attribute 'consumed_inputs'");
}

TEST_CASE("And: what is refused, shape arithmetic, typed calls") {
  check_fails(op::And{}, {t<uint8_t>({1}, {1}), t<bool>({1}, {true})}, "input A cannot be tensor(uint8)");
  const auto out = infer(op::And{}, {info(DType::bool_, {3}, {1, 0, Dim::unknown()}),
                                     info(DType::bool_, {3}, {1, Dim::unknown(), Dim::unknown()})});
  CHECK(out[0].propagated[0].is(1));
  CHECK(out[0].propagated[1].is(0));
  CHECK_FALSE(out[0].propagated[2].known());
  const auto y = op::And{}(Tensor<bool, Shape<2>>{true, false}, true);
  static_assert(std::is_same_v<decltype(y), const Tensor<bool, Shape<2>>>);
  CHECK(y[0]);
}
}  // namespace tenon
