#include "tenon/op/generator/given_tensor_fill.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("GivenTensorFill: cases") {
  const Value none;
  check(op::GivenTensorFill{.values = {1, 2}, .shape = {1, 2}}, {none}, {t<float>({1, 2}, {1, 2})});
  check(op::GivenTensorFill{.values = {1}}, {none}, {t<float>({}, {1})});
  check(op::GivenTensorFill{.values = {1, 2.5f}}, {t<double>({2}, {7, 8})}, {t<double>({2}, {1, 2.5})});
  check(op::GivenTensorFill{.values = {1, 2}, .extra_shape = {2}}, {cast<float16>({1}, {7})},
        {cast<float16>({1, 2}, {1, 2})});
  check(stated<op::GivenTensorFill>(1, {{"values", std::vector<float>{4}}, {"shape", ints{1}}}), {none},
        {t<float>({1}, {4})});
  check_fails(op::GivenTensorFill{.values = {1}, .shape = {2}}, {none}, "1 values for the extents (2)");
  check_fails(op::GivenTensorFill{.values = {1}, .shape = {1}}, {t<float>({1}, {1})},
              "the attribute shape excludes an input");
  check_fails(op::GivenTensorFill{.values = {1}, .input_as_shape = 1}, {t<float>({1}, {1})},
              "input_as_shape: extents of type float");
  CHECK(infer(op::GivenTensorFill{.values = {1}}, {info(DType::float64, {Dim::symbol(1)})})[0].dims ==
        Dims{Dim::symbol(1)});
}
}  // namespace tenon
