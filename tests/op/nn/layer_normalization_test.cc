#include "tenon/op/nn/layer_normalization.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("LayerNormalization: cases") {
  // Rows of (a - d, a + d) have mean a and deviation d; epsilon 0 leaves -1 and 1.
  const Value x = t<float>({2, 2}, {1, 3, 10, 20}), one = t<float>({2}, {1, 1});
  const float nan = std::nanf("");
  const op::LayerNormalization plain{.epsilon = 0}, all{.axis = 0, .epsilon = 0};
  struct Row {
    op::LayerNormalization op;
    std::vector<Value> in, out;
  } rows[] = {
      {plain,
       {x, one},
       {t<float>({2, 2}, {-1, 1, -1, 1}), t<float>({2, 1}, {2, 15}), t<float>({2, 1}, {1, 0.2f})}},
      {plain, {x, t<float>({2}, {2, 3}), t<float>({2}, {10, 20})}, {t<float>({2, 2}, {8, 23, 8, 23})}},
      // Scale and bias that are stretched.
      {plain, {x, t<float>({1}, {2}), t<float>({}, {10})}, {t<float>({2, 2}, {8, 12, 8, 12})}},
      {plain, {x, t<float>({1, 2}, {2, 3})}, {t<float>({2, 2}, {-2, 3, -2, 3})}},
      {all,
       {t<float>({2, 2}, {1, 3, 1, 3}), t<float>({2}, {2, 3})},
       {t<float>({2, 2}, {-2, 3, -2, 3}), t<float>({1, 1}, {2}), t<float>({1, 1}, {1})}},
      {all, {t<float>({2, 2}, {1, 3, 1, 3}), t<float>({2, 1}, {2, 3})}, {t<float>({2, 2}, {-2, 2, -3, 3})}},
      // Scales and biases that differ among the rows.
      {plain, {x, t<float>({2, 1}, {2, 3})}, {t<float>({2, 2}, {-2, 2, -3, 3})}},
      {plain,
       {x, t<float>({2, 2}, {2, 3, 4, 5}), t<float>({2}, {10, 20})},
       {t<float>({2, 2}, {8, 23, 6, 25}), t<float>({2, 1}, {2, 15})}},
      {plain, {x, one, t<float>({2, 1}, {10, 20})}, {t<float>({2, 2}, {9, 11, 19, 21})}},
      {plain,
       {cast<float16>({2, 1, 2}, {1, 3, 10, 20}), cast<float16>({2, 1, 1}, {2, 3}), cast<float16>({1}, {1})},
       {cast<float16>({2, 1, 2}, {-1, 3, -2, 4})}},
      {{.axis = -2, .epsilon = 0},
       {t<float>({1, 2, 1}, {1, 3}), t<float>({2, 1}, {1, 1})},
       {t<float>({1, 2, 1}, {-1, 1}), t<float>({1, 1, 1}, {2})}},
      {{.epsilon = 3},
       {x, one},
       {t<float>({2, 2}, {-0.5f, 0.5f, -0.94491118f, 0.94491118f}), Value(),
        t<float>({2, 1}, {0.5f, 0.18898224f})}},
      {{},
       {t<float>({1}, {7}), t<float>({1}, {2}), t<float>({1}, {3})},
       {t<float>({1}, {3}), t<float>({1}, {7})}},
      {{}, {t<float>({1, 2}, {nan, 1}), one}, {t<float>({1, 2}, {nan, nan}), t<float>({1, 1}, {nan})}},
      {{}, {t<float>({0, 2}, {}), one}, {t<float>({0, 2}, {}), t<float>({0, 1}, {}), t<float>({0, 1}, {})}},
      {{},
       {t<float>({2, 0}, {}), t<float>({0}, {})},
       {t<float>({2, 0}, {}), t<float>({2, 1}, {nan, nan}), t<float>({2, 1}, {nan, nan})}},
      {{.epsilon = 0, .stash_type = 16},
       {x, one},
       {t<float>({2, 2}, {-1, 1, -1, 1}), cast<bfloat16>({2, 1}, {2, 15}), cast<bfloat16>({2, 1}, {1, 0.2})}},
      {plain,
       {t<double>({1, 2}, {1e9 - 1, 1e9 + 1}), t<double>({1}, {1})},
       {t<double>({1, 2}, {-1, 1}), t<float>({1, 1}, {1e9f}), t<float>({1, 1}, {1})}},
      {plain,
       {cast<float16>({1, 2}, {1, 3}), cast<float16>({2}, {2, 3}), cast<float16>({2}, {0, 1})},
       {cast<float16>({1, 2}, {-2, 4}), t<float>({1, 1}, {2}), t<float>({1, 1}, {1})}},
      {plain, {cast<bfloat16>({1, 2}, {1, 3}), cast<bfloat16>({1}, {2})}, {cast<bfloat16>({1, 2}, {-2, 2})}},
  };
  for (const Row& row : rows) check(row.op, row.in, row.out, 2e-6);
  for (unsigned operand : {0u, 1u, 2u})
    check_in_place(plain, {x, t<float>({2, 2}, {2, 3, 4, 5}), t<float>({2, 2}, {1, 2, 3, 4})}, operand);
}

