#include "tenon/op/quantization/dequantize_linear.hpp"

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("DequantizeLinear: types and granularities") {
  using D = op::DequantizeLinear;
  struct Row {
    D op;
    std::vector<Value> in;
    Value out;
  } table[] = {
      {{},
       {t<uint8_t>({4}, {0, 3, 128, 255}), t<float>({}, {2}), t<uint8_t>({}, {128})},
       t<float>({4}, {-256, -250, 0, 254})},
      {{}, {t<int8_t>({3}, {-128, 0, 127}), t<float>({1}, {0.5})}, t<float>({3}, {-64, 0, 63.5})},
      {{},
       {t<uint16_t>({3}, {30000, 31000, 65535}), t<float>({}, {2}), t<uint16_t>({}, {32767})},
       t<float>({3}, {-5534, -3534, 65536})},
      {{},
       {t<int16_t>({3}, {-300, 30, -32768}), t<float>({}, {2}), t<int16_t>({}, {32767})},
       t<float>({3}, {-66134, -65474, -131070})},
      // The difference of int32 is exact before it is rounded.
      {{},
       {t<int32_t>({3}, {INT32_MIN, 16777219, 7}), t<float>({}, {1}), t<int32_t>({}, {16777217})},
       t<float>({3}, {-2164260865.0f, 2, -16777210})},
      {{},
       {cast<uint4>({5}, {0, 1, 7, 10, 15}), t<float>({}, {2}), cast<uint4>({}, {1})},
       t<float>({5}, {-2, 0, 12, 18, 28})},
      {{},
       {cast<int4>({5}, {0, 1, 7, -4, -8}), t<float>({}, {2}), cast<int4>({}, {1})},
       t<float>({5}, {-2, 0, 12, -10, -18})},
      {{}, {cast<uint2>({5}, {0, 1, 2, 3, 1}), t<float>({}, {2})}, t<float>({5}, {0, 2, 4, 6, 2})},
      {{},
       {cast<int2>({5}, {0, 1, -1, -2, 1}), t<float>({}, {2}), cast<int2>({}, {1})},
       t<float>({5}, {-2, 0, -4, -6, 0})},
      {{},
       {cast<float4e2m1>({4}, {0, 1, -1.5, 6}), t<float>({}, {2}), cast<float4e2m1>({}, {0})},
       t<float>({4}, {0, 2, -3, 12})},
      {{}, {cast<float8e4m3fn>({3}, {0, 0.5, -448}), t<float>({}, {2})}, t<float>({3}, {0, 1, -896})},
      {{},
       {cast<float8e5m2>({3}, {0, 0.5, 49152}), cast<float16>({}, {0.5})},
       cast<float16>({3}, {0, 0.25, 24576})},
      {{}, {cast<float8e4m3fnuz>({2}, {0.5, -240}), cast<bfloat16>({}, {2})}, cast<bfloat16>({2}, {1, -480})},
      {{}, {cast<float8e5m2fnuz>({2}, {0.5, -2}), t<float>({}, {2})}, t<float>({2}, {1, -4})},
      // The result's type.
      {{.output_dtype = 10},
       {t<uint8_t>({2}, {1, 200}), t<float>({}, {0.5})},
       cast<float16>({2}, {0.5, 100})},
      {{.output_dtype = 16},
       {t<uint8_t>({2}, {1, 200}), cast<float16>({}, {0.5})},
       cast<bfloat16>({2}, {0.5, 100})},
      {{.output_dtype = 1},
       {t<uint8_t>({2}, {1, 200}), cast<float8e8m0>({}, {0.5})},
       t<float>({2}, {0.5, 100})},
      // Granularities.
      {{},
       {t<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6}), t<float>({3}, {1, 2, 4}), t<uint8_t>({3}, {0, 1, 2})},
       t<float>({2, 3}, {1, 2, 4, 4, 8, 16})},
      {{.axis = -2},
       {t<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6}), t<float>({2}, {1, 2})},
       t<float>({2, 3}, {1, 2, 3, 8, 10, 12})},
      {{.axis = 1, .block_size = 2},
       {cast<int4>({2, 3}, {1, 2, 3, 4, 5, 6}), t<float>({2, 2}, {1, 2, 3, 4}),
        cast<int4>({2, 2}, {0, 1, 0, -1})},
       t<float>({2, 3}, {1, 2, 4, 12, 15, 28})},
      {{.axis = 0, .block_size = 2},
       {t<int32_t>({3, 2}, {1, 2, 3, 4, 5, 6}), t<float>({2, 2}, {1, 2, 3, 4}),
        t<int32_t>({2, 2}, {0, 1, 0, -1})},
       t<float>({3, 2}, {1, 2, 3, 6, 15, 28})},
      {{}, {t<uint8_t>({}, {7}), t<float>({}, {2})}, t<float>({}, {14})},
      {{}, {t<uint8_t>({0}, {}), t<float>({}, {2})}, t<float>({0}, {})},
  };
  for (const Row& row : table) check(row.op, row.in, {row.out}, 0, 0);
}

