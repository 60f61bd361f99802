#include "tenon/op/nn/lp_normalization.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("LpNormalization: cases") {
  const float nan = std::nanf("");
  const Value x = t<float>({2, 2}, {3, -4, 6, 8});
  struct Row {
    op::LpNormalization op;
    Value in, out;
  } rows[] = {
      {{}, x, t<float>({2, 2}, {0.6, -0.8, 0.6, 0.8})},
      {{.axis = 1}, x, t<float>({2, 2}, {0.6, -0.8, 0.6, 0.8})},
      {{.p = 1}, x, t<float>({2, 2}, {3.0f / 7, -4.0f / 7, 6.0f / 14, 8.0f / 14})},
      {{.axis = 0, .p = 1}, x, t<float>({2, 2}, {1.0f / 3, -1.0f / 3, 2.0f / 3, 2.0f / 3})},
      {{.axis = -2},
       t<float>({1, 2, 2}, {3, 5, 4, 12}),
       t<float>({1, 2, 2}, {0.6, 5.0f / 13, 0.8, 12.0f / 13})},
      // the norm is 0
      {{}, t<float>({2, 2}, {0, 0, 0, 2}), t<float>({2, 2}, {0, 0, 0, 1})},
      {{.p = 1}, t<float>({2}, {0, 0}), t<float>({2}, {0, 0})},
      {{}, t<float>({2, 2}, {nan, 1, 3, 4}), t<float>({2, 2}, {nan, nan, 0.6, 0.8})},
      {{}, t<float>({0, 2}, {}), t<float>({0, 2}, {})},
      {{}, t<float>({2, 0}, {}), t<float>({2, 0}, {})},
      {{},
       t<float>({0, int64_t{1} << 40, int64_t{1} << 40}, {}),
       t<float>({0, int64_t{1} << 40, int64_t{1} << 40}, {})},
      {{}, t<double>({2}, {3, 4}), t<double>({2}, {0.6, 0.8})},
  };
  for (const Row& row : rows) check(row.op, {row.in}, {row.out});
  // Norms of narrow floats are not rounded, and do not overflow.
  check(op::LpNormalization{}, {cast<float16>({2}, {30000, -40000})}, {cast<float16>({2}, {0.6, -0.8})},
        1e-3);
  check(op::LpNormalization{.p = 1}, {cast<float16>({4}, {60000, 60000, 60000, 60000})},
        {cast<float16>({4}, {0.25, 0.25, 0.25, 0.25})}, 0, 0);
  check(op::LpNormalization{}, {cast<bfloat16>({2}, {3, -4})}, {cast<bfloat16>({2}, {0.6, -0.8})}, 1e-2);
  check_in_place(op::LpNormalization{}, {x}, 0);
  check_in_place(op::LpNormalization{.axis = 0, .p = 1}, {x}, 0);
  for (int version : {1, 22}) {
    check(stated<op::LpNormalization>(version), {x}, {t<float>({2, 2}, {0.6, -0.8, 0.6, 0.8})});
    check(stated<op::LpNormalization>(version, {{"axis", int64_t{0}}, {"p", int64_t{1}}}), {x},
          {t<float>({2, 2}, {1.0f / 3, -1.0f / 3, 2.0f / 3, 2.0f / 3})});
  }
}

TEST_CASE("LpNormalization: errors, symbols, typed") {
  const Value x = t<float>({1, 1}, {1});
  check_fails(op::LpNormalization{.axis = 2}, {x}, "axis 2 outside of [-2, 1]");
  check_fails(op::LpNormalization{.p = 3}, {x}, "p: 3, expected 1 or 2");
  check_fails(op::LpNormalization{.p = 0}, {x}, "p: 0, expected 1 or 2");
  check_fails(op::LpNormalization{}, {t<float>({}, {1})}, "axis -1 outside of");
  check_fails(op::LpNormalization{}, {t<int32_t>({1}, {1})}, "input input cannot be tensor(int32)");
  check_fails(op::LpNormalization{}, {cast<bfloat16>({1}, {1})}, "input input cannot be tensor(bfloat16)", 1,
              1);
  const auto n = Dim::symbol(1);
  CHECK(infer(op::LpNormalization{}, {info(DType::float32, {n, 3})})[0].dims == Dims{n, 3});
  const auto y = apply<op::LpNormalization{.axis = 1}>(Tensor<float, Shape<1, 2>>{{3, 4}});
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 2>>>);
  CHECK(y[0] == doctest::Approx(0.6));
}
}  // namespace tenon
