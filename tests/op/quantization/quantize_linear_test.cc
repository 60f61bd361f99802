#include "tenon/op/quantization/quantize_linear.hpp"

#include "tenon/base/convert.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

namespace {
const float nan = std::nanf(""), inf = INFINITY;
}

TEST_CASE("QuantizeLinear: types and granularities") {
  const Value none;
  const Value x = t<float>({6}, {0, 2, 3, 1000, -254, -1000});
  const Value rows = t<float>({2, 4}, {6, 12, 50, 5, 1, 8, 4, 5});
  using Q = op::QuantizeLinear;
  struct Row {
    Q op;
    std::vector<Value> in;
    Value out;
  } table[] = {
      {{}, {x, t<float>({}, {2}), t<uint8_t>({}, {128})}, t<uint8_t>({6}, {128, 129, 130, 255, 1, 0})},
      {{}, {x, t<float>({}, {2}), t<int8_t>({}, {1})}, t<int8_t>({6}, {1, 2, 3, 127, -126, -128})},
      {{}, {x, t<float>({1}, {2})}, t<uint8_t>({6}, {0, 1, 2, 255, 0, 0})},
      {{},
       {x, t<float>({}, {1}), t<uint16_t>({}, {32767})},
       t<uint16_t>({6}, {32767, 32769, 32770, 33767, 32513, 31767})},
      {{},
       {t<float>({3}, {1e9f, -1e9f, 5}), t<float>({}, {1}), t<int16_t>({}, {-3})},
       t<int16_t>({3}, {32767, -32768, 2})},
      {{}, {x, t<float>({}, {1}), cast<uint4>({}, {1})}, cast<uint4>({6}, {1, 3, 4, 15, 0, 0})},
      {{}, {x, t<float>({}, {1}), cast<int4>({}, {1})}, cast<int4>({6}, {1, 3, 4, 7, -8, -8})},
      {{}, {x, t<float>({}, {2}), cast<uint2>({}, {1})}, cast<uint2>({6}, {1, 2, 3, 3, 0, 0})},
      {{}, {x, t<float>({}, {2}), cast<int2>({}, {-1})}, cast<int2>({6}, {-1, 0, 1, 1, -2, -2})},
      // Ties go to the even neighbour before the zero point comes.
      {{},
       {t<float>({6}, {0.5, 1.5, 2.5, -0.5, -1.5, 3.5}), t<float>({}, {1}), t<int8_t>({}, {1})},
       t<int8_t>({6}, {1, 3, 3, 1, -1, 5})},
      {{},
       {t<float>({3}, {nan, inf, -inf}), t<float>({}, {1}), t<int8_t>({}, {5})},
       t<int8_t>({3}, {-128, 127, -128})},
      {{},
       {t<float>({3}, {0, 1, -1}), t<float>({}, {0}), t<int8_t>({}, {5})},
       t<int8_t>({3}, {-128, 127, -128})},
      // One scale for each index of an axis.
      {{.axis = 0},
       {rows, t<float>({2}, {2, 4}), t<uint8_t>({2}, {1, 2})},
       t<uint8_t>({2, 4}, {4, 7, 26, 3, 2, 4, 3, 3})},
      {{.axis = -2},
       {rows, t<float>({2}, {2, 4}), t<uint8_t>({2}, {1, 2})},
       t<uint8_t>({2, 4}, {4, 7, 26, 3, 2, 4, 3, 3})},
      {{},
       {rows, t<float>({4}, {1, 2, 5, 10}), t<uint8_t>({4}, {0, 1, 0, 2})},
       t<uint8_t>({2, 4}, {6, 7, 10, 2, 1, 5, 1, 2})},
      {{.axis = 0}, {t<float>({3}, {1, 2, 3}), t<float>({3}, {1, 0.5, 0.25})}, t<uint8_t>({3}, {1, 4, 12})},
      {{}, {t<float>({3}, {1, 2, 3}), t<float>({1}, {0.5}), t<uint8_t>({}, {1})}, t<uint8_t>({3}, {3, 5, 7})},
      // Blocks, the last one shorter.
      {{.axis = 1, .block_size = 3, .output_dtype = static_cast<int64_t>(DType::int16)},
       {rows, t<float>({2, 2}, {2, 1, 1, 5})},
       t<int16_t>({2, 4}, {3, 6, 25, 5, 1, 8, 4, 1})},
      {{.axis = 0, .block_size = 2},
       {t<float>({3, 2}, {1, 2, 3, 4, 5, 6}), t<float>({2, 2}, {1, 2, 0.5, 0.25})},
       t<uint8_t>({3, 2}, {1, 1, 3, 2, 10, 24})},
      {{.axis = -1, .block_size = 2},
       {t<float>({4}, {1, 2, 3, 4}), t<float>({2}, {1, 0.5}), cast<uint4>({2}, {0, 9})},
       cast<uint4>({4}, {1, 2, 15, 15})},
      // Other reals.
      {{}, {cast<float16>({3}, {1, 2.5, -7}), cast<float16>({}, {0.5})}, t<uint8_t>({3}, {2, 5, 0})},
      {{},
       {cast<bfloat16>({3}, {1, 2.5, -7}), cast<bfloat16>({}, {0.5}), t<int8_t>({}, {0})},
       t<int8_t>({3}, {2, 5, -14})},
      {{},
       {t<float>({3}, {1, 2.5, -7}), cast<float8e8m0>({}, {0.5}), t<int8_t>({}, {0})},
       t<int8_t>({3}, {2, 5, -14})},
      {{},
       {t<int32_t>({4}, {5, 7, -5, INT32_MIN}), t<int32_t>({}, {2}), t<int8_t>({}, {0})},
       t<int8_t>({4}, {2, 4, -2, -128})},
      {{},
       {t<int32_t>({3}, {5, 7, INT32_MIN}), t<int32_t>({}, {-1}), t<int16_t>({}, {0})},
       t<int16_t>({3}, {-5, -7, 32767})},
      {{},
       {t<int32_t>({3}, {5, 0, -5}), t<int32_t>({}, {0}), t<int8_t>({}, {0})},
       t<int8_t>({3}, {127, -128, -128})},
      {{}, {t<int32_t>({2}, {5, 7}), t<float>({}, {2}), t<int8_t>({}, {0})}, t<int8_t>({2}, {2, 4})},
      {{}, {t<float>({2}, {5, 7}), t<int32_t>({}, {2}), t<int8_t>({}, {0})}, t<int8_t>({2}, {2, 4})},
      // Rank 0 and nothing.
      {{}, {t<float>({}, {3}), t<float>({}, {2})}, t<uint8_t>({}, {2})},
      {{}, {t<float>({0, 3}, {}), t<float>({3}, {1, 2, 3})}, t<uint8_t>({0, 3}, {})},
      {{.axis = 0}, {t<float>({0, 3}, {}), t<float>({0}, {})}, t<uint8_t>({0, 3}, {})},
  };
  for (const Row& row : table) check(row.op, row.in, {row.out}, 0, 0);
}

