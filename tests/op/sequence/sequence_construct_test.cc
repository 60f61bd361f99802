#include "tenon/op/sequence/sequence_construct.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("SequenceConstruct: cases") {
  const Value a = t<float>({2}, {1, 2}), b = t<float>({1, 1}, {3}), none = t<float>({0}, {});
  struct Row {
    std::vector<Value> in;
  } rows[] = {
      {{a}},
      {{a, b, none}},
      {{t<std::string>({2}, {"a", "b"}), t<std::string>({}, {"c"})}},
      {{t<bool>({1}, {true}), t<bool>({1}, {false})}},
      {{t<complex128>({1}, {{1, 2}})}},
  };
  for (const Row& row : rows)
    check(op::SequenceConstruct{}, row.in, {Sequence{.element = row.in[0].type(), .items = row.in}});
}

TEST_CASE("SequenceConstruct: refused, symbols, called") {
  check_fails(op::SequenceConstruct{}, {}, "input inputs is missing");
  check_fails(op::SequenceConstruct{}, {t<float>({1}, {1}), Value(), t<float>({1}, {1})},
              "input 1 is missing");
  check_fails(op::SequenceConstruct{}, {t<float>({1}, {1}), t<double>({1}, {1})},
              "inputs is tensor(double), but T is tensor(float)");
  check_fails(op::SequenceConstruct{}, {cast<bfloat16>({1}, {1})}, "inputs cannot be tensor(bfloat16)");
  const auto n = Dim::symbol(1);
  const auto out = infer(op::SequenceConstruct{}, {info(DType::int8, {n, 2}), info(DType::int8, {n, 3})});
  CHECK(out[0].type == Type(Kind::sequence, DType::int8));
  CHECK(out[0].dims == Dims{n, Dim::unknown()});
  op::Info unknown;
  unknown.type = Type(Kind::unknown, DType::undefined);
  CHECK(infer(op::SequenceConstruct{}, {unknown})[0].type.kind == Kind::unknown);
  CHECK(infer(op::SequenceConstruct{}, {unknown, info(DType::int8, {2})})[0].type ==
        Type(Kind::sequence, DType::int8));
  const Value s = op::SequenceConstruct{}(Tensor<float, Shape<1>>{1}, Tensor<float, Shape<2>>{2, 3});
  REQUIRE(s.sequence().items.size() == 2);
  check_equal(s.sequence().items[1], t<float>({2}, {2, 3}));
}
}  // namespace tenon
