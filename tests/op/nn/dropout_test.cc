#include "tenon/op/nn/dropout.hpp"

#include "tenon/base/convert.hpp"
#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Dropout: without training") {
  const Value x = t<float>({2}, {1, -2}), all = t<bool>({2}, {true, true}), half = t<float>({}, {0.5});
  for (int version : {12, 13, 22}) {
    check(op::Dropout{}, {x}, {x, all}, 0, 0, version);
    check(op::Dropout{}, {x, half}, {x}, 0, 0, version);
    check(op::Dropout{}, {x, half, t<bool>({}, {false})}, {x, all}, 0, 0, version);
  }
  const Value ones = t<float>({2}, {1, 1});
  check(op::Dropout_1{.is_test = 1}, {x}, {x, all}, 0, 0, 10);
  check(stated<op::Dropout_1>(10), {x}, {x, all});
  check(stated<op::Dropout_1>(7), {x}, {x, ones});
  for (int version : {1, 6, 7}) check(op::Dropout_1{.is_test = 1}, {x}, {x, ones}, 0, 0, version);
  for (int version : {1, 6}) check(stated<op::Dropout_1>(version, {{"is_test", int64_t{1}}}), {x}, {x, ones});
  check(stated<op::Dropout_1>(7), {cast<float16>({1}, {2})},
        {cast<float16>({1}, {2}), cast<float16>({1}, {1})});
  // Without the mask a newest node stands in their place.
  for (int version : {1, 6}) check(stated<op::Dropout_1>(version, {{"is_test", int64_t{1}}}), {x}, {x});
  for (int version : {7, 10}) check(stated<op::Dropout_1>(version, {{"ratio", 0.9f}}), {x}, {x});
  check(stated<op::Dropout_1>(1, {{"consumed_inputs", ints{0}}, {"is_test", int64_t{1}}}), {x}, {x});
  check(op::Dropout{}, {t<float>({0}, {})}, {t<float>({0}, {}), t<bool>({0}, {})});
  check(op::Dropout{}, {t<double>({}, {3})}, {t<double>({}, {3}), t<bool>({}, {true})});
}

TEST_CASE("Dropout: training with a seed") {
  const Value x = t<float>({4}, {1, 2, 3, 4}), yes = t<bool>({}, {true});
  // numpy's RandomState(0) draws 0.549, 0.715, 0.603, 0.545.
  check(op::Dropout{.seed = 0}, {x, Value(), yes},
        {t<float>({4}, {2, 4, 6, 8}), t<bool>({4}, {true, true, true, true})});
  check(op::Dropout{.seed = 0}, {x, t<float>({}, {0.6f}), yes},
        {t<float>({4}, {0, 5, 7.5, 0}), t<bool>({4}, {false, true, true, false})});
  check(op::Dropout{.seed = 0}, {x, t<double>({1}, {0.0}), yes}, {x, t<bool>({4}, {true, true, true, true})});
}

