#include "tenon/op/sequence/sequence_length.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("SequenceLength: cases, called") {
  const Value a = t<float>({2}, {1, 2}), none = t<float>({0}, {});
  for (const std::vector<Value>& items :
       {std::vector<Value>{}, std::vector<Value>{a}, std::vector<Value>{a, none, a}})
    check(op::SequenceLength{}, {Sequence{.element = DType::float32, .items = items}},
          {t<int64_t>({}, {static_cast<int64_t>(items.size())})});
  check(op::SequenceLength{},
        {Sequence{.element = DType::string, .items = {t<std::string>({1}, {"x"}), t<std::string>({}, {""})}}},
        {t<int64_t>({}, {2})});
  check_fails(op::SequenceLength{}, {a}, "input_sequence cannot be tensor(float)");
  check_fails(op::SequenceLength{}, {}, "input input_sequence is missing");
  op::Info s;
  s.type = Type(Kind::sequence, DType::int8);
  const auto out = infer(op::SequenceLength{}, {s});
  CHECK(out[0].type == Type(DType::int64));
  CHECK(out[0].dims == Dims::of_rank(0));
  const Value v = Sequence{.element = DType::float32, .items = {a}};
  check_equal(op::SequenceLength{}(v), t<int64_t>({}, {1}));
}
}  // namespace tenon
