#include "tenon/op/generator/eye_like.hpp"

#include "tests/op/movement.hpp"

namespace tenon {
using namespace test;

TEST_CASE("EyeLike: cases") {
  const Value x = t<int32_t>({2, 3}, {9, 9, 9, 9, 9, 9});
  struct Row {
    op::EyeLike op;
    Value in, out;
  } rows[] = {
      {{}, x, t<int32_t>({2, 3}, {1, 0, 0, 0, 1, 0})},
      {{.k = 1}, x, t<int32_t>({2, 3}, {0, 1, 0, 0, 0, 1})},
      {{.k = 2}, x, t<int32_t>({2, 3}, {0, 0, 1, 0, 0, 0})},
      {{.k = 3}, x, t<int32_t>({2, 3}, {0, 0, 0, 0, 0, 0})},
      {{.k = -1}, x, t<int32_t>({2, 3}, {0, 0, 0, 1, 0, 0})},
      {{.k = -2}, x, t<int32_t>({2, 3}, {0, 0, 0, 0, 0, 0})},
      {{.k = INT64_MIN}, x, t<int32_t>({2, 3}, {0, 0, 0, 0, 0, 0})},
      {{.k = INT64_MAX}, x, t<int32_t>({2, 3}, {0, 0, 0, 0, 0, 0})},
      {{.k = -1}, t<float>({3, 2}, {0, 0, 0, 0, 0, 0}), t<float>({3, 2}, {0, 0, 1, 0, 0, 1})},
      {{.dtype = dtype<double>}, x, t<double>({2, 3}, {1, 0, 0, 0, 1, 0})},
      {{}, t<bool>({1, 1}, {false}), t<bool>({1, 1}, {true})},
      {{}, t<float>({0, 2}, {}), t<float>({0, 2}, {})},
  };
  for (const Row& row : rows)
    for (int version : {9, 22}) check(row.op, {row.in}, {row.out}, 0, 0, version);
  for_types(op::EyeLike::spec.types[1], [&](DType d) {
    check(op::EyeLike{.dtype = static_cast<int64_t>(d)}, {x}, {cast(d, {2, 3}, {1, 0, 0, 0, 1, 0})});
    check(op::EyeLike{}, {cast(d, {1, 2}, {5, 5})}, {cast(d, {1, 2}, {1, 0})});
  });
}

TEST_CASE("EyeLike: errors, symbols, typed") {
  const Value x = t<int32_t>({1, 1}, {9});
  check_fails(op::EyeLike{}, {t<float>({1}, {1})}, "input: rank 1, expected 2");
  check_fails(op::EyeLike{.dtype = 99}, {x}, "attribute 'dtype' is 99");
  check_fails(op::EyeLike{.dtype = dtype<bfloat16>}, {x}, "output output cannot be tensor(bfloat16)", 1, 9);
  check_fails(op::EyeLike{.dtype = dtype<std::string>}, {x}, "cannot be tensor(string)");
  const auto n = Dim::symbol(1);
  CHECK(infer(op::EyeLike{}, {info(DType::float32, {n, 2})})[0].dims == Dims{n, 2});
  auto y = apply<op::EyeLike{.k = 1}>(Tensor<float, Shape<2, 2>>{{{5, 6}, {7, 8}}});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<2, 2>>>);
  CHECK(y(0, 1) == 1);
}
}  // namespace tenon
