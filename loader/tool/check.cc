// `tenon check`: the rules of ONNX's format and operators, and the comparison with recorded verdicts.
#include "loader/check/check.hpp"

#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

namespace fs = std::filesystem;

std::vector<Diagnostic> check_file(const std::string& api, const fs::path& file, const CheckOptions& options,
                                   const loader::Versions& versions) {
  const auto read_and_check = [&]<class Message>(Message*) {
    return loader::check(read_message<Message>(file), options, versions);
  };
  const auto as = [&]<class Message>() { return read_and_check(static_cast<Message*>(nullptr)); };
  if (api == "check_model") return loader::check(read_message<onnx::ModelProto>(file), options);
  if (api == "check_graph") return as.operator()<onnx::GraphProto>();
  if (api == "check_function") return as.operator()<onnx::FunctionProto>();
  if (api == "check_node") return as.operator()<onnx::NodeProto>();
  if (api == "check_attribute") return as.operator()<onnx::AttributeProto>();
  if (api == "check_tensor") return as.operator()<onnx::TensorProto>();
  if (api == "check_sparse_tensor") return as.operator()<onnx::SparseTensorProto>();
  if (api == "check_value_info") return as.operator()<onnx::ValueInfoProto>();
  throw Error(ErrorCode::invalid_argument, api, "none of the checker's functions");
}

// "" if the call gives the recorded verdict.
std::string compare_check(const fs::path& folder, const Json& call) {
  const Json& args = call["args"];
  CheckOptions options{.full = args["full_check"].boolean(),
                       .skip_opset_compatibility = args["skip_opset_compatibility_check"].boolean(),
                       .custom_domains = args["check_custom_domain"].boolean()};
  loader::Versions versions;
  if (args.contains("ir_version")) versions.ir_version = args["ir_version"].integer();
  for (const auto& [domain, version] : args["opset_imports"].object())
    versions.opsets[std::string(loader::canonical(domain))] = static_cast<int>(version.integer());
  const bool refused = call["verdict"].string() == "error";
  const fs::path file = file_of(folder, call["in"]);
  std::vector<Diagnostic> found;
  try {
    found = check_file(call["api"].string(), file, options, versions);
  } catch (const Error& e) {  // not a message at all
    return refused && e.code() == ErrorCode::io && fs::exists(file) ? "" : e.what();
  }
  if (has_errors(found) == refused) return "";
  if (refused) return str_cat("accepted, recorded: ", call["msg"].string());
  std::string reasons;
  for (const auto& d : found)
    if (d.severity == Severity::error) reasons += str_cat(reasons.empty() ? "" : "; ", to_string(d));
  return reasons;
}

}  // namespace

int check(Arguments arguments) {
  fs::path model, suite;
  CheckOptions options{.registry = arguments.registry()};
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--suite") suite = arguments.file(word);
    else if (word == "--full") options.full = true;
    else if (word == "--pedantic") options.pedantic = true;
    else if (word.starts_with("-") || !model.empty())
      throw UsageError{str_cat("check takes one model, and not '", word, "'")};
    else model = loader::path_named(word);
  }
  if (model.empty() == suite.empty()) throw UsageError{"check needs a model, or --suite and a folder"};
  if (!suite.empty()) return run_suite(suite, [&](const Json& call) { return compare_check(suite, call); });
  options.folder = loader::folder_of(model);
  const auto found = loader::check(read_model(model), options);
  for (const auto& d : found) std::printf("%s: %s\n", loader::path_text(model).c_str(), to_string(d).c_str());
  return has_errors(found) ? 1 : 0;
}

}  // namespace tenon::TENON_ABI::tool
