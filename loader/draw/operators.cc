#include "loader/draw/operators.hpp"

#include <functional>
#include <map>
#include <set>

#include "loader/convert/convert_step.hpp"
#include "loader/display.hpp"
#include "loader/draw/header_comment.hpp"
#include "loader/draw/page.hpp"
#include "loader/opsets.hpp"
#include "tenon/base/version.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using Versions = std::map<int, const OperatorClass*>;

constexpr std::string_view about =
    " versions. A table of types has a row for each version and type variable, and x for each element type "
    "that the version permits. The tool does not know which tests have run. In Tenon's source tree, "
    "tests/loader/random_operands_test.cc runs every x of an input of ONNX's operators but Gradient, "
    "tests/loader/types_test.cc compares the results with a wider type's, and each operator names its test.";

// Cold functions are compiled for size.
class OperatorsPage {
 public:
  [[gnu::cold]] OperatorsPage(const Registry& registry, std::span<const HeaderText> headers)
      : registry_(registry), headers_(headers) {
    std::set<std::string> groups;
    std::size_t count = 0;
    for (const auto& [key, versions] : registry.operators()) {
      groups.insert(group_of(key, versions));
      count += versions.size();
    }
    const std::string title = str_cat("Operators of Tenon ", library_version);
    out_ = page_head(title, str_cat(page_style, operators_style), operators_script);
    add({"<header><h1>", title,
         "</h1><input id=\"search\" type=\"search\" placeholder=\"Search  ( / )\" aria-label=\"search\">"
         "<label><input id=\"names\" type=\"checkbox\"> names only</label><span "
         "id=\"count\"></span></header>\n"
         "<main>\n<p>",
         str_cat(registry.operators().size(), " operators, ", count, about), "</p>\n"});
    for (const std::string& group : groups) {
      add({"<section><h2>", group, "</h2>\n"});
      for (const auto& [key, versions] : registry.operators())
        if (group_of(key, versions) == group) add_operator(key, versions);
      add({"</section>\n"});
    }
    add({"</main>\n<script>"});
    out_ += operators_script;
    add({"</script>\n</body>\n</html>\n"});
  }
  std::string take() { return std::move(out_); }

 private:
  // "ai.onnx / nn": the domain and the header's folder.
  std::string group_of(const Registry::Key& key, const Versions& versions) const {
    std::string_view folder = registry_.source(*versions.rbegin()->second).header;
    folder = folder.substr(0, folder.rfind('/'));
    folder = folder.substr(folder.rfind('/') + 1);
    return str_cat(display(key.first), folder.empty() ? "" : " / ", folder);
  }
  // Markup and text in turn; text is escaped.
  [[gnu::cold]] void add(std::initializer_list<std::string_view> parts) {
    bool is_text = false;
    for (const std::string_view part : parts) {
      if (is_text) out_ += escaped(part);
      else out_ += part;
      is_text = !is_text;
    }
  }
  // Text in which `code` is set apart.
  [[gnu::cold]] void add_prose(std::string_view text) {
    for (std::size_t open, close; (close = text.find('`', (open = text.find('`')) + 1)) != text.npos;) {
      add({"", text.substr(0, open), "<code>", text.substr(open + 1, close - open - 1), "</code>"});
      text.remove_prefix(close + 1);
    }
    add({"", text});
  }
  void add_paragraph(std::string_view tag, std::string_view text) {
    if (text.empty()) return;
    add({tag});
    add_prose(text);
    add({"</p>\n"});
  }
  // One of the notes in a cell.
  void add_note(std::string_view note) {
    if (note.empty()) return;
    if (!out_.ends_with("<td>")) out_ += "; ";
    add_prose(note);
  }

  [[gnu::cold]] void add_operator(const Registry::Key& key, const Versions& versions) {
    std::string list;
    for (const auto& [version, c] : versions) list += str_cat(list.empty() ? "" : ", ", version);
    const OperatorClass& newest = *versions.rbegin()->second;
    if (newest.spec->until != op::always) list += str_cat(", until opset ", int{newest.spec->until});
    add({"<details id=\"", str_cat(key.first, key.first.empty() ? "" : ".", key.second), "\"><summary>",
         key.second, " <i>", list, "</i></summary>\n"});
    // Newest first: an older form is a struct of its own.
    for (auto it = versions.rbegin(); it != versions.rend(); ++it)
      if (const OperatorClass& c = *it->second; it->first == c.spec->latest()) {
        if (versions.begin()->second != versions.rbegin()->second)
          add({"<h3>", versions_text(list_of(c)), " <code>", registry_.source(c).type, "</code></h3>\n"});
        add_form(c);
      }
    add_types(versions);
    add_links(key, newest);
    add({"</details>\n"});
  }

  static std::string versions_text(const std::string& list) {
    return str_cat(list.find(',') == list.npos ? "version " : "versions ", list);
  }
  static std::string list_of(const OperatorClass& c) {
    std::string list;
    for (const int v : c.spec->since) list += str_cat(list.empty() ? "" : ", ", v);
    return list;
  }

