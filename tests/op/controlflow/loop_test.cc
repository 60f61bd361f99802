#include "tenon/op/controlflow/loop.hpp"

#include "tests/op/controlflow/body.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

namespace {

const Value absent;
Value count(int64_t n) { return t<int64_t>({}, {n}); }

/// State x (float scalar) doubles; goes on while x < bound; the scan output is (iteration, x before).
op::BodyRef doubling(float bound) {
  return body(
      3, 3,
      [](auto in) {
        return std::vector<op::Info>{info(DType::bool_, Dims::of_rank(0)), in[2], info(DType::float32, {2})};
      },
      [bound](auto in) {
        const float x = number(in[2]);
        const auto i = static_cast<float>(in[0].template view<int64_t>().item());
        return std::vector<Value>{truth(2 * x < bound), scalar(2 * x), t<float>({2}, {i, x})};
      });
}

}  // namespace

TEST_CASE("Loop: trip count and condition in every combination") {
  struct Row {
    Value m, cond;
    float bound, last;
    Value scan;
  } rows[] = {
      {count(2), truth(true), 1000, 4, t<float>({2, 2}, {0, 1, 1, 2})},
      {count(9), truth(true), 5, 8, t<float>({3, 2}, {0, 1, 1, 2, 2, 4})},
      {absent, truth(true), 5, 8, t<float>({3, 2}, {0, 1, 1, 2, 2, 4})},
      {t<int64_t>({1}, {3}), t<bool>({1}, {true}), 1000, 8, t<float>({3, 2}, {0, 1, 1, 2, 2, 4})},
      // Without cond, the body's condition does not count.
      {count(3), absent, 0, 8, t<float>({3, 2}, {0, 1, 1, 2, 2, 4})},
      // No iteration at all: the body's rule gives the extents.
      {count(0), truth(true), 1000, 1, t<float>({0, 2}, {})},
      {count(0), absent, 1000, 1, t<float>({0, 2}, {})},
      {count(-5), absent, 1000, 1, t<float>({0, 2}, {})},
      {count(3), truth(false), 1000, 1, t<float>({0, 2}, {})},
      {absent, truth(false), 1000, 1, t<float>({0, 2}, {})},
  };
  for (const Row& row : rows) {
    const op::BodyRef b = doubling(row.bound);
    check(op::Loop{b}, {row.m, row.cond, scalar(1)}, {scalar(row.last), row.scan});
    for (int version : op::Loop::spec.since) {
      check(op::Loop{b}, {row.m, row.cond, scalar(1)}, {scalar(row.last), row.scan}, 0, 0, version);
      check(stated<op::Loop>(version, {{"body", b}}), {row.m, row.cond, scalar(1)},
            {scalar(row.last), row.scan}, 0, 0);
    }
  }
}

TEST_CASE("Loop: the body sees the condition, and states of changing extents") {
  // Each iteration appends its number to the state.
  const auto b = body(
      3, 2,
      [](auto in) {
        op::Info grown = in[2];
        if (grown.dims.ranked()) grown.dims[0] = grown.dims[0] + Dim(1);
        return std::vector<op::Info>{in[1], grown};
      },
      [](auto in) {
        CHECK(in[1].template view<bool>().item());
        const auto x = in[2].template view<int64_t>();
        Tensor<int64_t> y(Extents{x.size() + 1});
        std::copy_n(x.begin(), x.size(), y.begin());
        y[x.size()] = in[0].template view<int64_t>().item();
        return std::vector<Value>{in[1], y};
      });
  check(op::Loop{b}, {count(3), truth(true), t<int64_t>({1}, {7})}, {t<int64_t>({4}, {7, 0, 1, 2})});
  check(op::Loop{b}, {count(1), absent, t<int64_t>({0}, {})}, {t<int64_t>({1}, {0})});
  const auto out = infer(op::Loop{b}, {info(DType::int64, Dims::of_rank(0)), {}, info(DType::int64, {1})});
  CHECK(out[0].dims == Dims{Dim::unknown()});
  CHECK(out[0].type == Type(DType::int64));
}

