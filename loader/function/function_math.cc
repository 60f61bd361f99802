// Functions of elementwise operators, of ranges and windows, and of sequences.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "loader/edit/names.hpp"
#include "loader/function/function_call.hpp"

namespace tenon::TENON_ABI::loader {

using Function = onnx::FunctionProto;

std::optional<Function> build_cosine_window(const FunctionCall& call) {
  struct Window {
    std::string_view op;
    double level, swing, double_swing;
  };
  constexpr Window windows[] = {{"HannWindow", 0.5, 0.5, 0},
                                {"HammingWindow", 25.0 / 46, 21.0 / 46, 0},
                                {"BlackmanWindow", 0.42, 0.5, 0.08}};
  const Window w = *std::find_if(std::begin(windows), std::end(windows),
                                 [&](const Window& v) { return v.op == call.node().op_type(); });
  const auto to = call.integer("output_datatype", number_of(DType::float32));
  FunctionText t(call.opset);
  t.line("Zero = Constant <value = int64 {0}> ()").line("One = Constant <value = int64 {1}> ()");
  t.line("Asked = Cast <to = 7> (size)").line("Size = Squeeze (Asked)");
  if (call.integer("periodic", 1) != 0) t.line("Period = Identity (Size)");
  else t.line("Period = Sub (Size, One)");
  t.line("Numbers = Range (Zero, Size, One)").line("N = Cast <to = 11> (Numbers)");
  t.line("Wide = Cast <to = 11> (Period)").real("Turn", 2 * std::numbers::pi);
  t.line("Step = Div (Turn, Wide)").line("Angle = Mul (Step, N)").line("Wave = Cos (Angle)");
  t.real("Swing", w.swing).line("Swung = Mul (Swing, Wave)");
  t.real("Level", w.level).line("Window = Sub (Level, Swung)");
  if (w.double_swing != 0) {
    t.line("Double = Add (Angle, Angle)").line("Overtone = Cos (Double)").real("Part", w.double_swing);
    t.line("Second = Mul (Part, Overtone)").line("Values = Add (Window, Second)");
  } else {
    t.line("Values = Identity (Window)");
  }
  // Other types are cast from float, in which a value just off 1 in double rounds to 1.
  if (to == number_of(DType::float64)) t.line("output = Identity (Values)");
  else t.line("Rounded = Cast <to = 1> (Values)").line("output = Cast <to = ", to, "> (Rounded)");
  return make_function(call, "(size) => (output)", t.text());
}

std::optional<Function> build_clip(const FunctionCall& call) {
  FunctionText t(call.opset);
  // Bounds of one element may be vectors, which must not broadcast a scalar.
  const auto bound = [&](int input, std::string_view op, std::string_view from, std::string_view to,
                         std::string_view name) {
    if (!call.has(input)) return void(t.line(to, " = Identity (", from, ")"));
    if (call.rank(input) != 0) t.line(name, "_scalar = Squeeze (", name, ")");
    t.line(to, " = ", op, " (", from, ", ", name, call.rank(input) != 0 ? "_scalar" : "", ")");
  };
  bound(1, "Max", "input", "Raised", "min");
  bound(2, "Min", "Raised", "output", "max");
  return make_function(call, "(input, min, max) => (output)", t.text());
}

std::optional<Function> build_cast_like(const FunctionCall& call) {
  const DType to = call.element(1);
  if (to == DType::undefined) return {};
  std::string attributes = str_cat("to = ", number_of(to));
  if (call.opset >= 19) attributes += str_cat(", saturate = ", call.integer("saturate", 1));
  if (call.opset >= 24) {
    const std::string mode = call.word("round_mode", "up");
    if (mode != "up" && mode != "down" && mode != "nearest") return {};
    attributes += str_cat(", round_mode = \"", mode, "\"");
  }
  return make_function(call, "(input, target_type) => (output)",
                       str_cat("output = Cast <", attributes, "> (input)"));
}

std::optional<Function> build_gelu(const FunctionCall& call) {
  const std::string approximate = call.word("approximate", "none");
  FunctionText t(call.opset);
  const auto constant = [&](std::string_view name, double value) {
    t.real(str_cat(name, "_exact"), value).line(name, " = CastLike (", name, "_exact, X)");
  };
  constant("Half", 0.5);
  constant("One", 1);
  if (approximate == "none") {
    constant("Factor", 1 / std::numbers::sqrt2);
    t.line("Scaled = Mul (X, Factor)").line("Curve = Erf (Scaled)");
  } else if (approximate == "tanh") {
    constant("Factor", std::sqrt(2 / std::numbers::pi));
    constant("Cubic", 0.044715);
    t.line("Square = Mul (X, X)").line("Cube = Mul (Square, X)").line("Bend = Mul (Cubic, Cube)");
    t.line("Bent = Add (X, Bend)").line("Scaled = Mul (Factor, Bent)").line("Curve = Tanh (Scaled)");
  } else {
    return {};
  }
  t.line("Sum = Add (One, Curve)").line("Gate = Mul (Half, Sum)").line("Y = Mul (X, Gate)");
  return make_function(call, "(X) => (Y)", t.text());
}

// Integers are compared as double, and shifted without rounding: by whole numbers in their own type, by
// others as double.
std::optional<Function> build_shrink(const FunctionCall& call) {
  const DType type = call.element(0);
  if (type == DType::undefined) return {};
  const double bias = call.real("bias", 0), bound = call.real("lambd", 0.5f);
  const bool integer = is_integer(type), whole = bias == std::trunc(bias);
  if (!std::isfinite(bias) || (integer && std::fabs(bias) >= 0x1p31) ||
      (integer && !whole && (type == DType::int64 || type == DType::uint64)))
    return {};
  const std::string_view x = integer ? "Wide" : "input";
  FunctionText t(call.opset);
  if (integer) t.line("Wide = Cast <to = 11> (input)");
  const auto constant = [&](std::string_view name, double value) {
    t.real(str_cat(name, "_exact"), value);
    if (integer) t.line(name, " = Identity (", name, "_exact)");
    else t.line(name, " = CastLike (", name, "_exact, input)");
  };
  constant("Low", -bound);
  constant("High", bound);
  t.line("Below = Less (", x, ", Low)").line("Above = Greater (", x, ", High)");
  const std::string_view up = bias < 0 ? "Sub" : "Add", down = bias < 0 ? "Add" : "Sub";
  if (integer && whole)
    t.line("Size = Constant <value = int64 {", static_cast<int64_t>(std::fabs(bias)), "}> ()");
  else t.real("Size", std::fabs(bias));
  if (integer && !whole) {
    // Casts through int64, from which integers wrap.
    t.line("More = ", up, " (Wide, Size)").line("MoreWhole = Cast <to = 7> (More)");
    t.line("Less = ", down, " (Wide, Size)").line("LessWhole = Cast <to = 7> (Less)");
    t.line("Up = CastLike (MoreWhole, input)").line("Down = CastLike (LessWhole, input)");
  } else {
    t.line("Shift = CastLike (Size, input)");
    t.line("Up = ", up, " (input, Shift)").line("Down = ", down, " (input, Shift)");
  }
  t.real("Nothing", 0).line("Zero = CastLike (Nothing, input)");
  t.line("Upper = Where (Above, Down, Zero)").line("output = Where (Below, Up, Upper)");
  return make_function(call, "(input) => (output)", t.text());
}

// With a seed, the same elements as the operator's: for small probabilities the upper part of the uniform
// numbers gives hits, for large ones the lower part.
std::optional<Function> build_bernoulli(const FunctionCall& call) {
  const DType type = call.element(0);
  const auto to = call.integer("dtype", number_of(type));
  if (type == DType::undefined) return {};
  std::string seed;
  if (const auto* a = call.find("seed")) seed = str_cat(", seed: float = ", number_text(a->f()));
  FunctionText t(call.opset);
  t.line("P = Cast <to = 11> (input)").line("U = RandomUniformLike <dtype = 11", seed, "> (P)");
  t.real("One", 1).real("Half", 0.5).line("Rest = Sub (One, P)").line("Upper = Greater (U, Rest)");
  t.line("Above = Greater (U, P)").line("Lower = Not (Above)").line("Great = Greater (P, Half)");
  t.line("Hit = Where (Great, Lower, Upper)").line("output = Cast <to = ", to, "> (Hit)");
  return make_function(call, "(input) => (output)", t.text());
}

// start + k delta, for each step k before the limit.
std::optional<Function> build_range(const FunctionCall& call) {
  const DType type = call.element(0);
  if (type == DType::undefined) return {};
  const bool whole = is_integer(type), wide = whole || type == DType::float64;
  // Integers are computed as int64, floats as double, from a difference in their own type.
  const int exact = number_of(whole ? DType::int64 : DType::float64);
  const int own = whole ? exact : number_of(wide ? type : DType::float32);
  FunctionText t(call.opset);
  t.ints("One", {1}).ints("None", {0}).line("First = Constant <value = int64 {0}> ()");
  for (const std::string_view name : {"start", "limit", "delta"}) {
    t.line(name, "_vector = Reshape (", name, ", One)");
    t.line(name, "_own = Cast <to = ", own, "> (", name, "_vector)");
    t.line(name, "_wide = Cast <to = ", exact, "> (", name, "_own)");
  }
  t.line("Way = Sub (limit_own, start_own)").line("WideWay = Cast <to = ", exact, "> (Way)");
  if (whole) {
    // Division truncates: a remainder in the direction of delta is one more step.
    t.line("Steps = Div (WideWay, delta_wide)").line("Done = Mul (Steps, delta_wide)");
    t.line("Rest = Sub (WideWay, Done)").line("Side = Sign (Rest)").line("Ahead = Sign (delta_wide)");
    t.line("More = Equal (Side, Ahead)").line("Step = Cast <to = 7> (More)");
    t.line("Total = Add (Steps, Step)").line("Negative = Less (Total, None)");
    t.line("Count = Where (Negative, None, Total)");
  } else {
    t.line("Part = Div (WideWay, delta_wide)").line("Total = Ceil (Part)").real("Nothing", 0);
    t.line("Positive = Max (Total, Nothing)").line("Count = Cast <to = 7> (Positive)");
  }
  t.line("Ones = ConstantOfShape <value = int64[1] {1}> (Count)");
  t.line("Places = CumSum <exclusive = 1> (Ones, First)").line("K = Cast <to = ", exact, "> (Places)");
  t.line("Far = Mul (K, delta_wide)").line("Reached = Add (start_wide, Far)");
  t.line("Rounded = Cast <to = ", own, "> (Reached)").line("output = CastLike (Rounded, start)");
  return make_function(call, "(start, limit, delta) => (output)", t.text());
}

// The positions of all pixels are the columns of one matrix, in homogeneous coordinates with x first; theta
// maps all of them. So any number of axes works.
std::optional<Function> build_affine_grid(const FunctionCall& call) {
  const bool corners = call.integer("align_corners", 0) != 0;
  FunctionText t(call.opset);
  t.ints("Zero", {0}).ints("One", {1}).ints("Two", {2}).ints("Last", {-1});
  t.ints("End", {std::numeric_limits<int64_t>::max()}).ints("Begin", {-std::numeric_limits<int64_t>::max()});
  t.line("Extents = Slice (size, Two, End)");
  t.line("Ones = ConstantOfShape <value = int64[1] {1}> (Extents)").line("Index = NonZero (Ones)");
  t.line("Column = Unsqueeze (Extents, One)");
  if (corners) {
    t.line("Double = Mul (Index, Two)").line("Gaps = Sub (Column, One)").line("Least = Max (Gaps, One)");
  } else {
    t.line("Even = Mul (Index, Two)").line("Double = Add (Even, One)").line("Least = Identity (Column)");
  }
  t.line("Numerator = CastLike (Double, theta)").line("Denominator = CastLike (Least, theta)");
  t.line("Part = Div (Numerator, Denominator)").real("Edge", 1).line("EdgeT = CastLike (Edge, theta)");
  t.line("Place = Sub (Part, EdgeT)").line("Reversed = Slice (Place, Last, Begin, Zero, Last)");
  t.line("Pixels = Shape <start = 1> (Place)").line("RowShape = Concat <axis = 0> (One, Pixels)");
  t.line("Row = Expand (EdgeT, RowShape)").line("Places = Concat <axis = 0> (Reversed, Row)");
  t.line("Mapped = MatMul (theta, Places)").line("ByPixel = Transpose <perm = [0, 2, 1]> (Mapped)");
  t.line("Count = Shape <start = 0, end = 1> (theta)").line("Axes = Shape <start = 1, end = 2> (theta)");
  t.line("GridShape = Concat <axis = 0> (Count, Extents, Axes)");
  t.line("grid = Reshape <allowzero = 1> (ByPixel, GridShape)");
  return make_function(call, "(theta, size) => (grid)", t.text());
}

// Pads to the greater extents, then crops.
std::optional<Function> build_center_crop_pad(const FunctionCall& call) {
  const std::vector<int64_t> axes = call.integers("axes");
  FunctionText t(call.opset);
  t.line("Asked = Cast <to = 7> (shape)").line("All = Shape (input_data)").ints("Two", {2});
  if (!axes.empty()) t.ints("Axes", axes).line("Extents = Gather (All, Axes)");
  else t.line("Extents = Identity (All)");
  t.line("Wider = Max (Extents, Asked)").line("Missing = Sub (Wider, Extents)");
  t.line("Before = Div (Missing, Two)").line("After = Sub (Missing, Before)");
  t.line("Pads = Concat <axis = 0> (Before, After)");
  t.line("Padded = Pad (input_data, Pads", axes.empty() ? "" : ", , Axes", ")");
  t.line("Surplus = Sub (Wider, Asked)").line("Start = Div (Surplus, Two)").line("Stop = Add (Start, Asked)");
  t.line("output_data = Slice (Padded, Start, Stop", axes.empty() ? "" : ", Axes", ")");
  return make_function(call, "(input_data, shape) => (output_data)", t.text());
}

// ReduceL2 and ReduceLogSum: integers are converted to double before anything can overflow.
std::optional<Function> build_reduction_in_double(const FunctionCall& call) {
  const DType type = call.element(0);
  if (type == DType::undefined) return {};
  const bool root = call.node().op_type() == "ReduceL2";
  FunctionText t(call.opset);
  if (is_integer(type)) t.line("Wide = Cast <to = 11> (data)");
  else t.line("Wide = Identity (data)");
  if (root) t.line("Part = Mul (Wide, Wide)");
  else t.line("Part = Identity (Wide)");
  t.line("Sum = ReduceSum <keepdims = ", call.integer("keepdims", 1),
         ", noop_with_empty_axes = ", call.integer("noop_with_empty_axes", 0), "> (Part, axes)");
  t.line("Result = ", root ? "Sqrt" : "Log", " (Sum)").line("reduced = CastLike (Result, data)");
  return make_function(call, "(data, axes) => (reduced)", t.text());
}

namespace {

// A Loop whose body takes the tensors at an index, contains the nodes of the given body, and inserts the
// results.
class SequenceMap {
 public:
  SequenceMap(const FunctionCall& call, const onnx::GraphProto& body)
      : call_(call), node_(call.node()), body_(body) {
    taken_.add_all(body);
  }

