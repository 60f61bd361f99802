// `tenon compile`: a model as a header.
#include "loader/compile/compile.hpp"

#include <cstdlib>
#include <filesystem>

#include "loader/display.hpp"
#include "loader/format/file.hpp"
#include "loader/os.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/shapes.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

// A process has one level, which nothing has requested yet. A level's name does not promise the additional
// instructions that some of its processors have.
void set_level(const std::string& level) {
  if (level != "native") {
    loader::os::set_variable("TENON_ARCH", level);
    loader::os::set_variable("TENON_VNNI", "0");
    loader::os::set_variable("TENON_AMX", "0");
  }
  simd::check_request();
}

}  // namespace

int compile_model(Arguments arguments) {
  std::filesystem::path model, output, weights;
  std::string name, level = "native";
  CompileOptions options{.registry = arguments.registry()};
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "-o") output = arguments.file(word);
    else if (word == "--shape") options.shapes.push_back(parse_shapes(arguments.value(word)));
    else if (word == "--level") level = arguments.value(word);
    else if (word == "--target") options.target = arguments.value(word);
    else if (word == "--weights") weights = arguments.file(word);
    else if (word == "--namespace") name = arguments.value(word);
    else if (word.starts_with("--")) throw UsageError{str_cat("compile has no option ", word)};
    else if (model.empty()) model = loader::path_named(word);
    else throw UsageError{str_cat("one model at a time, and '", word, "' is another")};
  }
  if (model.empty() || output.empty()) throw UsageError{"compile needs a model and -o HEADER"};
  if (!options.target.empty() && level != "native")
    throw UsageError{"--target states the level too, as in x86-64:avx2: --level is for this machine"};
  set_level(level);
  options.name = name.empty() ? loader::path_text(model.stem()) : name;
  if (!weights.empty()) options.weights_threshold = 4096;
  const CompiledModel compiled =
      loader::in_file(model, [&] { return compile(arguments.headers(), load_model(model), options); });
  loader::write_file(output, compiled.header);
  if (!weights.empty()) loader::write_file(weights, compiled.weights);
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
