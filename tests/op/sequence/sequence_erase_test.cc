#include "tenon/op/sequence/sequence_erase.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("SequenceErase: cases") {
  const Value none, a = t<float>({2}, {1, 2}), b = t<float>({1, 1}, {3}), c = t<float>({}, {4});
  const auto of = [](std::vector<Value> items) {
    return Sequence{.element = DType::float32, .items = std::move(items)};
  };
  const Value s = of({a, b, c});
  struct Row {
    Value position;
    std::vector<Value> out;
  } rows[] = {
      {none, {a, b}},
      {t<int64_t>({}, {0}), {b, c}},
      {t<int64_t>({}, {2}), {a, b}},
      {t<int32_t>({}, {1}), {a, c}},
      {t<int64_t>({}, {-1}), {a, b}},
      {t<int32_t>({1}, {-3}), {b, c}},
  };
  for (const Row& row : rows) check(op::SequenceErase{}, {s, row.position}, {of(row.out)});
  check(op::SequenceErase{}, {of({a})}, {of({})});
  const Value words = Sequence{.element = DType::string, .items = {t<std::string>({1}, {"x"})}};
  check(op::SequenceErase{}, {words}, {Sequence{.element = DType::string, .items = {}}});
  check_fails(op::SequenceErase{}, {s, t<int64_t>({}, {3})}, "position 3 in a sequence of 3");
  check_fails(op::SequenceErase{}, {s, t<int64_t>({}, {-4})}, "position -4 in a sequence of 3");
  check_fails(op::SequenceErase{}, {s, t<int64_t>({}, {INT64_MIN})}, "in a sequence of 3");
  check_fails(op::SequenceErase{}, {of({})}, "position -1 in a sequence of 0");
  check_fails(op::SequenceErase{}, {s, t<int64_t>({2}, {0, 1})}, "position: (2), expected one element");
  check_fails(op::SequenceErase{}, {a}, "input_sequence cannot be tensor(float)");
}

TEST_CASE("SequenceErase: types, called") {
  op::Info s = info(DType::int8, {Dim::symbol(1), 2});
  s.type = Type(Kind::sequence, DType::int8);
  const auto out = infer(op::SequenceErase{}, {s});
  CHECK(out[0].type == s.type);
  CHECK(out[0].dims == s.dims);
  const Value v = Sequence{.element = DType::float32, .items = {t<float>({1}, {7}), t<float>({1}, {8})}};
  check_equal(op::SequenceErase{}(v, int64_t{0}).sequence().items[0], t<float>({1}, {8}));
}
}  // namespace tenon
