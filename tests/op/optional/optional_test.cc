#include "tenon/op/optional/optional.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Optional: cases") {
  const Value none, x = t<float>({2}, {1, 2}), words = t<std::string>({1}, {"a"});
  const Value s = Sequence{.element = DType::float32, .items = {x}};
  struct Row {
    op::Optional op;
    std::vector<Value> in;
    Type element;
    Value held;
  } rows[] = {
      {{}, {x}, DType::float32, x},
      {{}, {words}, DType::string, words},
      {{}, {s}, Type(Kind::sequence, DType::float32), s},
      {{.type = DType::int8}, {}, DType::int8, none},
      {{.type = DType::int8}, {none}, DType::int8, none},
      {{.type = Type(Kind::sequence, DType::int64)}, {}, Type(Kind::sequence, DType::int64), none},
      {{.type = DType::int8}, {x}, DType::float32, x},
  };
  for (const Row& row : rows) {
    const auto held = row.held ? std::make_shared<const Value>(row.held) : nullptr;
    check(row.op, row.in, {OptionalValue{.element = row.element, .value = held}});
  }
  check_fails(op::Optional{}, {}, "neither an input nor the attribute 'type'");
  check_fails(op::Optional{.type = Type(Kind::map, DType::float32, DType::int64)}, {},
              "neither a tensor nor a sequence");
  check_fails(op::Optional{}, {cast<bfloat16>({1}, {1})}, "input cannot be tensor(bfloat16)");
}

TEST_CASE("Optional: types, called") {
  const auto out = infer(op::Optional{}, {info(DType::int8, {Dim::symbol(1)})});
  CHECK(out[0].type == Type(Kind::optional, DType::int8));
  CHECK(out[0].dims == Dims{Dim::symbol(1)});
  CHECK(infer(op::Optional{.type = Type(Kind::sequence, DType::int8)}, {})[0].type ==
        Type(Kind::optional_sequence, DType::int8));
  const Value v = op::Optional{}(Tensor<float, Shape<1>>{3});
  check_equal(*v.optional().value, t<float>({1}, {3}));
}
}  // namespace tenon
