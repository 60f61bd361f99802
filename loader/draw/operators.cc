#include "loader/draw/operators.hpp"

#include <algorithm>
#include <map>

#include "loader/convert/convert_step.hpp"
#include "loader/display.hpp"
#include "loader/draw/header_comment.hpp"
#include "loader/draw/page.hpp"
#include "loader/opsets.hpp"
#include "tenon/base/version.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using Versions = std::map<int, const OperatorClass*>;

std::string text_of(const op::AttributeValue& value) {
  if (value.index() == 0) return "";
  onnx::NodeProto node;
  set_attribute(node, "", value);
  return attribute_text(node.attribute(0));
}

class OperatorsPage {
 public:
  OperatorsPage(const Registry& registry, std::span<const HeaderText> headers)
      : registry_(registry), headers_(headers) {
    std::map<std::pair<std::string_view, std::string_view>, std::vector<const Registry::Key*>> groups;
    std::size_t versions = 0;
    for (const auto& [key, of_operator] : registry.operators()) {
      groups[{key.first, folder_of(header_of(of_operator))}].push_back(&key);
      versions += of_operator.size();
    }
    const std::string style = str_cat(page_style, operators_style);
    const std::string title = str_cat("Operators of Tenon ", library_version);
    add({page_head(title, style, operators_script), "<header><h1>", title,
         "</h1><input id=\"search\" type=\"search\" placeholder=\"Search  ( / )\" aria-label=\"search\">"
         "<label><input id=\"names\" type=\"checkbox\"> names only</label><span "
         "id=\"count\"></span></header>\n"
         "<main>\n<p>",
         str_cat(registry.operators().size(), " operators, ", versions, " versions"),
         ". A table of types has a row for each version and type variable; x: the version permits the "
         "element "
         "type. Which tests have run, the tool does not know. In Tenon's source tree, "
         "<code>tests/loader/random_operands_test.cc</code> runs every x of an input of ONNX's operators but "
         "Gradient, <code>tests/loader/types_test.cc</code> compares the results with those of a wider type, "
         "and "
         "the test that an operator names holds it to ONNX's definition.</p>\n"});
    for (const auto& [group, keys] : groups) {
      add({"<section><h2>", escaped(display(group.first)), group.second.empty() ? "" : ": ",
           escaped(group.second), "</h2>\n"});
      for (const Registry::Key* key : keys) add_operator(*key, registry.operators().at(*key));
      add({"</section>\n"});
    }
    add({"</main>\n<script>", operators_script, "</script>\n</body>\n</html>\n"});
  }
  std::string take() { return std::move(out_); }

