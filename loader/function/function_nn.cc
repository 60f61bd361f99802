// Functions of normalisation, of softmax, and of losses.
#include <numeric>

#include "loader/function/function_call.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using Function = onnx::FunctionProto;

// The negative log likelihood, from nodes that give log-probabilities of classes along axis 1.
struct Likelihood {
  std::string_view log_prob, labels, weights, loss;
  std::string_view scores;  // a parameter of their type
};
// Adds its nodes. Returns false for an unknown reduction.
bool add_likelihood(FunctionText& t, const FunctionCall& call, const Likelihood& n) {
  const std::string reduction = call.word("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean") return false;
  const bool weighted = call.has(2), ignoring = call.find("ignore_index") != nullptr;
  if (ignoring) {
    t.line("Ignore = Constant <value = int64 {", call.integer("ignore_index", 0), "}> ()");
    t.line("IgnoreT = CastLike (Ignore, ", n.labels, ")");
    t.line("First = Constant <value = int64 {0}> ()").line("FirstT = CastLike (First, ", n.labels, ")");
    t.line("Ignored = Equal (", n.labels, ", IgnoreT)");
    t.line("Class = Where (Ignored, FirstT, ", n.labels, ")");
    t.line("Nothing = Constant <value = float {0}> ()").line("Zero = CastLike (Nothing, ", n.scores, ")");
  } else {
    t.line("Class = Identity (", n.labels, ")");
  }
  t.squeeze("Column", "Unsqueeze", "Class", 1);
  t.line("Taken = GatherElements <axis = 1> (", n.log_prob, ", Column)");
  t.squeeze("Likelihood", "Squeeze", "Taken", 1).line("Negative = Neg (Likelihood)");
  if (weighted) t.line("Weight = Gather (", n.weights, ", Class)").line("Weighed = Mul (Negative, Weight)");
  else t.line("Weighed = Identity (Negative)");
  if (ignoring) t.line("Each = Where (Ignored, Zero, Weighed)");
  else t.line("Each = Identity (Weighed)");
  if (reduction == "none") {
    t.line(n.loss, " = Identity (Each)");
  } else if (reduction == "sum") {
    t.line(n.loss, " = ReduceSum <keepdims = 0> (Each)");
  } else if (!weighted && !ignoring) {
    t.line(n.loss, " = ReduceMean <keepdims = 0> (Each)");
  } else {
    if (!weighted) {
      t.line("Unit = Constant <value = float {1}> ()").line("UnitT = CastLike (Unit, ", n.scores, ")");
      t.line("Counted = Where (Ignored, Zero, UnitT)");
    } else if (ignoring) {
      t.line("Counted = Where (Ignored, Zero, Weight)");
    } else {
      t.line("Counted = Identity (Weight)");
    }
    t.line("Total = ReduceSum <keepdims = 0> (Each)").line("Count = ReduceSum <keepdims = 0> (Counted)");
    t.line(n.loss, " = Div (Total, Count)");
  }
  return true;
}

// Adds "Power" and "Sum" of differences "Less" from the maximum, which do not overflow.
void add_powers(FunctionText& t, std::string_view x, int64_t axis) {
  t.reduce("Greatest", "ReduceMax", x, {axis}).line("Less = Sub (", x, ", Greatest)");
  t.line("Power = Exp (Less)").reduce("Sum", "ReduceSum", "Power", {axis});
}

