// Operators that ONNX defines by functions: models with them give the same when the functions' nodes stand in
// their place.
#include "loader/function/function_body.hpp"

#include <doctest/doctest.h>

#include <random>

#include "loader/check/check.hpp"
#include "loader/function/inline.hpp"
#include "loader/message.hpp"
#include "loader/text/parse_text.hpp"
#include "loader/text/print_text.hpp"
#include "tenon/model.hpp"

namespace tenon {
namespace {

constexpr std::string_view floats = "float double float16 bfloat16", old_floats = "float double float16",
                           real = "float", narrow = "float float16 bfloat16";

// A graph with one node of the operator, and versions of ai.onnx at which it is run; T stands for each of the
// types. Integers of inputs whose names begin with "index" are 0, 1 or 2.
struct Use {
  std::string_view op, opsets, types, graph;
};
constexpr Use uses[] = {
    // Elements.
    {"Celu", "12 15 27", real, "g (T[3,5] x) => (y) { y = Celu <alpha = 1.7> (x) }"},
    {"Celu", "28", floats, "g (T[3,5] x) => (y) { y = Celu (x) }"},
    {"Clip", "13 27", "float double int8 uint64 float16",
     "g (T[4] x, T a, T b) => (y) { y = Clip (x, a, b) }"},
    {"Clip", "13", "float int32", "g (T[4] x, T b) => (y) { y = Clip (x, , b) }"},
    {"Clip", "13", "float int32", "g (T[4] x, T a) => (y) { y = Clip (x, a) }"},
    {"Clip", "13", "bfloat16", "g (T[4] x) => (y) { y = Clip (x) }"},
    {"Clip", "13", "float int32", "g (T x, T[1] a, T[1] b) => (y) { y = Clip (x, a, b) }"},
    {"CastLike", "15 19 21 23 24 25 28", "float double int32 bool float16",
     "g (T[4] x, int16[1] t) => (y) { y = CastLike (x, t) }"},
    {"CastLike", "19 24", "float8e4m3fn float8e5m2 bfloat16",
     "g (float[4] x, T[2] t) => (y) { y = CastLike <saturate = 0> (x, t) }"},
    {"Elu", "18 21", old_floats, "g (T[3,5] x) => (y) { y = Elu <alpha = 0.6> (x) }"},
    {"Elu", "22", floats, "g (T[3,5] x) => (y) { y = Elu (x) }"},
    {"Gelu", "20 28", floats, "g (T[3,5] x) => (y) { y = Gelu (x) }"},
    {"Gelu", "20", floats, "g (T[3,5] x) => (y) { y = Gelu <approximate = \"tanh\"> (x) }"},
    {"GreaterOrEqual", "12 16 28", "float int64 uint8",
     "g (T[3,1] a, T[5] b) => (y) { y = GreaterOrEqual (a, b) }"},
    {"LessOrEqual", "12 16 28", "float int64 uint8",
     "g (T[3,1] a, T[5] b) => (y) { y = LessOrEqual (a, b) }"},
    {"HardSigmoid", "18 21", old_floats,
     "g (T[3,5] x) => (y) { y = HardSigmoid <alpha = 0.3, beta = 0.4> (x) }"},
    {"HardSigmoid", "22", floats, "g (T[3,5] x) => (y) { y = HardSigmoid (x) }"},
    {"HardSwish", "14 18", old_floats, "g (T[3,5] x) => (y) { y = HardSwish (x) }"},
    {"HardSwish", "22", floats, "g (T[3,5] x) => (y) { y = HardSwish (x) }"},
    {"LeakyRelu", "16 28", floats, "g (T[3,5] x) => (y) { y = LeakyRelu <alpha = 0.3> (x) }"},
    {"Mish", "18", old_floats, "g (T[3,5] x) => (y) { y = Mish (x) }"},
    {"Mish", "22", floats, "g (T[3,5] x) => (y) { y = Mish (x) }"},
    {"PRelu", "16 28", "float double float16 bfloat16 int32 int64 uint32",
     "g (T[3,5] x, T[3,1] slope) => (y) { y = PRelu (x, slope) }"},
    {"Relu", "18 28", "float double float16 bfloat16 int8 int64", "g (T[3,5] x) => (y) { y = Relu (x) }"},
    {"Selu", "18", old_floats, "g (T[3,5] x) => (y) { y = Selu (x) }"},
    {"Selu", "22", floats, "g (T[3,5] x) => (y) { y = Selu <alpha = 2.0, gamma = 0.5> (x) }"},
    {"Shrink", "18 28", "float double float16 int8 int64 uint16 uint64",
     "g (T[3,5] x) => (y) { y = Shrink <lambd = 1.5, bias = 1.0> (x) }"},
    {"Shrink", "18", "float int8 int32 uint8",
     "g (T[3,5] x) => (y) { y = Shrink <lambd = 0.4, bias = -1.5> (x) }"},
    {"Softplus", "18", old_floats, "g (T[3,5] x) => (y) { y = Softplus (x) }"},
    {"Softplus", "22", floats, "g (T[3,5] x) => (y) { y = Softplus (x) }"},
    {"Softsign", "18", old_floats, "g (T[3,5] x) => (y) { y = Softsign (x) }"},
    {"Softsign", "22", floats, "g (T[3,5] x) => (y) { y = Softsign (x) }"},
    {"SwiGLU", "28", floats, "g (T[3,5] a, T[3,5] b) => (y) { y = SwiGLU <alpha = 0.7> (a, b) }"},
    {"Swish", "24 28", floats, "g (T[3,5] x) => (y) { y = Swish <alpha = 0.7> (x) }"},
    {"ThresholdedRelu", "18", old_floats, "g (T[3,5] x) => (y) { y = ThresholdedRelu (x) }"},
    {"ThresholdedRelu", "22", floats, "g (T[3,5] x) => (y) { y = ThresholdedRelu <alpha = -0.5> (x) }"},

    // Quantisation, numbers, windows, extents.
    {"DynamicQuantizeLinear", "11 13 20 28", real,
     "g (T[3,5] x) => (y, s, z) { y, s, z = DynamicQuantizeLinear (x) }"},
    {"Bernoulli", "15", old_floats,
     "g (T[3,5] x) => (y) { p = Sigmoid (x) y = Bernoulli <seed = 3.0, dtype = 7> (p) }"},
    {"Bernoulli", "22", floats, "g (T[3,5] x) => (y) { p = Sigmoid (x) y = Bernoulli <seed = 5.0> (p) }"},
    {"Range", "11 20", "float double int16 int32 int64",
     "g (T x) => (y) <T s = {7}, T d = {-2}> { y = Range (s, x, d) }"},
    {"Range", "27 28", "float double float16 bfloat16 int16 int64",
     "g (T x) => (y) <float s = {-9}, float d = {2}> { a = CastLike (s, x) b = CastLike (d, x) y = Range (a, "
     "x, b) }"},
    {"HannWindow", "17 28", real, "g () => (y) <int64 n = {9}> { y = HannWindow <periodic = 0> (n) }"},
    {"HammingWindow", "17 28", real,
     "g () => (y) <int32 n = {10}> { y = HammingWindow <output_datatype = 11> (n) }"},
    {"BlackmanWindow", "17 28", real, "g () => (y) <int64[1] n = {1}> { y = BlackmanWindow (n) }"},
    {"BlackmanWindow", "17 28", real,
     "g () => (y) <int32 n = {8}> { y = BlackmanWindow <output_datatype = 10> (n) }"},
    {"AffineGrid", "20 28", floats,
     "g (T[2,2,3] x) => (y) <int64[4] size = {2, 3, 4, 5}> { y = AffineGrid (x, size) }"},
    {"AffineGrid", "20", floats,
     "g (T[2,3,4] x) => (y) <int64[5] size = {2, 3, 1, 4, 5}> { y = AffineGrid <align_corners = 1> (x, size) "
     "}"},
    {"CenterCropPad", "18 28", "float uint8 bool",
     "g (T[5,4,3] x) => (y) <int64[3] size = {2, 7, 3}> { y = CenterCropPad (x, size) }"},
    {"CenterCropPad", "18", "int64",
     "g (T[5,4,3] x) => (y) <int32[2] size = {4, 0}> { y = CenterCropPad <axes = [-1, 0]> (x, size) }"},
    {"SequenceMap", "17 28", "float int64", R"(g (T[2] a, T[3] b, T[3] x) => (y, z) {
       s = SequenceConstruct (a, b)
       two = Add (x, x)
       y, z = SequenceMap (s, x) <body = step (p, q) => (T[N] r, int64[1] n) <int64 k = {0}> {
         at = ReduceMax <keepdims = 1> (q) head = Gather (two, k) taken = Mul (p, at)
         r = Add (taken, head) n = Shape (p) }>
     })"},

