// Conversion between operator sets: kept parts, changed parts, refusals, and that results stay.
#include "loader/convert/convert.hpp"

#include <doctest/doctest.h>

#include <string>

#include "loader/check/check.hpp"
#include "loader/format/tensor.hpp"
#include "loader/message.hpp"
#include "loader/text/parse_text.hpp"
#include "loader/text/print_text.hpp"
#include "tenon/loader.hpp"
#include "tenon/tensor/difference.hpp"
#include "tests/loader/refusal.hpp"

namespace tenon {
namespace {

onnx::ModelProto model(int opset, std::string_view graph) {
  return loader::parse_text<onnx::ModelProto>(
      str_cat("<ir_version: 8, opset_import: [\"\" : ", opset, "]>\n", graph));
}

std::vector<Value> results(const onnx::ModelProto& m) {
  Graph graph = Model(m).graph();
  Feeds feeds;
  for (const ValueId v : graph.inputs()) {
    const Graph::ValueEntry& e = graph.entry(v);
    Extents extents;
    for (const Dim d : e.info.dims) extents.push_back(d.known() ? d.value() : 3);
    const bool integers = e.info.type == Type(DType::int64);
    AnyTensor t = AnyTensor::uninitialized(integers ? DType::int64 : DType::float32, extents);
    for (int64_t k = 0; k < t.size(); ++k)
      if (integers) t.out().as<int64_t>()[k] = 2 + k;
      else t.out().as<float>()[k] = static_cast<float>((k * 7 + 3) % 11) - 4.5f;
    feeds.emplace_back(e.name, Value(t));
  }
  Outputs outputs = Session(std::move(graph)).run(feeds);
  std::vector<Value> values;
  for (std::size_t k = 0; k < outputs.size(); ++k) values.push_back(outputs[k]);
  return values;
}

// The operators after conversion, which keeps the results and the rules; or the refusal.
std::string converted(int from, int to, std::string_view graph) {
  INFO(graph, " from ", from, " to ", to);
  onnx::ModelProto m = model(from, graph);
  const onnx::ModelProto before = m;
  try {
    loader::convert_opset(m, to);
  } catch (const Error& e) {
    CHECK(m.SerializeAsString() == before.SerializeAsString());
    return e.what();
  }
  CHECK(m.opset_import(0).version() == to);
  for (const auto& d : loader::check(m)) CHECK_MESSAGE(d.severity != Severity::error, to_string(d));
  const auto expected = results(before), ours = results(m);
  REQUIRE(ours.size() == expected.size());
  for (std::size_t k = 0; k < ours.size(); ++k)
    CHECK(difference(ours[k], expected[k], {.rtol = 1e-5, .atol = 1e-6}) == "");
  std::string operators;
  for (const auto& n : m.graph().node()) operators += (operators.empty() ? "" : " ") + n.op_type();
  return operators;
}

TEST_CASE("Operators of which only the types widened stay") {
  CHECK(converted(7, 28, "g (float[2, 3] x) => (float[2, 3] y) { y = Tanh (x) }") == "Tanh");
  CHECK(converted(28, 6, "g (float[2, 3] x) => (float[2, 3] y) { y = Tanh (x) }") == "Tanh");
  CHECK(holds(converted(28, 6, "g (float[2] x) => (float[2] y) { y = Cos (x) }"), "has no such operator"));
  CHECK(holds(converted(16, 15, "g (bool[1] c, bfloat16[1] x) => (bfloat16[1] y) { y = Where (c, x, x) }"),
              "cannot be tensor(bfloat16)"));
}

TEST_CASE("Attributes that became inputs") {
  CHECK(converted(12, 13, "g (float[2, 3] x) => (float[1, 3] y) { y = ReduceSum <axes = [0]> (x) }") ==
        "Constant ReduceSum");
  CHECK(converted(18, 9,
                  "g (float[2, 3] x) => (float[1, 3] y) <int64[1] a = {-2}> { y = ReduceMean (x, a) }") ==
        "ReduceMean");
  CHECK(converted(13, 12, "g (float[1, 4] x) => (float[1, 4] y) <int64[0] a = {}> { y = Squeeze (x, a) }") ==
        "Identity");
  CHECK(converted(9, 12, "g (float[4] x) => (float[4] y) { y = Clip <min = -1.5> (x) }") ==
        "Constant Constant Clip");
  CHECK(converted(12, 9, "g (float[4] x) => (float[4] y) <float a = {-1.5}> { y = Clip (x, a) }") == "Clip");
  CHECK(holds(converted(12, 9, "g (float[4] x, float a) => (float[4] y) { y = Clip (x, a) }"),
              "has to be a constant"));
  CHECK(
      converted(9, 13, "g (float[4, 5] x) => (float[2, 5] y) { y = Slice <starts = [1], ends = [3]> (x) }") ==
      "Constant Constant Slice");
  CHECK(
      converted(2, 13,
                "g (float[2, 2] x) => (float[4, 2] y) { y = Pad <pads = [1, 0, 1, 0], value = 2.0> (x) }") ==
      "Constant Constant Pad");
}

TEST_CASE("Broadcasting before opset 7") {
  CHECK(converted(6, 7,
                  "g (float[2, 3, 4] x, float[3] b) => (float[2, 3, 4] y) { y = Add <axis = 1, broadcast = "
                  "1> (x, b) }") == "Unsqueeze Add");
  CHECK(converted(7, 6, "g (float[2, 3, 4] x, float[3, 1] b) => (float[2, 3, 4] y) { y = Mul (x, b) }") ==
        "Squeeze Mul");
  CHECK(converted(7, 6, "g (float[4] b, float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Add (b, x) }") ==
        "Add");
  CHECK(converted(9, 6, "g (float[4] b, float[3, 4] x) => (bool[3, 4] y) { y = Less (b, x) }") == "Greater");
  CHECK(holds(converted(7, 6, "g (float[4] b, float[3, 4] x) => (float[3, 4] y) { y = Sub (b, x) }"),
              "stretched"));
  CHECK(holds(converted(7, 6, "g (float[3, 1] b, float[1, 4] x) => (float[3, 4] y) { y = Add (b, x) }"),
              "stretched"));
  CHECK(converted(6, 9, "g (float[1, 3, 2] x, float[3] s) => (float[1, 3, 2] y) { y = PRelu (x, s) }") ==
        "Unsqueeze PRelu");
  CHECK(converted(9, 6, "g (float[1, 3, 2] x, float[3, 1] s) => (float[1, 3, 2] y) { y = PRelu (x, s) }") ==
        "Squeeze PRelu");
}

TEST_CASE("Operators whose meaning changed") {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    const auto graph = [&](int axis) {
      return str_cat("g (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = ", op, " <axis = ", axis, "> (x) }");
    };
    CHECK(converted(11, 13, graph(1)) == str_cat("Shape Flatten ", op, " Reshape"));
    CHECK(converted(11, 13, graph(2)) == op);
    CHECK(converted(13, 9, graph(1)) == str_cat("Transpose ", op, " Transpose"));
    CHECK(converted(13, 9, graph(-1)) == op);
  }
  CHECK(converted(9, 19,
                  "g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 6] y) <float[4] s = {1, 1, 2, 3}> "
                  "{ y = Upsample (x, s) }") == "Constant Resize");
  CHECK(converted(13, 7,
                  "g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 6] y) <float[4] s = {1, 1, 2, 3}> "
                  "{ y = Resize <coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\"> "
                  "(x, \"\", s) }") == "Upsample");
  CHECK(converted(10, 18,
                  "g (float[1, 1, 6, 2] x) => (float[1, 1, 4, 5] y) <float[4] s = {1, 1, 0.7, 2.5}> "
                  "{ y = Resize (x, s) }") == "Constant Constant Max Resize Min Resize");
  CHECK(holds(converted(13, 10,
                        "g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 6] y) <float[4] s = {1, 1, 2, 3}> "
                        "{ y = Resize (x, \"\", s) }"),
              "asymmetric"));
  CHECK(converted(11, 9, "g (float[2, 3] x, float[3, 4] w) => (float[2, 4] y) { y = Gemm (x, w) }") ==
        "Constant Gemm");
  CHECK(converted(18, 13,
                  "g (float[5] x) => (float[3] y, float[2] z) { y, z = Split <num_outputs = 2> (x) }") ==
        "Constant Split");
  CHECK(converted(
            8, 9,
            "g (float[1, 2] s, float[1, 3, 2] x) => (float[1, 2] y, float[1, 3, 2] z) { "
            "y, z = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] n) => (float[2] o, float[2] p) "
            "{ o = Add (a, n) p = Identity (o) }> (\"\", s, x) }") ==
        "Squeeze Squeeze Scan Unsqueeze Unsqueeze");
  // A batch of several entries, or of a number that is not known: one Scan within another.
  const std::string_view scan =
      "{ y, z = Scan <num_scan_inputs = 1, directions = [1], body = b (float[2] a, float[2] n) =>"
      " (float[2] o, float[2] p) { o = Add (a, n) p = Softmax <axis = 0> (o) }> (\"\", s, x) }";
  for (int opset : {9, 13, 25}) {
    CHECK(converted(8, opset,
                    str_cat("g (float[2, 2] s, float[2, 3, 2] x) => (float[2, 2] y, float[2, 3, 2] z) ",
                            scan)) == "Scan");
    CHECK(converted(8, opset,
                    str_cat("g (float[B, 2] s, float[B, 3, 2] x) => (float[B, 2] y, float[B, 3, 2] z) ",
                            scan)) == "Scan");
  }
}

TEST_CASE("ConstantOfShape and Tile in old sets") {
  const auto made = [](std::string_view value, int to, std::string_view shape = "int64[2] s = {2, 3}") {
    return converted(9, to,
                     str_cat("g (float[1] x) => (float[M, N] y) <", shape, "> { c = ConstantOfShape ", value,
                             " (s)\n f = Cast <to = 1> (c)\n y = Add (f, x) }"));
  };
  CHECK(made("<value = float[1] {2.5}>", 8) == "Constant Tile Cast Add");
  CHECK(made("", 7) == "Constant Tile Cast Add");
  CHECK(made("<value = int64[1] {-7}>", 8) == "Constant Cast Tile Cast Add");
  CHECK(made("<value = bool[1] {1}>", 8) == "Constant Cast Tile Cast Add");
  CHECK(holds(made("<value = int64[1] {9007199254740995}>", 8), "beyond 2^53"));
  CHECK(
      converted(9, 6,
                "g (float x) => (float y) <int64[0] s = {}> { c = ConstantOfShape (s)\n y = Add (c, x) }") ==
      "Constant Identity Add");
  // An unknown rank.
  CHECK(converted(9, 8,
                  "g (int64[n] s) => (float y) { c = ConstantOfShape <value = float[1] {3}> (s)\n"
                  "y = ReduceSum <keepdims = 0> (c) }") == "Constant Expand ReduceSum");
  CHECK(converted(6, 5, "g (float[2, 3] x) => (float[4, 9] y) <int64[2] r = {2, 3}> { y = Tile (x, r) }") ==
        "Constant Constant Tile Constant Constant Tile");
  CHECK(converted(6, 1, "g (float[2, 3] x) => (float[2, 3] y) <int64[2] r = {1, 1}> { y = Tile (x, r) }") ==
        "Identity");
  CHECK(holds(converted(6, 5, "g (float[2] x, int64[1] r) => (float[n] y) { y = Tile (x, r) }"), "constant"));
}

TEST_CASE("Indices of OneHot that are negative") {
  constexpr std::string_view some = R"(g (float[5] x) => (float[5, 4] y)
    <int64[1] depth = {4}, float[2] values = {0, 1}> { y = OneHot (x, depth, values) })";
  CHECK(converted(10, 11, some) == "Cast Cast Constant Reshape Constant Greater Where OneHot");
  CHECK(converted(11, 10, some) == "Cast Cast Constant Reshape Constant Greater Add Where OneHot");
  CHECK(converted(9, 21, R"(g (float[2] x) => (float[2, 4] y)
    <uint8[2] i = {3, 1}, int64 depth = {4}, float[2] values = {0, 1}> { z = OneHot (i, depth, values)
      c = Constant <value = float[2, 1] {0, 0}> ()  y = Add (z, c) })")
            .find("Where") == std::string::npos);
}