TEST_CASE("QuantizeLinear: the precision of the division") {
  // 1000 / 0.3 is 3333.3, and 3334 or 3328 when float16 or bfloat16 hold the quotient.
  const Value x = t<float>({1}, {1000}), half = cast<float16>({}, {0.3}), brief = cast<bfloat16>({}, {0.3});
  const float s16 = static_cast<float>(float16(0.3f)), sb = static_cast<float>(bfloat16(0.3f));
  const auto round = [](float v) { return static_cast<int16_t>(std::nearbyint(v)); };
  const Value zero = t<int16_t>({}, {0});
  check(op::QuantizeLinear{}, {x, half, zero},
        {t<int16_t>({1}, {round(static_cast<float>(float16(1000 / s16)))})});
  check(op::QuantizeLinear{}, {x, brief, zero},
        {t<int16_t>({1}, {round(static_cast<float>(bfloat16(1000 / sb)))})});
  check(op::QuantizeLinear{.precision = 1}, {x, half, zero}, {t<int16_t>({1}, {round(1000 / s16)})});
  check(op::QuantizeLinear{.precision = 10}, {x, t<float>({}, {0.3f}), zero},
        {t<int16_t>({1}, {round(static_cast<float>(float16(1000 / s16)))})});
  check(op::QuantizeLinear{.precision = 16}, {t<int32_t>({1}, {1000}), t<int32_t>({}, {3}), zero},
        {t<int16_t>({1}, {round(static_cast<float>(bfloat16(1000.0f / 3)))})});
  check_fails(op::QuantizeLinear{.precision = 11}, {x, half, zero}, "precision: 11, expected 0, 1, 10 or 16");
}

