// Drawings of models: what they show, that hostile names stay text, and that the programs they are for read
// them.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "loader/display.hpp"
#include "loader/draw/dump.hpp"
#include "loader/draw/outline.hpp"
#include "loader/text/parse_text.hpp"
#include "tenon/base/error.hpp"
#include "tenon/base/utf8.hpp"
#include "tests/loader/markup.hpp"
#include "tests/loader/refusal.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using loader::dot;
using loader::html;
using loader::parse_text;
using loader::visible;

int count(const std::string& text, std::string_view part) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

// Two graphs around each other, a function, constants, an unknown operator.
const onnx::ModelProto& model() {
  static const auto m = parse_text<onnx::ModelProto>(R"(
    <ir_version: 10, opset_import: ["" : 21, "local" : 1, "com.acme" : 3], producer_name: "hand">
    g (float[N,4] x, bool b) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> {
      ["/a/scale"] s = Mul (x, w)
      ["/a/call"] c = local.twice <by: float = 0.5> (s)
      ["/b/choice"] y = If (b) <
        then_branch = yes () => (float[N,4] t) { t = Add (c, s) },
        else_branch = no () => (float[N,4] e) { e = com.acme.Whirl <turns = [1, 2, 3]> (undefined) }>
    }
    <domain: "local", opset_import: ["" : 21]> twice <by> (v) => (r) { r = Add (v, v) })");
  return m;
}

const std::string hostile_names[] = {
    "</script><script>document.body.dataset.owned = 1</script>",
    "<img src=x onerror=\"document.body.dataset.owned = 1\">",
    "\"><svg onload='document.body.dataset.owned = 1'>",
    "' onmouseover='document.body.dataset.owned = 1",
    "<!-- <script>",
    "--> ]]> `${document.body.dataset.owned = 1}`",
    "\"]; injected [label=\"owned",
    "ends with \\",
    "\\N \\G \\l &lt;b&gt; {|<port>}",
    "nul \0 escape \x1b[31m bell \a line\nreturn\r"s,
    "not UTF-8: \xff\xfe \xc0\x80 \xed\xa0\x80",
    "turned \xe2\x80\xae tfel",
    std::string(10000, 'n'),
    "constructor",
    "__proto__",
    "/" + std::string(3000, '/') + "a/b/../../c",
};

// Every name and text of a model, one after the other.
onnx::ModelProto hostile_model() {
  onnx::ModelProto m;
  m.set_ir_version(10);
  auto& g = *m.mutable_graph();
  std::string last = "x";
  const auto add_value = [](auto& info, const std::string& name, const std::string& symbol) {
    info.set_name(name);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    info.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param(symbol);
  };
  for (const std::string& name : hostile_names) {
    g.set_name(name);
    g.set_doc_string(name);
    m.set_producer_name(name);
    m.set_doc_string(name);
    auto& entry = *m.add_metadata_props();
    entry.set_key(name);
    entry.set_value(name);
    m.add_opset_import()->set_domain(name);
    add_value(*g.add_input(), name + "in", name);
    auto& w = *g.add_initializer();
    w.set_name(name + "w");
    w.set_data_type(onnx::TensorProto::STRING);
    w.add_string_data(name);
    auto& n = *g.add_node();
    n.set_name(name);
    n.set_op_type(name);
    n.set_domain(name);
    n.set_doc_string(name);
    for (const std::string& input : {last, name + "in", name + "w", name + "nowhere"}) n.add_input(input);
    n.add_output(last = name + "out");
    auto& a = *n.add_attribute();
    a.set_name(name);
    a.set_type(onnx::AttributeProto::STRING);
    a.set_s(name);
    auto& body = *n.add_attribute();
    body.set_name(name);
    body.set_type(onnx::AttributeProto::GRAPH);
    add_value(*body.mutable_g()->add_output(), last, name);
    add_value(*g.add_value_info(), last, name);
    auto& f = *m.add_functions();
    f.set_name(name);
    f.set_domain(name);
    f.add_input(name);
    f.add_output(name);
  }
  add_value(*g.add_output(), last, "N");
  return m;
}

// "" for text in graphviz's language whose strings end, and whose braces match outside of them.
std::string ill_drawn(const std::string& text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (quoted && text[k] == '\\') ++k;
    else if (text[k] == '"') quoted = !quoted;
    else if (!quoted && text[k] == '{') ++depth;
    else if (!quoted && text[k] == '}') --depth;
    else if (quoted && text[k] == '\n') return text.substr(k < 80 ? 0 : k - 80, 80);
  }
  return quoted || depth != 0 ? "the end is open" : "";
}