TEST_CASE("Bodies go along") {
  onnx::ModelProto m =
      model(10,
            "g (bool c, float[2] x) => (float[2] y) { y = If (c) <then_branch = t () => (float[2] a) "
            "{ a = Clip <max = 1.0> (x) }, else_branch = e () => (float[2] b) { b = Neg (x) }> }");
  loader::convert_opset(m, 13);
  int nodes = 0;
  for (const auto& a : m.graph().node(0).attribute()) nodes += a.g().node_size();
  CHECK(nodes == 4);  // two constants, Clip, Neg
  CHECK_FALSE(has_errors(loader::check(m)));
}

TEST_CASE("Functions go along") {
  const auto parsed = [](std::string_view graph, std::string_view function) {
    return loader::parse_text<onnx::ModelProto>(
        str_cat("<ir_version: 10, opset_import: [\"\" : 13, \"local\" : 1]>\n", graph,
                "<domain: \"local\", opset_import: [\"\" : 13]>\n", function));
  };
  const auto converted = [](onnx::ModelProto m, int opset) {
    const auto expected = results(m);
    loader::convert_opset(m, opset);
    CHECK_FALSE(has_errors(loader::check(m, {.full = true})));
    const auto ours = results(m);
    for (std::size_t k = 0; k < ours.size(); ++k) CHECK(difference(ours[k], expected[k]) == "");
    for (const auto& o : m.functions(0).opset_import())
      if (o.domain().empty()) CHECK(o.version() == opset);
    return m;
  };
  const char* const graph = "g (float[3, 2] x) => (float[3, 2] y) { y = local.f <axis = 1> (x) }\n";
  // An attribute of the call stays where both versions take it alike, and constants change places.
  onnx::ModelProto m =
      parsed(graph,
             "f <axis> (a) => (r) { s = Constant <value = int64[1] {1}> ()\n"
             "b = ReduceSum (a, s)\n c = Sub (a, b)\n r = Softmax <axis: int = @axis> (c) }");
  CHECK(converted(m, 20).functions(0).node_size() == 4);
  m = parsed(graph,
             "f (a) => (r) { s = Constant <value = int64[1] {1}> ()\n"
             "b = ReduceSum (a, s)\n c = Sub (a, b)\n r = Softmax <axis = 0> (c) }");
  // The call tells the rank: the first axis is not one by itself at opset 11.
  const onnx::ModelProto old = converted(m, 11);
  CHECK(old.functions(0).value_info_size() == 0);
  std::string operators;
  for (const auto& n : old.functions(0).node()) operators += n.op_type() + " ";
  CHECK(operators == "ReduceSum Sub Transpose Softmax Transpose ");
  // A function within a function has its types from the calls of both.
  m = parsed(graph,
             "f (a) => (r) { b = Neg (a)\n r = local.h (b) }\n"
             "<domain: \"local\", opset_import: [\"\" : 13]>\nh (a) => (r) { r = Softmax <axis = 0> (a) }");
  m.mutable_functions(0)->add_opset_import()->set_domain("local");
  m.mutable_functions(0)->mutable_opset_import(1)->set_version(1);
  CHECK(converted(m, 11).functions(1).node_size() == 3);

  const auto refused = [&](std::string_view calls, std::string_view function, int opset) {
    onnx::ModelProto given = parsed(calls, function);
    const std::string before = given.SerializeAsString();
    const std::string says = refusal([&] { loader::convert_opset(given, opset); });
    CHECK(given.SerializeAsString() == before);
    return says;
  };
  CHECK(refused(graph, "f <axis> (a) => (r) { r = Softmax <axis: int = @axis> (a) }", 11) ==
        "function 'local.f', node 'r' (Softmax): from opset 13 to 12: the attribute 'axis' is the "
        "function's, and "
        "each call may give another one (a call that is inlined is converted for itself)");
  // An attribute that the adapter of the operator does not look at stays.
  m = parsed("g (float[3, 2] x) => (float[N, M] y) { y = local.f <v = float[1] {2.0}, keep = 1> (x) }\n",
             "f <v, keep> (a) => (r) { c = Constant <value: tensor = @v> ()\n s = Mul (a, c)\n"
             "r = ReduceSum <keepdims: int = @keep> (s) }");
  CHECK(converted(m, 11).functions(0).node_size() == 3);
  CHECK(holds(refused("g (float[3, 2] x) => (float[3, 2] y) { y = local.f <v = 2.0> (x) }\n",
                      "f <v> (a) => (r) { c = Constant <value_float: float = @v> ()\n r = Mul (a, c) }", 11),
              "the attribute 'value_float' is the function's"));
  // Calls that differ tell nothing.
  CHECK(holds(refused("g (float[3, 2] x, float[2] z) => (float[3, 2] y, float[2] v) { y = local.f (x)\n"
                      "v = local.f (z) }\n",
                      "f (a) => (r) { r = Softmax <axis = 0> (a) }", 11),
              "the rank is unknown"));
  // A function that nothing calls has no types: it stays where none are needed, and goes else.
  m = parsed("g (float[3, 2] x) => (float[3, 2] y) { y = Neg (x) }\n",
             "f (a) => (r) { r = local.h (a) }\n<domain: \"local\", opset_import: [\"\" : 13]>\n"
             "h (a) => (r) { r = Softmax <axis = 0> (a) }");
  m.mutable_functions(0)->add_opset_import()->set_domain("local");
  m.mutable_functions(0)->mutable_opset_import(1)->set_version(1);
  onnx::ModelProto newer = m;
  loader::convert_opset(newer, 20);
  CHECK(newer.functions_size() == 2);
  CHECK(refusal([&] { loader::convert_opset(m, 11); }) == "");
  CHECK(m.functions_size() == 0);
}

