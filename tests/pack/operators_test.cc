// The pack's operators by themselves: tables of cases, as ONNX's operators have them.
#include "tenon/op/example.pack.hpp"
#include "tests/op/check.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;
using namespace op::example_pack;

TEST_CASE("Saturate: cases") {
  check(Saturate{}, {t<float>({2, 2}, {0, 1, -3, 1e30f})}, {t<float>({2, 2}, {0, 0.5f, -0.75f, 1})});
  check(Saturate{.bias = 2, .scale = 4}, {t<float>({}, {2})}, {t<float>({}, {2})});
  check(Saturate{}, {t<float>({0}, {})}, {t<float>({0}, {})});
  check(stated<Saturate>(1, {{"bias", 3.0f}}), {t<float>({1}, {1})}, {t<float>({1}, {0.25f})});
  check_refused<Saturate>(1, {{"scale", 3.0f}}, "has no attribute 'scale'");
  check_fails(Saturate{.bias = 0}, {t<float>({1}, {1})}, "bias has to be above 0");
  CHECK(infer(Saturate{}, {info(DType::float32, {2, Dim::symbol(1)})})[0].dims == Dims{2, Dim::symbol(1)});
  CHECK(Saturate{.bias = 2}(2.0f).item() == 0.5f);
}

TEST_CASE("Gate: cases") {
  check(Gate{}, {t<float>({2}, {1, -3})}, {t<float>({2}, {0.5f, 2.25f})});
  check(Gate{.factor = 4}, {t<float>({2}, {1, -3}), t<float>({1}, {1})}, {t<float>({2}, {2, -6})});
  check_fails(Gate{}, {t<float>({2}, {1, -3}), t<float>({3}, {1, 1, 1})}, "do not broadcast");
  check_fails(Gate{}, {t<int64_t>({2}, {1, -3})}, "cannot be tensor(int64)");
  CHECK(infer(Gate{}, {info(DType::float32, {2, 1}), info(DType::float32, {3})})[0].dims == Dims{2, 3});
}
}  // namespace tenon