TEST_CASE("QuantizeLinear: float types") {
  const Value x = t<float>({5}, {0, 1, 2, 100000, -300}), s = t<float>({}, {2});
  for (DType d : {DType::float8e4m3fn, DType::float8e4m3fnuz, DType::float8e5m2, DType::float8e5m2fnuz}) {
    visit_dtype(d, [&]<class T>() {
      if constexpr (NarrowFloatElement<T> && !std::is_same_v<T, float8e8m0>) {
        const op::QuantizeLinear q{.output_dtype = static_cast<int64_t>(d)};
        check(q, {x, s}, {cast<T>({5}, {0, 0.5, 1, 50000, -150})});
        Tensor<T> open(Extents{5});
        const double exact[] = {0, 0.5, 1, 50000, -150};
        for (int k = 0; k < 5; ++k) open[k] = convert<T>(exact[k], {.saturate = false});
        check(op::QuantizeLinear{.saturate = 0}, {x, s, cast<T>({}, {0})}, {open});
      }
    });
  }
  check(op::QuantizeLinear{.output_dtype = 23}, {t<float>({5}, {0, 1, 2.5, 100, -3}), t<float>({}, {1})},
        {cast<float4e2m1>({5}, {0, 1, 2, 6, -3})});
  check(op::QuantizeLinear{}, {t<float>({3}, {0, 1, 100}), t<float>({}, {1}), cast<float4e2m1>({}, {0.5})},
        {cast<float4e2m1>({3}, {0.5, 1.5, 6})});
}

TEST_CASE("QuantizeLinear: every element of long tensors, on every granularity") {
  const int64_t extents[] = {3, 5, 67};
  const auto value = [](int64_t k) { return static_cast<float>((k * 37) % 2003 - 1000) / 8; };
  const auto scale_of = [](int64_t k) { return 0.5f + static_cast<float>(k % 7) / 4; };
  Tensor<float> x(Extents{3, 5, 67});
  for (int64_t k = 0; k < x.size(); ++k) x[k] = value(k);
  for (int axis = 0; axis < 3; ++axis) {
    for (int64_t block : {0, 1, 2, 3, 64}) {
      Extents s;
      if (block == 0) s = {extents[axis]};
      else s = Extents(std::span<const int64_t>(extents)), s[axis] = (extents[axis] + block - 1) / block;
      Tensor<float> scale(s);
      Tensor<int8_t> zero(s), y(Extents{3, 5, 67});
      for (int64_t k = 0; k < scale.size(); ++k)
        scale[k] = scale_of(k), zero[k] = static_cast<int8_t>(k % 11 - 5);
      for (int64_t k = 0; k < x.size(); ++k) {
        int64_t at[3] = {k / 67 / 5, k / 67 % 5, k % 67};
        int64_t n = at[axis];
        if (block != 0) {
          at[axis] /= block;
          n = (at[0] * s[1] + at[1]) * s[2] + at[2];
        }
        const double q = std::nearbyint(x[k] / scale[n]) + zero[n];
        y[k] = static_cast<int8_t>(std::clamp(q, -128.0, 127.0));
      }
      CAPTURE(axis);
      CAPTURE(block);
      check(op::QuantizeLinear{.axis = axis, .block_size = block}, {x, scale, zero}, {y}, 0, 0);
    }
  }
}

