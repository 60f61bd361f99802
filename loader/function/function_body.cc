#include "loader/function/function_body.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "loader/check/findings.hpp"
#include "loader/function/function_call.hpp"
#include "loader/text/parse_text.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using Function = onnx::FunctionProto;

constexpr bool halves_in_float = true;

struct Row {
  std::string_view op;
  int opset;                    // the first for which ONNX has a function for it
  std::string_view parameters;  // null: `build` makes the function
  std::string_view nodes;
  BuildFunction build = nullptr;
  bool widened = false;  // whether halves are computed in float, and rounded at the end

  constexpr Row(std::string_view op, int opset, std::string_view parameters, std::string_view nodes,
                bool widened = false)
      : op(op), opset(opset), parameters(parameters), nodes(nodes), widened(widened) {}
  constexpr Row(std::string_view op, int opset, BuildFunction build, bool widened = false)
      : op(op), opset(opset), build(build), widened(widened) {}
};

// A constant and its copy in a parameter's type, "ZeroT": a number, or the value of an attribute.
#define NUMBER(name, value, like) \
  "\n" name " = Constant <value = float {" value "}> ()\n" name "T = CastLike (" name ", " like ")"
#define ATTRIBUTE(name, attribute) \
  "\n" name " = Constant <value_float: float = @" attribute "> ()\n" name "T = CastLike (" name ", X)"
#define ZERO NUMBER("Zero", "0", "X")
#define ONE NUMBER("One", "1", "X")
#define ALPHA ATTRIBUTE("Alpha", "alpha")
constexpr std::string_view elu = ZERO ONE ALPHA R"(
  Power = Exp (X)
  Rise = Sub (Power, OneT)
  Curve = Mul (AlphaT, Rise)
  Below = Less (X, ZeroT)
  Y = Where (Below, Curve, X))";
constexpr std::string_view celu = ZERO ONE ALPHA R"(
  Part = Div (X, AlphaT)
  Power = Exp (Part)
  Rise = Sub (Power, OneT)
  Curve = Mul (AlphaT, Rise)
  Upper = Max (X, ZeroT)
  Lower = Min (Curve, ZeroT)
  Y = Add (Upper, Lower))";
constexpr std::string_view hard_sigmoid = ZERO ONE ALPHA ATTRIBUTE("Beta", "beta") R"(
  Slope = Mul (X, AlphaT)
  Line = Add (Slope, BetaT)
  Bounded = Min (Line, OneT)
  Y = Max (Bounded, ZeroT))";
constexpr std::string_view hard_swish = ZERO NUMBER("Half", "0.5", "X") ONE NUMBER("Six", "6", "X") R"(
  Slope = Div (X, SixT)
  Line = Add (Slope, HalfT)
  Bounded = Min (Line, OneT)
  Gate = Max (Bounded, ZeroT)
  Y = Mul (X, Gate))";
constexpr std::string_view leaky_relu = ZERO ALPHA R"(
  Slope = Mul (AlphaT, X)
  Below = Less (X, ZeroT)
  Y = Where (Below, Slope, X))";
constexpr std::string_view mish = R"(
  Rise = Softplus (X)
  Gate = Tanh (Rise)
  Y = Mul (X, Gate))";
constexpr std::string_view p_relu = ZERO R"(
  Slope = Mul (slope, X)
  Below = Less (X, ZeroT)
  Y = Where (Below, Slope, X))";
constexpr std::string_view relu = ZERO R"(
  Y = Max (X, ZeroT))";
constexpr std::string_view selu = ZERO ONE ALPHA ATTRIBUTE("Gamma", "gamma") R"(
  Power = Exp (X)
  Rise = Sub (Power, OneT)
  Curve = Mul (AlphaT, Rise)
  Above = Greater (X, ZeroT)
  Either = Where (Above, X, Curve)
  Y = Mul (GammaT, Either))";