TEST_CASE("Models that import other domains alone") {
  const auto scaled = [](std::string_view nodes) {
    return loader::parse_text<onnx::ModelProto>(
        str_cat("<ir_version: 8, opset_import: [\"ai.onnx.ml\" : 3]> g (float[N, 2] x) => (float[N, 2] y) { ",
                nodes, " }"));
  };
  onnx::ModelProto m = scaled("y = ai.onnx.ml.Scaler <offset = [1.0], scale = [2.0]> (x)");
  loader::convert_opset(m, 18);
  REQUIRE(m.opset_import_size() == 2);
  CHECK(m.opset_import(0).version() == 3);
  CHECK(m.opset_import(1).domain() == "");
  CHECK(m.opset_import(1).version() == 18);
  CHECK(!has_errors(loader::check(m)));
  m = scaled("y = Neg (x)");
  CHECK(
      holds(refusal([&] { loader::convert_opset(m, 18); }), "no opset of the domain 'ai.onnx' is imported"));
  // What their functions import follows.
  m = loader::parse_text<onnx::ModelProto>(
      "<ir_version: 8, opset_import: [\"own\" : 1]> g (float[1, 2] x) => (float[2] y) { y = own.f (x) }\n"
      "<domain: \"own\", opset_import: [\"\" : 12]>\nf (a) => (r) { r = Squeeze <axes = [0]> (a) }");
  loader::convert_opset(m, 18);
  CHECK(m.opset_import(1).version() == 18);
  CHECK(m.functions(0).opset_import(0).version() == 18);
  CHECK(m.functions(0).node().rbegin()->input_size() == 2);
  m.clear_opset_import();
  CHECK(holds(refusal([&] { loader::convert_opset(m, 18); }), "no opset is imported"));
}

