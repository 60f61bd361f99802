#include "tenon/op/math/log_softmax.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("LogSoftmax: cases") {
  const float nan = std::nanf(""), inf = INFINITY;
  const float a = -2.4076059f, b = -1.4076059f, c = -0.4076059f, h = -0.6931472f, p = -1.3132617f,
              q = -0.3132617f;
  const Value x = t<float>({2, 3}, {0, 1, 2, 10000, 10001, 10002});
  struct Row {
    op::LogSoftmax op;
    Value in, out;
  } rows[] = {
      {{}, x, t<float>({2, 3}, {a, b, c, a, b, c})},
      {{.axis = 1}, x, t<float>({2, 3}, {a, b, c, a, b, c})},
      {{.axis = 0}, t<float>({2, 2}, {0, 5, 1, 5}), t<float>({2, 2}, {p, h, q, h})},
      {{.axis = -2}, t<float>({1, 2, 2}, {0, 5, 1, 5}), t<float>({1, 2, 2}, {p, h, q, h})},
      {{}, t<float>({0, 3}, {}), t<float>({0, 3}, {})},
      {{}, t<float>({3, 0}, {}), t<float>({3, 0}, {})},
      {{},
       t<float>({0, int64_t{1} << 40, int64_t{1} << 40}, {}),
       t<float>({0, int64_t{1} << 40, int64_t{1} << 40}, {})},
      {{}, t<float>({2}, {1e30f, -1e30f}), t<float>({2}, {0, -2e30f})},
      {{}, t<float>({2}, {-inf, 3}), t<float>({2}, {-inf, 0})},
      {{}, t<float>({2}, {-inf, -inf}), t<float>({2}, {nan, nan})},
      {{}, t<float>({2}, {nan, 3}), t<float>({2}, {nan, nan})},
      {{}, t<double>({2}, {0, 1}), t<double>({2}, {-1.3132616875182228, -0.3132616875182228})},
  };
  for (const Row& row : rows) check(row.op, {row.in}, {row.out});
  check(op::LogSoftmax{}, {cast<float16>({3}, {0, 1, 2})}, {cast<float16>({3}, {a, b, c})}, 1e-3);
  check(op::LogSoftmax{}, {cast<bfloat16>({3}, {0, 1, 2})}, {cast<bfloat16>({3}, {a, b, c})}, 1e-2);
  check_in_place(op::LogSoftmax{}, {x}, 0);
}

TEST_CASE("LogSoftmax: versions 1 and 11 normalise over all axes from `axis` on") {
  const Value x = t<float>({2, 1, 2}, {0, 1, 0, 1});
  const float p = -1.3132617f, q = -0.3132617f, h = 0.6931472f;
  for (int version : {1, 11}) {
    CAPTURE(version);
    const auto log_softmax = [&](int64_t axis) {
      return stated<op::LogSoftmax_1>(version, {{"axis", axis}});
    };
    const Value along = t<float>({2, 1, 2}, {p, q, p, q});
    check(stated<op::LogSoftmax_1>(version), {x}, {along});
    for (int64_t axis : {1, 2, -1, -2}) check(log_softmax(axis), {x}, {along});
    for (int64_t axis : {0, -3})
      check(log_softmax(axis), {x}, {t<float>({2, 1, 2}, {p - h, q - h, p - h, q - h})});
    check(log_softmax(3), {x}, {t<float>({2, 1, 2}, {0, 0, 0, 0})});
    check(stated<op::LogSoftmax_1>(version), {t<float>({2}, {5, 6})}, {t<float>({2}, {0, 0})});
    check(log_softmax(1), {t<double>({1, 2}, {0, 1})},
          {t<double>({1, 2}, {-1.3132616875182228, -0.3132616875182228})});
    check(log_softmax(1), {cast<float16>({1, 1}, {3})}, {cast<float16>({1, 1}, {0})});
    check(log_softmax(1), {t<float>({2, 0, 3}, {})}, {t<float>({2, 0, 3}, {})});
    check_fails(log_softmax(4), {x}, "axis 4 outside of [-3, 2]");
    check_fails(log_softmax(1), {cast<bfloat16>({1, 1}, {0})}, "input input cannot be tensor(bfloat16)");
  }
}

TEST_CASE("LogSoftmax: what is refused, symbols, typed") {
  check_fails(op::LogSoftmax{}, {t<float>({}, {1})}, "input: rank 0, expected at least 1");
  check_fails(op::LogSoftmax{.axis = 2}, {t<float>({1, 1}, {1})}, "axis 2 outside of [-2, 1]");
  check_fails(op::LogSoftmax{}, {t<int32_t>({1}, {1})}, "input input cannot be tensor(int32)");
  const auto n = Dim::symbol(1);
  CHECK(infer(op::LogSoftmax{}, {info(DType::float32, {n, 3})})[0].dims == Dims{n, 3});
  const auto y = apply<op::LogSoftmax{.axis = 1}>(Tensor<float, Shape<1, 2>>{{1, 1}});
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 2>>>);
  CHECK(y[0] == doctest::Approx(-0.6931472));
}
}  // namespace tenon
