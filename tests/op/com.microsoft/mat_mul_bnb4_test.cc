#include "tenon/op/com.microsoft/mat_mul_bnb4.hpp"

#include "tenon/op/tensor/transpose.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;
using op::com_microsoft::MatMulBnb4;

TEST_CASE("MatMulBnb4: results of ONNX Runtime") {
  check_recorded("com.microsoft/mat_mul_bnb4.txt", {&operator_class<MatMulBnb4>});
}

TEST_CASE("MatMulBnb4: not transposed") {
  const Value b = t<uint8_t>({16}, {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x10, 0x32, 0x54, 0x76,
                                    0x98, 0xba, 0xdc, 0xfe}),
              absmax = t<float>({2}, {1, 2});
  MatMulBnb4 op{.K = 16, .N = 2, .block_size = 16, .quant_type = 0};
  Tensor<float> unit(Extents{16, 16});
  for (int i = 0; i < 256; ++i) unit.data()[i] = i % 17 == 0 ? 1.0f : 0.0f;
  const Value w = run(op::Transpose{}, run(op, {unit, b, absmax}))[0];
  op.transB = 0;
  check(op, {t<float>({2, 2}, {1, 0, 0, 1}), b, absmax}, {w});
}

TEST_CASE("MatMulBnb4: extents and errors") {
  const MatMulBnb4 op{.K = 16, .N = 2, .block_size = 16, .quant_type = 1};
  const Value a = t<float>({1, 16}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}),
              b = t<uint8_t>({16}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}),
              absmax = t<float>({2}, {1, 2});
  CHECK(infer(op, {info(DType::float32, {Dim::symbol(1), 16}), info(DType::uint8, {16}),
                   info(DType::float32, {2})})[0]
            .dims == Dims{Dim::symbol(1), 2});
  check_fails(op, {a, t<uint8_t>({1}, {1}), absmax}, "B: (1), expected 16 numbers");
  check_fails(op, {a, b, t<float>({1}, {1})}, "absmax: (1), expected 2 numbers");
  check_fails(op, {t<float>({1, 2}, {1, 2}), b, absmax}, "A: (1,2) does not end with K, 16");
  const auto fails = [&](const MatMulBnb4& wrong, std::string_view text) {
    check_fails(wrong, {a, b, absmax}, text);
  };
  fails({.K = 16, .N = 2, .block_size = 16, .quant_type = 1, .transB = 0}, "does not end with N, 2");
  fails({.K = 16, .N = 2, .block_size = 24, .quant_type = 1}, "block_size: 24, expected a power of two");
  fails({.K = 16, .N = 2, .block_size = 16, .quant_type = 2}, "quant_type: 2, expected 0 or 1");
  fails({.K = 0, .N = 2, .block_size = 16, .quant_type = 1}, "K: 0, expected at least 1");
}
}  // namespace tenon
