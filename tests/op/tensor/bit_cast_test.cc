#include "tenon/op/tensor/bit_cast.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

namespace {

template <class T>
const op::BitCast to{.to = dtype<T>};

constexpr DType dtypes[] = {
    DType::float32,      DType::uint8,      DType::int8,           DType::uint16,     DType::int16,
    DType::int32,        DType::int64,      DType::bool_,          DType::float16,    DType::float64,
    DType::uint32,       DType::uint64,     DType::complex64,      DType::complex128, DType::bfloat16,
    DType::float8e4m3fn, DType::float8e5m2, DType::float8e4m3fnuz, DType::uint4,      DType::float8e5m2fnuz,
    DType::int4,         DType::float4e2m1, DType::float8e8m0,     DType::uint2,      DType::int2};

}  // namespace

TEST_CASE("BitCast: cases") {
  struct Row {
    op::BitCast op;
    Value in, out;
  } rows[] = {
      {to<int32_t>, t<float>({2, 2}, {1, -1, 0.5, -0.0f}),
       t<int32_t>({2, 2}, {0x3f800000, -0x40800000, 0x3f000000, INT32_MIN})},
      {to<float>, t<uint32_t>({2}, {0x3f800000, 0x7f800000}), t<float>({2}, {1, INFINITY})},
      {to<int64_t>, t<double>({}, {1}), t<int64_t>({}, {0x3ff0000000000000})},
      {to<uint64_t>, t<complex64>({1}, {{0, 1}}), t<uint64_t>({1}, {0x3f80000000000000})},
      {to<uint16_t>, cast<float16>({1}, {1}), t<uint16_t>({1}, {0x3c00})},
      {to<uint16_t>, cast<bfloat16>({1}, {1}), t<uint16_t>({1}, {0x3f80})},
      {to<bfloat16>, t<int16_t>({1}, {0x4000}), cast<bfloat16>({1}, {2})},
      {to<int8_t>, t<uint8_t>({2}, {255, 1}), t<int8_t>({2}, {-1, 1})},
      {to<uint8_t>, t<bool>({2}, {true, false}), t<uint8_t>({2}, {1, 0})},
      {to<bool>, t<uint8_t>({3}, {0, 1, 200}), t<bool>({3}, {false, true, true})},
      {to<uint8_t>, cast<float8e4m3fn>({1}, {1}), t<uint8_t>({1}, {0x38})},
      {to<float8e5m2>, t<uint8_t>({1}, {0x3c}), cast<float8e5m2>({1}, {1})},
      {to<uint8_t>, cast<float8e8m0>({1}, {1}), t<uint8_t>({1}, {127})},
      // several elements a byte
      {to<uint4>, cast<int4>({3}, {-1, 7, -8}), cast<uint4>({3}, {15, 7, 8})},
      {to<int4>, cast<float4e2m1>({3}, {1, -1, 0.5}), cast<int4>({3}, {2, -6, 1})},
      {to<int2>, cast<uint2>({5}, {0, 1, 2, 3, 2}), cast<int2>({5}, {0, 1, -2, -1, -2})},
      {to<float>, t<float>({1}, {5}), t<float>({1}, {5})},
      {to<int32_t>, t<float>({0, 3}, {}), t<int32_t>({0, 3}, {})},
      {to<complex128>, t<complex128>({1}, {{1, 2}}), t<complex128>({1}, {{1, 2}})},
  };
  for (const Row& row : rows) check(row.op, {row.in}, {row.out}, 0, 0);
  check_in_place(to<float>, {t<float>({2}, {1, 2})}, 0);
  check(stated<op::BitCast>(26, {{"to", dtype<int32_t>}}), {t<float>({1}, {1})},
        {t<int32_t>({1}, {0x3f800000})});
}

TEST_CASE("BitCast: all pairs, there and back") {
  for (const DType from : dtypes) {
    AnyTensor x = AnyTensor::uninitialized(from, {2, 3});
    for (int64_t k = 0; k < x.bytes(); ++k) static_cast<unsigned char*>(x.out().data())[k] = k % 2;
    for (const DType type : dtypes) {
      CAPTURE(name_of(from));
      CAPTURE(name_of(type));
      const op::BitCast there{.to = static_cast<int64_t>(type)}, back{.to = static_cast<int64_t>(from)};
      if (bits_of(from) == bits_of(type)) check(back, run(there, {x}), {x}, 0, 0);
      else check_fails(there, {x}, " bits, of ");
    }
  }
}

TEST_CASE("BitCast: errors, symbols, typed calls") {
  const Value f = t<float>({1}, {1}), text = t<std::string>({1}, {"a"});
  check_fails(op::BitCast{}, {f}, "attribute 'to' is missing");
  check_fails(op::BitCast{.to = 99}, {f}, "attribute 'to' is 99, which is no type");
  check_fails(to<int64_t>, {f}, "elements of float have 32 bits, of int64 64");
  check_fails(to<std::string>, {f}, "output output cannot be tensor(string)");
  check_fails(to<std::string>, {text}, "input input cannot be tensor(string)");
  check_refused<op::BitCast>(26, {}, "attribute 'to' is required");
  const auto n = Dim::symbol(1);
  const auto out = infer(to<int32_t>, {info(DType::float32, {n, 3})});
  CHECK(out[0].dims == Dims{n, 3});
  CHECK(out[0].type == Type(DType::int32));
  const auto y = apply<op::BitCast{.to = dtype<int32_t>}>(Tensor<float, Shape<1>>{1});
  static_assert(std::is_same_v<decltype(y), const Tensor<int32_t, Shape<1>>>);
  CHECK(y[0] == 0x3f800000);
}
}  // namespace tenon
