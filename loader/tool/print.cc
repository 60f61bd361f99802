// `tenon print`: models in ONNX's textual syntax, and the comparison with recorded calls of ONNX's printer.
#include "loader/text/parse_text.hpp"
#include "loader/text/print_text.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

namespace fs = std::filesystem;

// Whether `recorded` is `ours` with "..." for the data of some tensors.
bool leaves_out_data(std::string_view ours, std::string_view recorded) {
  for (;;) {
    const std::size_t at = recorded.find("...");
    if (at == recorded.npos) return ours == recorded;
    const std::size_t end = ours.find('}', at);
    if (ours.substr(0, at) != recorded.substr(0, at) || ours.substr(at, 2) != " {" || end == ours.npos)
      return false;
    ours.remove_prefix(end + 1);
    recorded.remove_prefix(at + 3);
  }
}

// "" if the text equals the recorded one, or parses to the same message as that does, or to the original
// message, of which the recorded text may omit parts.
std::string compare_printed(const fs::path& folder, const Json& call) {
  const std::string recorded = read_text(file_of(folder, call["out"]));
  return with_message_of(call["api"].string(), [&]<class Message>() -> std::string {
    const auto message = read_message<Message>(file_of(folder, call["in"]));
    const std::string ours = loader::print_text(message);
    if (ours == recorded) return "";
    const std::string parsed = loader::parse_text<Message>(ours).SerializeAsString();
    if (parsed != message.SerializeAsString() && !leaves_out_data(ours, recorded) &&
        parsed != loader::parse_text<Message>(recorded).SerializeAsString())
      return difference(ours, recorded);
    std::printf("%s: the same in other words: %s\n", call["in"].string().c_str(),
                difference(ours, recorded).c_str());
    return "";
  });
}

}  // namespace

int print(Arguments arguments) {
  fs::path model, suite, output;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--suite") suite = arguments.file(word);
    else if (word == "-o") output = arguments.file(word);
    else if (word.starts_with("-") || !model.empty())
      throw UsageError{str_cat("print takes one model, and not '", word, "'")};
    else model = loader::path_named(word);
  }
  if (model.empty() == suite.empty()) throw UsageError{"print needs a model, or --suite and a folder"};
  if (!suite.empty()) return run_suite(suite, [&](const Json& call) { return compare_printed(suite, call); });
  if (!output.empty()) loader::format_of(output);
  const std::string text = loader::print_text(read_model(model)) + "\n";
  if (!output.empty()) loader::write_file(output, text);
  else std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
