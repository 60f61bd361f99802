#include "tenon/op/math/pow.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"
#include "tests/working_memory.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Pow: cases") {
  const Value f = t<float>({2, 2}, {1, 2, 3, 4});
  const float inf = INFINITY;
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{f, t<float>({2}, {2, 0.5})}, t<float>({2, 2}, {1, std::sqrt(2.0f), 9, 2})},
      {{t<float>({}, {2}), f}, t<float>({2, 2}, {2, 4, 8, 16})},
      {{t<double>({}, {2}), t<double>({}, {-1})}, t<double>({}, {0.5})},
      {{t<float>({0, 2}, {}), t<int64_t>({}, {2})}, t<float>({0, 2}, {})},
      {{t<float>({5}, {-2, -2, -2, 0, NAN}), t<float>({5}, {2, 3, 0.5, -1, 0})},
       t<float>({5}, {4, -8, NAN, inf, 1})},
      // exponents of another type
      {{f, t<int64_t>({}, {2})}, t<float>({2, 2}, {1, 4, 9, 16})},
      {{f, t<uint8_t>({2}, {0, 3})}, t<float>({2, 2}, {1, 8, 1, 64})},
      {{f, t<double>({}, {0.1})}, t<float>({2, 2}, {1, 1.0717734f, 1.1161232f, 1.1486983f})},
      {{t<float>({2}, {-1, 2}), t<int64_t>({2}, {16777217, -149})}, t<float>({2}, {-1, 0x1p-149f})},
      {{t<double>({2}, {2, -3}), t<int32_t>({}, {3})}, t<double>({2}, {8, -27})},
      {{cast<float16>({2}, {2, 3}), t<float>({}, {0.5})}, cast<float16>({2}, {1.4142, 1.7320})},
      {{cast<float16>({1}, {-1}), t<int32_t>({1}, {2049})}, cast<float16>({1}, {-1})},
      {{cast<bfloat16>({2}, {2, 3}), cast<bfloat16>({}, {2})}, cast<bfloat16>({2}, {4, 9})},
      {{cast<bfloat16>({2}, {2, 3}), t<int16_t>({2}, {-1, 1})}, cast<bfloat16>({2}, {0.5, 3})},
      // integers
      {{t<int32_t>({3}, {2, 3, -3}), t<int32_t>({}, {3})}, t<int32_t>({3}, {8, 27, -27})},
      {{t<int64_t>({4}, {2, 1, -1, -1}), t<int64_t>({4}, {-1, -5, -5, -4})}, t<int64_t>({4}, {0, 1, -1, 1})},
      {{t<int32_t>({2}, {2, 3}), t<int64_t>({2}, {31, 40})}, t<int32_t>({2}, {INT32_MIN, 689956897})},
      {{t<int32_t>({2}, {2, -1}), t<int64_t>({2}, {INT64_MAX, INT64_MAX})}, t<int32_t>({2}, {0, -1})},
      {{t<int64_t>({2}, {-1, 3}), t<uint64_t>({2}, {UINT64_MAX, 2})}, t<int64_t>({2}, {-1, 9})},
      {{t<int32_t>({4}, {4, 2, 2, -8}), t<float>({4}, {0.5, -1, 40, 0.5})},
       t<int32_t>({4}, {2, 0, INT32_MAX, 0})},
      {{t<int64_t>({2}, {4, 10}), cast<float16>({2}, {2, 2})}, t<int64_t>({2}, {16, 100})},
  };
  for (const Row& row : rows) {
    const bool narrow = bits_of(row.out.type().element) == 16;
    check(op::Pow{}, row.in, {row.out}, narrow ? 4e-3 : 1e-6);
  }
  check_in_place(op::Pow{}, {f, t<float>({2}, {2, 3})}, 0);
  check_in_place(op::Pow{}, {f, t<int64_t>({2}, {2, 3})}, 0);
  check_in_place(op::Pow{}, {t<float>({}, {2}), f}, 1);
}

TEST_CASE("Pow: versions 1 and 7") {
  check_legacy<float, float>(op::Pow_1{},
                             [](Opt<int64_t> axis) { return op::Pow_1{.axis = axis, .broadcast = 1}; },
                             {1, 4, 3, 16}, {1, 8, 3, 64}, {1, 2, 27, 64});
  check(op::Pow{}, {t<float>({2, 1}, {2, 3}), t<float>({2}, {1, 2})}, {t<float>({2, 2}, {2, 4, 3, 9})}, 1e-6,
        1e-7, 7);
  for (int version : op::Pow::spec.since)
    check(stated<op::Pow>(version), {t<float>({2, 1}, {2, 3}), t<float>({2}, {1, 2})},
          {t<float>({2, 2}, {2, 4, 3, 9})});
  check_fails(op::Pow{}, {t<float>({1}, {2}), t<double>({1}, {1})},
              "input Y is tensor(double), but T is tensor(float)", 1, 7);
  check_fails(op::Pow{}, {t<int32_t>({1}, {2}), t<int32_t>({1}, {1})}, "input X cannot be tensor(int32)", 1,
              7);
  check(op::Pow{}, {t<float>({1}, {2}), t<double>({1}, {3})}, {t<float>({1}, {8})}, 1e-6, 1e-7, 12);
}

TEST_CASE("Pow: the exponents do not decide how much memory it takes") {
  const std::vector<float16> x(1000, float16(2.0f));
  Tensor<float16> z(Extents{1000});
  const auto memory = [&](float exponent) {
    const std::vector<float> y(1000, exponent);
    return working_memory([&] {
      op::Pow{}.compute(TensorView<const float16>(x.data(), {1000}),
                        TensorView<const float>(y.data(), {1000}), z.view());
    });
  };
  CHECK(memory(2) == memory(0.1f));
}

TEST_CASE("Pow: errors and typed calls") {
  check_fails(op::Pow{}, {t<int32_t>({1}, {0}), t<int32_t>({1}, {-1})}, "divided by zero");
  check_fails(op::Pow{}, {t<int32_t>({2}, {0, 1}), t<int64_t>({2}, {-1, INT64_MAX})}, "divided by zero");
  check_fails(op::Pow{}, {t<uint8_t>({1}, {0}), t<int32_t>({1}, {1})}, "input X cannot be tensor(uint8)");
  check_fails(op::Pow{}, {t<float>({1}, {0}), cast<bfloat16>({1}, {1})}, "input Y cannot be tensor(bfloat16)",
              1, 13);

  const auto z = op::Pow{}(Tensor<float, Shape<2>>{3, 4}, int64_t{2});
  static_assert(std::is_same_v<decltype(z), const Tensor<float, Shape<2>>>);
  CHECK(z[1] == doctest::Approx(16));
}
}  // namespace tenon