TEST_CASE("Models that cannot be converted") {
  const char* graph = "g (float[2] x) => (float[2] y) { y = Neg (x) }";
  CHECK(holds(converted(13, 0, graph), "there are 1 to"));
  CHECK(holds(converted(13, newest_opset() + 1, graph), "there are 1 to"));
  CHECK(holds(converted(13, 14, "g (float[2] x) => (float[2] y) { y = Neg (z) }"), "not defined"));
  CHECK(holds(converted(13, 14, "g (float[2] x) => (float[2] y) { z = Neg (x) }"), "y"));
  CHECK(holds(converted(13, 14, "g (float[2] x) => (float[2] y) { y = Nge (x) }"), "no such operator"));
  // A private domain's nodes stay.
  onnx::ModelProto m = loader::parse_text<onnx::ModelProto>(
      "<ir_version: 8, opset_import: [\"\" : 9, \"own\" : 3]> g (float[2] x) => (float[2] y) { y = own.F (x) "
      "}");
  loader::convert_opset(m, 20);
  CHECK(m.graph().node(0).op_type() == "F");
  CHECK(m.opset_import(1).version() == 3);
}

TEST_CASE("Nodes without the operands that their version requires") {
  CHECK(holds(converted(18, 21,
                        "g (float[1, 2] x, float[1] s) => (float[1, 2] y)"
                        " { y = GroupNormalization <num_groups = 1> (x, s) }"),
              "3 inputs are needed"));
  CHECK(holds(converted(18, 21,
                        "g (float[1, 2] x, float[1] s) => (float[1, 2] y)"
                        " { y = GroupNormalization <num_groups = 1> (x, , s) }"),
              "the input 'scale' is required"));
}

