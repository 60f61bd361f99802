// A small language model from a file writes letter by letter, as daringly as the temperature says.
#include <algorithm>
#include <cstdio>
#include <string>

#include "tenon/generate.hpp"
#include "tenon/model.hpp"

namespace {
using namespace tenon;

class Writer {
 public:
  explicit Writer(const Model& model)
      : letters_(model.header().metadata.at(0).second), session_(model.graph()), generator_(session_) {}

  // Continues a text to the end of its line. A token is the number of a letter.
  std::string write(std::string text, GenerateOptions options) const {
    options.stop_tokens = {token_of('\n')};
    std::vector<int> prompt;
    for (const char letter : text) prompt.push_back(token_of(letter));
    for (const int token : generator_.stream(prompt, options))
      text += letters_[static_cast<std::size_t>(token)];
    return text;
  }

 private:
  int token_of(char letter) const { return static_cast<int>(letters_.find(letter)); }

  std::string letters_;
  Session session_;
  Generator generator_;
};

// Lines are broken between words, at 90 columns.
void print(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.size() <= 90 ? text.size() : std::min(text.rfind(' ', 90), std::size_t{90});
    std::printf("  %.*s\n", static_cast<int>(end), text.data());
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  }
}
}  // namespace

int main() {
  const Writer writer(load_model("examples/writer/writer.onnx"));
  bool same = true;
  for (const float temperature : {0.0f, 0.7f, 1.6f}) {
    GenerateOptions options{.max_tokens = 300, .temperature = temperature, .seed = 7};
    const std::string text = writer.write("At dawn", options);
    options.draft_tokens = 4;  // guesses from the text so far, which the model checks in one run
    same = same && writer.write("At dawn", options) == text;
    std::printf("temperature %.1f\n", static_cast<double>(temperature));
    print(text.substr(0, text.find('\n')));
  }
  std::printf("in fewer runs of the model: %s\n", same ? "the same" : "not the same");
  return same ? 0 : 1;
}
