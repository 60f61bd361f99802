// A small language model from a file writes letter by letter: writer [BEGINNING [SEED]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tenon/generate.hpp"
#include "tenon/loader.hpp"

namespace {
using namespace tenon;

// The letters by their tokens, as the file's metadata lists them.
constexpr std::string_view letters = "\n ,.ABILOTWabcdefghiklmnopqrstuvwxy";
constexpr int line_feed = 0;

// Continues a line to its end.
std::string write(const Generator& generator, std::string text, GenerateOptions options) {
  std::vector<int> prompt = {line_feed};
  for (const char letter : text)
    if (const std::size_t at = letters.find(letter); at != letters.npos)
      prompt.push_back(static_cast<int>(at));
  options.stop_tokens = {line_feed};
  for (const int token : generator.stream(prompt, options))
    if (token != line_feed) text += letters[static_cast<std::size_t>(token)];
  return text;
}

// Breaks a line between words, at 90 columns.
void print(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.size() <= 90 ? text.size() : std::min(text.rfind(' ', 90), std::size_t{90});
    std::printf("  %.*s\n", static_cast<int>(end), text.data());
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
}
}  // namespace

int main(int argc, char** argv) {
  const std::string beginning = argc > 1 ? argv[1] : "At dawn";
  const Session session = load("examples/writer/writer.onnx");
  const Generator generator(session);
  bool same = true;
  for (const float temperature : {0.0f, 0.7f, 1.6f}) {
    GenerateOptions options{.max_tokens = 300, .temperature = temperature};
    options.seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 7;
    const std::string text = write(generator, beginning, options);
    options.draft_tokens = 4;  // guesses from the text so far, which the model checks in one run
    same = same && write(generator, beginning, options) == text;
    std::printf("temperature %.1f\n", static_cast<double>(temperature));
    print(text);
  }
  std::printf("with guesses, in fewer runs: %s\n", same ? "the same" : "not the same");
  return same ? 0 : 1;
}
