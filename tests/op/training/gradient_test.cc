#include "tenon/op/training/gradient.hpp"

#include "tests/op/check.hpp"

namespace tenon::test {
namespace {

op::Gradient gradient() { return {.xs = {"w", "b"}, .y = std::string("loss"), .zs = {"x"}}; }

TEST_CASE("Gradient: results are of the types and extents of xs") {
  const std::vector<op::Info> in{info(DType::float64, {2, Dim::symbol(1)}),
                                 info(DType::float32, Dims::of_rank(0)), info(DType::int64, {3})};
  const std::vector<op::Info> out = infer(gradient(), in, 2);
  CHECK(out[0].type == Type(DType::float64));
  CHECK(out[0].dims == Dims{2, Dim::symbol(1)});
  CHECK(out[1].type == Type(DType::float32));
  CHECK(out[1].dims == Dims::of_rank(0));
}

TEST_CASE("Gradient refuses") {
  const Value x = t<float>({2}, {1, 2});
  check_fails(gradient(), {x, x, x}, "differentiates the graph around it, and has none", 2);
  check_fails(gradient(), {x, x}, "has 2 inputs for 2 xs and 1 zs", 1);
  check_fails(gradient(), {x, x, x}, "has 3 outputs for 2 xs", 3);
  check_fails(op::Gradient{.y = std::string("y")}, {x}, "xs names no value");
  check_fails(op::Gradient{.xs = {"x"}}, {x}, "y names no value");
}

}  // namespace
}  // namespace tenon::test