TEST_CASE("Loop: sequences and optionals as states, packed and text scan outputs") {
  const auto b = body(
      3, 4,
      [](auto in) {
        return std::vector<op::Info>{in[1], in[2], info(DType::int4, {3}),
                                     info(DType::string, Dims::of_rank(0))};
      },
      [](auto in) {
        Sequence s = in[2].sequence();
        s.items.push_back(t<float>({1}, {static_cast<float>(s.items.size())}));
        const auto i = static_cast<double>(in[0].template view<int64_t>().item());
        return std::vector<Value>{in[1], s, cast<int4>({3}, {i, i + 1, -i}),
                                  t<std::string>({}, {std::string(30, 'a')})};
      });
  const Value empty = Sequence{.element = DType::float32, .items = {}};
  const Value full = Sequence{.element = DType::float32, .items = {t<float>({1}, {0}), t<float>({1}, {1})}};
  const std::string a(30, 'a');
  check(op::Loop{b}, {count(2), absent, empty},
        {full, cast<int4>({2, 3}, {0, 1, 0, 1, 2, -1}), t<std::string>({2}, {a, a})});
  check(op::Loop{b}, {count(0), absent, empty}, {empty, cast<int4>({0, 3}, {}), t<std::string>({0}, {})});

  const auto pass = body(
      3, 2, [](auto in) { return std::vector<op::Info>{in[1], in[2]}; },
      [](auto in) { return std::vector<Value>{in[1], in[2]}; });
  const Value some =
      OptionalValue{.element = DType::float32, .value = std::make_shared<const Value>(scalar(1))};
  check(op::Loop{pass}, {count(2), absent, some}, {some});
  check(op::Loop{pass}, {count(2), absent, cast<float8e8m0>({1}, {2})}, {cast<float8e8m0>({1}, {2})});
}

TEST_CASE("Loop: a body that declares its scalars as one element of rank 1") {
  class Declaring final : public FunctionBody {
   public:
    using FunctionBody::FunctionBody;
    Dims declared_dims(int input) const override { return input == 0 ? Dims{1} : Dims::of_rank(0); }
  };
  const op::BodyRef b{std::make_shared<const Declaring>(
      2, 2, [](auto in) { return std::vector<op::Info>{in[1], in[0]}; },
      [](auto in) { return std::vector<Value>{in[1], in[0]}; })};
  check(op::Loop{b}, {count(3)}, {t<int64_t>({3, 1}, {0, 1, 2})});
}

TEST_CASE("Loop: a body that gives what an optional state holds") {
  // It takes an optional in every run, and counts the runs in which there was a value.
  const auto b = body(
      3, 2,
      [](auto in) {
        CHECK(in[2].type == Type(Kind::optional, DType::float32));
        return std::vector<op::Info>{in[1], info(DType::float32, Dims::of_rank(0))};
      },
      [](auto in) {
        REQUIRE(in[2].is_optional());
        const auto& held = in[2].optional().value;
        return std::vector<Value>{in[1], scalar(held ? number(*held) + 1 : 0)};
      });
  const Value empty = OptionalValue{.element = DType::float32, .value = nullptr};
  for (int64_t trips : {1, 2, 3})
    check(op::Loop{b}, {count(trips), truth(true), empty}, {scalar(static_cast<float>(trips - 1))});
  check(op::Loop{b}, {count(0), truth(true), empty}, {empty});
  op::Info state = info(DType::float32, {});
  state.type = Type(Kind::optional, DType::float32);
  const auto type_after = [&](op::PropagatedData trips) {
    return infer(op::Loop{b}, {info(DType::int64, Dims::of_rank(0), trips), {}, state})[0].type;
  };
  CHECK(type_after({2}) == Type(DType::float32));
  CHECK(type_after({0}).kind == Kind::unknown);
  CHECK(type_after({}).kind == Kind::unknown);
}