TEST_CASE("Dropout: training in every type") {
  const int64_t n = 20000;
  for_types(op::Dropout::spec.types[0], [&](DType d) {
    AnyTensor x = AnyTensor::uninitialized(d, {n});
    op::dropout_detail::with_dropout_type(
        d, [&]<class T>() { std::fill_n(static_cast<T*>(x.out().data()), n, convert<T>(1.5f)); });
    for (const Value& ratio : {Value(t<float>({}, {0.25f})), Value(cast<float8e5m2>({}, {0.25}))}) {
      const auto out = run(op::Dropout{}, {x, ratio, t<bool>({}, {true})}, 2);
      const TensorView<const bool> mask = out[1].view<bool>();
      int64_t kept = 0, wrong = 0;
      for (int64_t k = 0; k < n; ++k) {
        kept += mask[k];
        wrong += as_double(out[0].tensor(), k) != (mask[k] ? 2.0 : 0.0);
      }
      CHECK(wrong == 0);
      CHECK((kept > n * 0.72 && kept < n * 0.78));
    }
  });
  const Value x = t<float>({3}, {1, 2, 3});
  for (int version : {1, 6}) {
    for (const auto& out : {run(op::Dropout_1{.ratio = 0.5f}, {x}, 2, version),
                            run(stated<op::Dropout_1>(version, {{"ratio", 0.5f}}), {x}, 2),
                            run(stated<op::Dropout_1>(version), {x}, 2)})
      for (int64_t k = 0; k < 3; ++k)
        CHECK(out[0].view<float>()[k] == out[1].view<float>()[k] * 2 * x.view<float>()[k]);
  }
  const Value many = Tensor<float>(Extents{20000}, std::vector<float>(20000, 1.0f));
  for (int version : {1, 6}) {  // trains, although the mask is not requested
    const auto y = run(op::Dropout_1{.ratio = 0.25f}, {many}, 1, version)[0];
    int64_t kept = 0;
    for (int64_t k = 0; k < 20000; ++k) kept += y.view<float>()[k] != 0;
    CHECK((kept > 20000 * 0.72 && kept < 20000 * 0.78));
  }
}

TEST_CASE("Dropout: runs without a seed differ, in place too") {
  Tensor<float> x(Extents{64}), y(Extents{64});
  std::fill(x.begin(), x.end(), 1.0f);
  std::fill(y.begin(), y.end(), 1.0f);
  const bool yes[] = {true};
  const TensorView<const bool> training(yes, {});
  op::Dropout{}.compute(x.view(), {}, training, x.view(), {});
  op::Dropout{}.compute(y.view(), {}, training, y.view(), {});
  CHECK_FALSE(std::equal(x.begin(), x.end(), y.begin()));
}

TEST_CASE("Dropout: errors") {
  const Value x = t<float>({2}, {1, 2}), yes = t<bool>({}, {true});
  check_fails(op::Dropout{}, {x, t<float>({}, {1}), yes}, "outside of [0, 1)");
  check_fails(op::Dropout{}, {x, t<float>({}, {-0.5}), yes}, "outside of [0, 1)");
  check_fails(op::Dropout{}, {x, t<float>({}, {std::nanf("")}), yes}, "outside of [0, 1)");
  check_fails(op::Dropout{}, {x, t<float>({2}, {0, 0})}, "ratio: (2), expected one element");
  check_fails(op::Dropout{}, {x, Value(), t<bool>({0}, {})}, "training_mode: (0), expected one element");
  check_fails(op::Dropout{}, {cast<bfloat16>({1}, {1})}, "data cannot be tensor(bfloat16)", 1, 12);
  for (int version : {1, 6, 7, 10})
    check_fails(stated<op::Dropout_1>(version), {cast<bfloat16>({1}, {1})},
                "data cannot be tensor(bfloat16)");
  check_refused<op::Dropout_1>(6, {{"consumed_inputs", ints{0}}},
                               "version 6 has no attribute 'consumed_inputs'");
  check_refused<op::Dropout_1>(7, {{"is_test", int64_t{1}}}, "version 7 has no attribute 'is_test'");
  check_refused<op::Dropout_1>(10, {{"seed", int64_t{1}}}, "version 10 has no attribute 'seed'");
}

TEST_CASE("Dropout: symbols, typed") {
  const auto n = Dim::symbol(1);
  const auto r = infer(op::Dropout{}, {info(DType::float32, {n, 3})}, 2);
  CHECK((r[0].dims == Dims{n, 3} && r[1].dims == Dims{n, 3} && r[1].type == Type(DType::bool_)));
  auto [y, mask] = apply<op::Dropout{}, 2>(Tensor<float, Shape<2>>{1, 2});
  static_assert(std::is_same_v<decltype(mask), Tensor<bool, Shape<2>>>);
  CHECK((y[1] == 2 && mask[0]));
}
}  // namespace tenon
