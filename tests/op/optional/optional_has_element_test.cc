#include "tenon/op/optional/optional_has_element.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("OptionalHasElement: cases") {
  const Value none, x = t<float>({2}, {1, 2}), s = Sequence{.element = DType::float32, .items = {}};
  const Value full = OptionalValue{.element = DType::float32, .value = std::make_shared<const Value>(x)};
  const Value list = OptionalValue{.element = Type(Kind::sequence, DType::float32),
                                   .value = std::make_shared<const Value>(s)};
  const Value empty = OptionalValue{.element = DType::string, .value = nullptr};
  struct Row {
    Value in;
    bool out;
    int version;
  } rows[] = {{full, true, 15},   {list, true, 15}, {empty, false, 15}, {full, true, 18}, {list, true, 18},
              {empty, false, 18}, {x, true, 18},    {s, true, 18},      {none, false, 18}};
  for (const Row& row : rows)
    check(op::OptionalHasElement{}, {row.in}, {t<bool>({}, {row.out})}, 0, 0, row.version);
  check(op::OptionalHasElement{}, {}, {t<bool>({}, {false})});
  check_fails(op::OptionalHasElement{}, {x}, "input cannot be tensor(float)", 1, 15);
  check_fails(op::OptionalHasElement{}, {}, "input input is missing", 1, 15);
}

TEST_CASE("OptionalHasElement: types, called") {
  op::Info o = info(DType::int8, {Dim::symbol(1)});
  o.type = Type(Kind::optional_sequence, DType::int8);
  const auto out = infer(op::OptionalHasElement{}, {o});
  CHECK(out[0].type == Type(DType::bool_));
  CHECK(out[0].dims == Dims::of_rank(0));
  check_equal(op::OptionalHasElement{}(Tensor<float, Shape<1>>{3}), t<bool>({}, {true}));
  check_equal(op::OptionalHasElement{}(none), t<bool>({}, {false}));
}
}  // namespace tenon