TEST_CASE("Loop: without states, and without scan outputs") {
  const auto b = body(
      2, 2, [](auto in) { return std::vector<op::Info>{in[1], in[0]}; },
      [](auto in) { return std::vector<Value>{in[1], in[0]}; });
  check(op::Loop{b}, {count(3)}, {t<int64_t>({3}, {0, 1, 2})});
  check(op::Loop{b}, {count(3), truth(true)}, {t<int64_t>({3}, {0, 1, 2})});
  CHECK(infer(op::Loop{b}, {info(DType::int64, Dims::of_rank(0), {4})})[0].dims == Dims{4});
  CHECK(infer(op::Loop{b}, {info(DType::int64, Dims::of_rank(0), {-4})})[0].dims == Dims{0});
  CHECK(
      infer(op::Loop{b}, {info(DType::int64, Dims::of_rank(0), {4}), info(DType::bool_, Dims::of_rank(0))})[0]
          .dims == Dims{Dim::unknown()});
}

TEST_CASE("Loop: errors") {
  const op::BodyRef b = doubling(10);
  check_fails(op::Loop{}, {count(1), absent, scalar(1)}, "the body is missing", 2);
  check_fails(op::Loop{b}, {absent, absent, scalar(1)}, "the loop has no end", 2);
  check_fails(op::Loop{b}, {count(1), absent},
              "with 0 states and 2 outputs, the body takes 3 values and returns 3", 2);
  check_fails(op::Loop{b}, {count(1), absent, scalar(1), scalar(1)}, "with 2 states", 2);
  check_fails(op::Loop{b}, {count(1), absent, scalar(1)}, "with 1 states and 3 outputs", 3);
  check_fails(op::Loop{b}, {t<int64_t>({2}, {1, 2}), absent, scalar(1)}, "M: (2), expected one element", 2);
  check_fails(op::Loop{b}, {count(1), t<bool>({0}, {}), scalar(1)}, "cond: (0), expected one element", 2);
  check_fails(op::Loop{b}, {count(1), absent, Sequence{.element = DType::float32, .items = {}}},
              "v_initial cannot be", 2, 11);
  check_fails(op::Loop{b}, {count(1), absent, Sequence{.element = DType::float32, .items = {}}},
              "v_initial cannot be", 2, 1);
  check_fails(op::Loop{b}, {count(1), absent}, "input v_initial is missing", 2, 1);
  check_refused<op::Loop>(1, {}, "attribute 'body' is required");
  const auto turns = body(
      3, 2, [](auto in) { return std::vector<op::Info>{in[1], info(DType::int64, {1})}; },
      [](auto in) { return std::vector<Value>{in[1], in[2]}; });
  check_fails(op::Loop{turns}, {count(1), absent, scalar(1)}, "state 0 changes its type in the body");
  const auto grows = body(
      2, 2, [](auto in) { return std::vector<op::Info>{in[1], info(DType::float32, {Dim::unknown()})}; },
      [](auto in) {
        return std::vector<Value>{in[1], Tensor<float>(Extents{in[0].template view<int64_t>().item()})};
      });
  check_fails(op::Loop{grows}, {count(2)},
              "one iteration returns tensor(float) (1), the first tensor(float) (0)");
  const auto untyped = body(
      2, 2, [](auto in) { return std::vector<op::Info>{in[1], {}}; },
      [](auto in) { return std::vector<Value>{in[1], in[0]}; });
  check_fails(op::Loop{untyped}, {count(0)}, "does not tell the types");
}

TEST_CASE("Loop: results outlive operands that are lent") {
  const auto pass = body(
      3, 2, [](auto in) { return std::vector<op::Info>{in[1], in[2]}; },
      [](auto in) { return std::vector<Value>{in[1], in[2]}; });
  for (int64_t trips : {0, 2}) {
    Value result;
    {
      Tensor<float, Shape<2>> x{1, 2};
      result = op::Loop{pass}(trips, none, x.view());
      x[0] = 0;
    }
    check_equal(result, t<float>({2}, {1, 2}));
  }
}
}  // namespace tenon
