#include "tenon/op/generator/bernoulli.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/random.hpp"

namespace tenon {
using namespace test;
using B = op::Bernoulli;

TEST_CASE("Bernoulli: types and probabilities") {
  const auto probability = [](DType d, double p) {
    std::vector<double> list(20000, p);
    AnyTensor x = AnyTensor::uninitialized(d, {100, 200});
    convert_n(d, x.out().data(), DType::float64, list.data(), x.size());
    return Value(std::move(x));
  };
  for (DType d : {DType::float16, DType::float32, DType::float64, DType::bfloat16})
    for (double p : {0.0, 0.125, 0.5, 0.875, 1.0})
      for (const B& op : {B{}, B{.seed = 3.0f}}) {
        const Value out = run(op, {probability(d, p)})[0];
        CHECK(out.type() == Type(d));
        const double mean = moments(out).first;
        if (p == 0 || p == 1) CHECK(mean == p);
        else CHECK(std::abs(mean - p) <= 0.015);
      }
  for_types(B::spec.types[1], [&](DType d) {
    const Value out = run(B{.dtype = static_cast<int64_t>(d)}, {probability(DType::float32, 0.25)})[0];
    CHECK(out.type() == Type(d));
    CHECK(std::abs(moments(out).first - 0.25) <= 0.015);
  });
}

TEST_CASE("Bernoulli: a seed's numbers are numpy's") {
  const Value half = t<float>({8}, {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f});
  for (int version : {15, 22})
    check(B{.seed = 0.0f}, {half}, {t<float>({8}, {1, 1, 1, 1, 0, 1, 0, 1})}, 0, 0, version);
  // The draws 0.549, 0.715, 0.603, 0.545: 1 above 1 - p for p up to a half, else up to p; p = 0 takes none.
  check(B{.dtype = 9, .seed = 0.0f}, {t<double>({5}, {0.46, 0, 0.28, 0.61, 0.54})},
        {t<bool>({5}, {true, false, false, true, false})}, 0, 0);
  CHECK_FALSE(B::spec.deterministic);
}

TEST_CASE("Bernoulli: edges, refused, symbols, typed") {
  check(B{}, {t<float>({}, {1})}, {t<float>({}, {1})}, 0, 0);
  check(B{}, {t<float>({0, 2}, {})}, {t<float>({0, 2}, {})}, 0, 0);
  for (float p : {-0.1f, 1.5f, NAN, INFINITY}) check_fails(B{}, {t<float>({2}, {0, p})}, "outside of [0, 1]");
  check_fails(B{.dtype = 8}, {t<float>({1}, {1})}, "output cannot be tensor(string)");
  check_fails(B{.dtype = 50}, {t<float>({1}, {1})}, "'dtype' is 50, which is no type");
  check_fails(B{}, {cast<bfloat16>({1}, {1})}, "input cannot be tensor(bfloat16)", 1, 15);
  const auto n = Dim::symbol(1);
  const auto out = infer(B{.dtype = 6}, {info(DType::float16, {n, 3})});
  CHECK(out[0].dims == Dims{n, 3});
  CHECK(out[0].type == Type(DType::int32));
  auto y = apply<B{}>(Tensor<float, Shape<3>>{1, 0, 1});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<3>>>);
  CHECK((y(0) == 1 && y(1) == 0 && y(2) == 1));
}
}  // namespace tenon
