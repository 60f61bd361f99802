#include "tenon/array/math.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "tenon/array/slice.hpp"
#include "tenon/op/math/gelu.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/leaky_relu.hpp"
#include "tenon/op/sequence/sequence_construct.hpp"

namespace tenon {
namespace {

template <class T, class S>
std::vector<T> list(const Tensor<T, S>& t) {
  return std::vector<T>(t.begin(), t.end());
}
using Floats = std::vector<float>;
using Ints64 = std::vector<int64_t>;
template <class T, class... A>
inline constexpr bool is = (std::is_same_v<T, std::remove_cvref_t<A>> && ...);

TEST_CASE("functions of tensors have static extents where axes are static") {
  const Tensor<float, Shape<2, 3>> x{{1, 5, 3}, {4, 2, 6}};
  const Tensor<float> any = x.clone();
  static_assert(is<Tensor<float, Shape<>>, decltype(sum(x)), decltype(max(x))>);
  static_assert(
      is<Tensor<float, Shape<2>>, decltype(sum<1>(x)), decltype(mean<-1>(x)), decltype(min<1>(x + 1))>);
  static_assert(is<Tensor<float, Shape<2, 1>>, decltype(sum<1>(x, keepdims)), decltype(max<1>(x, keepdims))>);
  static_assert(is<Tensor<float, Shape<dyn>>, decltype(sum(x, {1}))>);
  static_assert(is<Tensor<int64_t, Shape<2>>, decltype(argmax<1>(x))>);
  static_assert(is<Tensor<float, Shape<2, 3>>, decltype(softmax(x)), decltype(log_softmax<0>(x)),
                   decltype(clip(x, 1, 4))>);
  static_assert(is<Tensor<float, Shape<3, 2>>, decltype(transpose(x)), decltype(transpose<1, 0>(x)),
                   decltype(reshape<3, -1>(x)), decltype(reshape<Shape<3, 2>>(x)),
                   decltype(reshape<Shape<dyn, 2>>(x))>);
  static_assert(is<Tensor<float, Shape<2, 3, 1>>, decltype(reshape<Shape<2, 3, 1>>(x + 1))>);
  static_assert(is<Tensor<int32_t, Shape<2, 3>>, decltype(cast<int32_t>(x))>);
  static_assert(is<Tensor<float, Shape<2, 2>>, decltype(matmul(x, transpose(x)))>);

  CHECK(tenon::any(x == 6));
  CHECK(!tenon::any(x > 6));
  CHECK(sum(x).item() == 21);
  CHECK(list(sum<0>(x)) == Floats{5, 7, 9});
  CHECK(list(sum(x, {1})) == Floats{9, 12});
  CHECK(list(sum(x, {0, 1}, keepdims)) == Floats{21});
  CHECK(list(mean<1>(x)) == Floats{3, 4});
  CHECK(list(prod<1>(x)) == Floats{15, 48});
  CHECK(list(max<0>(x)) == Floats{4, 5, 6});
  CHECK(list(max(x, {0})) == Floats{4, 5, 6});
  CHECK(list(eval(max(x, 4))) == Floats{4, 5, 4, 4, 4, 6});
  CHECK(list(min<0>(any)) == Floats{1, 2, 3});
  CHECK(list(argmax<1>(x)) == Ints64{1, 2});
  CHECK(list(argmin(x, 0)) == Ints64{0, 1, 0});
  CHECK(list(clip(x, 2, 4)) == Floats{2, 4, 3, 4, 2, 4});
  const Tensor<float16> half({2}, {float16(0.5f), float16(3.0f)});
  CHECK(float(clip(half, 1, 2)[0]) == 1);
  CHECK(float(op::Add{}(half, float16(1.5f))[1]) == 4.5f);
  CHECK(list(reshape(x, {3, -1})) == Floats{1, 5, 3, 4, 2, 6});
  CHECK(list(reshape<Shape<3, 2>>(x)) == list(reshape<3, 2>(x)));
  CHECK(list(reshape<Shape<6>>(any)) == list(x));
  CHECK_THROWS_AS(reshape<Shape<4>>(any), Error);
  // An extent of 0 is 0, and not the tensor's.
  CHECK_THROWS_WITH_AS(reshape(any, {0, 3}), doctest::Contains("Reshape: (2,3) cannot become (0,3)"), Error);
  const Tensor<float, Shape<2, 0>> none;
  static_assert(is<Tensor<float, Shape<0, 5>>, decltype(reshape<0, 5>(none))>);
  CHECK(reshape(none, {0, 5}).extent(1) == 5);
  CHECK(reshape(none, {3, -1}).extent(1) == 0);
  CHECK(list(transpose(x)) == Floats{1, 4, 5, 2, 3, 6});
  CHECK(list(cast<int64_t>(x / 2)) == Ints64{0, 2, 1, 2, 1, 3});
  Tensor<float, Shape<2>> gone;
  const auto elsewhere = std::move(gone);
  CHECK_THROWS_WITH_AS(cast<int32_t>(gone), "Cast: input input is missing", Error);
  const Tensor<float> odd(Extents{7}, {NAN, INFINITY, -1e20f, -0.5f, 300.7f, 1e-40f, 0});
  CHECK(list(cast<int32_t>(odd)) == list(apply<op::Cast{.to = dtype<int32_t>}>(odd)));
  CHECK(list(cast<uint8_t>(odd)) == list(apply<op::Cast{.to = dtype<uint8_t>}>(odd)));
  CHECK(list(cast<bool>(odd)) == list(apply<op::Cast{.to = dtype<bool>}>(odd)));
  CHECK(list(matmul(slice(x, all, range(0, 2)), Tensor<float, Shape<2>>{1, 10})) == Floats{51, 24});
  CHECK_THROWS_AS(sum(any, {2}), Error);
  CHECK_THROWS_AS(argmax(any, 2), Error);
  CHECK_THROWS_AS(matmul(any, any), Error);
}

TEST_CASE("operators take expressions and slices") {
  const Tensor<float, Shape<2, 3>> x{{1, 5, 3}, {4, 2, 6}};
  const Tensor<float> any = x.clone();
  static_assert(is<Tensor<float, Shape<2, 3>>, decltype(op::Add{}(x * 2, x))>);
  static_assert(is<Tensor<float, Shape<2>>, decltype(op::Add{}(x(all, 0), x(all, 1) * 2))>);
  static_assert(is<Tensor<float, Shape<2, 1>>,
                   decltype(apply<op::ReduceSum{}>(x(all, range<0, 2>()) - 1, constant<int64_t, 1>))>);
  static_assert(is<Tensor<float>, decltype(op::Add{}(any + 1, 2.0f))>);
  CHECK(list(op::Add{}(x(all, 0), x(all, 1) * 2)) == Floats{11, 8});
  CHECK(list(op::Clip{}(x * 2, none, x(0, 0) * 4)) == Floats{2, 4, 4, 4, 4, 4});
  CHECK(list(op::MatMul{}(x - 1, transpose(x))) == list(matmul(eval(x - 1), transpose(x))));
  const Value v = x * 2, sum = op::Add{}(v, x + 1);
  CHECK(list(sum.as<float>()) == Floats{4, 16, 10, 13, 7, 19});
  CHECK_THROWS_AS(op::MatMul{}(any * 2, any), Error);

  // The results of a call without types share their operands' elements, and outlive them.
  const Value pair = op::SequenceConstruct{}(x + 1, x.clone());
  CHECK(pair.sequence().items[0].view<float>()(1, 2) == 7);
  CHECK(pair.sequence().items[1].view<float>()(1, 2) == 6);
}

TEST_CASE("an elementwise operator of one operand leaves it its extents, whatever its attributes") {
  const Tensor<float, Shape<2, 3>> x{{1, 5, 3}, {4, 2, 6}};
  static_assert(is<Tensor<float, Shape<2, 3>>, decltype(op::Gelu{}(x)),
                   decltype(op::Softmax{.axis = 0}(x * 2)), decltype(op::LeakyRelu{.alpha = 0.5f}(x))>);
  static_assert(is<Tensor<float, Shape<dyn, 3>>, decltype(op::Gelu{}(Tensor<float, Shape<dyn, 3>>()))>);
  static_assert(is<Tensor<float>, decltype(op::Gemm{}(x, x))>);
  CHECK(list(op::LeakyRelu{.alpha = 0.5f}(-x)) == Floats{-0.5f, -2.5f, -1.5f, -2, -1, -3});
  CHECK_THROWS_WITH_AS(op::Softmax{.axis = 2}(x), doctest::Contains("axis 2 outside"), Error);
}

TEST_CASE("a program reads as its formula") {
  const Tensor<float, Shape<dyn, 2>> x({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  const Tensor<float, Shape<dyn, 1>> y({4, 1}, {1, 3, 4, 6});  // 3 a + 2 b + 1
  Tensor<float, Shape<2, 1>> w;
  Tensor<float, Shape<1>> b;
  for (int step = 0; step < 2000; ++step) {
    const Tensor<float, Shape<dyn, 1>> error = matmul(x, w) + b - y;
    w -= 0.1f * matmul(transpose(x), error);
    b -= 0.1f * sum<0>(error);
  }
  CHECK(w[0] == doctest::Approx(3));
  CHECK(w[1] == doctest::Approx(2));
  CHECK(b[0] == doctest::Approx(1));
}

}  // namespace
}  // namespace tenon
