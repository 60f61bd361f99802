// Models simplified: what becomes constant, what stays, and that results stay.
#include "loader/edit/simplify.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "loader/check/check.hpp"
#include "loader/message.hpp"
#include "loader/text/print_text.hpp"
#include "tenon/loader.hpp"
#include "tenon/tensor/difference.hpp"
#include "tenon/training.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr Tolerance exact{.rtol = 0, .atol = 0};

int count_nodes(const onnx::GraphProto& g) {
  int count = g.node_size();
  for (const auto& n : g.node())
    for (const auto& a : n.attribute())
      if (a.has_g()) count += count_nodes(a.g());
  return count;
}

std::vector<Value> results(const Model& model) {
  const Session session(model.graph());
  Feeds feeds;
  for (const ValueId v : session.graph().inputs()) {
    const Graph::ValueEntry& e = session.graph().entry(v);
    if (e.optional) continue;
    Extents extents;
    for (const Dim d : e.info.dims) extents.push_back(d.known() ? d.value() : 3);
    AnyTensor t = AnyTensor::uninitialized(e.info.type.element, extents);
    for (int64_t k = 0; k < t.size(); ++k)
      if (t.dtype() == DType::bool_) t.out().as<bool>()[k] = true;
      else t.out().as<float>()[k] = static_cast<float>((k * 7 + 3) % 11) - 4.5f;
    feeds.emplace_back(e.name, Value(t));
  }
  Outputs out = session.run(feeds);
  return std::move(out.values());
}

// The nodes of the simplified main graph, and how many constants it has.
std::string simplified(std::string_view text, const SimplifyOptions& options = {}, int ir = 8) {
  INFO(text);
  Model model = parse_text(str_cat("<ir_version: ", ir, ", opset_import: [\"\" : 17]>\n", text));
  const Model before = model;
  loader::simplify(model.proto(), options);
  for (const auto& d : loader::check(model.proto()))
    CHECK_MESSAGE(d.severity != Severity::error, to_string(d));
  const auto expected = results(before), ours = results(model);
  REQUIRE(ours.size() == expected.size());
  for (std::size_t k = 0; k < ours.size(); ++k) CHECK(difference(ours[k], expected[k], exact) == "");
  std::string list;
  for (const auto& n : model.proto().graph().node()) list += n.op_type() + " ";
  return str_cat(list, model.proto().graph().initializer_size());
}

TEST_CASE("constant values are computed") {
  CHECK(simplified("g (float[2] x) => (float[2] y) <float[2] a = {1, 2}> { b = Neg (a) c = Exp (b) y = Add "
                   "(x, c) }") == "Add 1");
  CHECK(
      simplified(
          "g (float[2] x) => (float[2] y) { a = Constant <value_floats = [1.0, 2.0]> () b = Neg (a) y = Add "
          "(x, b) }") == "Add 1");
  // An initializer that is an input may have another value in a run.
  CHECK(simplified("g (float[2] x, float[2] a) => (float[2] y) <float[2] a = {1, 2}> { b = Neg (a) y = Add "
                   "(x, b) }") == "Neg Add 1");
  CHECK(simplified("g (float[2] x) => (float[2] y, float[2] b) <float[2] a = {1, 2}> { b = Neg (a) y = Add "
                   "(x, b) }") == "Constant Add 0");
  CHECK(
      simplified(
          "g (float[2] x) => (float[2] y) { r = RandomUniform <shape = [2], seed = 1.0> () z = Sub (r, r) y "
          "= Add (x, z) }") == "RandomUniform Sub Add 0");
  CHECK(simplified(
            "g (float[2] x, float[2] a) => (float[2] y) <float[2] a = {1, 2}> { b = Constant <value_float = "
            "1.0> () c = Neg (b) y = Add (x, c) }",
            {}, 3) == "Constant Add 1");
}

