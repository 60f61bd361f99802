// Errors of runs name the file's nodes, operators, operands and extents, whatever passes made of the nodes.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/graph/passes.hpp"
#include "tenon/model.hpp"
#include "tests/loader/folder.hpp"
#include "tests/loader/refusal.hpp"

namespace tenon {
namespace {

Value filled(Extents extents, float number = 0.5f) {
  Tensor<float> t(extents);
  for (int64_t k = 0; k < t.size(); ++k) t.data()[k] = number;
  return t;
}
Value integers(std::initializer_list<int64_t> list) {
  return Tensor<int64_t>(Extents{static_cast<int64_t>(list.size())}, list);
}

struct Runs {
  explicit Runs(std::string_view graph)
      : model(parse_text(str_cat("<ir_version: 10, opset_import: [\"\" : 21]>\n", graph))),
        plain(model.graph(), {.passes = std::vector<Pass>{}}),
        kept(model.graph(), {.passes = standard_passes(), .explain = true}) {
    save(model, folder / "m.onnx");
    loaded.emplace(load(folder / "m.onnx"));
  }

  Folder folder;
  Model model;
  Session plain;  // runs every node as it is
  Session kept;   // its graph keeps the constants
  std::optional<Session> loaded;
};

// The error of a run without passes, which a run with passes has to raise as well.
std::string error_of(const Runs& m, const Feeds& feeds) {
  const std::string expected = refusal(ErrorCode::invalid_shape, [&] { (void)m.plain.run(feeds); });
  CHECK_FALSE(expected.empty());
  for (const Session* s : {&m.kept, &*m.loaded})
    for (int repeated = 0; repeated < 2; ++repeated)
      CHECK(refusal(ErrorCode::invalid_shape, [&] { (void)s->run(feeds); }) == expected);
  return expected;
}
// The text of a graph with weights of these extents.
std::string weights(std::string_view name, std::string_view extents) {
  return str_cat(name, "_n = Constant <value_float = 0.1> ()\n", name, "_e = Constant <value_ints = [",
                 extents, "]> ()\n", name, " = Expand (", name, "_n, ", name, "_e)\n");
}
bool has(const Session& s, std::string_view op) {
  for (const Graph::Node& n : s.program().nodes())
    if (n.op.spec().name == op) return true;
  return false;
}

TEST_CASE("errors of convolutions over blocks of channels") {
  const Runs line(str_cat("g (float[N,16,L] x) => (float[N,16,M] y) {\n", weights("w", "16, 16, 3"),
                          "[conv1] c = Conv <dilations = [3]> (x, w)\n", "[relu1] y = Relu (c)\n}"));
  CHECK(has(line.kept, "BlockedConv"));
  CHECK(error_of(line, {{"x", filled({1, 16, 4})}}) ==
        "node 'conv1' (Conv-11): a window of (3) does not fit into (1,16,4) along axis 2 "
        "[X: tensor(float) (1,16,4), W: tensor(float) (16,16,3)]");

  const Runs image(str_cat("g (float[N,16,H,W] x) => (float[N,16,M,L] y) {\n", weights("w", "16, 16, 3, 3"),
                           "[conv1] c = Conv (x, w)\n", "[relu1] r = Relu (c)\n",
                           "[pool] p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r)\n",
                           "[conv2] y = Conv (p, w)\n}"));
  CHECK(has(image.kept, "BlockedConv"));
  CHECK(holds(error_of(image, {{"x", filled({1, 16, 5, 5})}}),
              "node 'conv2' (Conv-11): a window of (3,3) does not fit into (1,16,1,1) along axis 2 "
              "[X: tensor(float) (1,16,1,1), W: "));
  CHECK(holds(error_of(image, {{"x", filled({1, 16, 3, 3})}}), "node 'pool' (MaxPool-12): "));
}

TEST_CASE("errors of joins over blocks of channels, whose extents follow from constant scales") {
  const Runs m(
      str_cat("g (float[N,16,H,W] x) => (float[N,16,M,L] y) {\n", weights("w", "16, 16, 3, 3"),
              weights("v", "16, 32, 3, 3"), "scales = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> ()\n",
              "[skip] c = Conv <pads = [1, 1, 1, 1]> (x, w)\n",
              "[pool] p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)\n",
              "[middle] d = Conv <pads = [1, 1, 1, 1]> (p, w)\n",
              "[enlarge] e = Resize <mode = \"nearest\"> (d, \"\", scales)\n",
              "[join] j = Concat <axis = 1> (e, c)\n", "[last] y = Conv <pads = [1, 1, 1, 1]> (j, v)\n}"));
  CHECK(has(m.kept, "BlockedConv"));
  CHECK_NOTHROW((void)m.loaded->run({{"x", filled({1, 16, 8, 8})}}));
  const std::string said = error_of(m, {{"x", filled({1, 16, 7, 8})}});
  CHECK(holds(said, "node 'join' (Concat-13): "));
  CHECK(holds(said, "(1,16,6,8)"));
  CHECK(holds(said, "(1,16,7,8)"));
}

TEST_CASE("errors of elementwise nodes") {
  const Runs m(R"(g (float[N,C] x, float[N,D] z) => (float[N,E] y) {
    [neg] a = Neg (x)
    [root] b = Sqrt (a)
    [add] c = Add (b, z)
    [floor] d = Floor (c)
    [mul] y = Mul (d, d)
  })");
  CHECK(has(m.kept, "FusedElementwise"));
  CHECK(error_of(m, {{"x", filled({64, 64})}, {"z", filled({64, 33})}}) ==
        "node 'add' (Add-14): extents (64,64) and (64,33) do not broadcast "
        "[A: tensor(float) (64,64), B: tensor(float) (64,33)]");
}

TEST_CASE("errors about elements name the node that reads them") {
  const Runs m(R"(g (string[N] x) => (y) {
    [read] a = Cast <to = 1> (x)
    [neg] b = Neg (a)
    [root] y = Sqrt (b)
  })");
  const Feeds feeds{{"x", Tensor<std::string>(Extents{2}, {"1", "one"})}};
  for (const Session* s : {&m.plain, &m.kept, &*m.loaded})
    CHECK(holds(refusal(ErrorCode::invalid_argument, [&] { (void)s->run(feeds); }),
                "node 'read' (Cast-21): 'one'"));
}

