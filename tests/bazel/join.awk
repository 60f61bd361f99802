# Joins sources of tests into one translation unit, so that the headers they share are parsed once. Includes come first;
# each source's names lie in a namespace of its own, as two tables may name their helpers alike, and its macros end
# with it.
function end_macros(  name) {
  for (name in macros) lines[++count] = "#undef " name
  delete macros
}
FNR == 1 {
  end_macros()
  name = FILENAME
  gsub(/^.*\/|\.cc$/, "", name)
  lines[++count] = "#line 1 \"" FILENAME "\""
}
/^#include/ {
  if (!($0 in included)) print
  included[$0]
  $0 = ""
}
/^#define / { macro = $2; sub(/\(.*/, "", macro); macros[macro] }
/^#undef / { delete macros[$2] }
/^namespace tenon[a-z:]* \{$/ { sub(/ \{$/, "::" name " {") }
{ lines[++count] = $0 }
END { for (k = 1; k <= count; ++k) print lines[k] }