TEST_CASE("Arithmetic on extents that are known, or as far as they are") {
  const std::string flatten =
      "s = Shape (x) i = Constant <value_int = 0> () n = Gather (s, i) a = Constant <value_ints = [0]> () "
      "u = Unsqueeze (n, a) m = Constant <value_ints = [-1]> () r = Concat <axis = 0> (u, m) y = Reshape (x, "
      "r) }";
  CHECK(simplified("g (float[2, 3, 4] x) => (float[2, k] y) { " + flatten) == "Reshape 1");
  CHECK(simplified("g (float[n, 3, 4] x) => (float[n, k] y) { " + flatten) ==
        "Shape Constant Gather Constant Unsqueeze Constant Concat Reshape 0");
  CHECK(simplified(
            "g (float[n, 3, 4] x) => (int64[1] y, float[n, 3, 4] z) <int64[1] i = {2}> { s = Shape (x) y = "
            "Gather (s, i) z = Neg (x) }") == "Constant Neg 0");
  // Unknown operators do not hide known facts about others.
  Model unknown = parse_text(
      "<ir_version: 10, opset_import: [\"\" : 21, \"own\" : 1]> g (float[2, 3] x) => (int64[2] y, float[2] "
      "z) {"
      " s = Shape (x) y = Neg (s) z = own.F (x) }");
  loader::simplify(unknown.proto(), {});
  CHECK(unknown.proto().graph().node(0).op_type() == "Constant");
  CHECK(unknown.proto().graph().node_size() == 2);
}

TEST_CASE("Nodes that nothing reads go") {
  CHECK(
      simplified(
          "g (float[2] x) => (float[2] y) <float[2] a = {1, 2}> { b = Neg (x) c = Exp (b) d = Add (c, a) y = "
          "Abs (x) }") == "Abs 0");
  CHECK(simplified(R"(g (bool c, float[2] x) => (float[2] y) <float[2] a = {1, 2}> {
     n = Neg (a)
     dead = Exp (x)
     y = If (c) <then_branch = t () => (float[2] p) { q = Abs (n) p = Add (x, q) },
                 else_branch = e () => (float[2] o) { o = Identity (x) }>
  })") == "If 0");
}

TEST_CASE("An If of a constant becomes the branch that it takes") {
  const std::string branches =
      "<then_branch = t () => (float[2] p) { q = Abs (x) p = Exp (q) }, "
      "else_branch = e () => (float[2] o) { o = Neg (x) }> ";
  CHECK(simplified("g (float[2] x) => (float[2] y) <bool c = {1}> { y = If (c) " + branches + "}") ==
        "Abs Exp 0");
  CHECK(simplified("g (float[2] x) => (float[2] y) { c = Constant <value = bool {0}> () y = If (c) " +
                   branches + "}") == "Neg 0");
  // An initializer that is an input may have another value in a run.
  CHECK(simplified("g (float[2] x, bool c) => (float[2] y) <bool c = {1}> { y = If (c) " + branches + "}") ==
        "If 1");
  // Extents decide.
  CHECK(simplified("g (float[2] x) => (float[2] y) <int64[1] two = {2}, int64[0] none = {}> {"
                   " s = Shape (x) d = Equal (s, two) c = Reshape (d, none) y = If (c) " +
                   branches + "}") == "Abs Exp 0");
  // Names that both Ifs have, a branch within a branch, and the condition of one around it.
  CHECK(simplified(R"(g (float[2] x) => (float[2] y) <bool c = {1}, bool d = {0}> {
     a = If (c) <then_branch = t () => (float[2] p) <float[2] w = {1, 2}> { q = Add (x, w) p = If (d) <
                   then_branch = tt () => (float[2] q1) { q1 = Abs (q) },
                   else_branch = te () => (float[2] q1) { q1 = Sin (q) }> },
                 else_branch = e () => (float[2] o) { o = Identity (x) }>
     y = If (c) <then_branch = t () => (float[2] p) <float[2] w = {3, 4}> { q = Mul (a, w) p = Cos (q) },
                 else_branch = e () => (float[2] o) { o = Identity (x) }>
  })") == "Add Sin Mul Cos 2");
  // Results from outside of the branch, of its initializers, and of one node twice.
  CHECK(simplified(R"(g (float[2] x) => (float[2] y, float[2] z, float[2] u, float[2] v) <bool c = {1}> {
     y, z, u, v = If (c) <
        then_branch = t () => (float[2] a, float[2] b, float[2] b2, float[2] w) <float[2] w = {1, 2}> {
           a = Identity (x) b = Exp (x) b2 = Identity (b) },
        else_branch = e () => (float[2] a, float[2] b, float[2] b2, float[2] w) <float[2] w = {1, 2}> {
           a = Neg (x) b = Exp (x) b2 = Identity (b) }>
  })") == "Constant Identity Exp Identity 0");
  // A loop's body reads what the taken branch gives.
  CHECK(simplified(R"(g (float[2] x) => (float[2] y) <bool c = {1}, int64 n = {2}> {
     k = If (c) <then_branch = t () => (float[2] p) { p = Exp (x) },
                 else_branch = e () => (float[2] p) { p = Neg (x) }>
     y = Loop (n, , x) <body = b (int64 i, bool go, float[2] s) => (bool more, float[2] r) {
        more = Identity (go)
        r = If (c) <then_branch = bt () => (float[2] q) { q = Add (s, k) },
                    else_branch = be () => (float[2] q) { q = Sub (s, k) }> }>
  })") == "Exp Loop 1");
}

