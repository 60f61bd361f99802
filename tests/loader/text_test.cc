// ONNX's textual syntax: texts and their messages, refusals and their places, and that both ways keep
// everything.
#include <doctest/doctest.h>

#include <clocale>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "loader/text/parse_text.hpp"
#include "loader/text/print_text.hpp"
#include "tenon/base/dtype.hpp"
#include "tenon/base/error.hpp"
#include "tests/loader/refusal.hpp"

namespace tenon {
namespace {

using loader::parse_text;
using loader::print_text;

template <class Message>
std::string refusal_of(std::string_view text) {
  return refusal(ErrorCode::invalid_model, [&] { return parse_text<Message>(text); });
}

// The message of a text, printed and parsed again without a difference.
template <class Message>
Message parsed(std::string_view text) {
  INFO(text);
  Message message;
  REQUIRE_NOTHROW(message = parse_text<Message>(text));
  const std::string printed = print_text(message);
  INFO(printed);
  CHECK(parse_text<Message>(printed).SerializeAsString() == message.SerializeAsString());
  CHECK(print_text(parse_text<Message>(printed)) == printed);
  return message;
}

onnx::AttributeProto attribute(std::string_view text) {
  return parsed<onnx::NodeProto>(str_cat("y = Op <", text, "> (x)")).attribute(0);
}
std::string refused_attribute(std::string_view text) {
  return refusal_of<onnx::NodeProto>(str_cat("y = Op <", text, "> (x)"));
}
onnx::TypeProto type(std::string_view text) {
  return parsed<onnx::GraphProto>(str_cat("g (", text, " x) => () {}")).input(0).type();
}
onnx::TensorProto constant(std::string_view type, std::string_view data) {
  return parsed<onnx::GraphProto>(str_cat("g () => () <", type, " w = ", data, "> {}")).initializer(0);
}
std::string refused_constant(std::string_view type, std::string_view data) {
  return refusal_of<onnx::GraphProto>(str_cat("g () => () <", type, " w = ", data, "> {}"));
}

TEST_CASE("Text of a node") {
  const auto n =
      parsed<onnx::NodeProto>(R"([label] a, "b c" = com.example.Op:second <k = 1> (x, "", "y/z"))");
  CHECK(n.name() == "label");
  CHECK(n.output(1) == "b c");
  CHECK(n.domain() == "com.example");
  CHECK(n.op_type() == "Op");
  CHECK(n.overload() == "second");
  REQUIRE(n.input_size() == 3);
  CHECK(n.input(1).empty());
  CHECK(n.input(2) == "y/z");
  CHECK(print_text(n) == "   [label] a, \"b c\" = com.example.Op:second <k: int = 1> (x, \"\", \"y/z\")\n");
  CHECK_FALSE(parsed<onnx::NodeProto>("y = Op (x)").has_name());
  CHECK(parsed<onnx::NodeProto>("y = Op (x) <k = 1>").attribute_size() == 1);
}

TEST_CASE("Text of names that are left out") {
  const auto counts = [](std::string_view text) {
    const auto n = parsed<onnx::NodeProto>(text);
    std::string names;
    for (const auto& name : n.output()) names += str_cat("[", name, "]");
    names += "=";
    for (const auto& name : n.input()) names += str_cat("[", name, "]");
    return names;
  };
  CHECK(counts("= Op ()") == "=");
  CHECK(counts(", = Op (,)") == "[]=[]");
  CHECK(counts("x, = Op (y,)") == "[x]=[y]");
  CHECK(counts(",x = Op (,y)") == "[][x]=[][y]");
  CHECK(counts("x = Op (y, , z)") == "[x]=[y][][z]");
  CHECK(counts("\"\" = Op (\"\")") == "[]=[]");
}

TEST_CASE("Text of attributes") {
  CHECK(attribute("x = -2").i() == -2);
  CHECK(attribute("x = 9223372036854775807").i() == std::numeric_limits<int64_t>::max());
  CHECK(attribute("x = 0.625").f() == 0.625f);
  CHECK(attribute("x : float = 2").type() == onnx::AttributeProto::FLOAT);
  CHECK(std::signbit(attribute("x : float = -0").f()));
  CHECK(attribute("x = \"a\\\"b\\\\c\\d\"").s() == "a\"b\\cd");
  CHECK(attribute("x = [2, 4]").ints_size() == 2);
  CHECK(attribute("x = [0.5, 4]").floats(1) == 4);
  CHECK(attribute("x : floats = [1, 2]").floats_size() == 2);
  CHECK(attribute("x = [\"a\", \"b\"]").strings(1) == "b");
  for (std::string_view list :
       {"ints", "floats", "strings", "tensors", "graphs", "type_protos", "sparse_tensors"})
    CHECK(attribute(str_cat("x : ", list, " = []")).has_type());
  const auto reference = attribute("x : ints = @outer");
  CHECK(reference.ref_attr_name() == "outer");
  CHECK(reference.type() == onnx::AttributeProto::INTS);
  CHECK_FALSE(attribute("x = @outer").has_type());
  CHECK(attribute("x = @\"of the function\"").ref_attr_name() == "of the function");
  CHECK(attribute("x = float[2] {1, 2}").t().float_data_size() == 2);
  CHECK(attribute("x = float[2] t {1, 2}").t().name() == "t");
  CHECK(attribute("x = float[2] \"a tensor\" = {1, 2}").t().name() == "a tensor");
  CHECK(attribute("x : tensor = float[2] = [\"location\": \"w.bin\"]").t().external_data_size() == 1);
  CHECK(attribute("x = float[3]").type() == onnx::AttributeProto::TYPE_PROTO);
  CHECK(attribute("x = [float[3], seq(int64)]").type_protos_size() == 2);
  CHECK(attribute("x = [float {1}, int64[2] t {1, 2}]").tensors(1).name() == "t");
  CHECK(attribute("x = g (float a) => (b) { b = Op (a) }").g().node_size() == 1);
  CHECK(attribute("x = [g () => () {}, h () => () {}]").graphs(1).name() == "h");
  for (std::string_view name : {"\"a graph\"", "\"\"", "\"map\"", "\"inf\"", "\"float\"", "inf_", "nanx"})
    CHECK(attribute(str_cat("x = ", name, " () => () {}")).type() == onnx::AttributeProto::GRAPH);
}

TEST_CASE("Text of attributes that are refused") {
  CHECK(holds(refused_attribute("x = []"), "an empty list needs a type"));
  CHECK(holds(refused_attribute("x : int = []"), "an empty list needs a type"));
  CHECK(refused_attribute("x = [1, 2.5]") == "line 1, column 17: the value is of type float, not int");
  CHECK(holds(refused_attribute("x : string = 1"), "the value is of type int, not string"));
  CHECK(holds(refused_attribute("x : ints = 5"), "of type int, not ints"));
  CHECK(holds(refused_attribute("x : sparse_tensor = 5"), "of type int, not sparse_tensor"));
  CHECK(holds(refused_attribute("x : tensor = float[3]"), "of type type_proto, not tensor"));
  CHECK(holds(refused_attribute("x : number = 5"), "expected a type of attributes instead of 'number'"));
  CHECK(holds(refused_attribute("x = [@a]"), "a list holds no references"));
  CHECK(holds(refused_attribute("x = @\"\""), "expected a name"));
  CHECK(holds(refused_attribute("x = 9223372036854775808"), "is no number of its type"));
  CHECK(holds(refused_attribute("x = int8[2] {-128, 128}"), "is no number of its type"));
  CHECK(holds(refused_attribute("x = uint32[1] {4294967296}"), "is no number of its type"));
  CHECK(holds(refused_attribute("x"), "expected '='"));
}

TEST_CASE("Text of floats") {
  const auto bits = [](std::string_view text) {
    const float f = attribute(str_cat("x : float = ", text)).f();
    uint32_t b = 0;
    std::memcpy(&b, &f, sizeof b);
    return b;
  };
  CHECK(bits("inf") == 0x7f800000);
  CHECK(bits("-Infinity") == 0xff800000);
  CHECK(bits("nan") == 0x7fc00000);
  CHECK(bits("-NaN") == 0xffc00000);
  CHECK(bits("1e-45") == 1);
  CHECK(bits("1e-99") == 0);
  CHECK(bits("3.4028235e38") == 0x7f7fffff);
  CHECK(bits("16777217") == 0x4b800000);
  CHECK(bits("5.") == 0x40a00000);
  CHECK(bits("1E+1") == 0x41200000);
  for (std::string_view text : {"inf1", "-inf1", "nan0", "-nan0", "naninf", "not_a_float", "1e39", "1e",
                                "- 1", "+1", ".5", "1.2.3", "0x10", "-", "1e99999999999"})
    CHECK_FALSE(refused_attribute(str_cat("x : float = ", text)).empty());
  // Shortest forms that read back as the same bits.
  uint32_t state = 1;
  for (int k = 0; k < 1000; ++k) {
    state = state * 1664525 + 1013904223;
    float f = 0;
    std::memcpy(&f, &state, sizeof f);
    if (std::isnan(f)) continue;
    onnx::NodeProto n;
    n.set_op_type("Op");
    n.add_attribute()->set_type(onnx::AttributeProto::FLOAT);
    n.mutable_attribute(0)->set_name("x");
    n.mutable_attribute(0)->set_f(f);
    CHECK(parse_text<onnx::NodeProto>(print_text(n)).attribute(0).f() == f);
  }
}

TEST_CASE("Text of numbers does not follow the program's locale") {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C"})
    if (std::setlocale(LC_NUMERIC, name) != nullptr) break;
  CHECK(attribute("x = 0.125").f() == 0.125f);
  CHECK(constant("double", "{0.1}").double_data(0) == 0.1);
  std::setlocale(LC_NUMERIC, before.c_str());
}

TEST_CASE("Text of types") {
  CHECK(type("float").tensor_type().has_shape());
  CHECK_FALSE(type("float[]").tensor_type().has_shape());
  const auto t = type("float[N, ?, \"M + N\", 3, -1]").tensor_type();
  REQUIRE(t.shape().dim_size() == 5);
  CHECK(t.shape().dim(0).dim_param() == "N");
  CHECK(t.shape().dim(1).value_case() == onnx::TensorShapeProto::Dimension::VALUE_NOT_SET);
  CHECK(t.shape().dim(2).dim_param() == "M + N");
  CHECK(t.shape().dim(3).dim_value() == 3);
  CHECK(type("seq(map(string, float[N]))").sequence_type().elem_type().map_type().key_type() == 8);
  CHECK(type("optional(seq(float[]))").has_optional_type());
  CHECK(type("sparse_tensor(float[1000])").sparse_tensor_type().shape().dim_size() == 1);
  CHECK(type("opaque(some.domain, Kind)").opaque_type().domain() == "some.domain");
  CHECK(type("opaque(some.Kind)").opaque_type().name() == "some.Kind");
  CHECK_FALSE(type("opaque(Kind)").opaque_type().has_domain());
  CHECK_FALSE(type("opaque()").opaque_type().has_name());
  for (int k = 1; k < dtype_count; ++k)
    CHECK(type(name_of(static_cast<DType>(k))).tensor_type().elem_type() == k);
  for (std::string_view text :
       {"seq", "seq()", "seq(x)", "map(float)", "map(seq(float), float)", "float[,]", "float[1.5]", "float[1",
        "sparse_tensor(seq(float))", "opaque(a,)", "opaque(1)"})
    CHECK_FALSE(refusal_of<onnx::GraphProto>(str_cat("g (", text, " x) => () {}")).empty());
}

TEST_CASE("Text of constants") {
  CHECK(constant("int8[3]", "{1, -2, 127}").int32_data(1) == -2);
  CHECK(constant("float16[2]", "{15360, 49152}").int32_data(1) == 49152);
  CHECK(constant("int64[1]", "{-9223372036854775808}").int64_data(0) == std::numeric_limits<int64_t>::min());
  CHECK(constant("uint64[1]", "{18446744073709551615}").uint64_data(0) ==
        std::numeric_limits<uint64_t>::max());
  CHECK(constant("uint32[1]", "{7}").uint64_data_size() == 1);
  CHECK(constant("double[2]", "{1e300, -inf}").double_data(0) == 1e300);
  CHECK(constant("complex64[1]", "{1, 2}").float_data_size() == 2);
  CHECK(constant("complex128[1]", "{1, 2}").double_data_size() == 2);
  CHECK(constant("string[2]", "{\"\", \"a b\"}").string_data(1) == "a b");
  CHECK(constant("string[0]", "{}").string_data_size() == 0);
  CHECK(constant("float[0]", "{}").float_data_size() == 0);
  const auto packed = constant("uint4[3]", "{1, 2, 15}");
  REQUIRE(packed.int32_data_size() == 2);
  CHECK(packed.int32_data(0) == 0x21);
  CHECK(packed.int32_data(1) == 0xf);
  CHECK(constant("int4[2]", "{-8, 7}").int32_data(0) == 0x78);
  CHECK(constant("int2[2, 2]", "{-2, 1, 0, -1}").int32_data(0) == 0xc6);
  CHECK(constant("float4e2m1", "{15}").int32_data(0) == 15);
  CHECK(constant("uint2[0, 9223372036854775807, 3]", "{}").int32_data_size() == 0);
  const auto external = constant("float[3, 2]", R"(["location": "w.bin", "offset": "17"])");
  CHECK(external.data_location() == onnx::TensorProto::EXTERNAL);
  CHECK(external.external_data(1).value() == "17");
  CHECK_FALSE(refused_constant("int32[]", "{1}").empty());
  CHECK_FALSE(refused_constant("int32[N]", "{1}").empty());
  CHECK_FALSE(refused_constant("seq(int32)", "{1}").empty());
  CHECK_FALSE(refused_constant("", "{1}").empty());
  CHECK_FALSE(refused_constant("int32", "{2147483648}").empty());
  CHECK_FALSE(refused_constant("int32", "{1.5}").empty());
  CHECK_FALSE(refused_constant("uint64", "{-1}").empty());
  CHECK_FALSE(refused_constant("uint64", "{18446744073709551616}").empty());
  CHECK(holds(refused_constant("int4[1]", "{8}"), "8 is no value of int4: they are from -8 to 7"));
  CHECK(holds(refused_constant("uint2[1]", "{-1}"), "-1 is no value of uint2"));
  CHECK(holds(refused_constant("uint4[1]", "{1, 2}"), "2 numbers are not what the extents want"));
  CHECK(holds(refused_constant("uint4[4611686018427387904, 4]", "{}"), "0 numbers are not"));
  CHECK_FALSE(refused_constant("float", "{\"1\"}").empty());
  CHECK_FALSE(refused_constant("float", "{1,}").empty());
  CHECK_FALSE(refused_constant("double", "{1e309}").empty());
}

TEST_CASE("Text of raw data") {
  const auto printed = [](DType type, int64_t extent, std::string raw) {
    onnx::GraphProto g;
    g.set_name("g");
    auto* t = g.add_initializer();
    t->set_name("w");
    t->set_data_type(static_cast<int>(type));
    t->add_dims(extent);
    t->set_raw_data(std::move(raw));
    const std::string text = print_text(g);
    return text.substr(text.find('=', text.find("w =")) + 2, text.find(">\n") - text.find("w =") - 4);
  };
  CHECK(printed(DType::float16, 3, std::string("\x00\x3c\x00\xc0\x00\x38", 6)) == " {15360,49152,14336}");
  CHECK(printed(DType::int8, 2, "\x01\xfe") == " {1,-2}");
  CHECK(printed(DType::bool_, 2, std::string("\1\0", 2)) == " {1,0}");
  CHECK(printed(DType::float8e5m2, 2, "\x38\xc0") == " {56,192}");
  CHECK(printed(DType::uint32, 1, "\xff\xff\xff\xff") == " {4294967295}");
  CHECK(printed(DType::float32, 1, std::string("\0\0\xc0\x3f", 4)) == " {1.5}");
  CHECK(printed(DType::complex64, 1, std::string("\0\0\xc0\x3f\0\0\xc0\xbf", 8)) == " {1.5,-1.5}");
  CHECK(printed(DType::float64, 0, "") == " {}");
  CHECK(printed(DType::int4, 3, "\xf1\x03") == " {1,-1,3}");
  CHECK(printed(DType::uint2, 5, "\xe4\x02") == " {0,1,2,3,2}");
  CHECK(printed(DType::string, 1, "a") == "...");
  for (std::string raw : {"\1", "\1\2\3", "\1\2\3\4\5\6"})
    CHECK_THROWS_WITH_AS(printed(DType::float16, 2, raw), doctest::Contains("tensor 'w'"), Error);
  CHECK_THROWS_AS(printed(DType::int8, -1, ""), Error);
  CHECK_THROWS_AS(printed(DType::int4, 2, "\1\2"), Error);
  CHECK_THROWS_AS(printed(DType::float64, int64_t{1} << 62, ""), Error);
}

TEST_CASE("Text of a graph") {
  const auto g = parsed<onnx::GraphProto>(R"(
"a graph" (float y = {1.0}, float[N] z, untyped, "seq", seq(int64) seq) => (float[N] w, "map")
<float[2] w1 = {1.0, 2.0}, float[3] "w 2" = {4, 5, 6}, float[N] x>
{
    # This is a comment.
    x = foo(y, z, w1) # More comments.
    w = bar(x, y, "w 2")
}   # at the end)");
  CHECK(g.name() == "a graph");
  CHECK(g.input_size() == 5);
  CHECK_FALSE(g.input(2).has_type());
  CHECK(g.input(3).name() == "seq");
  CHECK(g.initializer_size() == 3);
  CHECK(g.initializer(0).name() == "y");
  CHECK(g.value_info_size() == 1);
  CHECK(print_text(parse_text<onnx::GraphProto>("g (float[N] x) => (y) <float c = {1}> { y = If (c) "
                                                "<then_branch = t () => (a) <float a> { a = Neg(x) }>}")) ==
        "g (float[N] x) => ( y) \n"
        "   <float c =  {1}>\n"
        "{\n"
        "   y = If (c) <then_branch: graph = t () => ( a) \n"
        "      <float a>\n"
        "{\n"
        "      a = Neg (x)\n"
        "   }>\n"
        "}");
}

TEST_CASE("Text of a function") {
  const auto f = parsed<onnx::FunctionProto>(R"(
<
  opset_import: [ "" : 10, "local" : 1 ],
  domain: "ai.onnx.ml",
  overload: "o",
  doc_string: "A \"function\".\nOf two lines."
>
f <alpha: float = 4.0, beta, gamma = [1, 2], "d d"> (float[N] y, z, "map") => (float[N] w)
<float[N] x, float[N] t>
{
    x = Add(y, z)
    t = Op <a: float = @alpha> (x)
    w = Mul(t, y)
})");
  CHECK(f.attribute_size() == 2);
  CHECK(f.attribute_proto(1).ints_size() == 2);
  REQUIRE(f.value_info_size() == 4);
  CHECK(f.value_info(1).name() == "w");
  CHECK(f.overload() == "o");
  CHECK(f.input(2) == "map");
  CHECK_FALSE(refusal_of<onnx::FunctionProto>("f <> (x) => (y) {}").empty());
  CHECK(holds(refusal_of<onnx::FunctionProto>("<ir_version: 8> f (x) => (y) {}"), "no key 'ir_version'"));
}

TEST_CASE("Text of a model") {
  const auto m = parsed<onnx::ModelProto>(R"(
<
  ir_version: 10,
  opset_import: [ "" : 21, "local" : 1 ],
  producer_name: "a test",
  producer_version: "1.0",
  domain: "some.domain",
  model_version: 3,
  doc_string: "",
  metadata_props: [ "key" : "value", "" : "" ]
>
g (float[N, 128] X) => (float[N] Y) { Y = local.f <alpha = 2.0> (X) }
<opset_import: [ "" : 21 ], domain: "local"> f <alpha> (x) => (y) { y = Neg (x) }
<opset_import: [ "" : 21 ], domain: "local"> h (x) => (y) { y = Neg (x) })");
  CHECK(m.functions_size() == 2);
  CHECK(m.metadata_props(0).value() == "value");
  CHECK(m.has_doc_string());
  const std::string smallest = "<\n   ir_version: 14,\n   opset_import: []\n>\ng () => () {\n}";
  CHECK(print_text(parse_text<onnx::ModelProto>(smallest)) == smallest);
  CHECK_FALSE(parse_text<onnx::ModelProto>("g () => () {}").has_ir_version());
}

TEST_CASE("Text that is refused is named by line and column") {
  CHECK(refusal_of<onnx::GraphProto>("\n  g (float[N] X) => (C)\n  {\n    T = MatMul[X, W]\n  }") ==
        "line 4, column 15: expected '(' instead of '['");
  CHECK(refusal_of<onnx::ModelProto>(
            "<ir_version: 7,\n opset_import: [\"\" : 10 \"local\": 1]> g () => () {}") ==
        "line 2, column 25: expected ']' instead of '\"'");
  CHECK(refusal_of<onnx::ModelProto>("") == "line 1, column 1: expected a name, but the text ends");
  CHECK(refusal_of<onnx::NodeProto>("y = Op (x) z") == "line 1, column 12: text follows the end");
  CHECK(refusal_of<onnx::NodeProto>("y = Op <s = \"a\\") == "line 1, column 13: the string has no end");
  CHECK(refusal_of<onnx::NodeProto>("y = Op <s = \"a") == "line 1, column 13: the string has no end");
  CHECK(refusal_of<onnx::GraphProto>("g (flaot[2] x) => () {}") ==
        "line 1, column 9: there is no type 'flaot'");
  CHECK(refusal_of<onnx::GraphProto>("g (x y) => () {}") == "line 1, column 6: there is no type 'x'");
  CHECK(refusal_of<onnx::GraphProto>("g () => () { y = Relu (x) ") ==
        "line 1, column 27: expected '}', but the text ends");
  CHECK(refusal_of<onnx::NodeProto>("y = (x)") == "line 1, column 5: expected a name instead of '('");
  CHECK(refusal_of<onnx::GraphProto>("g () = > () {}") == "line 1, column 6: expected '=>' instead of '='");
  CHECK(refusal_of<onnx::ModelProto>("<ir: 7> g () => () {}") ==
        "line 1, column 2: no key 'ir' is known here");
  CHECK(refusal_of<onnx::GraphProto>(std::string_view("g\0() => () {}", 13)) ==
        "line 1, column 2: expected '=>' instead of '?'");
}

// `part` as often as `times`.
std::string repeated(std::string_view part, int times) {
  std::string text;
  for (int k = 0; k < times; ++k) text += part;
  return text;
}

TEST_CASE("Narrow floats are their bits") {
  const auto refused = [](const std::string& type, const std::string& number) {
    return refusal_of<onnx::GraphProto>("g () => () <" + type + "[1] w = {" + number + "}> {}");
  };
  CHECK(
      holds(refused("float16", "1.5"), "'1.5' is not the bits of a float16, a whole number from 0 to 65535"));
  CHECK(holds(refused("bfloat16", "65536"), "'65536' is not the bits of a bfloat16"));
  CHECK(holds(refused("float8e5m2", "-1"),
              "'-1' is not the bits of a float8e5m2, a whole number from 0 to 255"));
  CHECK(holds(refused("uint8", "256"), "no number of its type"));
}

TEST_CASE("Hostile text ends in an error") {
  const int many = 1'000'000;
  for (std::string_view part : std::initializer_list<std::string_view>{
           "[",    "(",        "<",         "{",         "\"",      "\\",
           "@",    "#",        "a",         "a.",        "seq(",    "-",
           "1",    "g() => (", ",",         "x = [",     "a = a <", std::string_view("\0", 1),
           "\xff", "=>",       "optional(", "map(int64,"}) {
    const std::string text = repeated(part, many);
    for (std::string before :
         {"", "g (", "g () => () { ", "g () => () { y = Op <a = ", "g () => () <float[", "<"}) {
      CHECK_FALSE(refusal_of<onnx::ModelProto>(before + text).empty());
    }
    CHECK_FALSE(refusal_of<onnx::NodeProto>("y = Op <a = [" + text).empty());
  }
  CHECK(holds(refusal_of<onnx::NodeProto>("y = Op <a = " + repeated("g () => () { y = Op <a = ", 1000)),
              "nested more than 88 deep"));
  CHECK(holds(refusal_of<onnx::NodeProto>("y = Op <a = " + repeated("seq(", 1000)),
              "nested more than 88 deep"));
  CHECK_FALSE(refused_attribute("x = " + std::string(many, '9')).empty());
  CHECK_FALSE(refused_attribute("x : float = " + std::string(many, '9')).empty());
  CHECK(attribute("x : float = 0." + std::string(many, '0') + "1").f() == 0);
}

TEST_CASE("Text that is nested as deep as it may be makes a file that can be read") {
  const auto depth_of = [](std::string_view open, std::string_view inner, std::string_view close) {
    for (int depth = 100;; --depth) {
      const std::string text =
          str_cat("<ir_version: 10, opset_import: []> g () => () { y = Op <a = ", repeated(open, depth),
                  inner, repeated(close, depth), "> (x) }");
      if (!refusal_of<onnx::ModelProto>(text).empty()) continue;
      onnx::ModelProto m;
      CHECK(m.ParseFromString(parsed<onnx::ModelProto>(text).SerializeAsString()));
      return depth;
    }
  };
  CHECK(depth_of("g () => () { y = Op <a = ", "float[N]", "> (x) }") > 20);
  CHECK(depth_of("seq(", "map(int64, float[N])", ")") > 30);
}

TEST_CASE("Text cut anywhere is refused, or is the whole") {
  const std::string text = print_text(parse_text<onnx::ModelProto>(R"(
<ir_version: 10, opset_import: [ "" : 21 ], metadata_props: [ "k" : "v" ]>
g (float[N, "M"] X, seq(int64) s) => (Y) <float[2] w = {1.5, -inf}, string[1] t = {"\"a"}, float[N] v>
{ [n] Y = a.b.Op:o <k: ints = [1, 2], body = h () => (z) { z = Neg (X) }> (X, "", w) }
<opset_import: [ "" : 21 ], domain: "local"> f <alpha, beta: float = 1> (x) => (y) { y = Neg (x) })"));
  int whole = 0;
  for (std::size_t size = 0; size < text.size(); ++size)
    whole += refusal_of<onnx::ModelProto>(text.substr(0, size)).empty();
  CHECK(whole == 2);  // after the graph, and a line further
  // And with any one character replaced, it ends.
  for (std::size_t k = 0; k < text.size(); ++k)
    for (char c : {'"', '<', ')', ',', '\0'}) {
      std::string other = text;
      other[k] = c;
      refusal_of<onnx::ModelProto>(other);
    }
}

}  // namespace
}  // namespace tenon
