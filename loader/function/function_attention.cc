// Functions of attention: heads, masks, rotations and states.
#include <limits>
#include <unordered_map>

#include "loader/edit/names.hpp"
#include "loader/function/function_call.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using Function = onnx::FunctionProto;

// (batch, steps, heads * size) as (batch, heads, steps, size).
void split_heads(FunctionText& t, std::string_view name, std::string_view x, int64_t heads) {
  t.ints(str_cat(name, "_heads"), {heads});
  t.line(name, "_batch = Shape <start = 0, end = 1> (", x, ")");
  t.line(name, "_steps = Shape <start = 1, end = 2> (", x, ")");
  t.line(name, "_width = Shape <start = 2, end = 3> (", x, ")");
  t.line(name, "_size = Div (", name, "_width, ", name, "_heads)");
  t.line(name, "_shape = Concat <axis = 0> (", name, "_batch, ", name, "_steps, ", name, "_heads, ", name,
         "_size)");
  t.line(name, "_split = Reshape <allowzero = 1> (", x, ", ", name, "_shape)");
  t.line(name, " = Transpose <perm = [0, 2, 1, 3]> (", name, "_split)");
}

// Repeats each head of (batch, KV heads, steps, size) for each query head that shares it.
void repeat_heads(FunctionText& t, std::string_view name, std::string_view x) {
  t.line(name, "_batch = Shape <start = 0, end = 1> (", x, ")");
  t.line(name, "_heads = Shape <start = 1, end = 2> (", x, ")");
  t.line(name, "_rest = Shape <start = 2> (", x, ")");
  t.line(name, "_times = Div (Heads, ", name, "_heads)");
  t.ints(str_cat(name, "_axis"), {2});
  t.line(name, "_apart = Unsqueeze (", x, ", ", name, "_axis)");
  t.line(name, "_wide = Concat <axis = 0> (", name, "_batch, ", name, "_heads, ", name, "_times, ", name,
         "_rest)");
  t.line(name, "_repeated = Expand (", name, "_apart, ", name, "_wide)");
  t.line(name, "_shape = Concat <axis = 0> (", name, "_batch, Heads, ", name, "_rest)");
  t.line(name, " = Reshape <allowzero = 1> (", name, "_repeated, ", name, "_shape)");
}

// "Raw": products of queries Q4 and keys K4 times the scale, in the type of number `type`.
void add_products(FunctionText& t, const FunctionCall& call, int type) {
  if (const auto* scale = call.find("scale")) {
    t.real("ScaleExact", scale->f()).line("Scale = Cast <to = ", type, "> (ScaleExact)");
  } else {
    t.line("HeadSize = Shape <start = 3, end = 4> (Q4)")
        .line("HeadSizeT = Cast <to = ", type, "> (HeadSize)");
    t.line("Root = Sqrt (HeadSizeT)").line("Scale = Reciprocal (Root)");
  }
  t.line("Turned = Transpose <perm = [0, 1, 3, 2]> (K4)").line("Q4Scaled = Mul (Q4, Scale)");
  t.line("Raw = MatMul (Q4Scaled, Turned)");
}

// "Allowed": which keys are near enough to a query and part of the sequence. Returns false if all are.
bool add_allowed(FunctionText& t, const FunctionCall& call) {
  const int64_t left = call.integer("left_window_size", -1);
  const bool causal = call.integer("is_causal", 0) != 0, ends = call.has(6);
  const int64_t right = causal ? 0 : call.integer("right_window_size", -1);
  if (left < 0 && right < 0 && !ends) return false;
  t.line("First = Constant <value = int64 {0}> ()").line("Next = Constant <value = int64 {1}> ()");
  t.line("Queries1 = Shape <start = 2, end = 3> (Q4)").line("Keys1 = Shape <start = 2, end = 3> (K4)");
  t.line("Queries = Squeeze (Queries1)").line("Keys = Squeeze (Keys1)");
  t.line("Row = Range (First, Queries, Next)").line("Column = Range (First, Keys, Next)");
  t.ints("RowAxis", {1}).line("Rows = Unsqueeze (Row, RowAxis)");
  if (ends) {
    t.ints("EndAxes", {1, 2, 3}).line("Ends = Unsqueeze (nonpad_kv_seqlen, EndAxes)");
    t.line("Before = Sub (Ends, Queries1)");
  } else if (call.has(4)) {
    t.line("Before = Shape <start = 2, end = 3> (past_key)");
  } else {
    t.ints("Before", {0});
  }
  t.line("Position = Add (Rows, Before)").line("Ahead = Sub (Column, Position)");
  std::string allowed;
  const auto demand = [&](std::string_view name) {
    if (!allowed.empty()) t.line(allowed, "And", name, " = And (", allowed, ", ", name, ")");
    allowed = allowed.empty() ? std::string(name) : str_cat(allowed, "And", name);
  };
  if (right >= 0) {
    t.line("Right = Constant <value = int64 {", right, "}> ()").line("Early = LessOrEqual (Ahead, Right)");
    demand("Early");
  }
  if (left >= 0) {
    t.line("Left = Constant <value = int64 {", -left, "}> ()").line("Late = GreaterOrEqual (Ahead, Left)");
    demand("Late");
  }
  if (ends) {
    t.line("There = Less (Column, Ends)");
    demand("There");
  }
  t.line("Allowed = Identity (", allowed, ")");
  return true;
}

