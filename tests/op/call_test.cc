#include "tenon/op/framework/call.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

namespace {
/// A rule that gives a message set by the test, and a result of two floats.
struct Says {
  Dims dims;

  static constexpr op::Spec spec{.name = "Says",
                                 .since = {1, 3},
                                 .inputs = {{"x", "T"}},
                                 .outputs = {{"y", "T"}},
                                 .types = {{"T", {{1, types::float32}, {3, types::floats}}}}};
  static constexpr op::Attributes attributes{};

  constexpr void infer(op::Infer& i) const {
    i.out(0, dims);
    if (i.version() == 1) i.out(0).type = DType::float64;
  }
  Value compute(const AnyView) const { return t<float>({2}, {1, 2}); }
};

/// One that is given memory.
struct Planned {
  Dims dims;

  static constexpr op::Spec spec = Says::spec;
  static constexpr op::Attributes attributes{};

  constexpr void infer(op::Infer& i) const { i.out(0, dims); }
  void compute(AnyView x, AnyOut y) const {
    std::copy_n(x.as<float>().data(), y.size(), y.as<float>().data());
  }
};

/// One that refuses, a type or something else.
struct Refuses {
  bool type = false;

  static constexpr op::Spec spec = Says::spec;
  static constexpr op::Attributes attributes{};

  constexpr void infer(op::Infer& i) const {
    i.for_runs([&] { type ? i.fail_type("first") : i.fail("first"); });
    i.fail_type("second");
  }
  Value compute(const AnyView) const { return {}; }
};

/// The code of the error of a use on an operand.
template <class Op>
ErrorCode code_of(const Op& op, const Value& x, int version = 3) {
  try {
    run(op, {x}, 1, version);
  } catch (const Error& e) {
    return e.code();
  }
  FAIL("no error");
  return {};
}
}  // namespace

TEST_CASE("evaluate: results are what the rule said") {
  const Value x = t<float>({2}, {5, 6}), y = t<float>({2}, {1, 2}), d = t<double>({2}, {5, 6});
  check_equal(run(Says{{2}}, {x})[0], y);
  check_equal(run(Says{{Dim::symbol(1)}}, {x})[0], y);
  check_equal(run(Says{}, {x})[0], y);
  check_fails(Says{{3}}, {x}, "result 0 is tensor(float) (2), not what its rule said");
  check_fails(Says{{2, 1}}, {x}, "not what its rule said");
  check_fails(Says{{2}}, {d}, "result 0 is tensor(float) (2), not what its rule said");
  check_equal(run(Planned{{2}}, {x})[0], x);
  check_fails(Planned{{Dim::symbol(1)}}, {x}, "the extents of a result cannot be told from the operands");
  check_fails(Planned{}, {x}, "the extents of a result cannot be told from the operands");
}

TEST_CASE("a refusal of a type has a code of its own") {
  const Value x = t<float>({2}, {1, 2});
  CHECK(code_of(Says{.dims = {2}}, t<int64_t>({2}, {1, 2})) == ErrorCode::invalid_type);
  CHECK(code_of(Says{.dims = {2}}, x, 1) == ErrorCode::invalid_type);  // of the result
  CHECK(code_of(Says{.dims = {2}}, Value()) == ErrorCode::invalid_shape);
  CHECK(code_of(Refuses{.type = true}, x) == ErrorCode::invalid_type);
  CHECK(code_of(Refuses{}, x) == ErrorCode::invalid_type);
}

TEST_CASE("infer: results are of types that the version permits") {
  const Value x = t<float>({2}, {5, 6});
  check_fails(Says{{2}}, {x}, "output y cannot be tensor(double)", 1, 1);
  CHECK(infer(Says{{2}}, {info(DType::float32, {2})})[0].type == Type(DType::float32));
}
}  // namespace tenon
