#include "tenon/op/com.microsoft/engram_gate.hpp"
#include "tenon/op/com.microsoft/gated_add.hpp"
#include "tenon/op/com.microsoft/gated_rms_norm.hpp"
#include "tenon/op/com.microsoft/linear_attention_gate.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;
using namespace op::com_microsoft;

TEST_CASE("Gates of com.microsoft: results of ONNX Runtime") {
  check_recorded("com.microsoft/gates.txt",
                 {&operator_class<GatedAdd>, &operator_class<GatedRMSNorm>,
                  &operator_class<LinearAttentionGate>, &operator_class<EngramGate>});
}

TEST_CASE("com.microsoft.GatedAdd: nothing, what it refuses, symbols, typed") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4}), gate = t<float>({2, 1}, {0.5f, -1});
  check(GatedAdd{}, {t<float>({0, 2}, {}), t<float>({0, 2}, {}), t<float>({0, 1}, {})},
        {t<float>({0, 2}, {})});
  check_fails(GatedAdd{}, {x, t<float>({2, 1}, {1, 2}), gate}, "extents of X and Y differ");
  check_fails(GatedAdd{}, {x, x, x}, "gate: (2,2), expected (2,1)");
  check_fails(GatedAdd{}, {x, x, t<float>({1}, {1})}, "gate: (1), expected (2,1)");
  check_fails(GatedAdd{}, {t<float>({}, {1}), t<float>({}, {1}), t<float>({}, {1})}, "X: rank 0");
  const Dims open{Dim::symbol(1), 4};
  CHECK(infer(GatedAdd{}, {info(DType::float32, {}), info(DType::float32, open), info(DType::float32, {})})[0]
            .dims == open);
  const Value y = GatedAdd{}(Tensor<float>({1, 2}, {1, 2}), Tensor<float>({1, 2}, {10, 20}),
                             Tensor<float>({1, 1}, {0.5f}));
  CHECK(y.view<float>()[1] == 12);
}

TEST_CASE("com.microsoft.GatedRMSNorm: what it refuses, symbols") {
  const Value x = t<float>({1, 4}, {1, 2, 3, 4});
  check(GatedRMSNorm{}, {t<float>({0, 4}, {}), t<float>({2}, {1, 1}), t<float>({0, 4}, {})},
        {t<float>({0, 4}, {})});
  check_fails(GatedRMSNorm{}, {x, t<float>({3}, {1, 2, 3}), x}, "X: 4 numbers do not make heads of 3");
  check_fails(GatedRMSNorm{}, {x, t<float>({0}, {}), x}, "scale's extent: 0, expected at least 1");
  check_fails(GatedRMSNorm{}, {x, x, x}, "scale: rank 2, expected 1");
  check_fails(GatedRMSNorm{}, {x, t<float>({4}, {1, 2, 3, 4}), t<float>({1, 2}, {1, 2})},
              "extents of X and gate differ");
  const Dims open{Dim::symbol(1), Dim::symbol(2), 8};
  CHECK(infer(GatedRMSNorm{},
              {info(DType::float32, open), info(DType::float32, {Dim()}), info(DType::float32, open)})[0]
            .dims == open);
}

TEST_CASE("com.microsoft.LinearAttentionGate: what it refuses, symbols") {
  const Value a = t<float>({1, 2}, {1, 2}), by_head = t<float>({2}, {1, 2});
  check_fails(LinearAttentionGate{}, {a, by_head, by_head}, "beta needs b", 2);
  check_fails(LinearAttentionGate{}, {a, t<float>({1}, {1}), by_head}, "dt_bias: (1), expected (2)");
  check_fails(LinearAttentionGate{}, {a, by_head, a}, "decay_scale: rank 2, expected 1");
  check_fails(LinearAttentionGate{}, {a, by_head, by_head, t<float>({1, 1}, {1})}, "extents of a and b", 2);
  const Dims open{Dim::symbol(1), Dim::symbol(2), 8};
  const auto y = infer(LinearAttentionGate{},
                       {info(DType::float16, open), info(DType::float32, {8}), info(DType::float32, {8}),
                        info(DType::float16, open)},
                       2);
  CHECK(y[0].dims == open);
  CHECK(y[1].dims == open);
}

TEST_CASE("com.microsoft.EngramGate: what it refuses, symbols") {
  const Value x = t<float>({1, 1, 2, 1}, {1, 2}), v = t<float>({1, 1, 1}, {3}),
              scale = t<float>({2, 1}, {1, 1});
  check_fails(EngramGate{}, {x, t<float>({1, 1, 1, 1}, {1}), v, scale, scale}, "extents of key and query");
  check_fails(EngramGate{}, {x, x, t<float>({1, 2, 1}, {1, 2}), scale, scale},
              "value: (1,2,1), expected (1,1,1)");
  check_fails(EngramGate{}, {x, x, v, scale, t<float>({1, 1}, {1})},
              "query_norm_scale: (1,1), expected (2,1)");
  check_fails(EngramGate{}, {v, x, v, scale, scale}, "key: rank 3, expected 4");
  const Dims open{Dim::symbol(1), Dim::symbol(2), 2, 8};
  const auto scales = info(DType::float32, {2, 8});
  CHECK(infer(EngramGate{}, {info(DType::float32, {}), info(DType::float32, open),
                             info(DType::float32, {Dim::symbol(1), Dim::symbol(2), 8}), scales, scales})[0]
            .dims == open);
}
}  // namespace tenon
