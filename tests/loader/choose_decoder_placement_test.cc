// Placements that are chosen for language models with fewer heads of keys than of queries.
#include "tenon/op/com.microsoft/gather_block_quantized.hpp"
#include "tenon/op/com.microsoft/group_query_attention.hpp"
#include "tenon/op/com.microsoft/mat_mul_n_bits.hpp"
#include "tenon/op/com.microsoft/simplified_layer_normalization.hpp"
#include "tenon/op/com.microsoft/skip_simplified_layer_normalization.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/expand.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/nn/rms_normalization.hpp"
#include "tenon/op/nn/rotary_embedding.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/slice.hpp"
#include "tenon/op/tensor/split.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"
#include "tests/loader/placements.hpp"

namespace tenon {
namespace {

using namespace placements;

// Two layers of a language model as ONNX Runtime GenAI's builder writes it, of 4 bits, with 2 heads of
// queries for each of 4 heads of keys, one step after others. `packed`: one product for queries, keys and
// values.
Built quantised_decoder(bool packed) {
  namespace ms = op::com_microsoft;
  constexpr int64_t heads = 8, kv_heads = 4, size = 16, width = heads * size, inner = 2 * width, words = 48;
  Built b;
  const auto bytes = [&](const std::string& name, const Extents& extents) {
    Tensor<uint8_t> t(extents);
    uint32_t seed = ++b.seed;
    for (int64_t k = 0; k < t.size(); ++k) {
      seed = seed * 1664525 + 1013904223;
      t[k] = static_cast<uint8_t>(seed >> 24);
    }
    return b.g.add_constant(name, std::move(t));
  };
  // Numbers of rows of K stay as large as their operands.
  const auto scales = [&](const std::string& name, const Extents& extents, int64_t K) {
    Tensor<float> t = devices::numbers(extents, ++b.seed);
    for (int64_t k = 0; k < t.size(); ++k) t[k] /= 8 * std::sqrt(static_cast<float>(K));
    return b.g.add_constant(name, std::move(t));
  };
  const auto product = [&](const std::string& name, ValueId of, int64_t K, int64_t N, bool zeros = true) {
    const ms::MatMulNBits op{.K = K, .N = N, .block_size = 16};
    return b.add(name, op,
                 {of, bytes(name + "w", {N, K / 16, 8}), scales(name + "s", {N * K / 16}, K),
                  zeros ? bytes(name + "z", {N * K / 32}) : -1});
  };
  const auto given = [&](std::string_view name, const AnyTensor& t) {
    b.feeds.emplace_back(name, t);  // which refers to the name
    return b.g.add_input(std::string(name), t.dtype(), Dims(t.extents()));
  };
  const auto int32 = [](const Extents& extents, int32_t n) {
    Tensor<int32_t> t(extents);
    t[0] = n;
    return t;
  };
  Tensor<int64_t> word(Extents{1, 1});
  word[0] = 29;
  const ValueId ids = given("x", word), lengths = given("lengths", int32({1, 1}, 6)),
                total = b.g.add_constant("total", int32({}, 7)), cos = b.weights("cos", {9, size / 2}),
                sin = b.weights("sin", {9, size / 2});
  ValueId sum = b.add("embedded", ms::GatherBlockQuantized{.block_size = 16},
                      {bytes("tablew", {words, width / 2}), ids, scales("tables", {words, width / 16}, 1)});
  ValueId added = -1;
  const auto normalised = [&](const std::string& name) {
    const ValueId weight = b.weights(name + "g", {width});
    if (added < 0) return b.add(name, ms::SimplifiedLayerNormalization{}, {sum, weight});
    const auto made =
        b.g.add_node(name, AnyOperator::make(ms::SkipSimplifiedLayerNormalization{}), {sum, added, weight},
                     std::vector<std::string>{name, "", "", name + "sum"});
    sum = made[3];
    return made[0];
  };
  for (const std::string layer : {"1.", "2."}) {
    const ValueId n = normalised(layer + "n");
    const ValueId q = product(layer + "q", n, width, packed ? 2 * width : width),
                  k = packed ? -1 : product(layer + "k", n, width, width / 2),
                  v = packed ? -1 : product(layer + "v", n, width, width / 2);
    const ms::GroupQueryAttention attention{.do_rotary = 1, .kv_num_heads = kv_heads, .num_heads = heads};
    const bool first = layer == "1.";
    const Extents past{1, kv_heads, 6, size};
    const ValueId past_k = given(first ? "1.pk" : "2.pk", devices::numbers(past, ++b.seed)),
                  past_v = given(first ? "1.pv" : "2.pv", devices::numbers(past, ++b.seed));
    const auto made = b.g.add_node(layer + "a", AnyOperator::make(attention),
                                   {q, k, v, past_k, past_v, lengths, total, cos, sin},
                                   std::vector<std::string>{layer + "a", layer + "ak", layer + "av"});
    added = product(layer + "o", made[0], width, width);
    const ValueId m = normalised(layer + "m");
    const ValueId gate = b.add(layer + "r", op::Relu{}, {product(layer + "g", m, width, inner, false)}),
                  up = b.add(layer + "gu", op::Mul{}, {gate, product(layer + "u", m, width, inner, false)});
    added = product(layer + "d", up, inner, width, false);
  }
  b.g.add_output("y", product("y", normalised("last"), width, words));
  return b;
}

TEST_CASE("A quantised decoder is cut by heads of keys and by blocks") {
  const Built b = quantised_decoder(false);
  for (int p = 2; p <= 4; ++p) {
    CAPTURE(p);
    const Placement placement = loader::choose_placement(b.g, {.devices = p, .stages = 1});
    CHECK(cuts(placement, "w") ==
          "1.dw:1 1.gw:0 1.kw:0 1.ow:1 1.qw:0 1.uw:0 1.vw:0 2.dw:1 2.gw:0 2.kw:0 2.ow:1 2.qw:0 2.uw:0 2.vw:0 "
          "tablew:1 yw:0");
    CHECK(cuts(placement, "pk") == "1.pk:1 2.pk:1");
    CHECK(run(b, placement) <= 1e-5);
    CHECK(held(loader::rank_costs(b.g, placement)) <= bytes_of_constants(b.g) * ((4 + p - 1) / p) / 4 + 8192);
  }
}

TEST_CASE("One product for queries and fewer keys and values is cut by columns and gathered") {
  const Built b = quantised_decoder(true);
  for (int p = 2; p <= 4; ++p) {
    CAPTURE(p);
    const Placement placement = loader::choose_placement(b.g, {.devices = p, .stages = 1});
    CHECK(cuts(placement, "qw") == "1.qw:0 2.qw:0");
    CHECK(cuts(placement, "pk") == "");
    CHECK(run(b, placement) <= 1e-5);
    CHECK(held(loader::rank_costs(b.g, placement)) <= bytes_of_constants(b.g) * ((4 + p - 1) / p) / 4 + 8192);
  }
}

TEST_CASE("Heads stay apart through rotations and repetition") {
  constexpr int64_t heads = 8, kv_heads = 4, size = 4, width = heads * size, steps = 5;
  Built b;
  const ValueId x = b.input({1, steps, width}), cos = b.weights("cos", {1, steps, size / 2}),
                sin = b.weights("sin", {1, steps, size / 2});
  const auto product = [&](const std::string& name, ValueId of, int64_t in, int64_t out) {
    return b.add(name, op::MatMul{}, {of, b.weights(name + "w", {in, out})});
  };
  const auto apart = [&](const std::string& name, ValueId of, int64_t count) {
    const ValueId r = b.add(name + "r", op::Reshape{}, {of, b.list({1, steps, count, size})});
    return b.add(name + "t", op::Transpose{.perm = {0, 2, 1, 3}}, {r});
  };
  const auto repeated = [&](const std::string& name, ValueId of) {
    const ValueId u = b.add(name + "u", op::Unsqueeze{}, {of, b.list({2})});
    const ValueId e =
        b.add(name + "e", op::Expand{}, {u, b.list({1, kv_heads, heads / kv_heads, steps, size})});
    return b.add(name + "all", op::Reshape{}, {e, b.list({1, heads, steps, size})});
  };
  const ValueId n = b.add("n", op::RMSNormalization{}, {x, b.weights("ng", {width})});
  const auto rotated = [&](const std::string& name, int64_t count) {
    const ValueId of = apart(name, product(name, n, width, count * size), count);
    return b.add(name + "rot", op::RotaryEmbedding{}, {of, cos, sin});
  };
  const ValueId q = rotated("q", heads), k = repeated("k", rotated("k", kv_heads)),
                v = repeated("v", apart("v", product("v", n, width, kv_heads * size), kv_heads));
  const ValueId turned = b.add("turned", op::Transpose{.perm = {0, 1, 3, 2}}, {k});
  const ValueId scores = b.add("p", op::Softmax{}, {b.add("s", op::MatMul{}, {q, turned})});
  const ValueId a = b.add("at", op::Transpose{.perm = {0, 2, 1, 3}}, {b.add("a", op::MatMul{}, {scores, v})});
  const ValueId joined = b.add("ar", op::Reshape{}, {a, b.list({1, steps, width})});
  const ValueId y = b.add("y1", op::Add{}, {x, product("o", joined, width, width)});
  const ValueId m = b.add("m", op::RMSNormalization{}, {y, b.weights("mg", {width})});
  const ValueId gate = b.add("g1", op::Relu{}, {product("g", m, width, 3 * width)});
  const ValueId up = b.add("gu", op::Mul{}, {gate, product("u", m, width, 3 * width)});
  b.g.add_output("y", b.add("y", op::Add{}, {y, product("d", up, 3 * width, width)}));
  for (const int p : {2, 4}) {
    CAPTURE(p);
    const Placement placement = loader::choose_placement(b.g, {.devices = p});
    CHECK(cuts(placement, "w") == "dw:0 gw:1 kw:1 ow:0 qw:1 uw:1 vw:1");
    CHECK(run(b, placement) <= 1e-6);
  }
}

}  // namespace
}  // namespace tenon