  [[gnu::cold]] void add_form(const OperatorClass& c) {
    const OperatorSource source = registry_.source(c);
    const CommentedStruct commented =
        find_struct(headers_, source.header, source.type.substr(source.type.rfind(':') + 1));
    // An example ends the comment: "op::Add{}(1.5f, 2.0f) gives 3.5".
    const std::string_view comment = commented.comment;
    const std::size_t call = comment.find("op::");
    const std::size_t example = call == comment.npos ? comment.size() : comment.rfind(' ', call) + 1;
    add_paragraph("<p>", comment.substr(0, example));
    add_paragraph("<p class=\"example\">", comment.substr(example));
    for (const bool is_output : {false, true})
      add_table(c, is_output ? "Output" : "Input", "",
                is_output ? c.spec->outputs.size() : c.spec->inputs.size(), [&](int k, int version) {
                  const op::Param& p = is_output ? c.spec->output(k, version) : c.spec->input(k, version);
                  if (!p.in(version)) return;
                  add({"<tr><td>", p.name, "</td><td>", p.type, "</td><td>"});
                  if (p.arity == op::optional) add_note("optional");
                  if (p.arity == op::variadic) add_note(str_cat("variadic, at least ", int{p.min_arity}));
                  if (p.heterogeneous) add_note("of any types");
                });
    const auto attributes = [&c](int version) { return c.attributes(c.create(version).get()); };
    add_table(c, "Attribute", "Default", static_cast<int>(attributes(c.spec->latest()).size()),
              [&](int k, int version) {
                const std::vector<op::AttributeInfo> list = attributes(version);
                const op::AttributeInfo& a = list[static_cast<std::size_t>(k)];
                if (!a.in(version)) return;
                add({"<tr><td>", a.name, "</td><td>", op::name_of(a.type), "</td><td>"});
                if (a.required) {
                  add_note("required");
                } else if (a.value.index() != 0) {
                  onnx::NodeProto node;
                  set_attribute(node, a.name, a.value);
                  add_note(attribute_text(node.attribute(0)));
                }
                if (a.flag) add_note("0 or 1");
                add_note(commented.comment_of(a.name));
              });
  }
  // Rows 0 to count, each once for the versions at which add_row(k, version) adds the same. It adds nothing
  // at a version that lacks the operand or the attribute, and leaves the last cell open.
  [[gnu::cold]] void add_table(const OperatorClass& c, std::string_view first, std::string_view third,
                               int count, const std::function<void(int k, int version)>& add_row) {
    if (count == 0) return;
    add({"<table><thead><tr><th>", first, "</th><th>Type</th><th>", third, "</th></tr></thead><tbody>\n"});
    for (int k = 0; k < count; ++k) {
      std::string row, versions;
      const auto close = [&] {
        if (row.empty()) return;
        out_ += row;
        if (versions != list_of(c)) add_note(versions_text(versions));
        add({"</td></tr>\n"});
      };
      for (const int v : c.spec->since) {
        const std::size_t start = out_.size();
        add_row(k, v);
        std::string next = out_.substr(start);
        out_.resize(start);
        if (next != row) {
          close();
          row = next;
          versions.clear();
        }
        versions += str_cat(versions.empty() ? "" : ", ", v);
      }
      close();
    }
    add({"</tbody></table>\n"});
  }

  // A row for each version, type variable and kind of value, a column for each element type.
  [[gnu::cold]] void add_types(const Versions& versions) {
    uint32_t columns = 0;
    for (const auto& [version, c] : versions)
      for (int v = 0; v < c->spec->types.size(); ++v) {
        const TypeSet set = c->spec->types_at(v, version);
        for (const TypeKind& kind : type_kinds) columns |= set.*kind.elements;
      }
    if (columns == 0) return;
    add({"<div class=\"types\"><table><thead><tr><th>Version</th><th>Types</th>"});
    for (int d = 1; d < dtype_count; ++d)
      if (columns >> d & 1) add({"<th>", name_of(static_cast<DType>(d)), "</th>"});
    add({"</tr></thead><tbody>\n"});
    for (const auto& [version, c] : versions)
      for (int v = 0; v < c->spec->types.size(); ++v) {
        const TypeSet set = c->spec->types_at(v, version);
        for (const TypeKind& kind : type_kinds) {
          const uint32_t elements = set.*kind.elements;
          if (elements == 0) continue;
          add({"<tr><td>", str_cat(version), "</td><td>",
               str_cat(c->spec->types[v].name, kind.before.empty() ? "" : ": ", kind.before,
                       kind.before.empty() ? "" : "…", kind.after),
               "</td>"});
          for (int d = 1; d < dtype_count; ++d)
            if (columns >> d & 1) add({elements >> d & 1 ? "<td>x</td>" : "<td></td>"});
          add({"</tr>\n"});
        }
      }
    add({"</tbody></table></div>\n"});
  }

  [[gnu::cold]] void add_links(const Registry::Key& key, const OperatorClass& newest) {
    const auto [type, header] = registry_.source(newest);
    if (header.empty()) return;
    add({"<p><code>", str_cat("#include <", header, ">"), "</code>, <code>", type, "</code>"});
    const auto& [domain, name] = key;
    if (domain.empty() || domain.starts_with("ai.onnx")) {
      const std::size_t slash = header.find('/');  // tenon/op/…/conv.hpp
      add({", <code>", str_cat("tests", header.substr(slash, header.rfind('.') - slash), "_test.cc"),
           "</code>"});
      // ONNX has no pages of operators that it withdrew.
      std::string folder;
      for (const char c : domain)
        if (c != '.') folder += c;
      if (newest.spec->until == op::always)
        add({", <a href=\"", str_cat("https://onnx.ai/onnx/operators/onnx_", folder, "_", name, ".html"),
             "\">ONNX</a>"});
    }
    add({"</p>\n"});
  }

  const Registry& registry_;
  std::span<const HeaderText> headers_;
  std::string out_;
};

}  // namespace

[[gnu::cold]] std::string operators_page(const Registry& registry, std::span<const HeaderText> headers) {
  return OperatorsPage(registry, headers).take();
}

}  // namespace tenon::TENON_ABI::loader