    // Reductions.
    {"ReduceL1", "18 28", "float double float16 int32 int64",
     "g (T[3,4,5] x) => (y) <int64[2] axes = {0, -1}> { y = ReduceL1 (x, axes) }"},
    {"ReduceL2", "18 28", "float double float16 bfloat16 int32 uint64",
     "g (T[3,4,5] x) => (y) <int64[2] axes = {0, -1}> { y = ReduceL2 <keepdims = 0> (x, axes) }"},
    {"ReduceLogSum", "18 28", "float double",
     "g (T[3,4] x) => (y) { p = Abs (x) y = ReduceLogSum <keepdims = 0> (p) }"},
    {"ReduceLogSumExp", "18 28", floats,
     "g (T[3,4,5] x) => (y) <int64[1] axes = {1}> { y = ReduceLogSumExp (x, axes) }"},
    {"ReduceLogSumExp", "18", "float",
     "g (T[3,4,5] x) => (y) { y = ReduceLogSumExp <noop_with_empty_axes = 1> (x) }"},
    {"ReduceSumSquare", "18 28", "float double float16 int32 int64",
     "g (T[3,4,5] x) => (y) { y = ReduceSumSquare <keepdims = 0> (x) }"},

    // Normalisation and losses.
    {"Softmax", "13 17 18 28", floats, "g (T[3,4,5] x) => (y) { y = Softmax <axis = 1> (x) }"},
    {"LogSoftmax", "13 17 18 28", floats, "g (T[3,4,5] x) => (y) { y = LogSoftmax (x) }"},
    {"MeanVarianceNormalization", "9", "float double",
     "g (T[3,2,4,2] x) => (y) { y = MeanVarianceNormalization (x) }"},
    {"MeanVarianceNormalization", "13 17 18", floats,
     "g (T[3,4,5] x) => (y) { y = MeanVarianceNormalization <axes = [0, -1]> (x) }"},
    {"LayerNormalization", "17 18 28", floats,
     "g (T[3,4,5] x, T[4,5] s, T[5] b) => (y, m, i) { y, m, i = LayerNormalization <axis = 1> (x, s, b) }"},
    {"LayerNormalization", "17", floats,
     "g (T[3,4,5] x, T[5] s) => (y, i) { y, , i = LayerNormalization <epsilon = 0.1> (x, s) }"},
    {"RMSNormalization", "23 28", floats,
     "g (T[3,4,5] x, T[4,5] s) => (y) { y = RMSNormalization <axis = -2> (x, s) }"},
    {"RMSNormalization", "23", narrow,
     "g (float[3,4,5] x, T[5] s) => (y) { y = RMSNormalization <axis = 2> (x, s) }"},
    {"GroupNormalization", "18 20", floats,
     "g (T[2,6,2,2] x, T[3] s, T[3] b) => (y) { y = GroupNormalization <num_groups = 3> (x, s, b) }"},
    {"GroupNormalization", "21 28", floats,
     "g (T[2,6,4] x, T[6] s, T[6] b) => (y) { y = GroupNormalization <num_groups = 2> (x, s, b) }"},
    {"NegativeLogLikelihoodLoss", "12 13 22", "float double float16",
     "g (T[4,3,2] x, int64[4,2] index, T[3] w) => (y) { y = NegativeLogLikelihoodLoss (x, index, w) }"},
    {"NegativeLogLikelihoodLoss", "12 13 22", "float double",
     "g (T[4,3,2] x, int32[4,2] index) => (y) { y = NegativeLogLikelihoodLoss <ignore_index = 1> (x, index) "
     "}"},
    {"NegativeLogLikelihoodLoss", "13 28", "float",
     "g (T[4,3] x, int64[4] index) => (y) { y = NegativeLogLikelihoodLoss <reduction = \"none\"> (x, index) "
     "}"},
    {"SoftmaxCrossEntropyLoss", "12 13 28", "float double float16",
     "g (T[4,3,2] x, int64[4,2] index, T[3] w) => (y, p) { y, p = SoftmaxCrossEntropyLoss <ignore_index = 2> "
     "(x, index, w) }"},
    {"SoftmaxCrossEntropyLoss", "12 13 28", "float",
     "g (T[4,3] x, int32[4] index) => (y) { y = SoftmaxCrossEntropyLoss <reduction = \"sum\"> (x, index) }"},

