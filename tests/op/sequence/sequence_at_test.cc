#include "tenon/op/sequence/sequence_at.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("SequenceAt: cases") {
  const Value a = t<float>({2}, {1, 2}), b = t<float>({1, 1}, {3}), c = t<float>({}, {4});
  const Value s = Sequence{.element = DType::float32, .items = {a, b, c}};
  const Value words = Sequence{.element = DType::string, .items = {t<std::string>({1}, {"x"})}};
  struct Row {
    Value s, position, out;
  } rows[] = {
      {s, t<int64_t>({}, {0}), a},  {s, t<int64_t>({}, {2}), c},
      {s, t<int64_t>({}, {-1}), c}, {s, t<int32_t>({}, {-3}), a},
      {s, t<int32_t>({1}, {1}), b}, {words, t<int64_t>({}, {-1}), t<std::string>({1}, {"x"})},
  };
  for (const Row& row : rows) check(op::SequenceAt{}, {row.s, row.position}, {row.out});
  const Value empty = Sequence{.element = DType::float32, .items = {}};
  check_fails(op::SequenceAt{}, {s, t<int64_t>({}, {3})}, "position 3 in a sequence of 3");
  check_fails(op::SequenceAt{}, {s, t<int64_t>({}, {INT64_MIN})}, "in a sequence of 3");
  check_fails(op::SequenceAt{}, {empty, t<int64_t>({}, {0})}, "position 0 in a sequence of 0");
  check_fails(op::SequenceAt{}, {s, t<int64_t>({2}, {0, 1})}, "position: (2), expected one element");
  check_fails(op::SequenceAt{}, {a, t<int64_t>({}, {0})}, "input_sequence cannot be tensor(float)");
}

TEST_CASE("SequenceAt: types, called") {
  op::Info s = info(DType::int8, {Dim::symbol(1), 2});
  s.type = Type(Kind::sequence, DType::int8);
  const auto out = infer(op::SequenceAt{}, {s, info(DType::int64, Dims::of_rank(0))});
  CHECK(out[0].type == Type(DType::int8));
  CHECK(out[0].dims == Dims{Dim::symbol(1), 2});
  const Value v = Sequence{.element = DType::float32, .items = {t<float>({1}, {7})}};
  check_equal(op::SequenceAt{}(v, int64_t{0}), t<float>({1}, {7}));
}
}  // namespace tenon