// "Bias", which is added to scores: the mask, with -inf for forbidden keys. Returns false if there is none.
bool add_bias(FunctionText& t, const FunctionCall& call, int type) {
  const bool limited = add_allowed(t, call), masked = call.has(3);
  if (!limited && !masked) return false;
  t.real("InfiniteExact", -std::numeric_limits<double>::infinity());
  t.line("Infinite = Cast <to = ", type, "> (InfiniteExact)");
  t.real("ZeroExact", 0).line("Zero = Cast <to = ", type, "> (ZeroExact)");
  if (masked) {
    if (call.element(3) == DType::bool_) t.line("Stated = Where (attn_mask, Zero, Infinite)");
    else t.line("Stated = Cast <to = ", type, "> (attn_mask)");
    if (call.opset < 24) {
      t.line("Mask = Identity (Stated)");
    } else {
      // Keys past the mask's end are masked.
      t.ints("LastAxis", {-1}).ints("NoPad", {0});
      t.line("AllKeys = Shape <start = 2, end = 3> (K4)").line("MaskKeys = Shape <start = -1> (Stated)");
      t.line("Lacking = Sub (AllKeys, MaskKeys)").line("Pads = Concat <axis = 0> (NoPad, Lacking)");
      t.line("Mask = Pad (Stated, Pads, Infinite, LastAxis)");
    }
  } else {
    t.line("Mask = Identity (Zero)");
  }
  if (limited) t.line("Bias = Where (Allowed, Mask, Infinite)");
  else t.line("Bias = Identity (Mask)");
  return true;
}

// "Weights": the softmax of `scores`, in the precision that the node requests; 0 for queries without keys.
void add_weights(FunctionText& t, const FunctionCall& call, std::string_view scores, bool biased, int type) {
  const auto precision = call.integer("softmax_precision", type);
  t.line("Precise = Cast <to = ", precision, "> (", scores, ")").line("Soft = Softmax <axis = -1> (Precise)");
  t.line("SoftT = Cast <to = ", type, "> (Soft)");
  if (!biased) return void(t.line("Weights = Identity (SoftT)"));
  t.ints("KeyAxis", {-1}).line("Greatest = ReduceMax (Bias, KeyAxis)");
  t.line("Keyless = Equal (Greatest, Infinite)").line("Weights = Where (Keyless, Zero, SoftT)");
}

// The nodes of a graph, with initializers as constants, and the names of its input and output.
struct Mod {
  NodeList nodes;
  std::string input, output;
};
Mod nodes_of(onnx::GraphProto g, NameSet& taken) {
  std::unordered_map<std::string, std::string> names;
  each_definition(g, [&](const std::string& name) { names.emplace(name, ""); });
  for (auto& [from, to] : names) to = taken.fresh(from);
  change_names(g, [&](std::string& name) {
    if (const auto it = names.find(name); it != names.end()) name = it->second;
  });
  Mod mod;
  const auto add_constant = [&](const std::string& name) -> onnx::AttributeProto& {
    auto& n = *mod.nodes.Add();
    n.set_op_type("Constant");
    n.add_output(name);
    return *n.add_attribute();
  };
  for (auto& t : *g.mutable_initializer()) {
    auto& a = add_constant(t.name());
    a.set_name("value");
    a.set_type(onnx::AttributeProto::TENSOR);
    *a.mutable_t() = std::move(t);
  }
  for (auto& t : *g.mutable_sparse_initializer()) {
    auto& a = add_constant(t.values().name());
    a.set_name("sparse_value");
    a.set_type(onnx::AttributeProto::SPARSE_TENSOR);
    *a.mutable_sparse_tensor() = std::move(t);
  }
  mod.nodes.MergeFrom(g.node());
  mod.input = g.input(0).name(), mod.output = g.output(0).name();
  return mod;
}

}  // namespace