    // Attention.
    {"Attention", "23 24 25 28", floats,
     "g (T[2,4,3,8] q, T[2,2,5,8] k, T[2,2,5,6] v) => (y) { y = Attention (q, k, v) }"},
    {"Attention", "23 24 25", "float float16",
     R"(g (T[2,3,32] q, T[2,5,16] k, T[2,5,12] v, T[3,9] m, T[2,2,4,8] pk, T[2,2,4,6] pv) => (y, k2, v2, s) {
          y, k2, v2, s = Attention <q_num_heads = 4, kv_num_heads = 2, is_causal = 1, softcap = 2.0,
                                    qk_matmul_output_mode = 2, scale = 0.3> (q, k, v, m, pk, pv) })"},
    {"Attention", "24 25", "float double",
     R"(g (T[3,2,3,8] q, T[3,2,5,8] k, T[3,2,5,8] v, bool[3,4] m, int64[3] index) => (y, s) {
          y, , , s = Attention <is_causal = 1, qk_matmul_output_mode = 3> (q, k, v, m, , , index) })"},
    {"Attention", "25 28", "float bfloat16",
     R"(g (T[2,2,4,8] q, T[2,2,5,8] k, T[2,2,5,8] v) => (y) {
          y = Attention <left_window_size = 1, right_window_size = 2, softmax_precision = 11> (q, k, v) })"},
    {"RotaryEmbedding", "23 28", narrow,
     "g (T[2,3,4,8] x, T[5,4] c, T[5,4] s, int64[2,4] index) => (y) { y = RotaryEmbedding (x, c, s, index) "
     "}"},
    {"RotaryEmbedding", "23", narrow,
     R"(g (T[2,4,16] x, T[2,4,3] c, T[2,4,3] s) => (y) {
          y = RotaryEmbedding <num_heads = 2, rotary_embedding_dim = 6, interleaved = 1> (x, c, s) })"},
    {"CausalConvWithState", "27 28", narrow,
     "g (T[2,3,6] x, T[3,1,4] w) => (y, s) { y, s = CausalConvWithState (x, w) }"},
    {"CausalConvWithState", "27", narrow,
     R"(g (T[2,3,6] x, T[3,1,4] w, T[3] b, T[2,3,3] p) => (y, s) {
          y, s = CausalConvWithState <activation = "silu"> (x, w, b, p) })"},
    {"LinearAttention", "27 28", narrow,
     R"(g (T[2,4,12] q, T[2,4,6] k, T[2,4,8] v) => (y, s) {
          y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 2, update_rule = "linear", scale = 0.4> (q, k, v) })"},
    {"LinearAttention", "27", narrow,
     R"(g (T[2,4,12] q, T[2,4,6] k, T[2,4,8] v, float[2,2,3,4] p, T[2,4,2] d, T[2,4,1] b) => (y, s) {
          e = Abs (d) f = Neg (e)
          y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 2> (q, k, v, p, f, b) })"},
    {"FlexAttention", "26", floats,
     "g (T[2,4,3,8] q, T[2,2,5,8] k, T[2,2,5,6] v) => (y) { y = ai.onnx.preview.FlexAttention (q, k, v) }"},
    {"FlexAttention", "26 28", "float float16",
     R"(g (T[2,4,3,8] q, T[2,2,5,8] k, T[2,2,5,6] v, float x) => (y) {
          y = ai.onnx.preview.FlexAttention <softmax_precision = 1, scale = 0.4,
            score_mod = a (Q) => (r) <float[1] K = {0.5}> { t = Mul (Q, K) r = Add (t, x) },
            prob_mod = b (p) => (r) <float[1] K = {2}> { t = Mul (p, K) r = Identity (t) }> (q, k, v) })"},
};

