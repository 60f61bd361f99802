#include "tenon/op/sequence/split_to_sequence.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("SplitToSequence: cases") {
  const Value none, x = t<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  using S = op::SplitToSequence;
  struct Row {
    S op;
    Value x, split;
    std::vector<Value> parts;
  } rows[] = {
      {{}, x, none, {t<float>({1, 2}, {1, 2}), t<float>({1, 2}, {3, 4}), t<float>({1, 2}, {5, 6})}},
      {{.keepdims = 0}, x, none, {t<float>({2}, {1, 2}), t<float>({2}, {3, 4}), t<float>({2}, {5, 6})}},
      {{.axis = 1, .keepdims = 0}, x, none, {t<float>({3}, {1, 3, 5}), t<float>({3}, {2, 4, 6})}},
      {{.axis = -1}, x, t<int64_t>({}, {1}), {t<float>({3, 1}, {1, 3, 5}), t<float>({3, 1}, {2, 4, 6})}},
      // With `split`, keepdims means nothing.
      {{.keepdims = 0}, x, t<int32_t>({}, {2}), {t<float>({2, 2}, {1, 2, 3, 4}), t<float>({1, 2}, {5, 6})}},
      {{}, x, t<int64_t>({}, {9}), {x}},
      {{}, x, t<int64_t>({2}, {1, 2}), {t<float>({1, 2}, {1, 2}), t<float>({2, 2}, {3, 4, 5, 6})}},
      {{.axis = 1}, x, t<int32_t>({3}, {0, 2, 0}), {t<float>({3, 0}, {}), x, t<float>({3, 0}, {})}},
      {{}, t<std::string>({2}, {"a", "b"}), none, {t<std::string>({1}, {"a"}), t<std::string>({1}, {"b"})}},
      {{.keepdims = 0}, t<bool>({2}, {true, false}), none, {t<bool>({}, {true}), t<bool>({}, {false})}},
      {{}, cast<bfloat16>({2}, {1, 2}), none, {cast<bfloat16>({1}, {1}), cast<bfloat16>({1}, {2})}},
      {{}, t<float>({0, 2}, {}), none, {}},
      {{.axis = 1},
       t<float>({0, 2}, {}),
       t<int64_t>({2}, {1, 1}),
       {t<float>({0, 1}, {}), t<float>({0, 1}, {})}},
  };
  for (const Row& row : rows)
    check(row.op, {row.x, row.split}, {Sequence{.element = row.x.type(), .items = row.parts}});
}

TEST_CASE("SplitToSequence: errors") {
  using S = op::SplitToSequence;
  const Value x = t<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  check_fails(S{}, {x, t<int64_t>({}, {0})}, "split 0 is not positive");
  check_fails(S{}, {x, t<int64_t>({2}, {1, 1})}, "the parts sum to 2, not to extent 3");
  check_fails(S{}, {x, t<int64_t>({2}, {4, -1})}, "part 0 of length 4");
  check_fails(S{}, {x, t<int64_t>({2}, {3, INT64_MAX})}, "part 1 of length");
  check_fails(S{}, {x, t<int64_t>({2}, {-1, 4})}, "part 0 of length -1");
  check_fails(S{}, {x, t<int64_t>({1, 1}, {3})}, "split (1,1) is no scalar and no vector");
  check_fails(S{.axis = 2}, {x}, "axis 2 outside of [-2, 1]");
  check_fails(S{}, {t<float>({}, {1})}, "axis 0 outside");
  check_fails(S{}, {t<float>({int64_t{1} << 40, 0}, {})}, "parts");
  check_fails(S{}, {cast<bfloat16>({1}, {1})}, "input cannot be tensor(bfloat16)", 1, 11);
}

TEST_CASE("SplitToSequence: symbols, called") {
  const auto n = Dim::symbol(1);
  auto out = infer(op::SplitToSequence{}, {info(DType::int8, {n, 2})});
  CHECK(out[0].type == Type(Kind::sequence, DType::int8));
  CHECK(out[0].dims == Dims{1, 2});
  CHECK(infer(op::SplitToSequence{.keepdims = 0}, {info(DType::int8, {n, 2})})[0].dims == Dims{2});
  CHECK(infer(op::SplitToSequence{}, {info(DType::int8, {n, 2}), info(DType::int64, {2})})[0].dims ==
        Dims{Dim::unknown(), 2});
  const Value s = op::SplitToSequence{}(Tensor<float, Shape<2>>{1, 2});
  REQUIRE(s.sequence().items.size() == 2);
  check_equal(s.sequence().items[1], t<float>({1}, {2}));
}
}  // namespace tenon
