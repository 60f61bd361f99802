#!/bin/bash
# embed_page.sh FILE...: writes a .cc with the constants of loader/draw/page.hpp: NAME_style of NAME.css, NAME_script of
# NAME.js, without indentation and without comments on lines of their own.
echo '// Written by loader/bazel/embed_page.sh.'
echo '#include "loader/draw/page.hpp"'
echo 'namespace tenon::TENON_ABI::loader {'
for file in "$@"; do
  name=${file##*/}
  name=${name/%.css/_style}
  printf 'constinit const std::string_view %s = R"_tenon_(\n' "${name/%.js/_script}"
  sed -E 's,^ +,,; \,^// ,d' "$file"
  printf ')_tenon_";\n'
done
echo '}  // namespace tenon::TENON_ABI::loader'