// The axes from `axis` on, as a vector "Axes", or nothing if they cannot be determined. Before opset 18 they
// must be known, since means take them as an attribute.
struct Rows {
  std::vector<int64_t> axes{};
  bool computed = false;  // whether the nodes compute them
};
std::optional<Rows> rows_from(FunctionText& t, const FunctionCall& call) {
  const int64_t axis = call.integer("axis", -1);
  const int rank = call.rank(0);
  if (axis < -64 || axis > 64) return {};
  if (axis < 0 || rank >= 0) {
    const int64_t end = axis < 0 ? 0 : rank;
    if (axis >= end) return {};
    Rows rows;
    rows.axes.resize(static_cast<std::size_t>(end - axis));
    std::iota(rows.axes.begin(), rows.axes.end(), axis);
    return rows;
  }
  if (call.opset < 18) return {};
  t.line("Extents = Shape (X)").line("Rank = Size (Extents)");
  t.line("One = Constant <value = int64 {1}> ()").line("From = Constant <value = int64 {", axis, "}> ()");
  t.line("Axes = Range (From, Rank, One)");
  return Rows{.axes = {}, .computed = true};
}
void add_mean(FunctionText& t, std::string_view name, std::string_view x, const Rows& rows) {
  if (rows.computed) t.line(name, " = ReduceMean (", x, ", Axes)");
  else t.reduce(name, "ReduceMean", x, rows.axes);
}

DType computed_in(DType t) { return t == DType::float16 || t == DType::bfloat16 ? DType::float32 : t; }

// "StandardDeviation" of a variance, in the type of number `type`.
void add_deviation(FunctionText& t, std::string_view variance, float epsilon, int type) {
  t.real("Least", epsilon).line("Epsilon = Cast <to = ", type, "> (Least)");
  t.line("Positive = Add (", variance, ", Epsilon)").line("StandardDeviation = Sqrt (Positive)");
}

}  // namespace

std::optional<Function> build_softmax(const FunctionCall& call) {
  FunctionText t(call.opset);
  add_powers(t, "input", call.integer("axis", -1));
  if (call.node().op_type() == "Softmax") t.line("output = Div (Power, Sum)");
  else t.line("Logarithm = Log (Sum)").line("output = Sub (Less, Logarithm)");
  return make_function(call, "(input) => (output)", t.text());
}

std::optional<Function> build_negative_log_likelihood_loss(const FunctionCall& call) {
  FunctionText t(call.opset);
  if (!add_likelihood(t, call, {"input", "target", "weight", "loss", "input"})) return {};
  return make_function(call, "(input, target, weight) => (loss)", t.text());
}

std::optional<Function> build_softmax_cross_entropy_loss(const FunctionCall& call) {
  FunctionText t(call.opset);
  add_powers(t, "scores", 1);
  t.line("Logarithm = Log (Sum)").line("LogProb = Sub (Less, Logarithm)");
  t.line("log_prob = Identity (LogProb)");
  if (!add_likelihood(t, call, {"LogProb", "labels", "weights", "output", "scores"})) return {};
  return make_function(call, "(scores, labels, weights) => (output, log_prob)", t.text());
}

std::optional<Function> build_mean_variance_normalization(const FunctionCall& call) {
  std::vector<int64_t> axes{0, 2, 3};
  if (call.find("axes") != nullptr) axes = call.integers("axes");
  FunctionText t(call.opset);
  t.reduce("Mean", "ReduceMean", "X", axes).line("Difference = Sub (X, Mean)");
  t.line("Square = Mul (Difference, Difference)").reduce("Variance", "ReduceMean", "Square", axes);
  t.line("StandardDeviation = Sqrt (Variance)");
  t.real("Least", 1e-9).line("Epsilon = CastLike (Least, X)");
  t.line("Divisor = Add (StandardDeviation, Epsilon)").line("Y = Div (Difference, Divisor)");
  return make_function(call, "(X) => (Y)", t.text());
}