TEST_CASE("DequantizeLinear: every element of long tensors") {
  Tensor<int4> x(Extents{7, 150});
  Tensor<float> scale(Extents{7, 5}), y(Extents{7, 150});
  Tensor<int4> zero(Extents{7, 5});
  for (int64_t k = 0; k < scale.size(); ++k)
    scale[k] = static_cast<float>(k + 1) / 4, zero[k] = int4(k % 5 - 2);
  for (int64_t k = 0; k < x.size(); ++k) {
    x[k] = int4(k * 7 % 16 - 8);
    const int64_t n = k / 150 * 5 + k % 150 / 32;
    y[k] = static_cast<float>(int4(x[k]).value() - int4(zero[n]).value()) * scale[n];
  }
  check(op::DequantizeLinear{.block_size = 32}, {x, scale, zero}, {y}, 0, 0);
}

TEST_CASE("DequantizeLinear: earlier versions") {
  using D = op::DequantizeLinear;
  const Value x = t<uint8_t>({2, 2}, {0, 2, 4, 6});
  for (int version : D::spec.since) {
    CAPTURE(version);
    const std::vector<Value> in{x, t<float>({}, {2}), t<uint8_t>({}, {2})},
        out{t<float>({2, 2}, {-4, 0, 4, 8})};
    check(D{}, in, out, 0, 0, version);
    check(stated<D>(version), in, out, 0, 0);
    check(D{}, {t<int32_t>({1}, {-9}), t<float>({}, {2})}, {t<float>({1}, {-18})}, 0, 0, version);
    if (version < 13) continue;
    check(D{.axis = 0}, {x, t<float>({2}, {1, 2})}, {t<float>({2, 2}, {0, 2, 8, 12})}, 0, 0, version);
    check(stated<D>(version, {{"axis", int64_t{0}}}), {x, t<float>({2}, {1, 2})},
          {t<float>({2, 2}, {0, 2, 8, 12})}, 0, 0);
  }
  for (int version : {19, 21})
    check(D{}, {x, cast<float16>({2}, {1, 2})}, {cast<float16>({2, 2}, {0, 4, 4, 12})}, 0, 0, version);
  check(D{.block_size = 2}, {x, cast<bfloat16>({2, 1}, {1, 2})}, {cast<bfloat16>({2, 2}, {0, 2, 8, 12})}, 0,
        0, 21);
  check(stated<D>(21, {{"block_size", int64_t{2}}}), {x, cast<bfloat16>({2, 1}, {1, 2})},
        {cast<bfloat16>({2, 2}, {0, 2, 8, 12})}, 0, 0);
  check_fails(D{}, {cast<int4>({1}, {1}), t<float>({}, {1})}, "x cannot be tensor(int4)", 1, 19);
  check_fails(D{}, {x, t<float>({3}, {1, 1, 1})}, "scale (3) does not fit axis 1", 1, 13);
  check_fails(D{}, {x, t<float>({2}, {1, 1})}, "before version 13 there is one scale", 1, 10);
  for (int version : {10, 13}) {
    CAPTURE(version);
    check_fails(D{}, {x, cast<float16>({}, {1})}, "x_scale cannot be tensor(float16)", 1, version);
    check_fails(D{}, {cast<float8e5m2>({1}, {1}), t<float>({}, {1})}, "x cannot be tensor(float8e5m2)", 1,
                version);
  }
  for (const auto& [version, name] :
       {std::pair(10, "axis"), std::pair(19, "block_size"), std::pair(21, "output_dtype")})
    check_refused<D>(version, {{name, int64_t{1}}}, str_cat("has no attribute '", name, "'"));
}

TEST_CASE("DequantizeLinear: errors") {
  using D = op::DequantizeLinear;
  const Value x = t<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  check_fails(D{}, {x, t<float>({2}, {1, 1})}, "scale (2) does not fit axis 1 of (2,3)");
  check_fails(D{.output_dtype = 2}, {x, t<float>({}, {1})}, "output y cannot be tensor(uint8)");
  check_fails(D{}, {x, cast<float8e8m0>({}, {1})}, "output y cannot be tensor(float8e8m0)");
  check_fails(D{}, {x, t<float>({}, {1}), t<int8_t>({}, {1})},
              "x_zero_point is tensor(int8), but T1 is tensor(uint8)");
}

TEST_CASE("DequantizeLinear: symbols, typed") {
  const auto n = Dim::symbol(1);
  // A zero point of unknown length may be a single one.
  for (const Dims& zero : {Dims{n}, Dims{Dim()}, Dims{1}})
    CHECK(infer(op::DequantizeLinear{},
                {info(DType::int8, {5}), info(DType::float32, Dims::of_rank(0)), info(DType::int8, zero)})[0]
              .dims == Dims{5});
  const auto out = infer(op::DequantizeLinear{}, {info(DType::int8, {n, 3}), info(DType::float16, {3})});
  CHECK(out[0].dims == Dims{n, 3});
  CHECK(out[0].type == Type(DType::float16));
  Tensor<uint8_t, Shape<2>> x{1, 2};
  auto y = apply<op::DequantizeLinear{}>(x, 2.0f);
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<2>>>);
  CHECK(y(1) == 4);
}
}  // namespace tenon