bool installed(const char* program) {
  return std::system(str_cat("command -v ", program, " > /dev/null 2>&1").c_str()) == 0;
}
fs::path scratch() {
  const char* folder = std::getenv("TEST_TMPDIR");
  return fs::path(folder != nullptr ? folder : fs::temp_directory_path().c_str());
}
std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The page after its scripts, as Chromium has it; "" where it cannot run.
std::string seen_by_browser(const std::string& address) {
  const fs::path seen = scratch() / "dump_test.dom";
  const std::string command = str_cat(
      "timeout 100 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic ",
      "--no-first-run --disable-background-networking --disable-component-update --disable-sync ",
      "--user-data-dir=", (scratch() / "dump_test_profile").string(), " --dump-dom ", address, " > ",
      seen.string(), " 2> /dev/null");
  return std::system(command.c_str()) == 0 ? read(seen) : "";
}

}  // namespace

TEST_CASE("visible") {
  CHECK(visible("layer1/conv é 層") == "layer1/conv é 層");
  CHECK(visible(std::string_view("\0\x1b[31m\x7f", 7)) == "\\x00\\x1b[31m\\x7f");
  CHECK(visible("\xff\xc0\x80\xed\xa0\x80") == "\\xff\\xc0\\x80\\xed\\xa0\\x80");
  CHECK(visible("\xe2\x80\xae\xc2\x85") == "\\u202e\\u0085");
  CHECK(visible("0123456789", 4) == "01…89");
  CHECK(visible("ééééé", 6) == "éé…é");
}

TEST_CASE("types and attributes in short") {
  const auto type = [](std::string_view text) {
    return loader::type_text(
        parse_text<onnx::GraphProto>(str_cat("g (", text, " x) => () {}")).input(0).type());
  };
  for (std::string_view same : {"float[1,batch,?]", "float", "int4[]", "seq(float[2])",
                                "optional(seq(string[]))", "map(int64, float)", "sparse_tensor(double[3])"})
    CHECK(type(same) == same);
  CHECK(type("opaque(a,b)") == "opaque(a,b)");
  CHECK(loader::type_text({}) == "");
  const auto attribute = [](std::string_view text) {
    return loader::attribute_text(
        parse_text<onnx::NodeProto>(str_cat("y = Op <a", text, "> (x)")).attribute(0));
  };
  CHECK(attribute(" = 3") == "3");
  CHECK(attribute(" = 0.25") == "0.25");
  CHECK(attribute(" = \"s\"") == "\"s\"");
  CHECK(attribute(" = [1, 2]") == "[1, 2]");
  CHECK(attribute(" = [1.5]") == "[1.5]");
  CHECK(attribute(" = [\"p\", \"q\"]") == "[\"p\", \"q\"]");
  CHECK(attribute(": ints = [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]") ==
        "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, …] (17)");
  CHECK(attribute(" = int64[2] {3, -4}") == "int64[2] {3, -4}");
  CHECK(attribute(" = float {3}") == "float {3.0}");
  CHECK(attribute(": int = @other") == "@other");
  CHECK(loader::operator_text("ai.onnx", "Add") == "Add");
  CHECK(loader::operator_text("com.acme", "Add") == "com.acme.Add");
}

TEST_CASE("an outline tells who makes and reads what") {
  const loader::Outline o(model());
  REQUIRE(o.graphs.size() == 4);
  CHECK(o.graphs[0].title == "main");
  CHECK(o.graphs[1].title == "function local.twice");
  CHECK(o.graphs[1].calls == 1);
  CHECK(o.graphs[2].title == "then_branch of '/b/choice' (If)");
  REQUIRE(o.graphs[0].nodes.size() == 3);
  const auto& scale = o.nodes[0];
  const auto& choice = o.nodes[2];
  CHECK(o.nodes[1].function == 1);
  CHECK(choice.bodies.size() == 2);
  CHECK(choice.captures.size() == 2);
  const auto& s = o.values[static_cast<std::size_t>(scale.outputs[0])];
  CHECK(s.consumers == std::vector<int>{1, 2});
  CHECK(o.values[static_cast<std::size_t>(scale.inputs[1])].source == loader::Outline::Source::initializer);
  const auto& whirl = o.nodes[static_cast<std::size_t>(o.graphs[3].nodes[0])];
  CHECK(o.values[static_cast<std::size_t>(whirl.inputs[0])].source == loader::Outline::Source::nowhere);
  CHECK(loader::count_parameters(o).at("float").bytes == 16);
}

TEST_CASE("drawings show nodes, edges, bodies and functions") {
  const std::string d = dot(model());
  CHECK(ill_drawn(d) == "");
  CHECK(holds(d, "n0 [label=\"Mul\\n/a/scale\\nw: float[4] {1.0, 2.0, 3.0, 4.0}\\l\"]"));
  CHECK(holds(d, "label=\"function local.twice\""));
  CHECK(holds(d, "label=\"else_branch of '/b/choice' (If)\""));
  CHECK(holds(d, "com.acme.Whirl\\nturns: [1, 2, 3]\\l"));
  CHECK(holds(d, "v0 -> n0 [label=\"float[N,4]\", tooltip=\"x\"]"));
  CHECK(count(d, "style=dashed") == 2);  // values that the body reads from around

  const std::string page = html(model());
  CHECK(ill_formed(page) == "");
  CHECK(count(page, "<tr id=\"n") == 6);
  CHECK(holds(page, "<a href=\"#n0\">s</a>"));
  CHECK(holds(page, "<a href=\"#g1\">local.twice</a>"));
  CHECK(holds(page, "<dt>producer</dt><dd>hand</dd>"));
  CHECK(holds(page, "default-src 'none'"));
  CHECK(!holds(page, "http://"));
  CHECK(!holds(page, "https://"));
}

