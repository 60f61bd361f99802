#include "tenon/op/sequence/sequence_insert.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("SequenceInsert: cases") {
  const Value none, a = t<float>({2}, {1, 2}), b = t<float>({1, 1}, {3}), x = t<float>({}, {4});
  const auto of = [](std::vector<Value> items) {
    return Sequence{.element = DType::float32, .items = std::move(items)};
  };
  const Value s = of({a, b});
  struct Row {
    Value position;
    std::vector<Value> out;
  } rows[] = {
      {none, {a, b, x}},
      {t<int64_t>({}, {0}), {x, a, b}},
      {t<int64_t>({}, {1}), {a, x, b}},
      {t<int64_t>({}, {2}), {a, b, x}},
      {t<int32_t>({}, {-1}), {a, x, b}},
      {t<int32_t>({1}, {-2}), {x, a, b}},
  };
  for (const Row& row : rows) check(op::SequenceInsert{}, {s, x, row.position}, {of(row.out)});
  check(op::SequenceInsert{}, {of({}), x}, {of({x})});
  check(op::SequenceInsert{}, {of({}), x, t<int64_t>({}, {0})}, {of({x})});
  const Value word = t<std::string>({1}, {"x"});
  check(op::SequenceInsert{}, {Sequence{.element = DType::string, .items = {}}, word},
        {Sequence{.element = DType::string, .items = {word}}});
  check_fails(op::SequenceInsert{}, {s, x, t<int64_t>({}, {3})}, "position 3 in a sequence of 2");
  check_fails(op::SequenceInsert{}, {s, x, t<int64_t>({}, {-3})}, "position -3 in a sequence of 2");
  check_fails(op::SequenceInsert{}, {s, x, t<int64_t>({}, {INT64_MIN})}, "in a sequence of 2");
  check_fails(op::SequenceInsert{}, {s, x, t<int64_t>({0}, {})}, "position: (0), expected one element");
  check_fails(op::SequenceInsert{}, {s, t<int64_t>({}, {1})},
              "a tensor(int64) in a sequence of tensor(float)");
  check_fails(op::SequenceInsert{}, {s, s}, "input tensor cannot be");
  check_fails(op::SequenceInsert{}, {s}, "input tensor is missing");
}

TEST_CASE("SequenceInsert: symbols, called") {
  op::Info s = info(DType::int8, {Dim::symbol(1), 2});
  s.type = Type(Kind::sequence, DType::int8);
  auto out = infer(op::SequenceInsert{}, {s, info(DType::int8, {Dim::symbol(1), 3})});
  CHECK(out[0].type == s.type);
  CHECK(out[0].dims == Dims{Dim::symbol(1), Dim::unknown()});
  CHECK_FALSE(infer(op::SequenceInsert{}, {s, info(DType::int8, {2})})[0].dims.ranked());
  const Value v = Sequence{.element = DType::float32, .items = {}};
  Value kept;
  {
    Tensor<float, Shape<1>> x{7};
    kept = op::SequenceInsert{}(v, x.view());
    x[0] = 0;
  }
  check_equal(kept.sequence().items[0], t<float>({1}, {7}));
}
}  // namespace tenon
