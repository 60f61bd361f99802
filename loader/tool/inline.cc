// `tenon inline`: calls of functions replaced by their nodes, and the comparison with recorded calls of
// ONNX's inliner.
#include "loader/function/inline.hpp"

#include <algorithm>

#include "loader/edit/diff.hpp"
#include "loader/format/tensor.hpp"
#include "loader/function/function_body.hpp"
#include "loader/opsets.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

namespace fs = std::filesystem;

// Arguments in Python's notation, "([('local', 'f')], True)": the strings, and the words.
struct Written {
  std::vector<std::string> strings, words;
};
Written read_arguments(std::string_view text) {
  Written written;
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  while (!text.empty()) {
    const char c = text.front();
    if (c == '\'' || c == '"') {
      const std::size_t end = std::min(text.find(c, 1), text.size());
      written.strings.emplace_back(text.substr(1, end - 1));
      text.remove_prefix(std::min(end + 1, text.size()));
    } else if (letters.find(c) != letters.npos) {
      written.words.emplace_back(text.substr(0, text.find_first_not_of(letters)));
      text.remove_prefix(written.words.back().size());
    } else {
      text.remove_prefix(1);
    }
  }
  return written;
}

// inline_local_functions(convert_version), inline_selected_functions(names, exclude), and the latter with a 2
// appended, which also expands operators: ONNX's functions and their arguments. Where opsets differ, one
// keeps a function that the other refuses.
InlineOptions options_of(const Json& call) {
  const Written arguments = read_arguments(call["args"].string());
  InlineOptions options;
  options.schema_functions = call["api"].string() == "inline_selected_functions2";
  options.convert_opsets = false;
  if (call["api"].string() == "inline_local_functions") {
    options.keep_incompatible = true;
    options.convert_opsets = !arguments.words.empty() && arguments.words.front() == "True";
    return options;
  }
  if (!call["api"].string().starts_with("inline_selected_functions"))
    throw Error(ErrorCode::not_supported, call["api"].string(), "no such call is known");
  std::vector<FunctionName> names;
  for (std::size_t k = 0; k + 1 < arguments.strings.size(); k += 2)
    names.push_back({arguments.strings[k], arguments.strings[k + 1]});
  if (!arguments.words.empty() && arguments.words.front() == "True") options.except = std::move(names);
  else options.only = std::move(names);
  return options;
}

// Names inner values in the order of their definition, removes the names of nodes, and stores tensors in one
// way: models that differ only in these become equal.
class Canonical {
 public:
  static void rename(onnx::ModelProto& m) {
    Canonical(*m.mutable_graph());
    for (auto& f : *m.mutable_functions()) Canonical{f};
  }

 private:
  explicit Canonical(onnx::GraphProto& g) {
    for (const auto* list : {&g.input(), &g.output()})
      for (const auto& v : *list) names_[v.name()] = v.name();
    for (const auto& t : g.initializer()) names_[t.name()] = t.name();
    rename(g, 0);
  }
  explicit Canonical(onnx::FunctionProto& f) {
    for (const auto* list : {&f.input(), &f.output()})
      for (const auto& name : *list) names_[name] = name;
    rename(*f.mutable_node(), 0);
    f.clear_value_info();
  }
  void rename(std::string& name) {
    if (name.empty()) return;
    std::string& canonical = names_[name];
    if (canonical.empty()) canonical = str_cat("#", names_.size());
    name = canonical;
  }
  template <class Named>
  void rename_all(Named& list) {
    for (auto& v : list) rename(*v.mutable_name());
  }
  static void store(onnx::TensorProto& t) {
    if (loader::is_external(t)) return;
    onnx::TensorProto stored;
    stored.set_name(t.name());
    try {
      loader::write_tensor(loader::read_tensor(t), stored);
    } catch (const Error&) {  // a malformed one stays as it is: inliners do not read what constants hold
      return;
    }
    t = std::move(stored);
  }
  void rename(onnx::GraphProto& g, int depth) {
    rename_all(*g.mutable_input());
    rename_all(*g.mutable_initializer());
    rename(*g.mutable_node(), depth);
    rename_all(*g.mutable_output());
    g.clear_value_info();
  }
  void rename(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, int depth) {
    if (depth > 200) return;
    for (auto& n : nodes) {
      n.clear_name();
      n.clear_doc_string();
      n.clear_metadata_props();
      for (auto& name : *n.mutable_input()) rename(name);
      for (auto& a : *n.mutable_attribute()) {
        if (a.has_t()) store(*a.mutable_t());
        if (a.has_g()) rename(*a.mutable_g(), depth + 1);
      }
      for (auto& name : *n.mutable_output()) rename(name);
    }
  }