std::optional<Function> build_attention(const FunctionCall& call) {
  const DType own = call.element(0), value = call.element(2);
  const int rank = call.rank(0);
  if (own == DType::undefined || value == DType::undefined || (rank != 3 && rank != 4)) return {};
  if (call.has(3) && call.element(3) == DType::undefined) return {};
  const int type = number_of(is_half(own) ? DType::float32 : own);
  FunctionText t(call.opset);
  const int64_t heads = call.integer("q_num_heads", 0), kv_heads = call.integer("kv_num_heads", 0);
  if (rank == 3 && (heads < 1 || kv_heads < 1)) return {};
  for (const auto& [name, part] : {std::pair{"Q", heads}, std::pair{"K", kv_heads}, std::pair{"V", kv_heads}})
    if (rank == 3) split_heads(t, str_cat(name, "Split"), name, part);
    else t.line(name, "Split = Identity (", name, ")");
  if (call.has(4)) t.line("PresentK = Concat <axis = 2> (past_key, KSplit)");
  else t.line("PresentK = Identity (KSplit)");
  if (call.has(5)) t.line("PresentV = Concat <axis = 2> (past_value, VSplit)");
  else t.line("PresentV = Identity (VSplit)");
  t.line("present_key = Identity (PresentK)").line("present_value = Identity (PresentV)");

  t.line("Q4 = Cast <to = ", type, "> (QSplit)").line("Heads = Shape <start = 1, end = 2> (Q4)");
  t.line("WideK = Cast <to = ", type, "> (PresentK)").line("WideV = Cast <to = ", type, "> (PresentV)");
  repeat_heads(t, "K4", "WideK");
  repeat_heads(t, "V4", "WideV");
  add_products(t, call, type);
  if (const float cap = call.real("softcap", 0); cap > 0) {
    t.real("CapExact", cap).line("Cap = Cast <to = ", type, "> (CapExact)");
    t.line("Part = Div (Raw, Cap)").line("Bent = Tanh (Part)").line("Capped = Mul (Bent, Cap)");
  } else {
    t.line("Capped = Identity (Raw)");
  }
  const bool biased = add_bias(t, call, type);
  if (biased) {
    // A forbidden key has no effect, whatever its product is.
    t.line("Sum = Add (Capped, Bias)").line("Forbidden = Equal (Bias, Infinite)");
    t.line("Scores = Where (Forbidden, Infinite, Sum)");
  } else {
    t.line("Scores = Identity (Capped)");
  }
  add_weights(t, call, "Scores", biased, type);
  t.line("Mixed = MatMul (Weights, V4)");
  if (rank == 3) {
    t.line("BySteps = Transpose <perm = [0, 2, 1, 3]> (Mixed)");
    t.line("Front = Shape <start = 0, end = 2> (BySteps)");
    t.line("Size = Shape <start = 3, end = 4> (BySteps)").line("Width = Mul (Heads, Size)");
    t.line("Extents = Concat <axis = 0> (Front, Width)");
    t.line("Joined = Reshape <allowzero = 1> (BySteps, Extents)");
  } else {
    t.line("Joined = Identity (Mixed)");
  }
  t.line("Y = CastLike (Joined, Q)");
  constexpr std::string_view stages[] = {"Raw", "Capped", "Scores", "Weights"};
  const int64_t mode = call.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return {};
  t.line("qk_matmul_output = CastLike (", stages[mode], ", Q)");
  return make_function(call,
                       "(Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen) => "
                       "(Y, present_key, present_value, qk_matmul_output)",
                       t.text());
}