// A node's constants and attributes may be of any types, also of types that the other version cannot take.
TEST_CASE("Attributes and inputs that turn into each other, of other types") {
  struct Row {
    int from, to;
    std::string_view graph;
  };
  for (const Row& row :
       {Row{6, 11, "g (float[2] x) => (float[2] y) { y = Clip <min : string = \"a\"> (x) }"},
        {11, 13, "g (float[2] x) => (float[2] y) { y = Squeeze <axes : floats = [1.0]> (x) }"},
        {13, 11, "g (float[1, 2] x) => (float[2] y) <string[1] a = {\"0\"}> { y = Squeeze (x, a) }"},
        {13, 11, "g (float[1, 2] x) => (float[2] y) <float[1] a = {0}> { y = Squeeze (x, a) }"},
        {13, 11, "g (float[1, 2] x) => (float[2] y) <complex64[1] a = {0, 0}> { y = Squeeze (x, a) }"},
        {11, 6, "g (float[2] x) => (float[2] y) <string a = {\"0\"}> { y = Clip (x, a) }"},
        {11, 6, "g (float[2] x) => (float[2] y) <complex64 a = {0, 0}> { y = Clip (x, a) }"},
        {11, 6, "g (float[2] x) => (float[2] y) <float[0] a = {}> { y = Clip (x, a) }"}}) {
    onnx::ModelProto m = model(row.from, row.graph);
    CHECK_MESSAGE(!refusal([&] { loader::convert_opset(m, row.to); }).empty(), row.graph);
  }
}