TEST_CASE("errors of attention in several nodes") {
  const std::string_view graph = R"(g (float[B,2,S,16] q, float[B,2,T,D] k, float[B,2,U,16] v) => (y) {
    [turn] t = Transpose <perm = [0, 1, 3, 2]> (k)
    [scores] s = MatMul (q, t)
    [weights] w = Softmax <axis = -1> (s)
    [context] y = MatMul (w, v)
  })";
  const Runs m(graph);
  CHECK(has(m.kept, "FusedAttention"));
  const Value q = filled({1, 2, 4, 16});
  CHECK(holds(error_of(m, {{"q", q}, {"k", filled({1, 2, 5, 16})}, {"v", filled({1, 2, 6, 16})}}),
              "node 'context' (MatMul-13): inner extents differ: 5 and 6 "
              "[A: tensor(float) (1,2,4,5), B: tensor(float) (1,2,6,16)]"));
  CHECK(holds(error_of(m, {{"q", q}, {"k", filled({1, 2, 5, 17})}, {"v", filled({1, 2, 5, 16})}}),
              "node 'scores' (MatMul-13): inner extents differ: 16 and 17"));
}

TEST_CASE("errors of products with constant matrices") {
  const Runs m(str_cat("g (float[N,K] x) => (float[N,32] y) {\n", weights("w", "64, 32"), weights("b", "32"),
                       "[dense] p = MatMul (x, w)\n[bias] s = Add (p, b)\n[relu] y = Relu (s)\n}"));
  CHECK(has(m.kept, "PackedMatMul"));
  CHECK(error_of(m, {{"x", filled({8, 63})}}) ==
        "node 'dense' (MatMul-13): inner extents differ: 63 and 64 "
        "[A: tensor(float) (8,63), B: tensor(float) (64,32)]");
}

// 8-bit weights between DequantizeLinear and QuantizeLinear.
constexpr std::string_view quantised = R"(g (float[N,16,H,W] x, int64[I] at) => (y) {
    s = Constant <value_float = 0.1> ()
    zero = Constant <value_int = 0> ()
    byte = Cast <to = 2> (zero)
    signed = Cast <to = 3> (zero)
    e = Constant <value_ints = [16, 16, 3, 3]> ()
    codes = Expand (signed, e)
    w = DequantizeLinear (codes, s)
    xq = QuantizeLinear (x, s, byte)
    xd = DequantizeLinear (xq, s, byte)
    [conv] c = Conv (xd, w)
    cq = QuantizeLinear (c, s, byte)
    cd = DequantizeLinear (cq, s, byte)
    [pick] p = Gather <axis = 1> (cd, at)
    pq = QuantizeLinear (p, s, byte)
    y = DequantizeLinear (pq, s, byte)
  })";