// Nodes "score_mod" and "prob_mod" are placeholders for the graphs of these names until the end.
std::optional<Function> build_flex_attention(const FunctionCall& call) {
  const DType own = call.element(0);
  if (own == DType::undefined) return {};
  const auto asked = call.integer("softmax_precision", 0), wide = int64_t{number_of(DType::float64)};
  const int type = number_of(own == DType::float64 || asked == wide ? DType::float64 : DType::float32);
  const auto precision = asked != 0 ? asked : number_of(is_half(own) ? DType::float32 : own);
  const std::string_view places[] = {"score_mod", "prob_mod"};
  FunctionText t(call.opset);
  t.line("Q4 = Cast <to = ", type, "> (Q)").line("Heads = Shape <start = 1, end = 2> (Q)");
  t.line("WideK = Cast <to = ", type, "> (K)").line("WideV = Cast <to = ", type, "> (V)");
  repeat_heads(t, "K4", "WideK");
  repeat_heads(t, "V4", "WideV");
  add_products(t, call, type);
  t.line("Precise = Cast <to = ", precision, "> (Raw)");
  t.line("Scores = ", call.find(places[0]) != nullptr ? places[0] : "Identity", " (Precise)");
  t.line("Soft = Softmax <axis = -1> (Scores)");
  t.line("Weights = ", call.find(places[1]) != nullptr ? places[1] : "Identity", " (Soft)");
  t.line("WideWeights = Cast <to = ", type, "> (Weights)").line("Mixed = MatMul (WideWeights, V4)");
  t.line("Y = CastLike (Mixed, Q)");
  auto f = make_function(call, "(Q, K, V) => (Y)", t.text());
  if (!f) return {};

  NameSet taken;
  for (const std::string_view place : places)
    if (const auto* a = call.find(place)) {
      if (!a->has_g() || a->g().input_size() != 1 || a->g().output_size() != 1) return {};
      taken.add_all(a->g());
    }
  std::unordered_map<std::string, std::string> names;
  each_name(*f, [&](const std::string& name, NameOf) { names.emplace(name, ""); });
  for (auto& [from, to] : names) to = taken.fresh(from);
  for (auto* list : {f->mutable_input(), f->mutable_output()})
    for (auto& name : *list) name = names[name];
  NodeList nodes;
  nodes.Swap(f->mutable_node());
  for (auto& n : nodes) {
    for (auto* list : {n.mutable_input(), n.mutable_output()})
      for (auto& name : *list) name = names[name];
    const auto* a = n.op_type() == places[0] || n.op_type() == places[1] ? call.find(n.op_type()) : nullptr;
    if (a == nullptr) {
      *f->add_node() = std::move(n);
      continue;
    }
    const Mod mod = nodes_of(a->g(), taken);
    onnx::NodeProto in, out;
    for (auto* link : {&in, &out}) link->set_op_type("Identity");
    in.add_input(n.input(0)), in.add_output(mod.input);
    out.add_input(mod.output), out.add_output(n.output(0));
    *f->add_node() = std::move(in);
    f->mutable_node()->MergeFrom(mod.nodes);
    *f->add_node() = std::move(out);
  }
  return f;
}

