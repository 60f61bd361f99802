#include "tenon/op/com.microsoft/nhwc_conv.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using op::com_microsoft::NhwcConv;

namespace {
Value numbers(const Extents& extents) {
  Tensor<float> t(extents);
  for (int64_t i = 0; i < t.size(); ++i) t.data()[i] = static_cast<float>(i * 7 % 5 - 2);
  return t;
}
Value first(const Value& v) { return run(op::Transpose{.perm = {0, 3, 1, 2}}, {v})[0]; }
}  // namespace

TEST_CASE("com.microsoft.NhwcConv: Conv of transposed operands") {
  const Value x = numbers({2, 4, 5, 4}), w = numbers({6, 2, 3, 2}), b = numbers({6});
  const op::Conv conv{.dilations = {2, 1}, .group = 2, .pads = {1, 0, 1, 1}, .strides = {1, 2}};
  const NhwcConv op{.dilations = {2, 1}, .group = 2, .pads = {1, 0, 1, 1}, .strides = {1, 2}};
  const auto expected = [&](const std::vector<Value>& in) {
    return run(op::Transpose{.perm = {0, 2, 3, 1}}, run(conv, in));
  };
  check(op, {x, w, b}, expected({first(x), first(w), b}));
  check(op, {x, w}, expected({first(x), first(w)}));
}

TEST_CASE("com.microsoft.NhwcConv: one spatial axis") {
  const Value x = t<float>({1, 3, 1}, {1, 2, 3}), w = t<float>({1, 2, 1}, {1, 10});
  check(NhwcConv{}, {x, w}, {t<float>({1, 2, 1}, {21, 32})});
  check(NhwcConv{.auto_pad = "SAME_UPPER"}, {x, w}, {t<float>({1, 3, 1}, {21, 32, 3})});
}

TEST_CASE("com.microsoft.NhwcConv: extents and errors") {
  const Value x = t<float>({1, 3, 1}, {1, 2, 3}), w = t<float>({1, 2, 1}, {1, 10});
  CHECK(infer(NhwcConv{},
              {info(DType::float32, {Dim::symbol(1), 8, 8, 3}), info(DType::float32, {16, 3, 3, 3})})[0]
            .dims == Dims{Dim::symbol(1), 6, 6, 16});
  check_fails(NhwcConv{}, {x, t<float>({1, 1, 2}, {1, 2})}, "X has 1 channels, W 2 for each of 1 groups");
  check_fails(NhwcConv{}, {x, w, t<float>({2}, {1, 2})}, "B's extent and the output channels");
  check_fails(NhwcConv{.kernel_shape = {3}}, {x, w}, "W's extents and kernel_shape");
  check_fails(NhwcConv{.auto_pad = "SAME"}, {x, w}, "auto_pad");
}

TEST_CASE("com.microsoft.NhwcConv: typed") {
  const Value y = NhwcConv{}(Tensor<float, Shape<1, 3, 1>>({1, 3, 1}, {1, 2, 3}),
                             Tensor<float, Shape<1, 2, 1>>({1, 2, 1}, {1, 10}));
  CHECK(y.view<float>()[1] == 32);
}
}  // namespace tenon
