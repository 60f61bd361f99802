// A small language model from a file writes letter by letter, as daringly as the temperature asks.
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
    std::vector<int> prompt;
    for (const char letter : text) prompt.push_back(static_cast<int>(letters_.find(letter)));
    options.stop_tokens = {static_cast<int>(letters_.find('\n'))};
    for (const int token : generator_.stream(prompt, options))
      text += letters_[static_cast<std::size_t>(token)];
    return text;
  }

 private:
  std::string letters_;
  Session session_;
  Generator generator_;
};

// Breaks lines between words, at 100 columns.
void print(std::string_view text) {
  while (text.size() > 100) {
    const std::size_t end = text.rfind(' ', 100);
    std::printf("  %.*s\n", static_cast<int>(end), text.data());
    text.remove_prefix(end + 1);
  }
  std::printf("  %.*s\n", static_cast<int>(text.size()), text.data());
}
}  // namespace

int main() {
  const Writer writer(load_model("examples/writer/writer.onnx"));
  bool same = true;
  for (const float temperature : {0.0f, 0.8f, 2.0f}) {
    const GenerateOptions options{.max_tokens = 400, .temperature = temperature, .seed = 7};
    const std::string text = writer.write("In the ", options);
    std::printf("temperature %.1f:\n", static_cast<double>(temperature));
    print(std::string_view(text).substr(0, text.find('\n')));
  }
  return same ? 0 : 1;
}
