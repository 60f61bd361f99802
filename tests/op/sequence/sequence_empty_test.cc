#include "tenon/op/sequence/sequence_empty.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("SequenceEmpty: cases") {
  for (DType d : {DType::float32, DType::bool_, DType::string, DType::complex128, DType::uint64}) {
    const op::SequenceEmpty op{.dtype = static_cast<int64_t>(d)};
    check(op, {}, {Sequence{.element = d, .items = {}}});
    CHECK(infer(op, {})[0].type == Type(Kind::sequence, d));
  }
  check(op::SequenceEmpty{}, {}, {Sequence{.element = DType::float32, .items = {}}});
  CHECK_FALSE(infer(op::SequenceEmpty{}, {})[0].dims.ranked());
  check_fails(op::SequenceEmpty{.dtype = 99}, {}, "attribute 'dtype' is 99, which is no type");
  check_fails(op::SequenceEmpty{.dtype = INT64_MIN}, {}, "which is no type");
  check_fails(op::SequenceEmpty{.dtype = static_cast<int64_t>(DType::bfloat16)}, {},
              "output output cannot be");
  const Value s = op::SequenceEmpty{.dtype = static_cast<int64_t>(DType::int8)}();
  CHECK(s.type() == Type(Kind::sequence, DType::int8));
}
}  // namespace tenon