onnx::ModelProto model_of(const Use& use, std::string_view opset, std::string_view type) {
  std::string graph(use.graph);
  for (std::size_t at = 0; (at = graph.find('T', at)) != graph.npos; ++at)
    if ((at == 0 || !std::isalnum(static_cast<unsigned char>(graph[at - 1]))) &&
        (graph[at + 1] == '[' || graph[at + 1] == ' '))
      graph.replace(at, 1, type);
  return loader::parse_text<onnx::ModelProto>(
      str_cat("<ir_version: 13, opset_import: [\"\" : ", opset, ", \"ai.onnx.preview\" : 1]> ", graph));
}

AnyTensor drawn(const onnx::ValueInfoProto& v, std::mt19937& random) {
  const auto& type = v.type().tensor_type();
  const DType element = dtype_from_onnx(type.elem_type());
  Extents extents;
  for (const auto& d : type.shape().dim()) extents.push_back(d.dim_value());
  AnyTensor t = AnyTensor::uninitialized(element, extents);
  std::vector<double> numbers(static_cast<std::size_t>(t.size()));
  for (double& x : numbers) {
    x = static_cast<double>(random() % 600) / 100 - 3;
    if (v.name() == "index") x = static_cast<double>(random() % 3);
    else if (element == DType::bool_ || name_of(element).starts_with('u')) x = std::floor(std::fabs(x));
    else if (is_integer(element)) x = std::floor(2 * x);
  }
  convert_n(element, t.out().data(), DType::float64, numbers.data(), t.size());
  return t;
}