// log(1 + exp(x)) without overflow of the exponential: max(x, 0) + log(1 + exp(-|x|)).
constexpr std::string_view softplus = ZERO ONE R"(
  Size = Abs (X)
  Negative = Neg (Size)
  Power = Exp (Negative)
  Sum = Add (Power, OneT)
  Rest = Log (Sum)
  Line = Max (X, ZeroT)
  Y = Add (Line, Rest))";
constexpr std::string_view softsign = NUMBER("One", "1", "input") R"(
  Size = Abs (input)
  Whole = Add (OneT, Size)
  output = Div (input, Whole))";
constexpr std::string_view swiglu = R"(
  Gate = Swish <alpha: float = @alpha> (A)
  Y = Mul (Gate, B))";
constexpr std::string_view swish = ALPHA R"(
  Slope = Mul (AlphaT, X)
  Gate = Sigmoid (Slope)
  Y = Mul (X, Gate))";
constexpr std::string_view thresholded_relu = ZERO ALPHA R"(
  Above = Greater (X, AlphaT)
  Y = Where (Above, X, ZeroT))";
#undef NUMBER
#undef ATTRIBUTE
#undef ZERO
#undef ONE
#undef ALPHA

constexpr std::string_view greater_or_equal = R"(
  More = Greater (A, B)
  Same = Equal (A, B)
  C = Or (More, Same))";
constexpr std::string_view less_or_equal = R"(
  Fewer = Less (A, B)
  Same = Equal (A, B)
  C = Or (Fewer, Same))";

// If all elements are zero, the scale is 1.
constexpr std::string_view dynamic_quantize_linear = R"(
  Zero = Constant <value = float {0}> ()
  One = Constant <value = float {1}> ()
  Most = Constant <value = float {255}> ()
  Least = ReduceMin <keepdims = 0> (x)
  From = Min (Least, Zero)
  Greatest = ReduceMax <keepdims = 0> (x)
  To = Max (Greatest, Zero)
  Spread = Sub (To, From)
  Step = Div (Spread, Most)
  Nothing = Equal (From, To)
  y_scale = Where (Nothing, One, Step)
  Steps = Div (From, y_scale)
  Start = Sub (Zero, Steps)
  Bounded = Clip (Start, Zero, Most)
  Rounded = Round (Bounded)
  y_zero_point = Cast <to = 2> (Rounded)
  y = QuantizeLinear (x, y_scale, y_zero_point))";

#define REDUCTION "<keepdims: int = 1, noop_with_empty_axes: int = 0> (data, axes) => (reduced)"
#define ALIKE "keepdims: int = @keepdims, noop_with_empty_axes: int = @noop_with_empty_axes"
constexpr std::string_view reduce_l1 = R"(
  Size = Abs (data)
  reduced = ReduceSum <)" ALIKE R"(> (Size, axes))";
// Exponentials of differences from the maximum do not overflow. An infinite maximum is replaced by 0.
constexpr std::string_view reduce_log_sum_exp = R"(
  Wide = Cast <to = 11> (data)
  Greatest = ReduceMax <keepdims = 1, noop_with_empty_axes: int = @noop_with_empty_axes> (Wide, axes)
  Infinite = IsInf (Greatest)
  Zero = Constant <value = double {0}> ()
  Base = Where (Infinite, Zero, Greatest)
  Less = Sub (Wide, Base)
  Power = Exp (Less)
  Sum = ReduceSum <)" ALIKE R"(> (Power, axes)
  Logarithm = Log (Sum)
  Back = ReduceSum <)" ALIKE R"(> (Base, axes)
  Whole = Add (Logarithm, Back)
  reduced = CastLike (Whole, data))";
constexpr std::string_view reduce_sum_square = R"(
  Square = Mul (data, data)
  reduced = ReduceSum <)" ALIKE R"(> (Square, axes))";
#undef ALIKE