TEST_CASE("QuantizeLinear: earlier versions") {
  using Q = op::QuantizeLinear;
  const Value x = t<float>({2, 2}, {0, 2, 3, 1000});
  for (int version : Q::spec.since) {
    CAPTURE(version);
    const std::vector<Value> in{x, t<float>({}, {2}), t<uint8_t>({}, {128})},
        out{t<uint8_t>({2, 2}, {128, 129, 130, 255})};
    check(Q{}, in, out, 0, 0, version);
    check(stated<Q>(version), in, out, 0, 0);
    check(Q{}, {x, t<float>({}, {2})}, {t<uint8_t>({2, 2}, {0, 1, 2, 255})}, 0, 0, version);
    if (version < 13) continue;
    check(Q{.axis = 0}, {x, t<float>({2}, {1, 2})}, {t<uint8_t>({2, 2}, {0, 2, 2, 255})}, 0, 0, version);
    check(stated<Q>(version, {{"axis", int64_t{0}}}), {x, t<float>({2}, {1, 2})},
          {t<uint8_t>({2, 2}, {0, 2, 2, 255})}, 0, 0);
  }
  for (int version : {10, 13})
    check(Q{}, {t<int32_t>({2}, {3, 5}), t<float>({}, {2}), t<int8_t>({}, {0})}, {t<int8_t>({2}, {2, 2})},
          1e-6, 1e-7, version);
  for (int version : {19, 21})
    check(Q{}, {x, t<float>({}, {2}), cast<float8e5m2>({}, {0})},
          {cast<float8e5m2>({2, 2}, {0, 1, 1.5, 500})}, 0, 0, version);
  const std::vector<Value> large{t<float>({1}, {1e9f}), t<float>({}, {2}), cast<float8e5m2>({}, {0})},
      infinite{t<float8e5m2>({1}, {float8e5m2::from_bits(0x7c)})};
  check(Q{.saturate = 0}, large, infinite, 0, 0, 19);
  check(stated<Q>(19, {{"saturate", int64_t{0}}}), large, infinite, 0, 0);
  check(Q{.axis = 0, .block_size = 1, .output_dtype = 22}, {x, t<float>({2, 2}, {1, 1, 2, 500})},
        {cast<int4>({2, 2}, {0, 2, 2, 2})}, 0, 0, 21);
  check(stated<Q>(21, {{"axis", int64_t{0}}, {"block_size", int64_t{1}}, {"output_dtype", int64_t{22}}}),
        {x, t<float>({2, 2}, {1, 1, 2, 500})}, {cast<int4>({2, 2}, {0, 2, 2, 2})}, 0, 0);
  for (int version : {10, 13}) {
    CAPTURE(version);
    check_fails(Q{}, {cast<float16>({1}, {1}), t<float>({}, {1})}, "x cannot be tensor(float16)", 1, version);
    check_fails(Q{}, {x, cast<float16>({}, {1})}, "y_scale cannot be tensor(float16)", 1, version);
    check_fails(Q{}, {x, t<float>({}, {1}), cast<float8e5m2>({}, {0})},
                "y_zero_point cannot be tensor(float8e5m2)", 1, version);
  }
  check_fails(Q{}, {x, t<float>({}, {1}), cast<int4>({}, {0})}, "y_zero_point cannot be tensor(int4)", 1, 19);
  for (int version : {19, 21})
    check_fails(Q{}, {x, cast<float16>({}, {1})}, "y_scale is tensor(float16), but T1 is tensor(float)", 1,
                version);
  for (const auto& [version, name] :
       {std::pair(10, "axis"), std::pair(13, "saturate"), std::pair(19, "block_size"),
        std::pair(19, "output_dtype"), std::pair(21, "precision")})
    check_refused<Q>(version, {{name, int64_t{1}}}, str_cat("has no attribute '", name, "'"));
}