 private:
  void add(std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) out_ += part;
  }
  std::string_view header_of(const Versions& versions) const {
    return registry_.source(*versions.rbegin()->second).header;
  }
  // "nn" of "tenon/op/nn/conv.hpp"
  static std::string_view folder_of(std::string_view header) {
    header = header.substr(0, header.rfind('/'));
    return header.substr(header.rfind('/') + 1);
  }

  void add_operator(const Registry::Key& key, const Versions& versions) {
    const std::string name = escaped(str_cat(key.first, key.first.empty() ? "" : ".", key.second));
    const int last = versions.rbegin()->second->spec->until;
    const std::string until = last == op::always ? "" : str_cat(", until opset ", last);
    add({"<details id=\"", name, "\"><summary>", escaped(key.second), " <i>", list(versions_of(versions)),
         until, "</i></summary>\n"});
    // Newest first: an older form is a struct of its own.
    std::vector<const OperatorClass*> forms;
    for (const auto& [version, c] : versions)
      if (std::ranges::find(forms, c) == forms.end()) forms.insert(forms.begin(), c);
    for (const OperatorClass* c : forms) add_form(*c, versions_of(versions, c), forms.size() > 1);
    add_types(versions);
    add_links(key, *forms.front());
    add({"</details>\n"});
  }
  static std::vector<int> versions_of(const Versions& versions, const OperatorClass* c = nullptr) {
    std::vector<int> list;
    for (const auto& [version, of_version] : versions)
      if (c == nullptr || of_version == c) list.push_back(version);
    return list;
  }
  static std::string list(const std::vector<int>& versions) {
    std::string text;
    for (const int v : versions) text += str_cat(text.empty() ? "" : ", ", v);
    return text;
  }

  void add_form(const OperatorClass& c, const std::vector<int>& versions, bool is_one_of_several) {
    if (is_one_of_several)
      add({"<h3>", versions.size() > 1 ? "Versions " : "Version ", list(versions), "</h3>\n"});
    const OperatorSource source = registry_.source(c);
    const CommentedStruct commented =
        find_struct(headers_, source.header, source.type.substr(source.type.rfind(':') + 1));
    add_comment(commented.comment);
    add_operands("Input", c.spec->inputs, versions, [&](int k, int v) { return &c.spec->input(k, v); });
    add_operands("Output", c.spec->outputs, versions, [&](int k, int v) { return &c.spec->output(k, v); });
    add_attributes(c, versions, commented);
  }
  // An example ends the comment: "op::Add{}(1.5f, 2.0f) gives 3.5".
  void add_comment(std::string_view comment) {
    const std::size_t op = comment.find("op::");
    const std::size_t example = op == comment.npos ? comment.size() : comment.rfind(' ', op) + 1;
    if (example > 0) add({"<p>", prose(comment.substr(0, example)), "</p>\n"});
    if (example < comment.size()) add({"<p class=\"example\">", prose(comment.substr(example)), "</p>\n"});
  }
  // Text in which `code` is set apart.
  static std::string prose(std::string_view text) {
    std::string out;
    for (std::size_t open; (open = text.find('`')) != text.npos;) {
      const std::size_t close = text.find('`', open + 1);
      if (close == text.npos) break;
      out += str_cat(escaped(text.substr(0, open)), "<code>",
                     escaped(text.substr(open + 1, close - open - 1)), "</code>");
      text.remove_prefix(close + 1);
    }
    return out + escaped(text);
  }

  void open_table(std::string_view first, std::string_view third) {
    add({"<table><thead><tr><th>", first, "</th><th>Type</th><th>", third, "</th></tr></thead><tbody>\n"});
  }
  void add_row(std::string_view name, std::string_view type, std::string_view rest) {
    add({"<tr><td>", escaped(name), "</td><td>", escaped(type), "</td><td>", rest, "</td></tr>\n"});
  }
  // Calls f(k, versions) for the versions of which what(v) is the same, in their order.
  template <class What, class F>
  static void for_each_run(const std::vector<int>& versions, What what, F f) {
    for (std::size_t first = 0; first < versions.size();) {
      const auto it = what(versions[first]);
      std::vector<int> run;
      for (; first < versions.size() && what(versions[first]) == it; ++first) run.push_back(versions[first]);
      f(run);
    }
  }
  static std::string only(const std::vector<int>& some, const std::vector<int>& all) {
    return some == all ? "" : str_cat(some.size() > 1 ? "versions " : "version ", list(some));
  }
  static void append(std::string& notes, std::string_view note) {
    if (!notes.empty() && !note.empty()) notes += "; ";
    notes += note;
  }

  template <class Params, class At>
  void add_operands(std::string_view title, const Params& params, const std::vector<int>& versions, At at) {
    if (params.size() == 0) return;
    open_table(title, "");
    for (int k = 0; k < params.size(); ++k)
      for_each_run(
          versions,
          [&](int v) {
            const op::Param* p = at(k, v);
            return p->in(v) ? p : nullptr;
          },
          [&](const std::vector<int>& run) {
            const op::Param& p = *at(k, run.front());
            if (!p.in(run.front())) return;
            std::string notes = p.arity == op::optional ? "optional" : "";
            if (p.arity == op::variadic)
              notes =
                  str_cat("variadic, at least ", int{p.min_arity}, p.heterogeneous ? ", of any types" : "");
            append(notes, only(run, versions));
            add_row(p.name, p.type, notes);
          });
    add({"</tbody></table>\n"});
  }

  void add_attributes(const OperatorClass& c, const std::vector<int>& versions,
                      const CommentedStruct& commented) {
    std::map<int, std::vector<op::AttributeInfo>> at;
    for (const int v : versions) at[v] = c.attributes(c.create(v).get());
    const std::size_t count = at[versions.back()].size();
    if (count == 0) return;
    open_table("Attribute", "Default");
    for (std::size_t k = 0; k < count; ++k)
      for_each_run(
          versions, [&](int v) { return at[v][k].in(v) ? text_of(at[v][k].value) : std::string("\n"); },
          [&](const std::vector<int>& run) {
            const op::AttributeInfo& a = at[run.front()][k];
            if (!a.in(run.front())) return;
            std::string notes = escaped(text_of(a.value));
            if (a.required) append(notes, "required");
            if (a.flag) append(notes, "0 or 1");
            append(notes, prose(commented.comment_of(a.name)));
            append(notes, only(run, versions));
            add_row(a.name, op::name_of(a.type), notes);
          });
    add({"</tbody></table>\n"});
  }

  // A row for each version, type variable and kind of value, a column for each element type.
  void add_types(const Versions& versions) {
    uint32_t columns = 0;
    for_each_row(versions,
                 [&](int, std::string_view, const TypeKind&, uint32_t elements) { columns |= elements; });
    if (columns == 0) return;
    const auto for_each_column = [&](auto f) {
      for (int d = 1; d < dtype_count; ++d)
        if (columns >> d & 1) f(d);
    };
    add({"<div class=\"types\"><table><thead><tr><th>Version</th><th>Types</th>"});
    for_each_column([&](int d) { add({"<th>", name_of(static_cast<DType>(d)), "</th>"}); });
    add({"</tr></thead><tbody>\n"});
    for_each_row(versions,
                 [&](int version, std::string_view variable, const TypeKind& kind, uint32_t elements) {
                   add({"<tr><td>", std::to_string(version), "</td><td>", escaped(variable),
                        kind.before.empty() ? "" : ": ", kind.before, kind.before.empty() ? "" : "…",
                        kind.after, "</td>"});
                   for_each_column([&](int d) { add({elements >> d & 1 ? "<td>x</td>" : "<td></td>"}); });
                   add({"</tr>\n"});
                 });
    add({"</tbody></table></div>\n"});
  }
  template <class F>
  static void for_each_row(const Versions& versions, F f) {
    for (const auto& [version, c] : versions)
      for (int v = 0; v < c->spec->types.size(); ++v) {
        const TypeSet set = c->spec->types_at(v, version);
        for (const TypeKind& kind : type_kinds)
          if (set.*kind.elements != 0) f(version, c->spec->types[v].name, kind, set.*kind.elements);
      }
  }

  void add_links(const Registry::Key& key, const OperatorClass& newest) {
    const OperatorSource source = registry_.source(newest);
    if (source.header.empty()) return;
    add({"<p><code>#include &lt;", escaped(source.header), "&gt;</code>, <code>", escaped(source.type),
         "</code>"});
    const std::string_view path = source.header.substr(0, source.header.rfind('.'));
    if (is_onnx(key.first) && path.starts_with("tenon/"))
      add({", <code>tests/", escaped(path.substr(6)), "_test.cc</code>"});
    // ONNX no longer describes operators that it withdrew.
    if (is_onnx(key.first) && newest.spec->until == op::always) {
      std::string folder;
      for (const char c : key.first)
        if (c != '.') folder += c;
      add({", <a href=\"https://onnx.ai/onnx/operators/onnx_", escaped(folder), "_", escaped(key.second),
           ".html\">ONNX</a>"});
    }
    add({"</p>\n"});
  }
  static bool is_onnx(std::string_view domain) {
    return domain.empty() || domain == "ai.onnx" || domain.starts_with("ai.onnx.");
  }

  const Registry& registry_;
  std::span<const HeaderText> headers_;
  std::string out_;
};

}  // namespace

std::string operators_page(const Registry& registry, std::span<const HeaderText> headers) {
  return OperatorsPage(registry, headers).take();
}

}  // namespace tenon::TENON_ABI::loader
