// `tenon amalgamate`: operators as one header.
#include "loader/compile/amalgamate.hpp"
#include "loader/format/file.hpp"

#include "loader/opsets.hpp"
#include "loader/tool/command.hpp"

namespace tenon::TENON_ABI::tool {

int amalgamate(Arguments arguments) {
  std::vector<std::string> headers;
  std::string names, output;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "-o") output = arguments.value(word);
    else if (word.starts_with("-")) throw UsageError{str_cat("amalgamate has no option '", word, "'")};
    else {
      headers.push_back(operator_header(loader::registry_of(arguments.registry()), word));
      names += str_cat(names.empty() ? "" : ", ", word);
    }
  }
  if (headers.empty() || output.empty()) throw UsageError{"amalgamate takes operators, and -o"};
  const std::string text =
      str_cat("// ", names, ": Tenon's operators in one header, written by `tenon amalgamate`.\n",
              "#pragma once\n\n", tenon::amalgamate(arguments.headers(), headers));
  loader::write_file(loader::path_named(output), text);
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