TEST_CASE("loops over constants are computed") {
  const auto loop = [](std::string_view operands, std::string_view body) {
    return str_cat(
        "g (float[2] x) => (float[2] y) <int64 three = {3}, int64 many = {5000}, bool yes = {1},"
        " float[2] a = {1, 2}, float[2] s = {2, 3}> { r = Loop (",
        operands, ") <body = b (int64 i, bool go, float[n] v) => (bool more, float[n] w) {", body,
        "}> l = ReduceMax <keepdims = 0> (r) y = Add (x, l) }");
  };
  const std::string mul = "more = Identity (go) w = Mul (v, s)";
  CHECK(simplified(loop("three, , a", mul)) == "Add 1");
  CHECK(simplified(loop("three, yes, a",
                        "one = Constant <value_int = 1> () more = Less (i, one) w = Mul (v, s)")) == "Add 1");
  // A value of the run, more trips than are computed before a run, and a result that is too large.
  CHECK(simplified(loop("three, , x", mul)) == "Loop ReduceMax Add 2");
  CHECK(simplified(loop("three, , a", "more = Identity (go) w = Mul (v, x)")) == "Loop ReduceMax Add 2");
  CHECK(simplified(loop("many, , a", mul)) == "Loop ReduceMax Add 3");
  CHECK(simplified(str_cat(
            "g (float[2] x) => (float[2] y) <int64 k = {15}, float[2] a = {1, 2}> { r = Loop (k, , a) "
            "<body = b (int64 i, bool go, float[n] v) => (bool more, float[m] w) { more = Identity (go) "
            "w = Concat <axis = 0> (v, v) }> l = ReduceMax <keepdims = 0> (r) y = Add (x, l) }")) ==
        "Loop ReduceMax Add 2");
  // Random numbers, and a loop that does not end.
  for (const std::string& text :
       {loop("three, , a", "more = Identity (go) w = RandomUniformLike (v)"), loop(", yes, a", mul)}) {
    Model model = parse_text(str_cat("<ir_version: 8, opset_import: [\"\" : 17]>\n", text));
    loader::simplify(model.proto());
    CHECK(model.proto().graph().node(0).op_type() == "Loop");
  }
  // Other operators with bodies.
  CHECK(
      simplified(
          "g (float[2] x) => (float[2] y, float[2, 2] z) <float[2] a = {1, 2}, float[2, 2] r = {1, 2, 3, 4}> "
          "{"
          " l, m = Scan <num_scan_inputs = 1, body = b (float[2] v, float[2] e) => (float[2] w, float[2] u) "
          "{ w = Add (v, e) u = Neg (w) }> (a, r) y = Add (x, l) z = Identity (m) }") == "Constant Add 1");
}

TEST_CASE("Sizes are bounded") {
  const std::string fill =
      "g (float[64, 64] x) => (float[64, 64] y) <int64[2] s = {64, 64}> { f = ConstantOfShape "
      "(s) y = Add (x, f) }";
  CHECK(simplified(fill) == "Add 1");
  CHECK(simplified(fill, {.max_bytes = 1000}) == "ConstantOfShape Add 1");
  Model model =
      parse_text(str_cat("<ir_version: 8, opset_import: [\"\" : 17]>\n",
                         "g () => (float y) <int64[2] s = {2000000000, 2000000000}> { f = ConstantOfShape "
                         "(s) y = ReduceSum <keepdims = 0> (f) }"));
  loader::simplify(model.proto());
  CHECK(model.proto().graph().node_size() == 2);
}

