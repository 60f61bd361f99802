# alone.awk common=HEADER wanted=FILE HEADERS…: which of the headers that FILE names may share a translation unit, a
# line for each unit, although each must compile with what it includes itself. In one unit, a header sees what
# those ahead of it have included. It joins a unit if that cannot help it: what is there and it does not include
# has none of the words that it mentions and its own includes do not, and no header of std that they lack. `common`
# is included ahead of everything.
FNR == 1 {
  name = FILENAME
  sub(/^.*include\//, "", name)
}
FILENAME == wanted {
  list[++count] = $0
  next
}
{ sub(/\/\/.*/, "") }
/^#include "/ {
  split($0, parts, "\"")
  included[name] = included[name] " " parts[2]
  next
}
/^#include </ {
  gsub(/^#include <|>.*/, "")
  system_of[name] = system_of[name] " " $0
  next
}
{
  gsub(/"([^"\\]|\\.)*"/, "")
  gsub(/[^A-Za-z0-9_]+/, " ")
  n = split($0, parts, " ")
  for (k = 1; k <= n; ++k)
    if (!((name, parts[k]) in mentions)) {
      mentions[name, parts[k]]
      words[name] = words[name] " " parts[k]
    }
}

function add(list, set,  parts, n, k) {
  n = split(list, parts, " ")
  for (k = 1; k <= n; ++k) set[parts[k]]
}
# Adds headers, those that they include in any number of steps, and their words to `own`, `known` and `known_system`.
function take(headers,  parts, n, k) {
  n = split(headers, parts, " ")
  for (k = 1; k <= n; ++k) {
    if (parts[k] in own) continue
    own[parts[k]]
    add(words[parts[k]], known)
    add(system_of[parts[k]], known_system)
    take(included[parts[k]])
  }
}
# Whether the header would compile alone if it compiles with another one in sight.
function ignores(header, other,  parts, n, k) {
  if (other in own) return 1
  if (other == header) return 0
  n = split(system_of[other], parts, " ")
  for (k = 1; k <= n; ++k)
    if (!(parts[k] in known_system)) return 0
  for (k in strange)
    if ((other, k) in mentions) return 0
  return 1
}
function fits(header, unit,  parts, n, k) {
  n = split(in_unit[unit], parts, " ")
  for (k = 1; k <= n; ++k)
    if (!ignores(header, parts[k])) return 0
  return 1
}

END {
  for (h = 1; h <= count; ++h) {
    header = list[h]
    split("", own)
    split("", known)
    split("", known_system)
    split("", strange)
    take(common included[header])
    add(system_of[header], known_system)
    add(words[header], strange)
    for (k in known) delete strange[k]
    for (unit = 1; unit <= units; ++unit)
      if (fits(header, unit)) break
    if (unit > units) units = unit
    members[unit] = members[unit] " " header
    own[header]
    for (k in own)
      if (!((unit, k) in held)) {
        held[unit, k]
        in_unit[unit] = in_unit[unit] " " k
      }
  }
  for (unit = 1; unit <= units; ++unit) print substr(members[unit], 2)
}
