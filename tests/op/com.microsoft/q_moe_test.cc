#include "tenon/op/com.microsoft/q_moe.hpp"

#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;
using op::com_microsoft::QMoE;

TEST_CASE("QMoE: results of ONNX Runtime") {
  check_recorded("com.microsoft/q_moe.txt", {&operator_class<QMoE>});
}

TEST_CASE("QMoE: extents and errors") {
  const Value x = t<float>({1, 2}, {1, -2}), router = t<float>({1, 1}, {3}),
              w = t<uint8_t>({1, 2, 1}, {0x21, 0x43}), s = t<float>({1, 2}, {1, 2}), none;
  // W = (-7,-6; -10,-8): x W^T = (5, 6), and so on.
  check(QMoE{}, {x, router, w, s, none, w, s}, {t<float>({1, 2}, {-71, -98})});
  // Without numbers between the layers, blocks or not, the second one gives 0.
  const Value between = t<uint8_t>({1, 0, 1}, {}), nothing = t<uint8_t>({1, 2, 0}, {});
  check(QMoE{.block_size = 16},
        {x, router, between, t<float>({1, 0, 1}, {}), none, nothing, t<float>({1, 2, 1}, {1, 1})},
        {t<float>({1, 2}, {0, 0})});
  CHECK(infer(QMoE{}, {info(DType::float32, {Dim::symbol(1), 5, 8}),
                       info(DType::float32, {Dim(), 4}),
                       info(DType::uint8, {4, 16, 4}),
                       info(DType::float32, {4, 16}),
                       {},
                       info(DType::uint8, {4, 8, 8}),
                       info(DType::float32, {4, 8})})[0]
            .dims == Dims{Dim::symbol(1), 5, 8});
  const auto fails = [&](const QMoE& op, std::string_view text) {
    check_fails(op, {x, router, w, s, none, w, s}, text);
  };
  fails({.activation_type = "swiglu", .swiglu_fusion = 2}, "swiglu needs swiglu_fusion 1");
  fails({.block_size = 8}, "block_size: 8, expected a power of two from 16 on");
  fails({.block_size = 16}, "fc1_scales: (1,2), expected (1,2,1)");
  fails({.expert_weight_bits = 3}, "expert_weight_bits: 3, expected 2, 4 or 8");
  fails({.expert_weight_bits = 8}, "fc1_experts_weights: (1,2,1), expected (1,1,2)");
  fails({.k = 2}, "k: 2, but there are 1 experts");
  fails({.quant_type = "fp4"}, "quant_type: 'fp4'");
  fails({.weights_prepacked = 1}, "weights_prepacked: 1, expected");
  check_fails(QMoE{}, {x, router, w, none, none, w, s}, "fc1_scales is missing, which quant_type int needs");
  check_fails(QMoE{}, {x, router, w, s, none, w, s, none, w}, "fc3_experts_weights is not supported");
  check_fails(QMoE{}, {x, router, w, s, none, w, s, none, none, none, none, t<uint8_t>({1, 2}, {1, 2})},
              "fc1_zero_points: (1,2), expected (1,1)");
  check_fails(
      QMoE{},
      {x, router, w, s, none, w, s, none, none, none, none, none, none, none, t<float>({1, 2}, {1, 2})},
      "router_weights: (1,2), expected (1,1)");
}
}  // namespace tenon
