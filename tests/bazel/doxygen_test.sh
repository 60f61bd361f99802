#!/bin/bash
# Doxygen reads the headers without a warning. What has a comment is checked: unknown commands and tags,
# references that do not resolve, and @param that name no parameter or not all of them; what has no comment
# need not have one. Private members, namespaces called detail or NAME_detail, and specialisations in std are
# left out. Names are read without the inline namespace, as comments write them.
if ! command -v doxygen > /dev/null; then
  echo "skipped: doxygen is not installed"
  exit 0
fi
output=$(mktemp -d)
trap 'rm -r "$output"' EXIT

# check FOLDER: prints Doxygen's warnings about the headers in a folder, and fails if there are any.
check() {
  doxygen - << END
INPUT = "$1"
RECURSIVE = YES
FILE_PATTERNS = *.hpp
INPUT_FILTER = "sed s/::TENON_ABI//"
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
SEARCH_INCLUDES = NO
PREDEFINED = TENON_PROCESS_WIDE=
BUILTIN_STL_SUPPORT = YES
EXTRACT_ALL = YES
EXCLUDE_SYMBOLS = *detail std::*
WARN_IF_UNDOCUMENTED = NO
WARN_AS_ERROR = FAIL_ON_WARNINGS
QUIET = YES
OUTPUT_DIRECTORY = "$output"
GENERATE_LATEX = NO
VERBATIM_HEADERS = NO
SEARCHENGINE = NO
HAVE_DOT = NO
END
}

# The policy holds: each of these lines is warned about, and the rest is not.
mkdir "$output/wrong"
cat > "$output/wrong/wrong.hpp" << 'END'
/// @param y is no parameter
void f(int x);
/// Calls g.template operator()<T>().
void g();
/// See \ref nowhere.
void h();
/// Ends with \nothing.
void i();
void j();
namespace detail {
/// Ends with \nothing.
void k();
}  // namespace detail
END
said=$(check "$output/wrong" 2>&1) && echo "wrong comments pass" && exit 1
lines=$(sed -nE 's/^.*wrong\.hpp:([0-9]+): .*/\1/p' <<< "$said" | sort -nu | tr '\n' ' ')
[ "$lines" = "1 3 5 7 " ] || { echo "not those four comments: $said"; exit 1; }

check include || exit 1
[ -f "$output/html/structtenon_1_1op_1_1Conv.html" ] || { echo "Doxygen did not find op::Conv"; exit 1; }
