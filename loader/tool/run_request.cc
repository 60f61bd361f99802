#include "loader/tool/run_request.hpp"

#include <optional>

#include "loader/display.hpp"
#include "tenon/tensor/print.hpp"

namespace tenon::TENON_ABI::tool {

bool RunRequest::takes(const std::string& word, Arguments& arguments) {
  if (word == "--input") inputs.push_back(parse_input(word, arguments.value(word)));
  else if (word == "--shape") add_shapes(shapes, arguments.value(word));
  else if (word == "--output") output = arguments.file(word);
  else if (word == "--threads") session.threads = static_cast<int>(arguments.integer(word, 1, 1024));
  else if (word == "--no-passes") session.passes.emplace();
  else if (word == "--time-limit")
    run.time_limit =
        std::chrono::milliseconds(static_cast<int64_t>(1000 * arguments.number(word, 0, 1'000'000'000)));
  else if (word == "--max-iterations") run.max_iterations = arguments.integer(word, 0, no_bound);
  else if (word == "--max-bytes") run.max_bytes = arguments.integer(word, 0, no_bound);
  else if (word.starts_with("--")) return false;
  else if (model.empty()) model = word;
  else throw UsageError{str_cat("one model at a time, and '", word, "' is another")};
  return true;
}

Outputs RunRequest::run_once(const Graph& graph, const Feeds& feeds,
                             const std::function<Outputs()>& f) const {
  const std::string open = open_extents(graph, inputs, shapes, feeds);
  try {
    return f();
  } catch (const Error& e) {
    if (open.empty() || e.code() == ErrorCode::limit || e.code() == ErrorCode::cancelled ||
        e.code() == ErrorCode::invalid_type)
      throw;
    throw Error(
        e.code(), e.where(),
        str_cat(
            e.message(),
            "\n  the model leaves extents open, which were 1 in this run; set them with --shape: ", open));
  }
}

void RunRequest::show(const Outputs& values, std::size_t count) const {
  std::optional<ValueFiles> files;
  if (!output.empty()) files.emplace(output);
  for (std::size_t k = 0; k < count; ++k) {
    std::printf("%s: %s\n", loader::visible(values.names()[k]).c_str(), to_string(values[k]).c_str());
    if (files) files->write(values.names()[k], values[k]);
  }
}

}  // namespace tenon::TENON_ABI::tool
