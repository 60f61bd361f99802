#include "tenon/op/sequence/sequence_map.hpp"

#include "tests/op/controlflow/body.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

namespace {

Sequence numbers(std::initializer_list<float> list) {
  Sequence s{.element = DType::float32, .items = {}};
  for (float x : list) s.items.push_back(scalar(x));
  return s;
}

/// Gives the sum of all it takes, and how many these are.
op::BodyRef adding(int inputs) {
  return body(
      inputs, 2, [](auto in) { return std::vector<op::Info>{in[0], info(DType::int64, Dims::of_rank(0))}; },
      [](auto in) {
        float sum = 0;
        for (const Value& v : in) sum += number(v);
        return std::vector<Value>{scalar(sum), t<int64_t>({}, {static_cast<int64_t>(in.size())})};
      });
}

}  // namespace

TEST_CASE("SequenceMap: sequences and tensors after the first") {
  const auto counts = [](int64_t n, std::size_t times) {
    return Sequence{.element = DType::int64, .items = std::vector<Value>(times, t<int64_t>({}, {n}))};
  };
  struct Row {
    std::vector<Value> in;
    Sequence sums;
  } rows[] = {
      {{numbers({1, 2, 3})}, numbers({1, 2, 3})},
      {{numbers({1, 2, 3}), scalar(10)}, numbers({11, 12, 13})},
      {{numbers({1, 2}), numbers({10, 20})}, numbers({11, 22})},
      {{numbers({1, 2}), scalar(5), numbers({10, 20})}, numbers({16, 27})},
      {{numbers({}), numbers({}), scalar(1)}, numbers({})},
  };
  for (const Row& row : rows) {
    const int inputs = static_cast<int>(row.in.size());
    const Sequence count = counts(inputs, row.sums.items.size());
    check(op::SequenceMap{adding(inputs)}, row.in, {row.sums, count});
    check(op::SequenceMap{adding(inputs)}, row.in, {row.sums});
    check(stated<op::SequenceMap>(17, {{"body", adding(inputs)}}), row.in, {row.sums, count});
  }
}

TEST_CASE("SequenceMap: errors") {
  const Value s = numbers({1, 2});
  check_fails(op::SequenceMap{}, {s}, "the body is missing");
  check_refused<op::SequenceMap>(17, {}, "attribute 'body' is required");
  check_fails(op::SequenceMap{adding(2)}, {s}, "with 1 inputs and 1 outputs, the body takes 2 values");
  check_fails(op::SequenceMap{adding(1)}, {s}, "with 1 inputs and 3 outputs", 3);
  check_fails(op::SequenceMap{adding(2)}, {s, numbers({1})}, "sequences of 2 and of 1 tensors");
  check_fails(op::SequenceMap{adding(2)}, {s, Value()}, "input 1 is missing");
  check_fails(op::SequenceMap{adding(1)}, {scalar(1)}, "input_sequence cannot be tensor(float)");
  check_fails(op::SequenceMap{adding(1)}, {}, "input input_sequence is missing");
  const auto lists = body(
      1, 1, [](auto) { return std::vector<op::Info>(1); },
      [](auto) { return std::vector<Value>{numbers({1})}; });
  check_fails(op::SequenceMap{lists}, {s}, "is not a tensor");
  check_fails(op::SequenceMap{lists}, {numbers({})}, "does not tell the types");
  const auto turns = body(
      1, 1, [](auto) { return std::vector<op::Info>(1); },
      [](auto in) { return std::vector<Value>{number(in[0]) < 2 ? in[0] : truth(true)}; });
  check_fails(op::SequenceMap{turns}, {s}, "result 0 of the body is tensor(bool), and was tensor(float)");
}

TEST_CASE("SequenceMap: extents, called") {
  op::Info s = info(DType::float32, {Dim::symbol(1), 2});
  s.type = Type(Kind::sequence, DType::float32);
  const auto out = infer(op::SequenceMap{adding(2)}, {s, info(DType::float32, {3})}, 2);
  CHECK(out[0].type == s.type);
  CHECK(out[0].dims == s.dims);
  CHECK(out[1].type == Type(Kind::sequence, DType::int64));
  CHECK(out[1].dims == Dims::of_rank(0));
  const Value mapped = op::SequenceMap{adding(2)}(Value(numbers({1, 2})), 3.0f);
  check_equal(mapped, numbers({4, 5}));
}
}  // namespace tenon