TEST_CASE("LayerNormalization: errors") {
  const Value x = t<float>({2, 2}, {1, 3, 10, 20});
  check_fails(op::LayerNormalization{.stash_type = 2}, {x, x}, "stash_type: 2, expected 1 or 16");
  check_fails(op::LayerNormalization{.axis = 2}, {x, x}, "axis 2 outside of [-2, 1]");
  check_fails(op::LayerNormalization{}, {t<float>({}, {1}), x}, "axis -1 outside of");
  check_fails(op::LayerNormalization{}, {x, t<float>({3}, {1, 2, 3})}, "input 1 (3) does not stretch");
  check_fails(op::LayerNormalization{}, {x, t<float>({3, 1}, {1, 2, 3})}, "input 1 (3,1) does not stretch");
  check_fails(op::LayerNormalization{}, {x, t<float>({2, 1, 2}, {1, 2, 3, 4})}, "input 1 (2,1,2) does not");
  check_fails(op::LayerNormalization{}, {x, t<float>({1, 1, 2}, {1, 2})}, "input 1 (1,1,2) does not");
  check_fails(op::LayerNormalization{}, {x, t<float>({2}, {1, 2}), t<float>({1, 1, 1}, {1})},
              "input 2 (1,1,1) does not");
  check_fails(op::LayerNormalization{}, {x, t<float>({2}, {1, 2}), t<float>({0}, {})},
              "input 2 (0) does not stretch");
  check_fails(op::LayerNormalization{}, {x, t<double>({2}, {1, 2})},
              "input Scale is tensor(double), but T is tensor(float)");
  check_fails(op::LayerNormalization{}, {t<int32_t>({1}, {1}), t<int32_t>({1}, {1})},
              "input X cannot be tensor(int32)");
}

TEST_CASE("LayerNormalization: symbols, and typed") {
  const auto n = Dim::symbol(1);
  const auto out = infer(op::LayerNormalization{.stash_type = 16},
                         {info(DType::float16, {n, 3, 8}), info(DType::float16, {8})}, 3);
  CHECK(out[0].dims == Dims{n, 3, 8});
  CHECK(out[1].dims == Dims{n, 3, 1});
  CHECK(out[2].type == Type(DType::bfloat16));
  CHECK_FALSE(infer(op::LayerNormalization{}, {info(DType::float16, Dims()), info(DType::float16, {8})})[0]
                  .dims.ranked());
  Tensor<float, Shape<1, 2>> x{{1, 3}};
  Tensor<float, Shape<2>> scale{1, 2};
  const auto y = apply<op::LayerNormalization{.epsilon = 0}, 3>(x, scale);
  static_assert(
      std::is_same_v<std::tuple_element_t<1, std::remove_const_t<decltype(y)>>, Tensor<float, Shape<1, 1>>>);
  CHECK(std::get<0>(y)(0, 1) == 2);
  CHECK(std::get<1>(y).item() == 2);
}
}  // namespace tenon