// The nodes of a converted graph as text, or the refusal.
std::string nodes_of(onnx::ModelProto m, int to) {
  try {
    loader::convert_opset(m, to);
  } catch (const Error& e) {
    return e.what();
  }
  for (const auto& d : loader::check(m)) CHECK_MESSAGE(d.severity != Severity::error, to_string(d));
  std::string text;
  for (const auto& n : m.graph().node()) text += loader::print_text(n);
  return text;
}

TEST_CASE("Operands of different types stay where the version takes them") {
  const std::string_view pow = "g (double[2] x, float[2] e) => (double[2] y) { y = Pow (x, e) }";
  CHECK(holds(nodes_of(model(15, pow), 12), "Pow"));
  CHECK(
      holds(nodes_of(model(15, pow), 11), "the input 'Y' cannot be tensor(float) where T is tensor(double)"));
  const std::string_view norm =
      "g (float16[1,2] x, float[2] s) => (float16[1,2] y) { y = BatchNormalization (x, s, s, s, s) }";
  CHECK(holds(nodes_of(model(22, norm), 15), "BatchNormalization"));
  CHECK(holds(nodes_of(model(22, norm), 14), "the input 'scale' cannot be tensor(float)"));
}

TEST_CASE("Attributes and types that the other version has not") {
  struct Row {
    int from, to;
    std::string_view graph, says;
  };
  for (const Row& row : {
           Row{20, 21,
               "g (float[3,4] x, float[3] s) => (uint8[3,4] y) { y = QuantizeLinear <axis = 0> (x, s) }",
               "<axis: int = 0> (x, s)"},
           {21, 20, "g (float[3,4] x, float s) => (uint8[3,4] y) { y = QuantizeLinear (x, s) }", "(x, s)"},
           {21, 20, "g (uint8[3,4] x, float s) => (float[3,4] y) { y = DequantizeLinear (x, s) }", "(x, s)"},
           {21, 20,
            "g (float[3,4] x, float[3,2] s) => (uint8[3,4] y)"
            " { y = QuantizeLinear <axis = 1, block_size = 2> (x, s) }",
            "'block_size' has no counterpart"},
           {13, 12, "g (float[3,4] x, float[1] s) => (uint8[3,4] y) { y = QuantizeLinear <axis = 0> (x, s) }",
            "QuantizeLinear (x, s)"},
           {13, 10, "g (uint8[3,4] x, float[4] s) => (float[3,4] y) { y = DequantizeLinear (x, s) }",
            "there is one scale there"},
           {17, 18,
            "g (float[1,1,2,2] x, float[4] s) => (float[1,1,M,N] y)"
            " { y = Resize <coordinate_transformation_mode = \"tf_half_pixel_for_nn\"> (x, \"\", s) }",
            "have no counterpart"},
           {16, 15, "g (bool[2] c, float[2] x) => (float[2] y) { y = Where (c, x, x) }", "Where (c, x, x)"},
           {16, 15,
            "g (float[3] x, int64[1] i, float[1] u) => (float[3] y) { y = ScatterElements (x, i, u) }",
            "ScatterElements (x, i, u)"},
           {16, 15,
            "g (float[3] x, int64[1] i, float[1] u) => (float[3] y)"
            " { y = ScatterElements <reduction = \"add\"> (x, i, u) }",
            "'reduction' has no counterpart"},
           {16, 15,
            "g (bfloat16[3] x, int64[1] i, bfloat16[1] u) => (bfloat16[3] y)"
            " { y = ScatterElements (x, i, u) }",
            "ScatterElements (x, i, u)"},
           {18, 17,
            "g (float[3] x, int64[1] i, float[1] u) => (float[3] y)"
            " { y = ScatterElements <reduction = \"max\"> (x, i, u) }",
            "'max' has no counterpart"},
           {18, 17,
            "g (float[3] x, int64[1] i, float[1] u) => (float[3] y)"
            " { y = ScatterElements <reduction = \"mul\"> (x, i, u) }",
            "reduction: string = \"mul\""},
           {26, 27, "g (float a, float b, float d) => (float[N] y) { y = Range (a, b, d) }",
            "Range (a, b, d)"},
           {27, 26, "g (float a, float b, float d) => (float[N] y) { y = Range <stash_type = 1> (a, b, d) }",
            "Range (a, b, d)"},
           {27, 26, "g (float16 a, float16 b, float16 d) => (float16[N] y) { y = Range (a, b, d) }",
            "cannot be tensor(float16)"},
           {18, 17,
            "g (float[1,1,2,2] x, float[4] s) => (float[1,1,M,N] y)"
            " { y = Resize <antialias = 0, keep_aspect_ratio_policy = \"stretch\"> (x, \"\", s) }",
            "Resize (x, \"\", s)"},
           {18, 17,
            "g (float[1,1,2,2] x, float[4] s) => (float[1,1,M,N] y)"
            " { y = Resize <antialias = 1, mode = \"linear\"> (x, \"\", s) }",
            "'antialias' has no counterpart"},
           {18, 17,
            "g (float[1,1,2,2] x, int64[4] s) => (float[1,1,M,N] y)"
            " { y = Resize <keep_aspect_ratio_policy = \"not_larger\"> (x, \"\", \"\", s) }",
            "'keep_aspect_ratio_policy' has no counterpart"},
           {18, 17,
            "g (float[1,1,2,2] x, float[2] s) => (float[1,1,M,N] y) { y = Resize <axes = [2, 3]> (x, \"\", "
            "s) }",
            "'axes' has no counterpart"},
           {19, 17,
            "g (float[1,1,2,2] x, float[4] s) => (float[1,1,M,N] y)"
            " { y = Resize <coordinate_transformation_mode = \"half_pixel_symmetric\"> (x, \"\", s) }",
            "'half_pixel_symmetric' has no counterpart"},
           {27, 28, "g (float[2] x) => (float[2] y) { y = Celu (x) }", "Celu (x)"},
           {28, 27, "g (float[2] x) => (float[2] y) { y = Celu (x) }", "Celu (x)"},
           {28, 27, "g (float16[2] x) => (float16[2] y) { y = Celu (x) }", "cannot be tensor(float16)"},
           {10, 11, "g (float[2] x, int64[1] i, float[1] u) => (float[2] y) { y = Scatter (x, i, u) }",
            "ScatterElements (x, i, u)"},
           {10, 11, "g (float[2] x, int64[1] i) => (float[2] y) { y = Scatter (x, i) }", "at least 3"},
           {10, 11, "g (float[2] x) => (float[N] y) { y = Resize (x) }", "at least 2"},
           {7, 6, "g (float[2] a, float[2,3] b, float[3] c) => (float[3] y) { y = Gemm (a, b, c) }",
            "rank 2"},
       }) {
    const std::string text = nodes_of(model(row.from, row.graph), row.to);
    CHECK_MESSAGE(holds(text, row.says), row.from, " to ", row.to, ", ", row.graph, ": ", text);
  }
}