std::optional<Function> build_layer_normalization(const FunctionCall& call) {
  const DType type = call.element(0);
  const int computed = number_of(computed_in(type));
  const auto stash = call.integer("stash_type", 1);
  if (type == DType::undefined) return {};
  FunctionText t(call.opset);
  t.line("Wide = Cast <to = ", computed, "> (X)");
  const auto rows = rows_from(t, call);
  if (!rows) return {};
  add_mean(t, "RowMean", "Wide", *rows);
  t.line("Difference = Sub (Wide, RowMean)").line("Square = Mul (Difference, Difference)");
  add_mean(t, "Variance", "Square", *rows);
  add_deviation(t, "Variance", call.real("epsilon", 1e-5f), computed);
  t.line("Inverse = Reciprocal (StandardDeviation)").line("Normal = Mul (Difference, Inverse)");
  t.line("WideScale = Cast <to = ", computed, "> (Scale)").line("Scaled = Mul (Normal, WideScale)");
  if (call.has(2)) t.line("WideBias = Cast <to = ", computed, "> (B)").line("Sum = Add (Scaled, WideBias)");
  else t.line("Sum = Identity (Scaled)");
  t.line("Y = CastLike (Sum, X)").line("Mean = Cast <to = ", stash, "> (RowMean)");
  t.line("InvStdDev = Cast <to = ", stash, "> (Inverse)");
  return make_function(call, "(X, Scale, B) => (Y, Mean, InvStdDev)", t.text());
}

std::optional<Function> build_rms_normalization(const FunctionCall& call) {
  const DType x = call.element(0), scale = call.element(1);
  if (x == DType::undefined || scale == DType::undefined) return {};
  const bool wide = x == DType::float64 || scale == DType::float64;
  const int computed = number_of(wide ? DType::float64 : DType::float32);
  FunctionText t(call.opset);
  t.line("Wide = Cast <to = ", computed, "> (X)").line("Square = Mul (Wide, Wide)");
  const auto rows = rows_from(t, call);
  if (!rows) return {};
  add_mean(t, "MeanSquare", "Square", *rows);
  add_deviation(t, "MeanSquare", call.real("epsilon", 1e-5f), computed);
  t.line("Normal = Div (Wide, StandardDeviation)");
  t.line("WideScale = Cast <to = ", computed, "> (scale)").line("Scaled = Mul (Normal, WideScale)");
  t.line("Y = CastLike (Scaled, scale)");
  return make_function(call, "(X, scale) => (Y)", t.text());
}

std::optional<Function> build_group_normalization(const FunctionCall& call) {
  const DType type = call.element(0);
  const auto groups = call.integer("num_groups", 0);
  if (type == DType::undefined || groups < 1) return {};
  FunctionText t(call.opset);
  t.ints("Groups", {groups}).ints("One", {1}).ints("Axis", {2});
  t.line("Batch = Shape <start = 0, end = 1> (X)").line("Channels = Shape <start = 1, end = 2> (X)");
  t.line("Each = Div (Channels, Groups)").line("Places = Shape <start = 2> (X)");
  t.line("Place = ReduceProd <keepdims = 1> (Places)").line("Row = Mul (Each, Place)");
  t.line("RowShape = Concat <axis = 0> (Batch, Groups, Row)");
  t.line("Rows = Reshape <allowzero = 1> (X, RowShape)").line("Mean = ReduceMean (Rows, Axis)");
  t.line("Difference = Sub (Rows, Mean)").line("Square = Mul (Difference, Difference)");
  t.line("Variance = ReduceMean (Square, Axis)");
  add_deviation(t, "Variance", call.real("epsilon", 1e-5f), number_of(type));
  t.line("Normal = Div (Difference, StandardDeviation)");
  // Before opset 21 the scales are per group, later per channel.
  const bool of_groups = call.opset < 21;
  t.line("Split = Concat <axis = 0> (Batch, Groups, Each, Place)");
  t.line("NormalSplit = Reshape <allowzero = 1> (Normal, Split)");
  t.line("ScaleShape = Concat <axis = 0> (Groups, ", of_groups ? "One" : "Each", ", One)");
  t.line("ScaleSplit = Reshape <allowzero = 1> (scale, ScaleShape)");
  t.line("BiasSplit = Reshape <allowzero = 1> (bias, ScaleShape)");
  t.line("Scaled = Mul (NormalSplit, ScaleSplit)").line("Sum = Add (Scaled, BiasSplit)");
  t.line("Whole = Shape (X)").line("Y = Reshape <allowzero = 1> (Sum, Whole)");
  return make_function(call, "(X, scale, bias) => (Y)", t.text());
}

}  // namespace tenon::TENON_ABI::loader