  std::map<std::string, std::string, std::less<>> names_;
};

// "" where the call gives the recorded result.
std::string compare_inlined(const fs::path& folder, const Json& call) {
  auto ours = read_message<onnx::ModelProto>(file_of(folder, call["in"]));
  const bool error = call["verdict"].string() == "error";
  try {
    loader::inline_functions(ours, options_of(call));
  } catch (const Error& e) {
    return error ? "" : str_cat("refused: ", e.what());
  }
  if (error) return str_cat("accepted, recorded: ", call["msg"].string());
  auto recorded = read_message<onnx::ModelProto>(file_of(folder, call["out"]));
  Canonical::rename(ours);
  Canonical::rename(recorded);
  const auto found = loader::differences(ours, recorded);
  return found.empty() ? "" : found.front();
}

// "local:square", ":Softmax"
FunctionName read_name(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || colon + 1 == text.size())
    throw UsageError{str_cat("'", text, "' is not a function's DOMAIN:NAME")};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace

int inline_calls(Arguments arguments) {
  fs::path file, suite;
  ModelOutput output;
  InlineOptions options{.registry = arguments.registry()};
  std::vector<FunctionName>* names = nullptr;  // the list that words are added to
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--suite") suite = arguments.file(word);
    else if (output.takes(word, arguments)) names = nullptr;
    else if (word == "--only") names = &options.only.emplace();
    else if (word == "--except") names = &options.except;
    else if (word == "--schema-functions") options.schema_functions = true;
    else if (word == "--max-nodes") options.max_nodes = arguments.integer(word, 0, no_bound);
    else if (word == "--max-bytes") options.max_bytes = arguments.integer(word, 0, no_bound);
    else if (word.starts_with("-")) throw UsageError{str_cat("inline has no option '", word, "'")};
    else if (names != nullptr) names->push_back(read_name(word));
    else if (file.empty()) file = loader::path_named(word);
    else throw UsageError{str_cat("inline takes one model, and not '", word, "'")};
  }
  if (!suite.empty()) return run_suite(suite, [&](const Json& call) { return compare_inlined(suite, call); });
  if (file.empty() || !output.is_given())
    throw UsageError{"inline needs a model and -o, or --suite and a folder"};
  onnx::ModelProto model = read_model(file);
  const auto is_there = [&](const FunctionName& n) {
    onnx::NodeProto operation;
    operation.set_domain(n.domain);
    operation.set_op_type(n.name);
    if (options.schema_functions && (loader::has_function_body(operation) ||
                                     loader::lowers(operation, loader::registry_of(arguments.registry()))))
      return true;
    return std::any_of(model.functions().begin(), model.functions().end(), [&](const auto& f) {
      return loader::canonical(f.domain()) == loader::canonical(n.domain) && f.name() == n.name;
    });
  };
  for (const auto& list : {options.only.value_or(std::vector<FunctionName>{}), options.except})
    for (const FunctionName& n : list)
      if (!is_there(n))
        throw Error(
            ErrorCode::not_supported, loader::path_text(file),
            str_cat("no function '", n.name, "' of '", n.domain, "' is in the model",
                    options.schema_functions ? ", and no operator's function has this name"
                                             : "; --schema-functions inlines the functions of operators"));
  loader::in_file(file, [&] { loader::inline_functions(model, options); });
  output.write(std::move(model), loader::folder_of(file));
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
