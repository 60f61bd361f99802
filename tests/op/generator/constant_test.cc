#include "tenon/op/generator/constant.hpp"

#include "tenon/graph/graph.hpp"
#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Constant: each attribute") {
  const Value x = t<float>({2, 1}, {1, 2});
  check(op::Constant{.value = {x}}, {}, {x});
  CHECK(run(op::Constant{.value = {x}}, {})[0].tensor().data() == x.tensor().data());  // shared
  check(op::Constant{.value = {x}}, {}, {x}, 0, 0, 1);
  for (int version : op::Constant::spec.since)
    check(stated<op::Constant>(version, {{"value", x}}), {}, {x}, 0, 0);
  check(op::Constant{.value_float = 1.5f}, {}, {t<float>({}, {1.5})});
  check(op::Constant{.value_floats = std::vector<float>{1, 2}}, {}, {t<float>({2}, {1, 2})});
  check(op::Constant{.value_floats = std::vector<float>{}}, {}, {t<float>({0}, {})});
  check(op::Constant{.value_int = 7}, {}, {t<int64_t>({}, {7})});
  check(op::Constant{.value_ints = std::vector<int64_t>{1, INT64_MIN}}, {},
        {t<int64_t>({2}, {1, INT64_MIN})});
  check(op::Constant{.value_string = std::string("a")}, {}, {t<std::string>({}, {"a"})});
  check(op::Constant{.value_strings = std::vector<std::string>{"a", ""}}, {},
        {t<std::string>({2}, {"a", ""})});
  const op::TypeVars all{{"T", types::all_ir13}};
  for_types(all[0], [&](DType d) {
    const Value p = pattern(d, {5});
    check_moved(run(op::Constant{.value = {p}}, {})[0].tensor(), p.tensor(), {5},
                [](const Extents& i) { return i[0]; });
  });
}

TEST_CASE("Constant: sparse tensors become dense") {
  auto sparse = [](Value values, Value indices, const Extents& extents) {
    return op::Constant{.sparse_value = {SparseTensor{values.tensor(), indices.tensor(), extents}}};
  };
  const Value two = t<float>({2}, {8, 9});
  check(sparse(two, t<int64_t>({2}, {1, 5}), {2, 3}), {}, {t<float>({2, 3}, {0, 8, 0, 0, 0, 9})});
  check(sparse(two, t<int64_t>({2, 2}, {0, 1, 1, 2}), {2, 3}), {}, {t<float>({2, 3}, {0, 8, 0, 0, 0, 9})});
  check(sparse(t<float>({0}, {}), t<int64_t>({0}, {}), {2}), {}, {t<float>({2}, {0, 0})});
  check(sparse(t<std::string>({1}, {"a"}), t<int64_t>({1}, {1}), {2}), {}, {t<std::string>({2}, {"", "a"})});
  check(sparse(cast<int4>({1}, {-3}), t<int64_t>({1}, {1}), {3}), {}, {cast<int4>({3}, {0, -3, 0})});
  check_fails(sparse(two, t<int64_t>({2}, {1, 6}), {2, 3}), {}, "index 6 outside of (2,3)");
  check_fails(sparse(two, t<int64_t>({2}, {-1, 1}), {2, 3}), {}, "index -1 outside of (2,3)");
  check_fails(sparse(two, t<int64_t>({2, 2}, {0, 1, 1, 3}), {2, 3}), {}, "index 3 outside of (2,3)");
  check_fails(sparse(two, t<int64_t>({1}, {1}), {2, 3}), {}, "indices (1) do not fit 2 values of (2,3)");
  check_fails(sparse(two, t<int64_t>({2, 1}, {1, 2}), {2, 3}), {}, "indices (2,1) do not fit");
  check_fails(sparse(two, t<int32_t>({2}, {1, 2}), {2, 3}), {}, "do not fit");
}

TEST_CASE("Constant: errors") {
  check_fails(op::Constant{}, {}, "states 0 values, not 1");
  check_fails(op::Constant{.value_float = 1.0f, .value_int = 1}, {}, "states 2 values, not 1");
  check_fails(op::Constant{}, {}, "states 0 values, not 1", 1, 1);
  for (int version : {1, 9}) check_refused<op::Constant>(version, {}, "attribute 'value' is required");
  check_refused<op::Constant>(9, {{"value_int", int64_t{1}}}, "version 9 has no attribute 'value_int'");
  check_fails(op::Constant{.value = {cast<int2>({1}, {1})}}, {}, "output cannot be tensor(int2)", 1, 24);
  check_fails(op::Constant{.value = {cast<bfloat16>({1}, {1})}}, {}, "output cannot be tensor(bfloat16)", 1,
              1);
  check(op::Constant{.value = {t<int64_t>({1}, {7})}}, {}, {t<int64_t>({1}, {7})}, 0, 0, 1);
  check(stated<op::Constant>(1, {{"value", t<int64_t>({1}, {7})}}), {}, {t<int64_t>({1}, {7})});
}

TEST_CASE("Constant: what the rule says") {
  auto r = infer(op::Constant{.value_ints = std::vector<int64_t>{4, 5}}, {})[0];
  CHECK((r.type == Type(DType::int64) && r.dims == Dims{2} && r.propagated[1].is(5)));
  r = infer(op::Constant{.value = {t<int32_t>({}, {3})}}, {})[0];
  CHECK((r.dims == Dims::of_rank(0) && r.propagated[0].is(3)));
  const Value many = pattern(DType::int64, {65});
  r = infer(op::Constant{.value = {many}}, {})[0];
  CHECK((!r.propagated.known() && r.dims == Dims{65}));
  r = infer(op::Constant{.sparse_value = {SparseTensor{
                             t<float>({0}, {}).tensor(), t<int64_t>({0}, {}).tensor(), {4}}}},
            {})[0];
  CHECK((r.type == Type(DType::float32) && r.dims == Dims{4}));
}

TEST_CASE("Constant: attributes by version") {
  check(stated<op::Constant>(12, {{"value_ints", ints{1, 2}}}), {}, {t<int64_t>({2}, {1, 2})});
  CHECK_THROWS_AS(stated<op::Constant>(11, {{"value_int", int64_t{1}}}), Error);
  CHECK_THROWS_AS(stated<op::Constant>(13, {{"value_int", 1.0f}}), Error);
}

TEST_CASE("Constant: called") { check_equal(op::Constant{.value_int = 3}(), t<int64_t>({}, {3})); }

TEST_CASE("Constant: an operand is refused in words") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {2});
  try {
    g.add_node({}, AnyOperator::make(op::Constant{.value_int = 1}), {x}, std::vector<std::string>(1));
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(std::string_view(e.what()).find("takes at most 0 inputs") != std::string_view::npos);
  }
}

}  // namespace tenon
