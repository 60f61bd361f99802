#include "tenon/op/tensor/cast_like.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("CastLike: cases") {
  const Value f = t<float>({2, 2}, {-1.5, 0, 2.75, 300});
  struct Row {
    op::CastLike op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {f, t<int32_t>({0}, {})}, t<int32_t>({2, 2}, {-1, 0, 2, 300})},
      {{}, {f, f}, f},
      {{}, {f, t<std::string>({}, {"any"})}, t<std::string>({2, 2}, {"-1.5", "0.0", "2.75", "300.0"})},
      {{}, {t<std::string>({}, {"7"}), t<bool>({3}, {true, true, true})}, t<bool>({}, {true})},
      {{}, {cast<uint4>({3}, {1, 15, 0}), cast<bfloat16>({1}, {1})}, cast<bfloat16>({3}, {1, 15, 0})},
      {{}, {t<float>({1}, {1e6}), cast<float8e4m3fn>({1}, {1})}, cast<float8e4m3fn>({1}, {448})},
      {{.saturate = 0}, {t<float>({1}, {1e6}), cast<float8e4m3fn>({1}, {1})}, cast<float8e4m3fn>({1}, {NAN})},
      {{.round_mode = "down"},
       {t<float>({1}, {3.5}), cast<float8e8m0>({1}, {1})},
       cast<float8e8m0>({1}, {2})},
      {{}, {t<float>({0}, {}), cast<int2>({1}, {1})}, cast<int2>({0}, {})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out}, 0, 0);
  check_in_place(op::CastLike{}, {f, t<float>({}, {1})}, 0);
  check_in_place(op::CastLike{}, {t<int32_t>({2}, {1, 2}), t<float>({2}, {8, 9})}, 1);
}

TEST_CASE("CastLike: a type that only the run knows") {
  op::Info unknown;
  unknown.type = Type(Kind::unknown, DType::undefined);
  const op::Info out = infer(op::CastLike{}, {info(DType::float32, {2}), unknown})[0];
  CHECK((out.type.kind == Kind::unknown && out.dims == Dims{2}));
}

TEST_CASE("CastLike: errors, shape arithmetic, typed calls") {
  const Value f = t<float>({1}, {1});
  check_fails(op::CastLike{}, {f}, "input target_type is missing");
  check_fails(op::CastLike{}, {f, t<complex64>({1}, {1})}, "input target_type cannot be tensor(complex64)");
  check_fails(op::CastLike{}, {f, cast<int4>({1}, {1})}, "input target_type cannot be tensor(int4)", 1, 19);
  check_fails(op::CastLike{.round_mode = ""}, {f, f}, "round_mode: '', expected up, down or nearest");

  const auto n = Dim::symbol(1);
  const auto out = infer(op::CastLike{}, {info(DType::int64, {2}, {n, 7}), info(DType::int32, Dims())});
  CHECK(out[0].type == Type(DType::int32));
  CHECK(out[0].propagated[0].same(n));
  CHECK(out[0].propagated[1].is(7));

  const auto y = apply<op::CastLike{}>(Tensor<float, Shape<2>>{1.5, 3}, int64_t{0});
  static_assert(std::is_same_v<decltype(y), const Tensor<int64_t, Shape<2>>>);
  CHECK(y[0] == 1);
}
}  // namespace tenon
