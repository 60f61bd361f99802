// What the tables of Sum, Mean, Max and Min share.
#pragma once

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon::test {

/// The rules of all four: the number and the types of operands, and which extents fit.
template <class Op>
void check_fold_rules() {
  const Value two = t<float>({2}, {1, 2}), one = t<float>({1}, {1}), three = t<float>({3}, {1, 2, 3});
  const Value whole = t<int32_t>({1}, {1}), narrow = cast<bfloat16>({1}, {1});
  check_fails(Op{}, {}, "input data_0 is missing");
  for (int version : Op::spec.since) check_fails(Op{}, {one, Value(), one}, "input 1 is missing", 1, version);
  check_fails(Op{}, {t<bool>({1}, {true})}, "cannot be tensor(bool)");
  check_fails(Op{}, {one, t<double>({1}, {1})}, "is tensor(double), but T is tensor(float)");
  check_fails(Op{}, {two, one, three}, "do not broadcast");
  for (int version : Op::spec.since) {
    CAPTURE(version);
    if (version < 13) check_fails(Op{}, {narrow}, "cannot be tensor(bfloat16)", 1, version);
    if (version < 12) check_fails(Op{}, {whole}, "cannot be tensor(int32)", 1, version);
    if (version >= 8) {
      check(stated<Op>(version), {two, one}, run(Op{}, {two, one}));
      continue;
    }
    check_fails(Op{}, {two, two, one}, "extents differ: 2 and 1", 1, version);
    check_fails(stated<Op>(version), {two, t<float>({1, 2}, {1, 2})}, "extents differ: (2) and (1,2)");
    const auto out =
        infer(Op{}, {info(DType::float32, {Dim::unknown(), 3}), info(DType::float32, {2, Dim::unknown()})}, 1,
              version);
    CHECK(out[0].dims == Dims{2, 3});
  }
  check_consumed_inputs<Op>({two}, two);
  const auto n = Dim::symbol(1);
  const auto f = DType::float32;
  CHECK(infer(Op{}, {info(f, {n}), info(f, {2, 1}), info(f, {1})})[0].dims == Dims{2, n});
  CHECK_FALSE(infer(Op{}, {info(f, {n}), info(f, Dims())})[0].dims.ranked());
}

/// All of Max and Min: Op is the fold of its operands by F, a lambda that gives the greater or the less of
/// two numbers.
template <class Op, class F>
void check_extreme(F) {
  constexpr F of{};
  const Value f = t<float>({2, 2}, {1, 4, -3, 2}), row = t<float>({2}, {2, 3}),
              column = t<float>({2, 1}, {0, 5});
  const float inf = INFINITY;
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{f}, f},
      {{f, row}, t<float>({2, 2}, {of(1, 2), of(4, 3), of(-3, 2), of(2, 3)})},
      {{f, row, column},
       t<float>({2, 2}, {of(of(1, 2), 0), of(of(4, 3), 0), of(of(-3, 2), 5), of(of(2, 3), 5)})},
      {{row, column}, t<float>({2, 2}, {of(2, 0), of(3, 0), of(2, 5), of(3, 5)})},
      {{row, column, row}, t<float>({2, 2}, {of(2, 0), of(3, 0), of(2, 5), of(3, 5)})},
      {{t<float>({}, {1}), t<float>({}, {2}), t<float>({}, {4})}, t<float>({}, {of(1, 4)})},
      {{t<float>({0, 2}, {}), row, row}, t<float>({0, 2}, {})},
      // NaN in any place
      {{t<float>({4}, {NAN, 1, -inf, inf}), t<float>({4}, {1, NAN, 0, 0})},
       t<float>({4}, {NAN, NAN, of(-inf, 0.0f), of(inf, 0.0f)})},
      {{t<float>({3}, {NAN, 1, 1}), t<float>({3}, {1, NAN, 1}), t<float>({3}, {1, 1, NAN})},
       t<float>({3}, {NAN, NAN, NAN})},
      {{cast<float16>({1}, {NAN}), cast<float16>({1}, {1})}, cast<float16>({1}, {NAN})},
      {{t<double>({1}, {1}), t<double>({1}, {2})}, t<double>({1}, {of(1, 2)})},
      {{cast<float16>({2}, {1, 4}), cast<float16>({2}, {3, 2})}, cast<float16>({2}, {of(1, 3), of(4, 2)})},
      {{cast<bfloat16>({2}, {1, 4}), cast<bfloat16>({2}, {3, 2}), cast<bfloat16>({}, {3})},
       cast<bfloat16>({2}, {of(1, 3), of(of(4, 2), 3)})},
      {{t<int8_t>({2}, {-128, 5}), t<int8_t>({}, {1})}, t<int8_t>({2}, {of(-128, 1), of(5, 1)})},
      {{t<uint8_t>({2}, {255, 5}), t<uint8_t>({}, {9})}, t<uint8_t>({2}, {of(255, 9), of(5, 9)})},
      {{t<int16_t>({1}, {-300}), t<int16_t>({}, {300}), t<int16_t>({}, {0})},
       t<int16_t>({1}, {of(-300, 300)})},
      {{t<uint16_t>({1}, {65535}), t<uint16_t>({}, {3})}, t<uint16_t>({1}, {of(65535, 3)})},
      {{t<int32_t>({1}, {INT32_MIN}), t<int32_t>({}, {INT32_MAX})},
       t<int32_t>({1}, {of(INT32_MIN, INT32_MAX)})},
      {{t<uint32_t>({1}, {UINT32_MAX}), t<uint32_t>({}, {1})}, t<uint32_t>({1}, {of(UINT32_MAX, 1u)})},
      {{t<int64_t>({1}, {INT64_MAX - 1}), t<int64_t>({}, {INT64_MAX})},
       t<int64_t>({1}, {of(INT64_MAX - 1, INT64_MAX)})},
      {{t<uint64_t>({1}, {UINT64_MAX}), t<uint64_t>({}, {1}), t<uint64_t>({}, {7})},
       t<uint64_t>({1}, {of(UINT64_MAX, uint64_t{1})})},
  };
  for (const Row& r : rows) check(Op{}, r.in, {r.out}, 0, 0);
  check_in_place(Op{}, {f, row}, 0);
  check_in_place(Op{}, {row, f}, 1);
  check_in_place(Op{}, {f, row, column, t<float>({2, 2}, {5, 6, 7, 8})}, 3);

  const Value two = t<float>({2}, {1, 2}), g = t<float>({2}, {4, 0}), one = t<float>({1}, {1});
  check(stated<Op>(8), {two, one}, {t<float>({2}, {of(1, 1), of(2, 1)})});
  check_consumed_inputs<Op>({two, g}, t<float>({2}, {of(1, 4), of(2, 0)}));
  check_consumed_inputs<Op>({two, g, g}, t<float>({2}, {of(1, 4), of(2, 0)}));
  check_fold_rules<Op>();

  const auto n = Dim::symbol(1), m = Dim::symbol(2);
  const auto i = DType::int64;
  const auto out = infer(Op{}, {info(i, {4}, {1, n, n, n}), info(i, {4}, {2, -1, n, m}), info(i, {}, {-2})});
  CHECK(out[0].propagated[0].is(of(of(1, 2), -2)));
  CHECK(out[0].propagated[1].same(of(1, 0) == 1 ? n : Dim(-2)));
  CHECK(out[0].propagated[2].same(of(1, 0) == 1 ? n : Dim(-2)));
  CHECK_FALSE(out[0].propagated[3].known());

  const auto y = Op{}(Tensor<int32_t, Shape<2, 1>>{{1}, {2}}, Tensor<int32_t, Shape<2>>{10, 0}, 1);
  static_assert(std::is_same_v<decltype(y), const Tensor<int32_t, Shape<2, 2>>>);
  CHECK(y(1, 0) == of(of(2, 10), 1));
}

}  // namespace tenon::test