TEST_CASE("Constants as raw data, in initializers and nodes, become attributes") {
  struct Row {
    int from, to;
    std::string_view graph, expected;
  };
  for (const Row& row : {
           Row{13, 12,
               "g (float[4] x) => (float[2] y, float[2] z) <int64[2] w = {2, 2}> { y, z = Split (x, w) }",
               "split: ints = [2, 2]"},
           {13, 12, "g (float[1,4] x) => (float[4] y) <int64[1] w = {0}> { y = Squeeze (x, w) }",
            "axes: ints = [0]"},
           {5, 4, "g (float[4] x) => (float[2,2] y) <int64[2] w = {2, 2}> { y = Reshape (x, w) }",
            "shape: ints = [2, 2]"},
           {9, 8,
            "g (float[1,1,2,2] x) => (float[1,1,4,6] y) <float[4] w = {1, 1, 2, 3}> { y = Upsample (x, w) }",
            "scales: floats = [1, 1, 2, 3]"},
       }) {
    for (const bool in_node : {false, true}) {
      // Before IR 4 a constant needs an input; these are of IR 8.
      onnx::ModelProto m = model(row.from, row.graph);
      const AnyTensor constant = loader::read_tensor(m.graph().initializer(0));
      onnx::TensorProto& t = *m.mutable_graph()->mutable_initializer(0);
      t.clear_int64_data(), t.clear_float_data();
      t.set_raw_data(constant.data(), static_cast<std::size_t>(constant.bytes()));
      t.set_name(std::string(1000, 'w'));
      m.mutable_graph()->mutable_node(0)->set_input(1, t.name());
      if (in_node) {
        onnx::NodeProto n;
        n.set_op_type("Constant");
        n.add_output(t.name());
        n.add_attribute()->set_name("value");
        n.mutable_attribute(0)->set_type(onnx::AttributeProto::TENSOR);
        *n.mutable_attribute(0)->mutable_t() = t;
        *m.mutable_graph()->add_node() = n;
        m.mutable_graph()->mutable_node()->SwapElements(0, 1);
        m.mutable_graph()->clear_initializer();
      }
      const std::string text = nodes_of(m, row.to);
      CHECK_MESSAGE((holds(text, row.expected) && !holds(text, "www")), row.graph, ": ", text);
      if (in_node) continue;
      m.mutable_graph()->mutable_initializer(0)->set_raw_data("1234567");
      CHECK(holds(nodes_of(m, row.to), "raw_data"));
    }
  }
}

