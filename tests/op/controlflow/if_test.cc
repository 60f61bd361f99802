#include "tenon/op/controlflow/if.hpp"

#include "tests/op/controlflow/body.hpp"

namespace tenon {
using namespace test;

namespace {
op::BodyRef gives(std::vector<Value> values) {
  std::vector<op::Info> infos;
  for (const Value& v : values) infos.push_back(op::info_of(v)), infos.back().data = nullptr;
  const int n = static_cast<int>(values.size());
  return body(0, n, [infos](auto) { return infos; }, [values](auto) { return values; });
}
op::BodyRef fails(int outputs) {
  return body(
      0, outputs,
      [](auto) -> std::vector<op::Info> { throw Error(ErrorCode::invalid_shape, "branch", "does not fit"); },
      [](auto) -> std::vector<Value> { throw Error(ErrorCode::invalid_shape, "branch", "does not run"); });
}
}  // namespace

TEST_CASE("If: the branch that cond names") {
  const Value a = t<float>({2}, {1, 2}), b = t<float>({3}, {3, 4, 5});
  const Value s = Sequence{.element = DType::float32, .items = {a, b}},
              none = Sequence{.element = DType::float32, .items = {}};
  const Value full = OptionalValue{.element = DType::float32, .value = std::make_shared<const Value>(a)};
  const Value empty = OptionalValue{.element = DType::float32, .value = nullptr};
  struct Row {
    std::vector<Value> then_values, else_values;
    int version;
  } rows[] = {
      {{a}, {b}, 1},
      {{a, t<int64_t>({}, {1})}, {b, t<int64_t>({}, {2})}, 11},
      {{s}, {none}, 13},
      {{full}, {empty}, 16},
      {{cast<float8e5m2>({1}, {1})}, {cast<float8e5m2>({1}, {2})}, 19},
      {{cast<int4>({3}, {1, 2, 3})}, {cast<int4>({3}, {4, 5, 6})}, 21},
      {{cast<int2>({3}, {1, 0, 1})}, {cast<int2>({1}, {-1})}, 25},
      {{t<std::string>({1}, {"yes"})}, {t<std::string>({1}, {"no"})}, 25},
  };
  for (const Row& row : rows) {
    const op::If op{.else_branch = gives(row.else_values), .then_branch = gives(row.then_values)};
    for (const Value& cond : {truth(true), t<bool>({1}, {true})})
      check(op, {cond}, row.then_values, 0, 0, row.version);
    check(op, {truth(false)}, row.else_values, 0, 0, row.version);
  }
}

TEST_CASE("If: what does not run need not fit") {
  const op::If op{.else_branch = fails(1), .then_branch = gives({scalar(1)})};
  check(op, {truth(true)}, {scalar(1)});
  check_fails(op, {truth(false)}, "does not fit");
}

TEST_CASE("If: types and extents of both branches") {
  const auto cond = info(DType::bool_, Dims::of_rank(0));
  const auto known = [&](bool v) { return info(DType::bool_, Dims::of_rank(0), {v}); };
  const op::If op{.else_branch = gives({t<float>({2, 3}, {1, 2, 3, 4, 5, 6})}),
                  .then_branch = gives({t<float>({2, 1}, {1, 2})})};
  CHECK(infer(op, {cond})[0].dims == Dims{2, Dim::unknown()});
  CHECK(infer(op, {cond})[0].type == Type(DType::float32));
  CHECK(infer(op, {known(true)})[0].dims == Dims{2, 1});
  CHECK(infer(op, {known(false)})[0].dims == Dims{2, 3});
  const op::If half{.else_branch = gives({scalar(1)}), .then_branch = fails(1)};
  CHECK(infer(half, {cond})[0].type == Type(DType::float32));
  CHECK_FALSE(infer(half, {cond})[0].dims.ranked());
  CHECK_THROWS_AS(infer(op::If{.else_branch = fails(1), .then_branch = fails(1)}, {cond}), Error);
  CHECK_THROWS_AS(
      infer(op::If{.else_branch = gives({scalar(1)}), .then_branch = gives({truth(true)})}, {cond}), Error);
}

TEST_CASE("If: errors") {
  const auto one = gives({scalar(1)}), two = gives({scalar(1), scalar(2)});
  const auto takes =
      body(1, 1, [](auto) { return std::vector<op::Info>(1); }, [](auto) { return std::vector<Value>(1); });
  const auto lies =
      body(0, 1, [](auto) { return std::vector<op::Info>(1); }, [](auto) { return std::vector<Value>(2); });
  check_fails(op::If{}, {truth(true)}, "a branch is missing");
  check_fails(op::If{.else_branch = one, .then_branch = two}, {truth(true)},
              "has 1 outputs, then_branch 2, else_branch 1");
  check_fails(op::If{.else_branch = one, .then_branch = one}, {truth(true)}, "has 2 outputs", 2);
  check_fails(op::If{.else_branch = one, .then_branch = takes}, {truth(true)}, "a branch takes inputs");
  check_fails(op::If{.else_branch = one, .then_branch = lies}, {truth(true)},
              "the body returns 2 values, not 1");
  check_fails(op::If{.else_branch = one, .then_branch = one}, {t<bool>({2}, {true, false})},
              "cond: (2), expected one element");
  check_fails(op::If{.else_branch = one, .then_branch = one}, {scalar(1)}, "cond cannot be tensor(float)");
}

TEST_CASE("If: called, with memory that is only lent") {
  Value result;
  {
    float x = 7;
    const Value lent = op::lent(TensorView<const float>(&x, {}));
    result = op::If{.else_branch = gives({scalar(1)}), .then_branch = gives({lent})}(true);
    x = 0;
  }
  CHECK(number(result) == 7);
}
}  // namespace tenon