#define UNARY "(X) => (Y)"
#define WITH_ALPHA(value) "<alpha: float = " value "> (X) => (Y)"
constexpr Row rows[] = {
    {"AffineGrid", 20, build_affine_grid, halves_in_float},
    {"Attention", 23, build_attention},
    {"Bernoulli", 15, build_bernoulli},
    {"BlackmanWindow", 17, build_cosine_window},
    {"CastLike", 15, build_cast_like},
    {"CausalConvWithState", 27, build_causal_conv_with_state},
    {"Celu", 12, WITH_ALPHA("1.0"), celu, halves_in_float},
    {"CenterCropPad", 18, build_center_crop_pad},
    {"Clip", 13, build_clip},
    {"DynamicQuantizeLinear", 11, "(x) => (y, y_scale, y_zero_point)", dynamic_quantize_linear},
    {"Elu", 18, WITH_ALPHA("1.0"), elu, halves_in_float},
    {"Gelu", 20, build_gelu, halves_in_float},
    {"GreaterOrEqual", 12, "(A, B) => (C)", greater_or_equal},
    {"GroupNormalization", 18, build_group_normalization, halves_in_float},
    {"HammingWindow", 17, build_cosine_window},
    {"HannWindow", 17, build_cosine_window},
    {"HardSigmoid", 18, "<alpha: float = 0.2, beta: float = 0.5> (X) => (Y)", hard_sigmoid, halves_in_float},
    {"HardSwish", 14, UNARY, hard_swish, halves_in_float},
    {"LayerNormalization", 17, build_layer_normalization},
    {"LeakyRelu", 16, WITH_ALPHA("0.01"), leaky_relu, halves_in_float},
    {"LessOrEqual", 12, "(A, B) => (C)", less_or_equal},
    {"LinearAttention", 27, build_linear_attention},
    {"LogSoftmax", 13, build_softmax, halves_in_float},
    {"MeanVarianceNormalization", 9, build_mean_variance_normalization, halves_in_float},
    {"Mish", 18, UNARY, mish, halves_in_float},
    {"NegativeLogLikelihoodLoss", 12, build_negative_log_likelihood_loss, halves_in_float},
    {"PRelu", 16, "(X, slope) => (Y)", p_relu, halves_in_float},
    {"RMSNormalization", 23, build_rms_normalization},
    {"Range", 11, build_range},
    {"ReduceL1", 18, REDUCTION, reduce_l1, halves_in_float},
    {"ReduceL2", 18, build_reduction_in_double, halves_in_float},
    {"ReduceLogSum", 18, build_reduction_in_double, halves_in_float},
    {"ReduceLogSumExp", 18, REDUCTION, reduce_log_sum_exp},
    {"ReduceSumSquare", 18, REDUCTION, reduce_sum_square, halves_in_float},
    {"Relu", 18, UNARY, relu},
    {"RotaryEmbedding", 23, build_rotary_embedding, halves_in_float},
    {"Selu", 18,
     "<alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875> (X) => (Y)", selu,
     halves_in_float},
    {"SequenceMap", 17, build_sequence_map},
    {"Shrink", 18, build_shrink, halves_in_float},
    {"Softmax", 13, build_softmax, halves_in_float},
    {"SoftmaxCrossEntropyLoss", 12, build_softmax_cross_entropy_loss, halves_in_float},
    {"Softplus", 18, UNARY, softplus, halves_in_float},
    {"Softsign", 18, "(input) => (output)", softsign, halves_in_float},
    {"SwiGLU", 28, "<alpha: float = 1.0> (A, B) => (Y)", swiglu, halves_in_float},
    {"Swish", 24, WITH_ALPHA("1.0"), swish, halves_in_float},
    {"ThresholdedRelu", 18, WITH_ALPHA("1.0"), thresholded_relu, halves_in_float},
};
#undef REDUCTION
#undef UNARY
#undef WITH_ALPHA
static_assert(std::is_sorted(std::begin(rows), std::end(rows),
                             [](const Row& a, const Row& b) { return a.op < b.op; }));
constexpr Row preview_rows[] = {{"FlexAttention", 1, build_flex_attention}};

// The table row for a node's operator.
const Row* find_row(const onnx::NodeProto& node) {
  const auto find = [&](const auto& list) -> const Row* {
    const auto it =
        std::find_if(std::begin(list), std::end(list), [&](const Row& r) { return r.op == node.op_type(); });
    return it == std::end(list) ? nullptr : &*it;
  };
  if (canonical(node.domain()).empty()) return find(rows);
  return node.domain() == "ai.onnx.preview" ? find(preview_rows) : nullptr;
}

