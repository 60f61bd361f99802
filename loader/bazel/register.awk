# Reads operator headers and writes the unit that registers what they define, a part of tenon::register_all:
#   awk -v register=register_all -v unit=3 -f register.awk include/tenon/op/math/add.hpp ...
# An operator is a struct (no template, no mere declaration) that opens at the start of a line, or an alias that stands
# on one, in namespace tenon::op or a namespace within it, and not in a namespace called detail. A header without any
# is an error.
function check() {
  if (path == "" || found) return
  print path ": no operator in namespace tenon::op; shared pieces belong in tenon/op/families/" > "/dev/stderr"
  failed = 1
}

FNR == 1 {
  check()
  path = FILENAME
  sub(/^.*include\/tenon\//, "tenon/", path)
  includes = includes "#include \"" path "\"\n"
  depth = found = template = 0
}

/^namespace [A-Za-z0-9_:]+ *\{/ && !/\}/ {
  name = $2
  sub(/\{.*/, "", name)
  sub(/::TENON_ABI/, "", name)
  space[depth + 1] = depth ? space[depth] "::" name : name
  ++depth
}

/^\} *\/\/ namespace/ && depth { --depth }

((/^struct [A-Za-z_][A-Za-z0-9_]*([ :{]|$)/ && !/;[ \t]*$/) || /^using [A-Za-z_][A-Za-z0-9_]* = .*;$/) && !template &&
    depth && space[depth] ~ /^tenon::op(::|$)/ && space[depth] !~ /detail(::|$)/ {
  name = $2
  sub(/[:{].*/, "", name)
  type = space[depth] "::" name
  calls = calls "  register_operator<" type ">(registry, {\"" type "\", \"" path "\"});\n"
  found = 1
}

{ template = (/^template/ || template) && !/[;}]/ && !/^struct/ }

END {
  check()
  if (failed) exit 1
  printf "#include \"tenon/op/framework/registry.hpp\"\n%s\n", includes
  printf "namespace tenon::TENON_ABI {\n\nvoid %s_%d(Registry& registry);\n\n", register, unit
  printf "void %s_%d(Registry& registry) {\n%s}\n\n}  // namespace tenon::TENON_ABI\n", register, unit, calls
}
