#include "tenon/op/tensor/where.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

/// where({true, false}, {1, 0}, {0, 1}) in a type.
template <class T>
void check_type() {
  const Value x = cast<T>({2}, {1, 0}), y = cast<T>({2}, {0, 1});
  check(op::Where{}, {t<bool>({2}, {true, false}), x, y}, {cast<T>({2}, {1, 1})});
  check_in_place(op::Where{}, {t<bool>({2}, {true, false}), x, y}, 1);
  check_in_place(op::Where{}, {t<bool>({2}, {true, false}), x, y}, 2);
}

TEST_CASE("Where: cases") {
  const Value c = t<bool>({2, 2}, {true, false, true, true}), f = t<float>({2, 2}, {1, 2, 3, 4});
  using S = std::string;
  const Value s = t<S>({2}, {"a", "a string too long to lie within its object"});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{c, f, t<float>({2}, {10, 20})}, t<float>({2, 2}, {1, 20, 3, 4})},
      {{t<bool>({2}, {true, false}), f, t<float>({2, 1}, {10, 20})}, t<float>({2, 2}, {1, 10, 3, 20})},
      {{c, t<float>({}, {1}), t<float>({1, 1, 1}, {0})}, t<float>({1, 2, 2}, {1, 0, 1, 1})},
      {{t<bool>({}, {false}), t<float>({}, {1}), t<float>({}, {NAN})}, t<float>({}, {NAN})},
      {{t<bool>({1}, {true}), t<float>({0, 2}, {}), f}, Value()},
      {{t<bool>({0, 2}, {}), t<float>({2}, {1, 2}), t<float>({}, {1})}, t<float>({0, 2}, {})},
      {{t<bool>({2, 1}, {true, false}), s, t<S>({}, {"b"})},
       t<S>({2, 2}, {"a", "a string too long to lie within its object", "b", "b"})},
      {{c, t<bool>({}, {false}), c}, t<bool>({2, 2}, {false, false, false, false})},
  };
  for (const Row& row : rows) {
    if (row.out) check(op::Where{}, row.in, {row.out});
    else check_fails(op::Where{}, row.in, "do not broadcast");
  }
  check_in_place(op::Where{}, {c, c, t<bool>({}, {false})}, 0);
  check_in_place(op::Where{}, {t<bool>({2}, {false, true}), s, t<S>({}, {"b"})}, 1);
  check_in_place(op::Where{}, {t<bool>({2}, {false, true}), t<S>({}, {"b"}), s}, 2);
}

TEST_CASE("Where: every type") {
  check_type<float>(), check_type<double>(), check_type<float16>(), check_type<bfloat16>(),
      check_type<bool>();
  check_type<int8_t>(), check_type<int16_t>(), check_type<int32_t>(), check_type<int64_t>();
  check_type<uint8_t>(), check_type<uint16_t>(), check_type<uint32_t>(), check_type<uint64_t>();
  const auto z =
      run(op::Where{}, {t<bool>({2}, {true, false}), t<complex64>({}, {{1, 2}}), t<complex64>({}, {{3, 4}})});
  CHECK(z[0].view<complex64>()[0] == complex64(1, 2));
  CHECK(z[0].view<complex64>()[1] == complex64(3, 4));
  const auto w =
      run(op::Where{}, {t<bool>({1}, {false}), t<complex128>({}, {{1, 2}}), t<complex128>({}, {{3, 4}})});
  CHECK(w[0].view<complex128>()[0] == complex128(3, 4));
}

TEST_CASE("Where: errors, shape arithmetic, typed calls") {
  const Value f = t<float>({2}, {1, 2});
  check_fails(op::Where{}, {f, f, f}, "input condition cannot be tensor(float)");
  check_fails(op::Where{}, {t<bool>({2}, {true, false}), f, t<double>({1}, {1})},
              "input Y is tensor(double), but T is tensor(float)");
  check_fails(op::Where{}, {t<bool>({3}, {true, false, true}), f, f}, "extents (3) and (2) do not broadcast");
  const Value b = cast<bfloat16>({1}, {1});
  check_fails(op::Where{}, {t<bool>({1}, {true}), b, b}, "cannot be tensor(bfloat16)", 1, 9);

  const auto n = Dim::symbol(1), unknown = Dim::unknown();
  const auto out = infer(op::Where{}, {info(DType::bool_, {4}, {1, 0, unknown, unknown}),
                                       info(DType::int64, {}, {n}), info(DType::int64, {4}, {3, 4, n, 5})});
  CHECK(out[0].propagated[0].same(n));
  CHECK(out[0].propagated[1].is(4));
  CHECK(out[0].propagated[2].same(n));
  CHECK_FALSE(out[0].propagated[3].known());
  CHECK_FALSE(out[0].propagated[3].symbolic());
  CHECK(infer(op::Where{},
              {info(DType::bool_, {n, 1}), info(DType::float32, {2}), info(DType::float32, {1})})[0]
            .dims == Dims{n, 2});

  const auto y =
      op::Where{}(Tensor<bool, Shape<2>>{true, false}, Tensor<float, Shape<3, 1>>{{1}, {2}, {3}}, 0.0f);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<3, 2>>>);
  CHECK(y(2, 0) == 3);
  CHECK(y(2, 1) == 0);
}
}  // namespace tenon