// Whether attributes of a node, or of nodes in its bodies, refer to a surrounding function's attributes.
bool refers(const onnx::NodeProto& n, int depth = 0) {
  const auto in_body = [&](const onnx::GraphProto& g) {
    return depth >= max_nesting || std::any_of(g.node().begin(), g.node().end(),
                                               [&](const auto& inner) { return refers(inner, depth + 1); });
  };
  return std::any_of(n.attribute().begin(), n.attribute().end(), [&](const onnx::AttributeProto& a) {
    return !a.ref_attr_name().empty() || (a.has_g() && in_body(a.g())) ||
           std::any_of(a.graphs().begin(), a.graphs().end(), in_body);
  });
}

onnx::NodeProto cast(const std::string& x, const std::string& y, DType to) {
  onnx::NodeProto n;
  n.set_op_type("Cast");
  n.add_input(x);
  n.add_output(y);
  auto& a = *n.add_attribute();
  a.set_name("to");
  a.set_type(onnx::AttributeProto::INT);
  a.set_i(number_of(to));
  return n;
}

// Converts half-precision operands to float, and the results back.
void widen(Function& f, const FunctionCall& call) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  const auto rename = [&](const std::string& from, const std::string& to) {
    for (auto& n : *f.mutable_node()) {
      for (auto& name : *n.mutable_input())
        if (name == from) name = to;
      for (auto& name : *n.mutable_output())
        if (name == from) name = to;
    }
  };
  for (int k = 0; k < f.input_size(); ++k)
    if (call.has(k) && is_half(call.element(k))) {
      const std::string wide = f.input(k) + "_float";
      rename(f.input(k), wide);
      *nodes.Add() = cast(f.input(k), wide, DType::float32);
    }
  nodes.MergeFrom(f.node());
  f.mutable_node()->Swap(&nodes);
  for (const auto& name : f.output()) {
    const std::string wide = name + "_float";
    rename(name, wide);
    *f.add_node() = cast(wide, name, call.element(0));
  }
}

}  // namespace

const onnx::TypeProto* FunctionCall::type(int input) const {
  const auto at = static_cast<std::size_t>(input);
  return at < typed_.inputs.size() ? typed_.inputs[at] : nullptr;
}
const onnx::TypeProto* FunctionCall::result_type(int output) const {
  const auto at = static_cast<std::size_t>(output);
  return at < typed_.outputs.size() ? typed_.outputs[at] : nullptr;
}
DType FunctionCall::element(int input) const {
  const onnx::TypeProto* t = type(input);
  return t != nullptr && t->has_tensor_type() ? dtype_from_onnx(t->tensor_type().elem_type())
                                              : DType::undefined;
}
int FunctionCall::rank(int input) const {
  const onnx::TypeProto* t = type(input);
  return t != nullptr && t->has_tensor_type() && t->tensor_type().has_shape()
             ? t->tensor_type().shape().dim_size()
             : -1;
}
const onnx::AttributeProto* FunctionCall::find(std::string_view attribute) const {
  const auto& list = node().attribute();
  const auto it =
      std::find_if(list.begin(), list.end(), [&](const auto& a) { return a.name() == attribute; });
  return it == list.end() ? nullptr : &*it;
}
int64_t FunctionCall::integer(std::string_view attribute, int64_t otherwise) const {
  const auto* a = find(attribute);
  return a == nullptr ? otherwise : a->i();
}
float FunctionCall::real(std::string_view attribute, float otherwise) const {
  const auto* a = find(attribute);
  return a == nullptr ? otherwise : a->f();
}
std::string FunctionCall::word(std::string_view attribute, std::string_view otherwise) const {
  const auto* a = find(attribute);
  return a == nullptr ? std::string(otherwise) : a->s();
}
std::vector<int64_t> FunctionCall::integers(std::string_view attribute) const {
  const auto* a = find(attribute);
  return a == nullptr ? std::vector<int64_t>() : std::vector<int64_t>(a->ints().begin(), a->ints().end());
}