TEST_CASE("hostile names are text") {
  const onnx::ModelProto m = hostile_model();
  const std::string d = dot(m), page = html(m);
  CHECK(ill_drawn(d) == "");
  CHECK(ill_formed(page) == "");
  CHECK(count(page, "<script") == 2);
  CHECK(!holds(page, "<img"));
  CHECK(!holds(page, "<svg"));
  for (const std::string* text : {&d, &page}) {
    CHECK(detail::is_utf8(*text));
    for (char c : *text) REQUIRE((static_cast<unsigned char>(c) >= 0x20 || c == '\n'));
    CHECK(!holds(*text, "\xe2\x80\xae"));
  }
  // Models that are empty, or not quite.
  for (const char* text :
       {"<ir_version: 10, opset_import: [\"\" : 21]> g () => () {}",
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float x) { x = Neg (x) }"}) {
    CHECK(ill_formed(html(parse_text<onnx::ModelProto>(text))) == "");
    CHECK(ill_drawn(dot(parse_text<onnx::ModelProto>(text))) == "");
  }
  CHECK(ill_formed(html({})) == "");
  CHECK(ill_drawn(dot({})) == "");
}

TEST_CASE("graphviz reads the drawings") {
  if (!installed("dot")) {
    std::puts("skipped: graphviz is not installed");
    return;
  }
  const fs::path file = scratch() / "dump_test.dot";
  for (const onnx::ModelProto& m : {model(), hostile_model(), onnx::ModelProto()}) {
    std::ofstream(file, std::ios::binary) << dot(m);
    CHECK(std::system(str_cat("dot -Tcanon -o ", file.string(), ".canon ", file.string()).c_str()) == 0);
    CHECK(!holds(read(file.string() + ".canon"), "injected\t["));
  }
}

TEST_CASE("a browser shows the page") {
  if (!installed("chromium") || !holds(seen_by_browser("data:text/html,works"), "works")) {
    std::puts("skipped: chromium is not installed, or does not start");
    return;
  }
  const fs::path file = scratch() / "dump_test.html";
  onnx::ModelProto large;
  {
    std::string text =
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float[N] x) => (float[N] v9999) { v0 = Neg (x)\n";
    for (int k = 1; k < 10000; ++k)
      text += str_cat("[\"/layer", k / 100, "/block", k / 10, "/n", k, "\"] v", k, " = Add (v", k - 1, ", v",
                      k > 7 ? k - 7 : 0, ")\n");
    large = parse_text<onnx::ModelProto>(text + "}");
  }
  // How many boxes are drawn: of the first model all, three nodes, their scope, two inputs and the output.
  const struct {
    onnx::ModelProto model;
    int least;
  } cases[] = {{model(), 7}, {hostile_model(), 16}, {large, 100}, {onnx::ModelProto(), 0}};
  for (const auto& c : cases) {
    std::ofstream(file, std::ios::binary) << html(c.model);
    const std::string dom = seen_by_browser(str_cat("file://", fs::absolute(file).string()));
    CHECK(!holds(dom, "data-owned"));
    const auto number = [&](std::string_view name) {
      const std::size_t at = dom.find(str_cat(name, "=\""));
      return at == std::string::npos ? -1 : std::atoi(dom.c_str() + at + name.size() + 2);
    };
    CHECK(number("data-drawn") >= c.least);
    CHECK(number("data-ms") >= 0);
    MESSAGE(c.model.graph().node_size(), " nodes, ", number("data-drawn"), " boxes, ", number("data-ms"),
            " ms");
  }

  // A reader searches, picks, folds, unfolds, and turns to the tables. The policy lets no such script in.
  std::string page = html(large);
  page.replace(page.find("Content-Security-Policy"), 23, "none");
  page.insert(page.rfind("</body>"), R"(<script>
      const seen = [], by = id => document.getElementById(id), drawn = () => +document.body.dataset.drawn;
      by('search').value = 'block77 n773'; by('search').oninput();
      seen.push(document.querySelectorAll('#found .link').length);
      document.querySelector('#found .link').click();
      seen.push(document.querySelector('#chosen .name').textContent);
      by('fold').click(); seen.push(drawn() < 110);
      by('unfold').click(); seen.push(drawn() > 10000);
      by('as-rows').click();
      seen.push(getComputedStyle(by('tables')).display, document.querySelectorAll('tr[id^=n]').length);
      document.body.dataset.seen = seen.join(' ');
    </script>)");
  std::ofstream(file, std::ios::binary) << page;
  CHECK(holds(seen_by_browser(str_cat("file://", fs::absolute(file).string())),
              "data-seen=\"11 /layer7/block77/n773 true true block 10000\""));
}

}  // namespace tenon