// The elements of tensors, also of tensors in sequences.
std::vector<double> numbers_of(const Value& v) {
  std::vector<double> numbers;
  const auto add = [&](const AnyTensor& t) {
    std::vector<double> part(static_cast<std::size_t>(t.size()));
    convert_n(DType::float64, part.data(), t.dtype(), t.data(), t.size());
    numbers.insert(numbers.end(), part.begin(), part.end());
  };
  if (v.is_sequence())
    for (const Value& item : v.sequence().items) add(item.tensor());
  else add(v.tensor());
  return numbers;
}

bool uses_operator(const onnx::GraphProto& g, std::string_view op) {
  for (const auto& n : g.node()) {
    if (n.op_type() == op) return true;
    for (const auto& a : n.attribute())
      if (a.has_g() && uses_operator(a.g(), op)) return true;
  }
  return false;
}

// Tolerances by type, in units of numbers near 1.
double tolerance(DType t) {
  switch (t) {
    case DType::float64: return 1e-9;
    case DType::float32: return 2e-6;
    case DType::float16: return 2e-3;
    case DType::bfloat16: return 1.6e-2;
    default: return 0;
  }
}

void compare(const onnx::ModelProto& before, const onnx::ModelProto& after) {
  std::mt19937 random(before.graph().name().size());
  std::vector<AnyTensor> tensors;
  std::vector<std::pair<std::string, Value>> given;
  Feeds feeds;
  for (const auto& v : before.graph().input()) given.emplace_back(v.name(), drawn(v, random));
  for (const auto& [name, value] : given) feeds.emplace_back(name, value);
  Outputs expected = Session(Model(before).graph()).run(feeds),
          got = Session(Model(after).graph()).run(feeds);
  REQUIRE(got.size() == expected.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    CAPTURE(k);
    REQUIRE(got[k].type() == expected[k].type());
    if (got[k].is_tensor()) {
      REQUIRE(Extents(got[k].tensor().extents()) == Extents(expected[k].tensor().extents()));
    }
    const std::vector<double> a = numbers_of(expected[k]), b = numbers_of(got[k]);
    REQUIRE(a.size() == b.size());
    const double near = tolerance(expected[k].type().element);
    for (std::size_t j = 0; j < a.size(); ++j) {
      CAPTURE(j);
      const bool same = a[j] == b[j] || (std::isnan(a[j]) && std::isnan(b[j])) ||
                        std::fabs(a[j] - b[j]) <= near * (1 + std::fabs(a[j]));
      CHECK_MESSAGE(same, b[j], " instead of ", a[j]);
    }
  }
}