TEST_CASE("Nodes out of order are sorted first") {
  onnx::ModelProto m = model(16, "g (float[4] x) => (float[4] y) { y = Relu (a) a = Neg (x) }");
  loader::convert_opset(m, 18);
  CHECK(m.graph().node(0).op_type() == "Neg");
  CHECK(!has_errors(loader::check(m)));
  // After an error they stand as before.
  CHECK(holds(converted(16, 18, "g (float[4] x) => (float[4] y) { y = Relu (a) a = Neg (none) }"),
              "'none' is not defined"));
}

TEST_CASE("What conversion does not read stays") {
  // External data, which need not be there.
  onnx::ModelProto m = model(14, R"(g (float[2] x) => (float[2] y) <float[2] w = ["location": "none.bin"]>
      { y = Add (x, w) })");
  loader::convert_opset(m, 13);
  CHECK(m.graph().initializer(0).external_data(0).value() == "none.bin");
  // The long name of ai.onnx, and nodes of other domains.
  m = loader::parse_text<onnx::ModelProto>(
      "<ir_version: 8, opset_import: [\"ai.onnx\" : 12, \"own\" : 3]> g (float[1, 2] x) => (float[2] y) {"
      " t = own.Squeeze <axes = [0]> (x) y = ai.onnx.Squeeze <axes = [0]> (t) }");
  loader::convert_opset(m, 13);
  CHECK(m.opset_import_size() == 2);
  for (const auto& n : m.graph().node())
    if (n.op_type() == "Squeeze") CHECK(n.input_size() == (n.domain() == "own" ? 1 : 2));
  // A constant that became an attribute goes, unless a Gradient names it. Attributes of other operators are
  // texts, whatever these are called.
  for (const auto& [node, nodes] :
       {std::pair{"own.Label <y = \"axes\"> (x)", 2},
        {"own.Gradient <y = \"axes\"> (x)", 2},
        {"ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"axes\"> (x)", 3}}) {
    m = loader::parse_text<onnx::ModelProto>(
        str_cat("<ir_version: 8, opset_import: [\"\" : 13, \"own\" : 1, \"ai.onnx.preview.training\" : 1]> "
                "g (float[1, 2] x) => (float[2] y) { axes = Constant <value = int64[1] {0}> () t = ",
                node, " y = Squeeze (x, axes) }"));
    loader::convert_opset(m, 12);
    CHECK_MESSAGE(m.graph().node_size() == nodes, node);
  }
  // Values around a body that only the body reads.
  m = model(10, R"(g (bool c, float[2] x) => (float[2] y) { z = Neg (x)
      y = If (c) <then_branch = t () => (float[2] a) { a = Add (z, x) },
                  else_branch = e () => (float[2] b) { b = Identity (z) }> })");
  loader::convert_opset(m, 13);
  CHECK(m.graph().node(0).output(0) == "z");
}

}  // namespace
}  // namespace tenon
