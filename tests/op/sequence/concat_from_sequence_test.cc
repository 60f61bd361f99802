#include "tenon/op/sequence/concat_from_sequence.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ConcatFromSequence: cases") {
  using C = op::ConcatFromSequence;
  const Value a = t<float>({1, 2}, {1, 2}), b = t<float>({2, 2}, {3, 4, 5, 6}), x = t<float>({2}, {1, 2}),
              y = t<float>({2}, {3, 4});
  struct Row {
    C op;
    std::vector<Value> items;
    Value out;
  } rows[] = {
      {{.axis = 0}, {a, b}, t<float>({3, 2}, {1, 2, 3, 4, 5, 6})},
      {{.axis = -2}, {a, b, a}, t<float>({4, 2}, {1, 2, 3, 4, 5, 6, 1, 2})},
      {{.axis = 1}, {a, t<float>({1, 1}, {9})}, t<float>({1, 3}, {1, 2, 9})},
      {{.axis = 0}, {x}, x},
      {{.axis = 0}, {t<float>({0}, {}), x}, x},
      {{.axis = 0, .new_axis = 1}, {x, y}, t<float>({2, 2}, {1, 2, 3, 4})},
      {{.axis = 1, .new_axis = 1}, {x, y}, t<float>({2, 2}, {1, 3, 2, 4})},
      {{.axis = -1, .new_axis = 1}, {x, y}, t<float>({2, 2}, {1, 3, 2, 4})},
      {{.axis = -2, .new_axis = 1}, {x, y}, t<float>({2, 2}, {1, 2, 3, 4})},
      {{.axis = 0, .new_axis = 1}, {t<float>({}, {1}), t<float>({}, {2})}, t<float>({2}, {1, 2})},
      {{.axis = 0},
       {t<std::string>({1}, {"a"}), t<std::string>({1}, {"b"})},
       t<std::string>({2}, {"a", "b"})},
      {{.axis = 0, .new_axis = 1},
       {t<bool>({1}, {true}), t<bool>({1}, {false})},
       t<bool>({2, 1}, {true, false})},
  };
  for (const Row& row : rows)
    check(row.op, {Sequence{.element = row.items[0].type(), .items = row.items}}, {row.out});
}

TEST_CASE("ConcatFromSequence: errors") {
  using C = op::ConcatFromSequence;
  const auto of = [](std::vector<Value> items) {
    return Value(Sequence{.element = DType::float32, .items = std::move(items)});
  };
  const Value x = t<float>({2}, {1, 2}), y = t<float>({1}, {1}), m = t<float>({1, 2}, {1, 2});
  check_fails(C{}, {of({x})}, "axis is missing");
  check_fails(C{.axis = 0, .new_axis = 2}, {of({x})}, "new_axis: 2, expected 0 or 1");
  check_fails(C{.axis = 0}, {of({})}, "the sequence is empty");
  check_fails(C{.axis = 1}, {of({x})}, "axis 1 outside of [-1, 0]");
  check_fails(C{.axis = INT64_MIN}, {of({x})}, "outside of [-1, 0]");
  check_fails(C{.axis = 2, .new_axis = 1}, {of({x})}, "axis 2 outside of [-2, 1]");
  check_fails(C{.axis = 0}, {of({t<float>({}, {1})})}, "axis 0 outside");
  check_fails(C{.axis = 0}, {of({x, m})}, "tensors of (2) and (1,2)");
  check_fails(C{.axis = 0}, {of({m, t<float>({1, 1}, {1})})}, "tensors of (1,2) and (1,1)");
  check_fails(C{.axis = 0, .new_axis = 1}, {of({x, y})}, "tensors of (2) and (1)");
  const Value wide = t<float>({int64_t{1} << 62, 0}, {});
  check_fails(C{.axis = 0}, {of({wide, wide})}, "tensors of");
  check_fails(C{.axis = 0}, {x}, "input_sequence cannot be tensor(float)");
}

TEST_CASE("ConcatFromSequence: symbols, called") {
  op::Info s = info(DType::int8, {Dim::symbol(1), 2});
  s.type = Type(Kind::sequence, DType::int8);
  using C = op::ConcatFromSequence;
  CHECK(infer(C{.axis = -1}, {s})[0].dims == Dims{Dim::symbol(1), Dim::unknown()});
  CHECK(infer(C{.axis = -1, .new_axis = 1}, {s})[0].dims == Dims{Dim::symbol(1), 2, Dim::unknown()});
  CHECK(infer(C{.axis = 0}, {s})[0].type == Type(DType::int8));
  s.dims = {};
  CHECK_FALSE(infer(C{.axis = 7}, {s})[0].dims.ranked());
  s.dims = Dims::of_rank(max_rank);
  check_throws([&] { return infer(C{.axis = 0, .new_axis = 1}, {s}); }, "rank 17");
  const Value v = Sequence{.element = DType::float32, .items = {t<float>({1}, {7}), t<float>({1}, {8})}};
  check_equal(C{.axis = 0}(v), t<float>({2}, {7, 8}));
}
}  // namespace tenon
