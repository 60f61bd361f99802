#!/bin/bash
# embed_page.sh PAGE.css PAGE.js: writes a .cc with the constants of loader/draw/dump_page.hpp.
constant() {
  printf 'constinit const std::string_view %s = R"_tenon_(\n' "$1"
  cat "$2"
  printf ')_tenon_";\n'
}
echo '// Written by loader/bazel/embed_page.sh.'
echo '#include "loader/draw/dump_page.hpp"'
echo 'namespace tenon::TENON_ABI::loader {'
constant page_style "$1"
constant page_script "$2"
echo '}  // namespace tenon::TENON_ABI::loader'