TEST_CASE("ONNX's test models: the same bits by no more nodes") {
  const fs::path data = "/usr/share/libonnx-testdata/data";
  REQUIRE_MESSAGE(fs::is_directory(data), "Debian's libonnx-testdata is not installed");
  int same = 0, fewer = 0, skipped = 0;
  for (const auto& entry : fs::recursive_directory_iterator(data)) {
    if (entry.path().filename() != "model.onnx") continue;
    INFO(entry.path().string());
    const fs::path set = entry.path().parent_path() / "test_data_set_0";
    const auto run = [&](const Model& m) {
      const Session session(m.graph());
      Feeds feeds;
      int file = 0;
      for (const ValueId v : session.graph().inputs())
        if (const auto& e = session.graph().entry(v); !e.optional)
          feeds.emplace_back(e.name, read_pb(set / str_cat("input_", file++, ".pb"), e.info.type));
      Outputs out = session.run(feeds);
      return std::move(out.values());
    };
    std::vector<Value> expected;
    std::vector<std::vector<Value>> again;
    const Model before = load_model(entry.path());
    // Few draws can be alike by chance: forty are not, unless the results do not depend on them.
    const bool may_draw = std::ranges::any_of(
        before.graph().nodes(), [](const auto& n) { return n.op && !n.op.spec().deterministic; });
    try {
      expected = run(before);
      for (int k = 0; k < (may_draw ? 40 : 1); ++k) again.push_back(run(before));
    } catch (const Error&) {
      ++skipped;
      continue;  // a case that `tenon test` fails, or has without declared extents
    }
    Model after = before;
    loader::simplify(after.proto());
    CHECK(count_nodes(after.proto().graph()) <= count_nodes(before.proto().graph()));
    CHECK(loader::check(after.proto()).size() <= loader::check(before.proto()).size());
    fewer += count_nodes(after.proto().graph()) < count_nodes(before.proto().graph());
    const auto ours = run(after);
    REQUIRE(ours.size() == expected.size());
    for (std::size_t k = 0; k < ours.size(); ++k)
      if (std::ranges::all_of(again,
                              [&](const auto& r) { return difference(r[k], expected[k], exact) == ""; }))
        CHECK(difference(ours[k], expected[k], exact) == "");
    ++same;
  }
  MESSAGE(same, " the same, ", fewer, " by fewer nodes, ", skipped, " that do not run");
  CHECK(same > 1000);
}

TEST_CASE("values that training changes are no constants") {
  Model m = parse_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    main (float[1] x) => (float[1] y) <int64[1] c = {0}, int64[1] one = {1}>
    { n = Add (c, one)  nf = Cast <to = 1> (n)  y = Mul (x, nf) })");
  add_training(m, {.algorithm = "step () => (int64[1] n2) { n2 = Identity (n) }", .update = {{"c", "n2"}}});
  simplify(m);
  CHECK(m.proto().graph().node(0).op_type() == "Add");
}

TEST_CASE("The time is bounded, and the model stays one that means the same") {
  const std::string text = R"(
    <ir_version: 10, opset_import: ["" : 21]>
    main (float[2] x) => (float[2] y) <float[2] a = {1, 2}> { b = Neg (a)  y = Add (x, b) })";
  Model m = parse_text(text);
  try {
    simplify(m, {.time_limit = std::chrono::seconds(0)});
    FAIL_CHECK("no error");
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::limit);
    CHECK(std::string(e.what()) == "simplifying has passed its time of 0 ms");
  }
  CHECK(m.proto().graph().node_size() == 2);
  simplify(m, {.time_limit = std::chrono::hours(1)});
  CHECK(m.proto().graph().node_size() == 1);
}

TEST_CASE("a long string is not put into many elements") {
  Model m = parse_text(str_cat(R"(<ir_version: 10, opset_import: ["" : 21]>
    main (float[1] x) => (string[N] y) <string[1] a = {")",
                               std::string(4096, 'a'), R"("}, int64[1] n = {4096}> { y = Expand (a, n) })"));
  simplify(m);
  CHECK(m.proto().graph().node(0).op_type() == "Expand");
  simplify(m, {.max_bytes = 4096 * 4096 + 4096 * 32});
  CHECK(m.proto().graph().node(0).op_type() == "Constant");
}

TEST_CASE("strings that double are computed while they are short") {
  std::string text = R"(<ir_version: 10, opset_import: ["" : 20]>
    main (float[1] x) => (float[1] y, string[1] s) <string[1] a0 = {"0123456789abcdef"}> { y = Relu (x) )";
  for (int k = 1; k <= 40; ++k) text += str_cat("a", k, " = StringConcat (a", k - 1, ", a", k - 1, ") ");
  Model m = parse_text(text + "s = Identity (a40) }");
  simplify(m);
  CHECK(m.proto().graph().node_size() > 20);
  CHECK(m.proto().ByteSizeLong() < 4 << 20);
}

}  // namespace
}  // namespace tenon
