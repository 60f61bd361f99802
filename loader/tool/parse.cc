// `tenon parse`: models from ONNX's textual syntax, and the comparison with recorded calls of ONNX's parser.
#include "loader/text/parse_text.hpp"

#include <fstream>
#include <sstream>

#include "loader/text/print_text.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

namespace fs = std::filesystem;

// "" where the call gives the recorded result.
std::string compare_parsed(const fs::path& folder, const Json& call) {
  const std::string text = read_text(file_of(folder, call["in"]));
  const bool error = call["verdict"].string() == "error";
  return with_message_of(call["api"].string(), [&]<class Message>() -> std::string {
    Message ours;
    try {
      ours = loader::parse_text<Message>(text);
    } catch (const Error& e) {
      return error ? "" : str_cat("refused: ", e.what());
    }
    if (error) return str_cat("accepted, recorded: ", call["msg"].string());
    const auto recorded = read_message<Message>(file_of(folder, call["out"]));
    if (ours.SerializeAsString() == recorded.SerializeAsString()) return "";
    return difference(loader::print_text(ours), loader::print_text(recorded));
  });
}

}  // namespace

std::string read_text(const fs::path& file) {
  if (fs::is_directory(file)) throw Error(ErrorCode::io, loader::path_text(file), "a folder");
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (!in || (in.peek() != std::ifstream::traits_type::eof() && !(text << in.rdbuf())))
    throw Error(ErrorCode::io, loader::path_text(file), "cannot be read");
  return std::move(text).str();
}

onnx::ModelProto parse_file(const fs::path& file) {
  return loader::in_file(file, [&] { return loader::parse_text<onnx::ModelProto>(read_text(file)); });
}

std::string difference(std::string_view ours, std::string_view recorded) {
  const auto [a, b] = std::mismatch(ours.begin(), ours.end(), recorded.begin(), recorded.end());
  if (a == ours.end() && b == recorded.end()) return "differs in what the syntax does not say";
  const auto at = static_cast<std::size_t>(a - ours.begin());
  return str_cat("'", ours.substr(at, 60), "' instead of '", recorded.substr(at, 60), "'");
}

int parse(Arguments arguments) {
  fs::path text, suite;
  ModelOutput output;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--suite") suite = arguments.file(word);
    else if (output.takes(word, arguments)) continue;
    else if (word.starts_with("-") || !text.empty())
      throw UsageError{str_cat("parse takes one file, and not '", word, "'")};
    else text = loader::path_named(word);
  }
  if (text.empty() == suite.empty()) throw UsageError{"parse needs a file, or --suite and a folder"};
  if (!suite.empty()) return run_suite(suite, [&](const Json& call) { return compare_parsed(suite, call); });
  loader::format_of(text);
  onnx::ModelProto model = parse_file(text);
  if (output.is_given()) output.write(std::move(model), loader::folder_of(text));
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