template <class F>
void each_word(std::string_view text, F f) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    f(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

TEST_CASE("an operator's function gives what the operator gives") {
  for (const Use& use : uses)
    each_word(use.opsets, [&](std::string_view opset) {
      each_word(use.types, [&](std::string_view type) {
        const onnx::ModelProto before = model_of(use, opset, type);
        INFO(loader::print_text(before));
        onnx::ModelProto after = before;
        try {
          loader::inline_functions(after, {.schema_functions = true});
          INFO(loader::print_text(after));
          CHECK(!uses_operator(after.graph(), use.op));
          for (const auto& d : loader::check(after))
            if (d.rule != "type") FAIL_CHECK(to_string(d));
          compare(before, after);
        } catch (const Error& e) {
          FAIL_CHECK(std::string(e.what()));
        }
      });
    });
}

// What of a model's operators is left after expansion.
std::string expanded(std::string_view text, const InlineOptions& options = {.schema_functions = true}) {
  auto m = loader::parse_text<onnx::ModelProto>(text);
  loader::inline_functions(m, options);
  std::string operators;
  for (const auto& n : m.graph().node()) operators += str_cat(operators.empty() ? "" : " ", n.op_type());
  return operators;
}

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20, \"local\" : 1]> "

TEST_CASE("which operators are expanded") {
  const std::string text =
      HEAD "g (float[3] x) => (y) { a = Softsign (x) b = GreaterOrEqual (a, x) y = Not (b) }";
  CHECK(expanded(text) == "Constant Cast Abs Add Div Greater Equal Or Not");
  CHECK(expanded(text, {.only = {{{"", "GreaterOrEqual"}}}, .schema_functions = true}) ==
        "Softsign Greater Equal Or Not");
  CHECK(expanded(text, {.except = {{"ai.onnx", "GreaterOrEqual"}}, .schema_functions = true}) ==
        "Constant Cast Abs Add Div GreaterOrEqual Not");
  CHECK(expanded(text, {}) == "Softsign GreaterOrEqual Not");
}

TEST_CASE("operators that a function is made of") {
  // Loss is made of LogSoftmax, which has a function as well: here, both at once.
  const auto loss = [](const InlineOptions& options) {
    return expanded(
        "<ir_version: 8, opset_import: [\"\" : 18]> g (float[N, C] x, int32[N] t) => (float y) {"
        " y, l = SoftmaxCrossEntropyLoss (x, t) }",
        options);
  };
  const FunctionName outer{"", "SoftmaxCrossEntropyLoss"}, inner{"", "LogSoftmax"};
  for (const auto& only : {std::vector{outer}, std::vector{outer, inner}}) {
    const std::string operators = loss({.only = only, .schema_functions = true});
    CHECK(operators.find("Exp") != std::string::npos);
    CHECK(operators.find("Softmax") == std::string::npos);
  }
  CHECK(loss({.only = std::vector{inner}, .schema_functions = true}) == "SoftmaxCrossEntropyLoss");
  CHECK(expanded("<ir_version: 8, opset_import: [\"\" : 18]> g (float[N, 128] x) => (y) { y = Softmax (x) }",
                 {.only = {{{"", "Softmax"}}}, .schema_functions = true}) != "Softmax");
  // An attribute that the node does not state has its default in the function's nodes.
  auto m = loader::parse_text<onnx::ModelProto>(
      "<ir_version: 8, opset_import: [\"\" : 9]> g (float[2, 3, 4, 5] x) => (y) {"
      " y = MeanVarianceNormalization (x) }");
  loader::inline_functions(m, {.schema_functions = true});
  bool found = false;
  for (const auto& n : m.graph().node())
    if (n.op_type() == "ReduceMean") {
      REQUIRE(n.attribute_size() > 0);
      found = n.attribute(0).name() == "axes";
      CHECK(n.attribute(0).ints_size() == 3);  // 0, 2, 3
    }
  CHECK(found);
}

TEST_CASE("operators that stay") {
  // Before ONNX has a function for them.
  CHECK(expanded("<ir_version: 8, opset_import: [\"\" : 17]> g (float[3] x) => (y) { y = Elu (x) }") ==
        "Elu");
  // The type is not known, and the opset has no CastLike.
  CHECK(expanded("<ir_version: 8, opset_import: [\"\" : 14]> g (x) => (y) { y = HardSwish (x) }") ==
        "HardSwish");
  CHECK(expanded("<ir_version: 8, opset_import: [\"\" : 15]> g (x) => (y) { y = HardSwish (x) }") !=
        "HardSwish");
  // A local function of the name goes before.
  CHECK(expanded("<ir_version: 10, opset_import: [\"\" : 20]> g (float[3] x) => (y) { y = Softsign (x) } "
                 "<opset_import: [\"\" : 20], domain: \"\"> Softsign (a) => (b) { b = Neg (a) }") == "Neg");
}

TEST_CASE("operators in bodies and in functions") {
  auto m = loader::parse_text<onnx::ModelProto>(HEAD R"(
g (float[3] x, bool c) => (y) {
  y = If (c) <then_branch = a () => (p) { p = Softsign (x) }, else_branch = b () => (q) { q = local.f (x) }>
}
<opset_import: ["" : 20], domain: "local"> f (v) => (w) { w = Softsign (v) })");
  const onnx::ModelProto before = m;
  loader::inline_functions(m, {.except = {{"local", "f"}}, .schema_functions = true});
  INFO(loader::print_text(m));
  CHECK(!uses_operator(m.graph(), "Softsign"));
  REQUIRE(m.functions_size() == 1);
  for (const auto& n : m.functions(0).node()) CHECK(n.op_type() != "Softsign");
  compare(before, m);
}

}  // namespace
}  // namespace tenon
