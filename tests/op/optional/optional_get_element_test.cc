#include "tenon/op/optional/optional_get_element.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("OptionalGetElement: cases") {
  const Value x = t<float>({2}, {1, 2}), s = Sequence{.element = DType::float32, .items = {x}};
  const Value full = OptionalValue{.element = DType::float32, .value = std::make_shared<const Value>(x)};
  const Value list = OptionalValue{.element = Type(Kind::sequence, DType::float32),
                                   .value = std::make_shared<const Value>(s)};
  const Value empty = OptionalValue{.element = DType::float32, .value = nullptr};
  struct Row {
    Value in, out;
    int version;
  } rows[] = {{full, x, 15}, {list, s, 15}, {full, x, 18}, {list, s, 18}, {x, x, 18}, {s, s, 18}};
  for (const Row& row : rows) check(op::OptionalGetElement{}, {row.in}, {row.out}, 0, 0, row.version);
  check_fails(op::OptionalGetElement{}, {empty}, "the optional is empty");
  check_fails(op::OptionalGetElement{}, {x}, "input cannot be tensor(float)", 1, 15);
  check_fails(op::OptionalGetElement{}, {}, "input input is missing");
}

TEST_CASE("OptionalGetElement: types, called") {
  op::Info o = info(DType::int8, {Dim::symbol(1)});
  o.type = Type(Kind::optional, DType::int8);
  const auto out = infer(op::OptionalGetElement{}, {o});
  CHECK(out[0].type == Type(DType::int8));
  CHECK(out[0].dims == Dims{Dim::symbol(1)});
  o.type = Type(Kind::optional_sequence, DType::int8);
  CHECK(infer(op::OptionalGetElement{}, {o})[0].type == Type(Kind::sequence, DType::int8));
  check_equal(op::OptionalGetElement{}(Tensor<float, Shape<1>>{3}), t<float>({1}, {3}));
}
}  // namespace tenon