  // Returns false if a type that must be stated is unknown.
  bool build() {
    function_.set_name("SequenceMap");
    function_.add_opset_import()->set_version(call_.opset);
    step_.set_name("step");
    const std::string at = taken_.fresh("at"), going = taken_.fresh("going"), goes = taken_.fresh("goes");
    declare_scalar(at, DType::int64, *step_.add_input());
    declare_scalar(going, DType::bool_, *step_.add_input());
    declare_scalar(goes, DType::bool_, *step_.add_output());
    add(step_, "Identity", {going}, goes);
    if (!take_inputs(at)) return false;
    step_.mutable_node()->MergeFrom(body_.node());
    *step_.mutable_initializer() = body_.initializer();
    *step_.mutable_sparse_initializer() = body_.sparse_initializer();
    *step_.mutable_value_info() = body_.value_info();
    begin_loop();
    if (!insert_results()) return false;
    onnx::AttributeProto& repeated = attribute(loop_, "body", onnx::AttributeProto::GRAPH);
    *repeated.mutable_g() = std::move(step_);
    *function_.add_node() = std::move(loop_);
    return true;
  }
  Function take() { return std::move(function_); }

 private:
  std::string fresh(std::string_view name, int k) { return taken_.fresh(str_cat(name, k)); }
  static onnx::NodeProto& add(auto& graph, std::string_view op, const std::vector<std::string>& inputs,
                              const std::string& output) {
    onnx::NodeProto& n = *graph.add_node();
    n.set_op_type(std::string(op));
    for (const std::string& name : inputs) n.add_input(name);
    n.add_output(output);
    return n;
  }
  static onnx::AttributeProto& attribute(onnx::NodeProto& n, const char* name,
                                         onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto& a = *n.add_attribute();
    a.set_name(name);
    a.set_type(type);
    return a;
  }
  static void declare_scalar(const std::string& name, DType element, onnx::ValueInfoProto& v) {
    v.set_name(name);
    v.mutable_type()->mutable_tensor_type()->set_elem_type(number_of(element));
    v.mutable_type()->mutable_tensor_type()->mutable_shape();
  }

