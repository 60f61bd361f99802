#include "tenon/op/generator/constant_fill.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ConstantFill: cases") {
  const Value none, two = t<int64_t>({2}, {2, 1});
  check(op::ConstantFill{.value = 3, .shape = {2}}, {none}, {t<float>({2}, {3, 3})});
  check(op::ConstantFill{.value = 3}, {none}, {t<float>({}, {3})});
  check(op::ConstantFill{.value = 3.7f, .dtype = dtype<int32_t>, .shape = {1, 2}}, {none},
        {t<int32_t>({1, 2}, {3, 3})});
  check(op::ConstantFill{.value = 3, .dtype = dtype<bool>, .shape = {1}}, {none}, {t<bool>({1}, {true})});
  check(op::ConstantFill{.value = -2, .dtype = dtype<int64_t>}, {two}, {t<int64_t>({2}, {-2, -2})});
  check(op::ConstantFill{.value = 5, .extra_shape = {2}}, {two}, {t<float>({2, 2}, {5, 5, 5, 5})});
  check(op::ConstantFill{.value = 5, .extra_shape = {2}, .input_as_shape = 1}, {two},
        {t<float>({2, 1, 2}, {5, 5, 5, 5})});
  check(op::ConstantFill{}, {t<bool>({0}, {})}, {t<float>({0}, {})});
  check(stated<op::ConstantFill>(1, {{"value", 2.0f}, {"dtype", int64_t{7}}, {"shape", ints{1}}}), {none},
        {t<int64_t>({1}, {2})});
  check_fails(op::ConstantFill{.shape = {1}}, {two}, "the attribute shape excludes an input");
  check_fails(op::ConstantFill{.extra_shape = {1}}, {none}, "extra_shape without an input");
  check_fails(op::ConstantFill{.shape = {-1}}, {none}, "extent: -1, expected at least 0");
  check_fails(op::ConstantFill{.dtype = 99}, {none}, "attribute 'dtype' is 99");
  check_fails(op::ConstantFill{.dtype = dtype<double>}, {none}, "output cannot be tensor(double)");
  check_fails(op::ConstantFill{.input_as_shape = 1}, {t<float>({1}, {1})},
              "input_as_shape: extents of type float");
  check_fails(op::ConstantFill{.input_as_shape = 1}, {t<int64_t>({1, 1}, {1})}, "input: rank 2, expected 1");
  const Dims symbols{Dim::symbol(1), 3};
  CHECK(infer(op::ConstantFill{.extra_shape = {4}}, {info(DType::float32, symbols)})[0].dims ==
        Dims{Dim::symbol(1), 3, 4});
}
}  // namespace tenon
