#include "tenon/op/com.microsoft/moe.hpp"

#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;
using op::com_microsoft::MoE;

TEST_CASE("MoE: results of ONNX Runtime") { check_recorded("com.microsoft/moe.txt", {&operator_class<MoE>}); }

TEST_CASE("MoE: halves of pairs one after the other") {
  const Value x = t<float>({1, 2}, {1, -2}), router = t<float>({1, 1}, {3}),
              neighbours = t<float>({1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
              apart = t<float>({1, 4, 2}, {1, 2, 5, 6, 3, 4, 7, 8}), w2 = t<float>({1, 2, 2}, {1, 2, -1, 3});
  MoE op{.activation_type = "swiglu", .swiglu_fusion = 1};
  const std::vector<Value> expected = run(op, {x, router, neighbours, Value(), w2});
  op.swiglu_fusion = 2;
  check(op, {x, router, apart, Value(), w2}, expected);
}

TEST_CASE("MoE: of equal scores the later one's expert") {
  check(MoE{},
        {t<float>({1, 1}, {1}), t<float>({1, 2}, {3, 3}), t<float>({2, 1, 1}, {1, 2}), Value(),
         t<float>({2, 1, 1}, {1, 1})},
        {t<float>({1, 1}, {1})});
}

TEST_CASE("MoE: extents and errors") {
  const Value x = t<float>({1, 2}, {1, -2}), router = t<float>({1, 1}, {3}),
              w = t<float>({1, 2, 2}, {1, 2, 3, 4}), none;
  CHECK(infer(MoE{}, {info(DType::float32, {Dim::symbol(1), 5, 8}),
                      info(DType::float32, {Dim(), 4}),
                      info(DType::float32, {4, 16, 8}),
                      {},
                      info(DType::float32, {4, 8, 16})})[0]
            .dims == Dims{Dim::symbol(1), 5, 8});
  // Weights in either form, as long as the input does not tell which.
  for (const Dims& w1 : {Dims{3, 4, 6}, Dims{3, 6, 4}})
    CHECK(infer(MoE{},
                {info(DType::float32, {3, Dim()}), info(DType::float32, {3, 3}), info(DType::float32, w1),
                 info(DType::float32, {3, 6}), info(DType::float32, {3, w1[2], w1[1]})})[0]
              .dims == Dims{3, Dim()});
  const auto fails = [&](const MoE& op, std::string_view text) {
    check_fails(op, {x, router, w, none, w}, text);
  };
  fails({.k = 2}, "k: 2, but there are 1 experts");
  fails({.k = 0}, "k: 0, expected at least 1");
  fails({.activation_type = "elu"}, "activation_type: 'elu'");
  fails({.activation_type = "swiglu"}, "swiglu needs swiglu_fusion 1 or 2");
  fails({.swiglu_limit = -1.0f}, "swiglu_limit is negative");
  fails({.use_sparse_mixer = 1}, "use_sparse_mixer needs k 2, not 1");
  check_fails(MoE{}, {x, t<float>({2, 1}, {1, 2}), w, none, w}, "router_probs: (2,1), expected (1,1)");
  check_fails(MoE{}, {x, router, t<float>({1, 1, 2}, {1, 2}), none, w},
              "fc1_experts_weights: (1,1,2), expected");
  check_fails(MoE{}, {x, router, w, none, w, none, w}, "fc3_experts_weights and fc3_experts_bias are not");
  check_fails(MoE{}, {t<float>({2}, {1, 2}), router, w, none, w}, "input: rank 1, expected 2 or 3");
}
}  // namespace tenon
