// The table of cases that And, Or and Xor share.
#pragma once

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon::test {

/// F is the function of two bools; Op_1 is the operator's form of version 1.
template <class Op, class Op_1, class F>
void check_logical(F f) {
  const Value a = t<bool>({2, 2}, {true, true, false, false}), scalar = t<bool>({}, {true});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{a, t<bool>({2, 2}, {true, false, true, false})},
       t<bool>({2, 2}, {f(true, true), f(true, false), f(false, true), f(false, false)})},
      {{a, t<bool>({2}, {false, true})},
       t<bool>({2, 2}, {f(true, false), f(true, true), f(false, false), f(false, true)})},
      {{t<bool>({2, 1}, {true, false}), t<bool>({2}, {true, true})},
       t<bool>({2, 2}, {f(true, true), f(true, true), f(false, true), f(false, true)})},
      {{scalar, scalar}, t<bool>({}, {f(true, true)})},
      {{t<bool>({0, 2}, {}), t<bool>({1}, {true})}, t<bool>({0, 2}, {})},
  };
  for (const Row& row : rows) check(Op{}, row.in, {row.out});
  check_in_place(Op{}, {a, t<bool>({2}, {true, false})}, 0);
  check_in_place(Op{}, {scalar, a}, 1);

  // Version 1 aligns B by axis.
  const Value b = t<bool>({2}, {true, false});
  const Value same = t<bool>({2, 2}, {f(true, true), f(true, true), f(false, false), f(false, false)}),
              last = t<bool>({2, 2}, {f(true, true), f(true, false), f(false, true), f(false, false)});
  const Attributes stretched{{"broadcast", int64_t{1}}},
      first{{"axis", int64_t{0}}, {"broadcast", int64_t{1}}};
  check(Op_1{}, {a, a}, {same});
  check(Op_1{.broadcast = 1}, {a, b}, {last});
  check(Op_1{.axis = 0, .broadcast = 1}, {a, b}, {same});
  check_fails(Op_1{}, {a, b}, "extents without broadcast differ");
  check(stated<Op_1>(1), {a, a}, {same});
  check(stated<Op_1>(1, stretched), {a, b}, {last});
  check(stated<Op_1>(1, first), {a, b}, {same});
  check_fails(stated<Op_1>(1), {a, b}, "extents without broadcast differ");
  check_refused<Op_1>(1, {{"consumed_inputs", ints{0}}}, "version 1 has no attribute 'consumed_inputs'");

  check_fails(Op{}, {t<uint8_t>({1}, {1}), t<bool>({1}, {true})}, "input A cannot be tensor(uint8)");
  check_fails(Op{}, {t<bool>({2}, {true, true}), t<bool>({3}, {true, true, true})}, "do not broadcast");
  // An element is known where every value of the unknown operands gives the same result.
  const Dim bools[] = {0, 1, Dim::unknown()};
  for (const Dim x : bools)
    for (const Dim y : bools) {
      const bool low = f(x.is(1), y.is(1)), known = low == f(!x.is(0), y.is(1)) &&
                                                    low == f(x.is(1), !y.is(0)) &&
                                                    low == f(!x.is(0), !y.is(0));
      const auto out = infer(Op{}, {info(DType::bool_, {1}, {x}), info(DType::bool_, {1}, {y})});
      CHECK(out[0].propagated[0] == (known ? Dim(low) : Dim::unknown()));
    }
  const auto y = Op{}(Tensor<bool, Shape<2>>{true, false}, true);
  static_assert(std::is_same_v<decltype(y), const Tensor<bool, Shape<2>>>);
  CHECK((y[0] == f(true, true) && y[1] == f(false, true)));
}

}  // namespace tenon::test