std::optional<Function> build_linear_attention(const FunctionCall& call) {
  const int64_t heads = call.integer("q_num_heads", 0), kv_heads = call.integer("kv_num_heads", 0);
  const std::string rule = call.word("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta",
             delta = rule == "delta" || rule == "gated_delta";
  if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0 || (!gated && !delta && rule != "linear") ||
      gated != call.has(4) || delta != call.has(5))
    return {};
  FunctionText t(call.opset);
  // Steps first, as Scan takes them: (steps, batch, heads, size).
  const auto split = [&](std::string_view name, std::string_view x, std::string_view count) {
    t.line(name, "_wide = Cast <to = 1> (", x, ")")
        .line(name, "_front = Shape <start = 0, end = 2> (", x, ")");
    t.line(name, "_width = Shape <start = 2, end = 3> (", x, ")");
    t.line(name, "_size = Div (", name, "_width, ", count, ")");
    t.line(name, "_shape = Concat <axis = 0> (", name, "_front, ", count, ", ", name, "_size)");
    t.line(name, "_split = Reshape <allowzero = 1> (", name, "_wide, ", name, "_shape)");
    t.line(name, " = Transpose <perm = [1, 0, 2, 3]> (", name, "_split)");
  };
  t.ints("Heads", {heads}).ints("KVHeads", {kv_heads}).ints("Group", {heads / kv_heads}).ints("One", {1});
  t.ints("Axis2", {2}).ints("Last", {-1}).ints("LastButOne", {-2});
  split("Q", "query", "Heads");
  split("K", "key", "KVHeads");
  split("V", "value", "KVHeads");
  std::string inputs = "Q, K, V", parameters = "q, k, v";
  if (gated) {
    split("D", "decay", "KVHeads");
    t.line("Factor = Exp (D)");
    inputs += ", Factor", parameters += ", factor";
  }
  if (delta) {
    t.line("BetaHeads = Shape <start = 2, end = 3> (beta)");
    split("B", "beta", "BetaHeads");
    inputs += ", B", parameters += ", b";
  }
  t.line("Batch = Shape <start = 0, end = 1> (query)");
  t.line("StateShape = Concat <axis = 0> (Batch, KVHeads, K_size, V_size)");
  if (call.has(3)) t.line("Start = Cast <to = 1> (past_state)");
  else t.line("Start = ConstantOfShape <value = float[1] {0}> (StateShape)");
  t.line("GroupShape = Concat <axis = 0> (Batch, KVHeads, Group, K_size, V_size)");
  t.line("ReadShape = Concat <axis = 0> (Batch, Heads, K_size, V_size)");
  if (const float scale = call.real("scale", 0); scale != 0) {
    t.line("Scale = Constant <value = float {", number_text(static_cast<double>(scale)), "}> ()");
  } else {
    t.line("Size = Cast <to = 1> (K_size)").line("Root = Sqrt (Size)").line("Scale = Reciprocal (Root)");
  }
  t.line("End, Read = Scan (Start, ", inputs, ") <num_scan_inputs = ", 3 + int{gated} + int{delta},
         ", body = step (state, ", parameters, ") => (changed, output) {");
  if (gated) t.line("factor_column = Unsqueeze (factor, Last)").line("kept = Mul (state, factor_column)");
  else t.line("kept = Identity (state)");
  t.line("k_column = Unsqueeze (k, Last)");
  if (delta) {
    t.line("turned = Transpose <perm = [0, 1, 3, 2]> (kept)")
        .line("found_column = MatMul (turned, k_column)");
    t.line("found = Squeeze (found_column, Last)")
        .line("news = Sub (v, found)")
        .line("write = Mul (b, news)");
  } else {
    t.line("write = Identity (v)");
  }
  t.line("write_row = Unsqueeze (write, LastButOne)").line("added = MatMul (k_column, write_row)");
  t.line("changed = Add (kept, added)").line("apart = Unsqueeze (changed, Axis2)");
  t.line("repeated = Expand (apart, GroupShape)");
  t.line("read_from = Reshape <allowzero = 1> (repeated, ReadShape)");
  t.line("q_row = Unsqueeze (q, LastButOne)").line("read_row = MatMul (q_row, read_from)");
  t.line("read = Squeeze (read_row, LastButOne)").line("output = Mul (read, Scale)").line("}>");
  t.line("BySteps = Transpose <perm = [1, 0, 2, 3]> (Read)").line("Width = Mul (Heads, V_size)");
  t.line("Extents = Concat <axis = 0> (Q_front, Width)");
  t.line("Joined = Reshape <allowzero = 1> (BySteps, Extents)").line("output = CastLike (Joined, query)");
  t.line("present_state = CastLike (End, ", call.has(3) ? "past_state" : "query", ")");
  return make_function(call, "(query, key, value, past_state, decay, beta) => (output, present_state)",
                       t.text());
}