  // The body's inputs: the elements of sequences at an index, and other tensors unchanged.
  bool take_inputs(const std::string& at) {
    for (int k = 0; k < node_.input_size(); ++k) {
      const onnx::TypeProto* t = call_.type(k);
      if (k > 0 && t == nullptr) return false;
      const bool sequence = k == 0 || t->has_sequence_type();
      function_.add_input(fresh("input", k));
      if (sequence) add(step_, "SequenceAt", {function_.input(k), at}, body_.input(k).name());
      else add(step_, "Identity", {function_.input(k)}, body_.input(k).name());
    }
    return true;
  }
  void begin_loop() {
    const std::string length = taken_.fresh("length"), yes = taken_.fresh("yes");
    add(function_, "SequenceLength", {function_.input(0)}, length);
    onnx::AttributeProto& start =
        attribute(add(function_, "Constant", {}, yes), "value", onnx::AttributeProto::TENSOR);
    start.mutable_t()->set_data_type(number_of(DType::bool_));
    start.mutable_t()->add_int32_data(1);
    loop_.set_op_type("Loop");
    loop_.add_input(length);
    loop_.add_input(yes);
  }
  // Each output is a state of the loop, a sequence that starts empty.
  bool insert_results() {
    for (int k = 0; k < node_.output_size(); ++k) {
      const onnx::TypeProto* whole = call_.result_type(k);
      int element = body_.output(k).type().tensor_type().elem_type();
      if (element == 0 && whole != nullptr)
        element = whole->sequence_type().elem_type().tensor_type().elem_type();
      if (element == 0) return false;
      onnx::TypeProto type;
      type.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(element);
      const std::string empty = fresh("empty", k), before = fresh("before", k), after = fresh("after", k);
      attribute(add(function_, "SequenceEmpty", {}, empty), "dtype", onnx::AttributeProto::INT)
          .set_i(element);
      loop_.add_input(empty);
      add(step_, "SequenceInsert", {before, body_.output(k).name()}, after);
      for (auto [name, v] : {std::pair{&before, step_.add_input()}, std::pair{&after, step_.add_output()}}) {
        v->set_name(*name);
        *v->mutable_type() = type;
      }
      function_.add_output(fresh("output", k));
      loop_.add_output(function_.output(k));
    }
    return true;
  }

  const FunctionCall& call_;
  const onnx::NodeProto& node_;
  const onnx::GraphProto& body_;
  NameSet taken_;  // including values around the node that the body reads
  Function function_;
  onnx::GraphProto step_;
  onnx::NodeProto loop_;
};

}  // namespace

std::optional<Function> build_sequence_map(const FunctionCall& call) {
  const auto* body = call.find("body");
  const onnx::NodeProto& node = call.node();
  if (body == nullptr || !body->has_g()) return {};
  if (body->g().input_size() != node.input_size() || body->g().output_size() < node.output_size()) return {};
  SequenceMap map(call, body->g());
  if (!map.build()) return {};
  return map.take();
}

}  // namespace tenon::TENON_ABI::loader
