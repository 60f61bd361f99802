# Reads operator headers and writes the unit that registers what they define:
#   awk -v unit=3 -f register.awk include/tenon/op/math/add.hpp ...
# An operator is a struct (no template, no mere declaration) that opens at the start of a line, in namespace
# tenon::op or a namespace within it that is not called detail.
FNR == 1 {
  path = FILENAME
  sub(/^.*include\/tenon\//, "tenon/", path)
  includes = includes "#include \"" path "\"\n"
  space = ""
  template = 0
}

/^namespace [A-Za-z0-9_:]+ *\{/ {
  space = $2
  sub(/\{.*/, "", space)
}

/^struct [A-Za-z_][A-Za-z0-9_]*([ :{]|$)/ && !/;[ \t]*$/ && !template &&
    space ~ /^tenon::op(::|$)/ && space !~ /::detail(::|$)/ {
  name = $2
  sub(/[:{].*/, "", name)
  calls = calls "  register_operator<" space "::" name ">(registry);\n"
}

{ template = (/^template/ || template) && !/[;}]/ && !/^struct/ }

END {
  printf "#include \"tenon/op/registry.hpp\"\n%s\n", includes
  printf "namespace tenon {\n\nvoid register_unit_%d(Registry& registry);\n\n", unit
  printf "void register_unit_%d(Registry& registry) {\n%s}\n\n}  // namespace tenon\n", unit, calls
}