std::string list_text(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t v : values) text += str_cat(text.empty() ? "" : ",", v);
  return str_cat("[", text, "]");
}
std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value);
  return {digits, end.ptr};
}

FunctionText& FunctionText::ints(std::string_view name, const std::vector<int64_t>& values) {
  std::string list = list_text(values);
  list.front() = '{', list.back() = '}';
  return line(name, " = Constant <value = int64[", values.size(), "] ", list, "> ()");
}
FunctionText& FunctionText::real(std::string_view name, double value) {
  return line(name, " = Constant <value = double {", number_text(value), "}> ()");
}
FunctionText& FunctionText::reduce(std::string_view name, std::string_view reduce, std::string_view x,
                                   const std::vector<int64_t>& axes, bool keepdims) {
  if (opset_ < (reduce == "ReduceSum" ? 13 : 18))
    return line(name, " = ", reduce, " <axes: ints = ", list_text(axes), ", keepdims = ", int{keepdims},
                "> (", x, ")");
  ints(str_cat(name, "_axes"), axes);
  return line(name, " = ", reduce, " <keepdims = ", int{keepdims}, "> (", x, ", ", name, "_axes)");
}
FunctionText& FunctionText::squeeze(std::string_view name, std::string_view squeeze, std::string_view x,
                                    int64_t axis) {
  if (opset_ < 13) return line(name, " = ", squeeze, " <axes = [", axis, "]> (", x, ")");
  ints(str_cat(name, "_axes"), {axis});
  return line(name, " = ", squeeze, " (", x, ", ", name, "_axes)");
}

std::optional<Function> make_function(const FunctionCall& call, std::string_view parameters,
                                      std::string_view nodes) {
  auto f = parse_text<Function>(str_cat("<domain: \"", call.node().domain(),
                                        "\", opset_import: [\"\" : ", call.opset, "]> ",
                                        call.node().op_type(), " ", parameters, " {", nodes, "}"));
  for (auto& n : *f.mutable_node()) {
    if (n.op_type() != "CastLike") continue;
    const auto it = std::find(f.input().begin(), f.input().end(), n.input(1));
    const int like = static_cast<int>(it - f.input().begin());
    const DType to = like < f.input_size() ? call.element(like) : DType::undefined;
    if (to != DType::undefined) n = cast(std::string(n.input(0)), std::string(n.output(0)), to);
    else if (call.opset < 15) return {};
  }
  return f;
}

bool has_function_body(const onnx::NodeProto& node) { return find_row(node) != nullptr; }

std::optional<Function> function_body(const TypedNode& node, const Opsets& opsets) {
  const Row* row = find_row(node.node);
  if (row == nullptr) return {};
  const auto own = opsets.find(canonical(node.node.domain())), standard = opsets.find(std::string_view());
  if (own == opsets.end() || standard == opsets.end() || own->second < row->opset) return {};
  if (refers(node.node)) return {};
  const FunctionCall call(node, standard->second);
  // A body that computes halves in float is written for float.
  std::vector<onnx::TypeProto> wide;
  std::vector<const onnx::TypeProto*> types(node.inputs.begin(), node.inputs.end());
  const bool widened = row->widened && is_half(call.element(0));
  if (widened) {
    wide.reserve(types.size());
    for (int k = 0; k < static_cast<int>(types.size()); ++k)
      if (is_half(call.element(k))) {
        wide.push_back(*types[static_cast<std::size_t>(k)]);
        wide.back().mutable_tensor_type()->set_elem_type(number_of(DType::float32));
        types[static_cast<std::size_t>(k)] = &wide.back();
      }
  }
  const TypedNode typed{node.node, types, node.outputs};
  const FunctionCall as_computed(typed, standard->second);
  auto f = row->build != nullptr ? row->build(as_computed)
                                 : make_function(as_computed, row->parameters, row->nodes);
  if (!f) return {};
  if (widened) widen(*f, call);
  return f;
}

}  // namespace tenon::TENON_ABI::loader
