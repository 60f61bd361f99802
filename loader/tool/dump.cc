// `tenon dump`: draws a model.
#include "loader/draw/dump.hpp"

#include "loader/display.hpp"
#include "loader/infer/infer.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"

namespace tenon::TENON_ABI::tool {

int dump(Arguments arguments) {
  std::filesystem::path file, output;
  bool as_dot = false, as_html = false;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--dot") as_dot = true;
    else if (word == "--html") as_html = true;
    else if (word == "-o") output = arguments.file(word);
    else if (word.starts_with("-") || !file.empty())
      throw UsageError{str_cat("dump takes one model, and not '", word, "'")};
    else file = loader::path_named(word);
  }
  if (file.empty() || as_dot == as_html) throw UsageError{"dump needs a model, and --dot or --html"};
  onnx::ModelProto model = read_outline(file);
  try {
    loader::infer_shapes(model, {.registry = arguments.registry()});
  } catch (const Error& e) {
    std::fprintf(stderr, "tenon: types are those that the model states: %s\n",
                 loader::visible(e.what()).c_str());
    model = read_outline(file);
  }
  const std::string text = as_dot ? loader::dot(model) : loader::html(model);
  if (!output.empty()) loader::write_file(output, text);
  else std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
