#include "tenon/op/com.microsoft/gather_block_quantized.hpp"

#include "tenon/op/quantization/dequantize_linear.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;
using op::com_microsoft::GatherBlockQuantized;

TEST_CASE("GatherBlockQuantized: results of ONNX Runtime") {
  check_recorded("com.microsoft/gather_block_quantized.txt", {&operator_class<GatherBlockQuantized>});
}

namespace {
Value integers(DType type, const Extents& extents, int seed) {
  AnyTensor t = AnyTensor::uninitialized(type, extents);
  auto* bytes = static_cast<uint8_t*>(t.out().data());
  for (int64_t i = 0; i < t.bytes(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 + seed * 11);
  return t;
}
Value numbers(const Extents& extents) {
  Tensor<float> t(extents);
  for (int64_t i = 0; i < t.size(); ++i) t.data()[i] = static_cast<float>(i % 7 + 1) / 4;
  return t;
}
}  // namespace

TEST_CASE("GatherBlockQuantized: int4 and uint4 along any axes") {
  const Value ids = t<int64_t>({2, 2}, {1, 0, -1, 1});
  for (const DType type : {DType::int4, DType::uint4})
    for (const int64_t gathered : {0, 1, 2})
      for (const int64_t blocked : {0, 1, 2}) {
        Extents extents{3, 5, 2}, scales;
        extents[static_cast<int>(blocked)] = 40;
        scales = extents;
        scales[static_cast<int>(blocked)] = 3;
        const Value data = integers(type, extents, 1), scale = numbers(scales),
                    zero = integers(type, scales, 2);
        for (const bool zeros : {false, true}) {
          const op::DequantizeLinear dequantize{.axis = blocked, .block_size = 16};
          const Value all = run(
              dequantize, zeros ? std::vector<Value>{data, scale, zero} : std::vector<Value>{data, scale})[0];
          // Not `check`: bytes hold two numbers, so uint8 is no substitute for uint4.
          const GatherBlockQuantized gather{
              .block_size = 16, .gather_axis = gathered - 3, .quantize_axis = blocked};
          check_equal(run(gather, {data, ids, scale, zeros ? zero : Value()})[0],
                      run(op::Gather{.axis = gathered}, {all, ids})[0]);
        }
      }
}

TEST_CASE("GatherBlockQuantized: extents and errors") {
  const GatherBlockQuantized op{.block_size = 16};
  const Value data = integers(DType::uint8, {3, 16}, 1), ids = t<int64_t>({1}, {2}), scale = numbers({3, 2});
  CHECK(infer(op, {info(DType::uint8, {3, 16}), info(DType::int64, {Dim::symbol(1), 2}),
                   info(DType::float32, {3, 2})})[0]
            .dims == Dims{Dim::symbol(1), 2, 32});
  check(op, {data, t<int64_t>({0}, {}), scale}, {t<float>({0, 32}, {})});
  check_fails(op, {data, t<int64_t>({1}, {3}), scale}, "index 3 outside of [-3, 2]");
  check_fails(op, {data, t<int64_t>({1}, {-4}), scale}, "index -4 outside of [-3, 2]");
  check_fails(op, {integers(DType::uint8, {16}, 1), ids, numbers({2})}, "data: rank 1, expected at least 2");
  check_fails(op, {data, ids, numbers({3, 1})}, "scales: (3,1), expected (3,2)");
  check_fails(op, {data, ids, scale, integers(DType::uint8, {3, 2}, 1)},
              "zero_points: (3,2), expected (3,1)");
  const auto fails = [&](const GatherBlockQuantized& wrong, std::string_view text) {
    check_fails(wrong, {data, ids, scale}, text);
  };
  fails({.bits = 3, .block_size = 16}, "bits: 3, expected 2, 4 or 8");
  fails({.block_size = 20}, "block_size: 20, expected a power of two from 16 on");
  fails({.block_size = 16, .gather_axis = 1}, "gather_axis is 1, expected 0");
  fails({.block_size = 16, .gather_axis = 1, .quantize_axis = 0}, "gather_axis is 1, expected 0");
  fails({.block_size = 16, .gather_axis = 2}, "axis 2 outside of [-2, 1]");
}
}  // namespace tenon