TEST_CASE("errors of nodes over 8-bit integers") {
  const Runs m(quantised);
  CHECK((has(m.kept, "QuantizedConv") || has(m.kept, "LastConv")));
  CHECK(holds(error_of(m, {{"x", filled({1, 16, 2, 5})}, {"at", integers({0})}}),
              "node 'conv' (Conv-11): a window of (3,3) does not fit into (1,16,2,5) along axis 2 "
              "[X: tensor(float) (1,16,2,5), W: tensor(float) (16,16,3,3)]"));
  const Feeds wrong{{"x", filled({1, 16, 5, 5})}, {"at", integers({16})}};
  for (const Session* s : {&m.plain, &m.kept, &*m.loaded})
    CHECK(refusal(ErrorCode::out_of_range, [&] { (void)s->run(wrong); }) ==
          "node 'pick' (Gather-13): index 16 outside of [-16, 15]");
}

TEST_CASE("errors about extents that only the run knows") {
  // One operand's extents already tell the result's.
  const Runs added(R"(g (float[N] x, float[M,64] z) => (y) {
    [find] i = NonZero (x)
    [cast] f = Cast <to = 1> (i)
    [add] y = Add (f, z)
  })");
  CHECK(error_of(added, {{"x", filled({5})}, {"z", filled({3, 64})}}) ==
        "node 'add' (Add-14): extents (1,5) and (3,64) do not broadcast "
        "[A: tensor(float) (1,5), B: tensor(float) (3,64)]");
  for (const Session* s : {&added.plain, &*added.loaded})
    for (int64_t n : {1, 64})
      CHECK(s->run({{"x", filled({n})}, {"z", filled({3, 64}, 1)}})["y"].view<float>().data()[191] ==
            static_cast<float>(n));

  // The rule refuses before the run, which then knows the numbers.
  const Runs joined(R"(g (float[N] x, float[M,L] z) => (y) {
    [find] i = NonZero (x)
    [cast] f = Cast <to = 1> (i)
    [times] p = MatMul (z, f)
    y = Neg (p)
  })");
  CHECK(error_of(joined, {{"x", filled({5})}, {"z", filled({3, 64})}}) ==
        "node 'times' (MatMul-13): inner extents differ: 64 and 1 "
        "[A: tensor(float) (3,64), B: tensor(float) (1,5)]");

  // Blocks of channels whose extents follow from elements of an input.
  const Runs reshaped(str_cat("g (float[K] x, int64[4] s) => (y) {\n", weights("w", "16, 16, 3, 3"),
                              "[reshape] r = Reshape (x, s)\n[conv1] c = Conv (r, w)\n",
                              "[tanh] t = Tanh (c)\n[conv2] y = Conv (t, w)\n}"));
  CHECK(has(reshaped.kept, "BlockedConv"));
  CHECK_NOTHROW((void)reshaped.loaded->run({{"x", filled({400})}, {"s", integers({1, 16, 5, 5})}}));
  CHECK(holds(error_of(reshaped, {{"x", filled({320})}, {"s", integers({1, 16, 5, 4})}}),
              "node 'conv2' (Conv-11): a window of (3,3) does not fit into (1,16,3,2) along axis 3 "
              "[X: tensor(float) (1,16,3,2), W: "));
  CHECK(holds(error_of(reshaped, {{"x", filled({400})}, {"s", integers({1, 8, 10, 5})}}), "(1,8,10,5)"));
}

TEST_CASE("errors in bodies") {
  const Runs m(str_cat("g (float[N,K] x, bool c) => (y) {\n", weights("w", "64, 32"),
                       "[choose] y = If (c) <then_branch = a () => (p) {\n",
                       "  [dense] d = MatMul (x, w)\n  [relu] p = Relu (d)\n},\n",
                       "else_branch = b () => (q) { [same] q = Neg (x) }>\n}"));
  const Value yes = Tensor<bool>(Extents{}, {true});
  CHECK(holds(error_of(m, {{"x", filled({8, 63})}, {"c", yes}}),
              "node 'dense' (MatMul-13): inner extents differ: 63 and 64 "
              "[A: tensor(float) (8,63), B: tensor(float) (64,32)]"));
}

}  // namespace
}  // namespace tenon
