// The page of a registry's operators: that all are on it, with what their specifications and headers say, and
// that no name or comment becomes markup.
#include <doctest/doctest.h>

#include <string>

#include "loader/draw/header_comment.hpp"
#include "loader/draw/operators.hpp"
#include "loader/tool/embedded_headers.hpp"
#include "tenon/model.hpp"
#include "tenon/op/framework/call.hpp"
#include "tests/loader/markup.hpp"

namespace tenon {
namespace {

using loader::operators_page;

const std::string& standard_page() {
  static const std::string page = operators_page(standard_registry(), tool::embedded_headers());
  return page;
}
bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

/// The part of a page for the operator of that id.
std::string_view part_of(std::string_view page, std::string_view id) {
  const std::size_t start = page.find(str_cat("<details id=\"", id, "\">"));
  REQUIRE(start != page.npos);
  return page.substr(start, page.find("</details>", start) - start);
}

/// Its every name is markup.
struct Hostile {
  int64_t level = 1;

  static constexpr op::Spec spec{.name = "<i id='n'>&",
                                 .domain = "\"><script>",
                                 .since = {1, 3},
                                 .inputs = {{"<x>", "T<&"}},
                                 .outputs = {{"</td>", "T<&"}},
                                 .types = {{"T<&", types::float32}}};
  static constexpr op::Attributes attributes{op::attr("<a href=\"b\">", &Hostile::level)};
  constexpr void infer(op::Infer& i) const { i.out(0, i.dims(0)); }
  void compute(TensorView<const float> x, TensorView<float> y) const {
    for (int64_t k = 0; k < x.size(); ++k) y[k] = x[k];
  }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

TEST_CASE("every operator is on the page, in all its versions") {
  const std::string& page = standard_page();
  CHECK(ill_formed(page) == "");
  CHECK(page.size() < 1'500'000);
  for (const auto& [key, versions] : standard_registry().operators()) {
    CAPTURE(key.second);
    const std::string_view part = part_of(page, str_cat(key.first, key.first.empty() ? "" : ".", key.second));
    CHECK(has(part, "\n<p>"));  // the header's comment
    for (const auto& [version, c] : versions) {
      CAPTURE(version);
      for (int v = 0; v < c->spec->types.size(); ++v) {
        const TypeSet set = c->spec->types_at(v, version);
        if (set.tensor != 0)
          CHECK(has(part, str_cat("<tr><td>", version, "</td><td>", c->spec->types[v].name, "</td>")));
      }
      for (const op::AttributeInfo& a : c->attributes(c->create(version).get()))
        if (a.in(version)) CHECK(has(part, str_cat("<tr><td>", a.name, "</td><td>", op::name_of(a.type))));
    }
  }
}

TEST_CASE("an operator's part says what its specification and its header say") {
  const std::string_view conv = part_of(standard_page(), "Conv");
  CHECK(has(conv, "<summary>Conv <i>1, 11, 22</i>"));
  CHECK(has(conv, "<p>Y (N, M, out...) from X (N, C, in...)"));
  CHECK(has(conv, "<p class=\"example\">op::Conv{.pads = {1, 1, 1, 1}}(x, w) of"));
  CHECK(has(conv, "<tr><td>B</td><td>T</td><td>optional</td></tr>"));
  CHECK(has(conv, "<tr><td>auto_pad</td><td>STRING</td><td>&quot;NOTSET&quot;</td></tr>"));
  CHECK(has(conv, "<th>bfloat16</th>"));
  CHECK(has(conv, "<tr><td>1</td><td>T</td><td>x</td><td>x</td><td>x</td><td></td></tr>"));
  CHECK(has(conv, "<tr><td>22</td><td>T</td><td>x</td><td>x</td><td>x</td><td>x</td></tr>"));
  CHECK(has(conv, "#include &lt;tenon/op/nn/conv.hpp&gt;"));
  CHECK(has(conv, "tests/op/nn/conv_test.cc"));
  CHECK(has(conv, "https://onnx.ai/onnx/operators/onnx__Conv.html"));

  const std::string_view selu = part_of(standard_page(), "Selu");  // another default at first
  CHECK(has(selu, "<td>1.6732; version 1</td>"));
  CHECK(has(selu, "; versions 6, 22</td>"));
  const std::string_view resize = part_of(standard_page(), "Resize");
  CHECK(has(resize, "0 or 1; whether shortened axes get the mean of all that they cover; not for nearest"));
  CHECK(has(resize, "; versions 18, 19</td>"));
  CHECK(has(resize, "<code>tenon::op::Resize_10</code>"));
  CHECK(has(part_of(standard_page(), "Concat"), "variadic, at least 1"));
  CHECK(has(part_of(standard_page(), "SequenceAt"), "<td>S: seq(…)</td>"));
  CHECK(has(part_of(standard_page(), "ai.onnx.ml.Scaler"), "onnx_aionnxml_Scaler.html"));
  CHECK(has(part_of(standard_page(), "Upsample"), "until opset 9"));
}

TEST_CASE("no name or comment becomes markup") {
  Registry registry;
  registry.add<Hostile>({"a::<T>", "a/<b>&/c.hpp"});
  const HeaderText header{"a/<b>&/c.hpp",
                          "/// Ends with </p><script>`x<y`</script>\n/// & \"op::\" `open\nstruct <T> {\n"};
  const std::string page = operators_page(registry, {&header, 1});
  CHECK(ill_formed(page) == "");
  CHECK(has(page, "<details id=\"&quot;&gt;&lt;script&gt;.&lt;i id=&#39;n&#39;&gt;&amp;\">"));
  for (const std::string_view raw :
       {"<script>.", "<i id", "<x>", "<T>", "<b>", "T<&", "<a href", "<script><code>", "</p><script>"})
    CHECK_MESSAGE(!has(page, raw), raw);
  CHECK(has(page, "<p>Ends with &lt;/p&gt;&lt;script&gt;<code>x&lt;y</code>&lt;/script&gt; &amp; </p>"));
}

TEST_CASE("a page without headers has no comments") {
  const std::string page = operators_page(standard_registry(), {});
  CHECK(ill_formed(page) == "");
  CHECK_FALSE(has(page, "class=\"example\""));
  CHECK(ill_formed(operators_page(Registry(), {})) == "");
}

TEST_CASE("comments of structs and members are found in the text of a header") {
  const HeaderText headers[] = {
      {"tenon/op/families/family.hpp",
       "/// Of the\n/// family.\ntemplate <Str Name>\n  requires true\nstruct Family {\n"
       "  int64_t axis = 0;  ///< from the\n                     ///< last\n"
       "  int64_t k{};\n  int axis_of;  ///< no\n};\n"},
      {"tenon/op/a.hpp",
       "/// Elsewhere.\n\nstruct Ab;\nstruct A;\n/// Own.\nusing A = Family<\"A\">;\n"
       "using A_1 = Family<\"A\">;\nstruct B {};\nstruct C {  ///< no\n};\n"}};
  const auto find = [&](std::string_view name) {
    return loader::find_struct(headers, "tenon/op/a.hpp", name);
  };
  CHECK(find("A").comment == "Own.");
  CHECK(find("A_1").comment == "Of the family.");
  CHECK(find("A_1").comment_of("axis") == "from the last");
  CHECK(find("A_1").comment_of("k") == "");
  CHECK(find("A_1").comment_of("of") == "");
  CHECK(find("B").comment == "");
  CHECK(find("C").comment_of("axis") == "");
  CHECK(find("D").comment == "");
  CHECK(loader::find_struct(headers, "tenon/op/b.hpp", "A").comment == "");
}

}  // namespace
}  // namespace tenon