// Computes in the type of the operands, which rounds halves after each step, as the operator does.
std::optional<Function> build_causal_conv_with_state(const FunctionCall& call) {
  const onnx::TypeProto* weight = call.type(1);
  if (call.rank(1) != 3 || !weight->tensor_type().shape().dim(0).has_dim_value()) return {};
  const int64_t channels = weight->tensor_type().shape().dim(0).dim_value();
  const std::string activation = call.word("activation", "none");
  FunctionText t(call.opset);
  t.ints("One", {1}).ints("Axis", {2}).line("Kernel = Shape <start = 2, end = 3> (weight)");
  t.line("Held = Sub (Kernel, One)");
  if (call.has(3)) {
    t.line("Past = Identity (past_state)");
  } else {
    t.line("Front = Shape <start = 0, end = 2> (input)").line("PastShape = Concat <axis = 0> (Front, Held)");
    t.line("Zeros = ConstantOfShape (PastShape)").line("Past = CastLike (Zeros, input)");
  }
  t.line("All = Concat <axis = 2> (Past, input)");
  t.line("Products = Conv <group = ", channels, "> (All, weight)");
  if (call.has(2)) {
    t.ints("Column", {-1, 1}).line("Biases = Reshape (bias, Column)").line("Sum = Add (Products, Biases)");
  } else {
    t.line("Sum = Identity (Products)");
  }
  if (activation == "silu" || activation == "swish") {
    t.line("Wide = Cast <to = 1> (Sum)").line("Gate = Sigmoid (Wide)").line("Gated = Mul (Wide, Gate)");
    t.line("output = CastLike (Gated, input)");
  } else if (activation == "none") {
    t.line("output = Identity (Sum)");
  } else {
    return {};
  }
  t.line("Stop = Shape <start = 2, end = 3> (All)").line("From = Sub (Stop, Held)");
  t.line("present_state = Slice (All, From, Stop, Axis)");
  return make_function(call, "(input, weight, bias, past_state) => (output, present_state)", t.text());
}

std::optional<Function> build_rotary_embedding(const FunctionCall& call) {
  const int rank = call.rank(0);
  const int64_t heads = call.integer("num_heads", 0), width = call.integer("rotary_embedding_dim", 0);
  if ((rank != 3 && rank != 4) || (rank == 3 && heads < 1) || width < 0) return {};
  FunctionText t(call.opset);
  t.ints("Zero", {0}).ints("One", {1}).ints("Two", {2}).ints("Three", {3}).ints("Last", {-1});
  t.ints("Far", {std::numeric_limits<int64_t>::max()}).line("Whole = Shape (X)");
  if (rank == 3) split_heads(t, "X4", "X", heads);
  else t.line("X4 = Identity (X)");
  if (width > 0) t.ints("Width", {width});
  else t.line("Width = Shape <start = 3, end = 4> (X4)");
  t.line("Pairs = Div (Width, Two)");
  t.line("Turned = Slice (X4, Zero, Width, Three)").line("Kept = Slice (X4, Width, Far, Three)");
  // Angles are (batch, 1, steps, pairs).
  for (const std::string_view name : {"cos", "sin"}) {
    if (call.has(3)) t.line(name, "_rows = Gather (", name, "_cache, position_ids)");
    else t.line(name, "_rows = Identity (", name, "_cache)");
    t.line(name, "_pairs = Slice (", name, "_rows, Zero, Pairs, Two)");
    t.line(name, " = Unsqueeze (", name, "_pairs, One)");
  }
  const bool interleaved = call.integer("interleaved", 0) != 0;
  if (interleaved) {
    t.line("A = Slice (Turned, Zero, Far, Three, Two)").line("B = Slice (Turned, One, Far, Three, Two)");
  } else {
    t.line("A = Slice (Turned, Zero, Pairs, Three)").line("B = Slice (Turned, Pairs, Far, Three)");
  }
  t.line("CosA = Mul (cos, A)").line("SinB = Mul (sin, B)").line("Real = Sub (CosA, SinB)");
  t.line("SinA = Mul (sin, A)").line("CosB = Mul (cos, B)").line("Imaginary = Add (SinA, CosB)");
  if (interleaved) {
    t.line("Reals = Unsqueeze (Real, Last)").line("Imaginaries = Unsqueeze (Imaginary, Last)");
    t.line("Paired = Concat <axis = -1> (Reals, Imaginaries)").line("Extents = Shape (Turned)");
    t.line("Rotated = Reshape <allowzero = 1> (Paired, Extents)");
  } else {
    t.line("Rotated = Concat <axis = -1> (Real, Imaginary)");
  }
  t.line("Joined = Concat <axis = -1> (Rotated, Kept)");
  if (rank == 3) t.line("Back = Transpose <perm = [0, 2, 1, 3]> (Joined)");
  else t.line("Back = Identity (Joined)");
  t.line("Y = Reshape <allowzero = 1> (Back, Whole)");
  return make_function(call, "(X, cos_cache, sin_cache, position_ids) => (Y)", t.text());
}

}  // namespace tenon::TENON_ABI::loader
