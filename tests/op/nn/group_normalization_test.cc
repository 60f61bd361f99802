#include "tenon/op/nn/group_normalization.hpp"

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("GroupNormalization: cases") {
  const Value x = t<float>({1, 4, 1}, {1, 3, 10, 20});
  const auto groups = [](int64_t n) { return op::GroupNormalization{.epsilon = 0, .num_groups = n}; };
  struct Row {
    op::GroupNormalization op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {groups(2),
       {x, t<float>({4}, {1, 2, 3, 4}), t<float>({4}, {0, 1, 2, 3})},
       t<float>({1, 4, 1}, {-1, 3, -1, 7})},
      {{.num_groups = 4},
       {x, t<float>({4}, {1, 1, 1, 1}), t<float>({4}, {0, 1, 2, 3})},
       t<float>({1, 4, 1}, {0, 1, 2, 3})},
      {groups(1),
       {t<float>({2, 2, 2}, {1, 1, 3, 3, 0, 4, 0, 4}), t<float>({2}, {1, 2}), t<float>({2}, {0, 1})},
       t<float>({2, 2, 2}, {-1, -1, 3, 3, -1, 1, -1, 3})},
      {groups(1),
       {t<float>({1, 2}, {1, 3}), t<float>({2}, {1, 2}), t<float>({2}, {0, 0})},
       t<float>({1, 2}, {-1, 2})},
      {groups(2),
       {t<float>({0, 2, 3}, {}), t<float>({2}, {1, 2}), t<float>({2}, {1, 2})},
       t<float>({0, 2, 3}, {})},
      {groups(3), {t<float>({2, 0, 3}, {}), t<float>({0}, {}), t<float>({0}, {})}, t<float>({2, 0, 3}, {})},
      {{.epsilon = 3, .num_groups = 1, .stash_type = 11},
       {t<double>({1, 2}, {1, 3}), t<double>({2}, {1, 1}), t<double>({2}, {0, 0})},
       t<double>({1, 2}, {-0.5, 0.5})},
      {{.epsilon = 0, .num_groups = 1, .stash_type = 10},
       {cast<float16>({1, 2}, {1, 3}), cast<float16>({2}, {1, 2}), cast<float16>({2}, {0, 1})},
       cast<float16>({1, 2}, {-1, 3})},
      {{.epsilon = 0, .num_groups = 1, .stash_type = 16},
       {cast<bfloat16>({1, 2}, {1, 3}), cast<bfloat16>({2}, {1, 2}), cast<bfloat16>({2}, {0, 1})},
       cast<bfloat16>({1, 2}, {-1, 3})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out}, 2e-6);
}

TEST_CASE("GroupNormalization: version 18 has a scale for each group") {
  const Attributes two{{"num_groups", int64_t{2}}, {"epsilon", 0.0f}};
  const auto old = stated<op::GroupNormalization_18>(18, two);
  check(old, {t<float>({1, 4, 1}, {1, 3, 10, 20}), t<float>({2}, {1, 2}), t<float>({2}, {0, 10})},
        {t<float>({1, 4, 1}, {-1, 1, 8, 12})}, 2e-6);
  check(old,
        {cast<float16>({1, 2, 2}, {1, 3, 10, 20}), cast<float16>({2}, {1, 2}), cast<float16>({2}, {0, 10})},
        {cast<float16>({1, 2, 2}, {-1, 1, 8, 12})});
  check(old, {t<double>({0, 2, 2}, {}), t<double>({2}, {1, 2}), t<double>({2}, {0, 10})},
        {t<double>({0, 2, 2}, {})});
  check_fails(old, {t<float>({1, 4}, {1, 3, 10, 20}), t<float>({4}, {1, 2, 3, 4}), t<float>({2}, {0, 10})},
              "extents of channels differ: 2 and 4");
  check_refused<op::GroupNormalization_18>(18, {{"num_groups", int64_t{1}}, {"stash_type", int64_t{1}}},
                                           "has no attribute 'stash_type'");
}

TEST_CASE("GroupNormalization: errors, symbols, and typed") {
  const op::GroupNormalization two{.num_groups = 2};
  const Value x = t<float>({1, 3, 1}, {1, 2, 3}), v = t<float>({3}, {1, 1, 1});
  check_fails(two, {x, v, v}, "3 channels do not divide into 2 groups");
  check_fails(op::GroupNormalization{}, {x, v, v}, "num_groups: 0, expected at least 1");
  check_fails(op::GroupNormalization{.num_groups = INT64_MIN}, {x, v, v}, "num_groups: -9223372036854775808");
  check_fails(op::GroupNormalization{.num_groups = 3, .stash_type = 7}, {x, v, v},
              "stash_type: 7, expected 1, 10, 11 or 16");
  check_fails(op::GroupNormalization{.num_groups = 1}, {v, v, v}, "X: rank 1, expected at least 2");
  check_fails(op::GroupNormalization{.num_groups = 1}, {x, v, t<float>({1}, {1})},
              "extents of channels differ: 3 and 1");
  check_refused<op::GroupNormalization>(21, {}, "num_groups");
  const auto n = Dim::symbol(1), c = Dim::symbol(2);
  CHECK(infer(two, {info(DType::float32, {n, c, 8}), info(DType::float32, {c}), info(DType::float32, {4})})[0]
            .dims == Dims{n, c, 8});
  Tensor<float, Shape<1, 2>> typed{{1, 3}};
  Tensor<float, Shape<2>> scale{1, 2}, bias{0, 0};
  const auto y = apply<op::GroupNormalization{.epsilon = 0, .num_groups = 1}>(typed, scale, bias);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 2>>>);
  CHECK(y(0, 1) == 2);
}
}  // namespace tenon