TEST_CASE("QuantizeLinear: errors") {
  using Q = op::QuantizeLinear;
  const Value x = t<float>({2, 3}, {1, 2, 3, 4, 5, 6}), two = t<float>({2}, {1, 1}),
              three = t<float>({3}, {1, 1, 1});
  check_fails(Q{}, {x, two}, "scale (2) does not fit axis 1 of (2,3)");
  check_fails(Q{.axis = 2}, {x, three}, "axis 2 outside of [-2, 1]");
  check_fails(Q{}, {x, t<float>({1, 3}, {1, 1, 1})},
              "scale (1,3) does not have one axis, and block_size is 0");
  check_fails(Q{}, {x, three, t<int8_t>({2}, {1, 1})}, "extents of scale and zero point differ: 3 and 2");
  check_fails(Q{}, {x, three, t<int8_t>({}, {1})}, "extents of scale and zero point differ: (3) and ()");
  check_fails(Q{.block_size = -1}, {x, three}, "block_size: -1, expected at least 0");
  check_fails(Q{.block_size = 2}, {x, three}, "differ in rank");
  check_fails(Q{.block_size = 2}, {x, t<float>({2, 3}, {1, 1, 1, 1, 1, 1})}, "in blocks of 2 along axis 1");
  check_fails(Q{.axis = 0, .block_size = 2}, {x, t<float>({1, 2}, {1, 1})}, "does not fit");
  check_fails(Q{.output_dtype = 3}, {x, three, t<uint8_t>({3}, {0, 0, 0})},
              "output_dtype 3 is not the zero point's type, uint8");
  check_fails(Q{.output_dtype = 1}, {x, three}, "output y cannot be tensor(float)");
  check_fails(Q{.output_dtype = 99}, {x, three}, "attribute 'output_dtype' is 99, which is no type");
  check_fails(Q{}, {x, three}, "before version 13 there is one scale", 1, 10);
  check_fails(Q{}, {t<float>({}, {1}), two}, "a scalar takes one scale");
  check_fails(Q{.output_dtype = 5}, {x, t<float>({}, {1})}, "output y cannot be tensor(int16)", 1, 19);
  check_fails(Q{}, {x, cast<float8e8m0>({}, {1})}, "y_scale cannot be tensor(float8e8m0)", 1, 23);
  check_fails(Q{}, {x, t<float>({}, {1}), cast<int2>({}, {1})}, "y_zero_point cannot be tensor(int2)", 1, 24);
}

TEST_CASE("QuantizeLinear: symbols and types") {
  const auto n = Dim::symbol(1);
  const auto out =
      infer(op::QuantizeLinear{.output_dtype = 5}, {info(DType::float32, {n, 3}), info(DType::float32, {3})});
  CHECK(out[0].dims == Dims{n, 3});
  CHECK(out[0].type == Type(DType::int16));
  const auto open = infer(op::QuantizeLinear{.axis = 0, .block_size = 4},
                          {info(DType::float32, {n}), info(DType::float32, {Dim::unknown()})});
  CHECK(open[0].dims == Dims{n});
  CHECK_FALSE(
      infer(op::QuantizeLinear{}, {info(DType::float32, {}), info(DType::float32, {})})[0].dims.ranked());
  // One scale, for all that is known.
  for (const Dims& x : {Dims::of_rank(0), Dims{2}, Dims{3, n}})
    CHECK(infer(op::QuantizeLinear{}, {info(DType::float32, x), info(DType::float32, {Dim()})})[0].dims == x);
}

TEST_CASE("QuantizeLinear: typed") {
  Tensor<float, Shape<2, 2>> x{{1, 2}, {3, 4}};
  auto y = apply<op::QuantizeLinear{.output_dtype = 3}>(x, 2.0f);
  static_assert(std::is_same_v<decltype(y), Tensor<int8_t, Shape<2, 2>>>);
  CHECK(y(1, 1) == 2);
}
}  // namespace tenon
