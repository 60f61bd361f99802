#!/bin/bash
# Tenon as other projects take it in: installed headers after their prefix has moved, by CMake and pkg-config,
# and the tree within another project. The text is README.md's, with the headers alone in the place of the
# loader, which is configured but not compiled here; its generated units are Bazel's. Nothing is fetched.
#   packages_test.sh [UNITS]    the folder where Bazel's units lie
for program in cmake pkg-config; do
  if ! command -v $program > /dev/null; then
    echo "skipped: $program is not installed"
    exit 0
  fi
done
fail() {
  echo "$@"
  exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# quietly COMMAND…: what it says is shown where it fails.
quietly() {
  "$@" > "$work/log" 2>&1 || fail "$* ends with $?: $(cat "$work/log")"
}

units=$(realpath "${1:-loader}")
readme=$(realpath README.md)
programs=$(realpath tests/packages)
pack=$(realpath tests/pack)
tree="$work/the tree" prefix="$work/moved here"
mkdir "$tree"
cp -rL CMakeLists.txt LICENSE include loader "$tree"
cd "$work" || exit 1
command -v ninja > /dev/null && export CMAKE_GENERATOR=Ninja
unset CXX CXXFLAGS PKG_CONFIG_PATH
read -r major minor patch < <(awk '/^#define TENON_VERSION_/ { print $3 }' "$tree/include/tenon/base/abi.hpp" | xargs)
version=$major.$minor.$patch

# Installed and moved: all headers, and nothing that knows where it was made.
quietly cmake -S "$tree" -B build -DTENON_LOADER=OFF -DCMAKE_INSTALL_PREFIX="$work/first prefix" -DCMAKE_INSTALL_LIBDIR=lib
quietly cmake --build build
quietly cmake --install build
mv "$work/first prefix" "$prefix"
diff <(cd "$tree/include" && find . -name '*.hpp' | sort) <(cd "$prefix/include" && find . -type f | sort) ||
  fail "other headers are installed"
for licence in LICENSE loader/NOTICE; do
  cmp "$tree/$licence" "$prefix/share/doc/Tenon/${licence##*/}" || fail "$licence is not installed"
done
for umbrella in tenon/tenon.hpp tenon/op/com.microsoft.hpp; do
  cmp "$tree/include/$umbrella" "$prefix/include/$umbrella" || fail "CMake writes another $umbrella"
done
grep -r "$work" "$prefix" && fail "the prefix cannot be moved"

# way N: the lines of README.md's N-th block for CMake, about the headers alone and app.cc's two units.
way() {
  awk -v n="$1" '/^```/ { inside = /cmake$/ && ++k == n; next } inside' "$readme" |
    sed 's/ COMPONENTS loader//; s/Tenon::loader/Tenon::tenon/; s/app\.cc/app.cc twice.cc/'
}
# consumer NAME COMPILER [ARGUMENTS…]: the project of standard input is built without warnings, and runs.
consumer() {
  local folder="$work/$1 $2"
  mkdir "$folder"
  cp -L "$programs"/*.cc "$folder"
  ln -s "$tree" "$folder/tenon"
  { echo "cmake_minimum_required(VERSION 3.21)"; echo "project(app LANGUAGES CXX)"; cat; } > "$folder/CMakeLists.txt"
  quietly cmake -S "$folder" -B "$folder/build" -DCMAKE_CXX_COMPILER="$2" -DCMAKE_NO_SYSTEM_FROM_IMPORTED=ON \
    -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wconversion -Wshadow -Werror" "${@:3}"
  quietly cmake --build "$folder/build"
  [ "$("$folder/build/app")" = "$version 3 6" ] || fail "$1 $2: $("$folder/build/app")"
}
for compiler in g++ clang++-19; do
  command -v $compiler > /dev/null && consumer find_package $compiler -DCMAKE_PREFIX_PATH="$prefix" < <(way 1)
done
consumer add_subdirectory g++ < <(way 2)
consumer FetchContent g++ -DFETCHCONTENT_FULLY_DISCONNECTED=ON -DFETCHCONTENT_SOURCE_DIR_TENON="$tree" < <(way 3)

# By pkg-config: README.md's line, which cannot have blanks in paths, and one that can.
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
[ "$(pkg-config --modversion tenon)" = "$version" ] || fail "pkg-config: version $(pkg-config --modversion tenon)"
quietly pkg-config --validate tenon
quietly eval "g++ -std=c++20 -E -include tenon/tenon.hpp -x c++ /dev/null $(pkg-config --cflags tenon)"
ln -s "$prefix" plain
export PKG_CONFIG_PATH="$work/plain/lib/pkgconfig"
line=$(sed -n 's/^    g++ \(.*pkg-config.*\)/\1/p' "$readme" | sed 's/tenon-loader/tenon/; s/app\.cc/app.cc twice.cc/')
[ -n "$line" ] || fail "README.md has no line for pkg-config"
cp -L "$programs"/*.cc .
quietly eval "g++ -Wall -Wextra -Wconversion -Wshadow -Werror -o app $line"
[ "$(./app)" = "$version 3 6" ] || fail "pkg-config: $(./app)"

# project NAME [ARGUMENTS…]: configures the project of standard input, and prints what CMake says.
project() {
  mkdir -p "$work/$1"
  { echo "cmake_minimum_required(VERSION 3.21)"; echo "project(app LANGUAGES CXX)"; cat; } > "$work/$1/CMakeLists.txt"
  cmake -S "$work/$1" -B "$work/$1/build" "${@:2}" 2>&1 | tr '\n' ' ' | tr -s ' '
  return "${PIPESTATUS[0]}"
}
# Accepted versions: the same one, and earlier ones of the same minor version.
said=$(project versions -DCMAKE_PREFIX_PATH="$prefix" << END
foreach(wanted $major.$minor $version $major.$minor.$((patch + 1)) $major.$((minor + 1)) $((major + 1)))
  find_package(Tenon \${wanted} QUIET)
  list(APPEND found \${Tenon_FOUND})
  unset(Tenon_DIR CACHE)
endforeach()
message(STATUS "found: \${found}.")
END
)
[[ $said == *"found: 1;1;0;0;0."* ]] || fail "versions: $said"
said=$(project component -DCMAKE_PREFIX_PATH="$prefix" <<< 'find_package(Tenon REQUIRED COMPONENTS loader)') &&
  fail "headers alone have a loader"
[[ $said == *"headers alone, without Tenon::loader"* ]] || fail "component: $said"

# Without the loader's libraries there are the headers, and a word about the rest; who asked for the loader
# has an error.
export PKG_CONFIG_LIBDIR="$work/none"
unset PKG_CONFIG_PATH
text='add_subdirectory("${TREE}" tenon)
if(TARGET Tenon::loader OR NOT TARGET Tenon::tenon)
  message(FATAL_ERROR "other targets")
endif()'
said=$(project without -DTREE="$tree" <<< "$text") || fail "without libraries: $said"
[[ $said == *"without Tenon::loader: missing are protobuf-lite, re2,"*"apt-get install"* ]] || fail "without libraries: $said"
said=$(project required -DTREE="$tree" -DTENON_LOADER=ON <<< "$text") && fail "a loader without libraries"
[[ $said == *"Tenon::loader cannot be built: missing are protobuf-lite"* ]] || fail "required: $said"
unset PKG_CONFIG_LIBDIR

# The loader, configured: its units are Bazel's.
quietly cmake -S "$tree" -B loader -DTENON_LOADER=ON
for folder in "$units"/operator_units "$units"/kernels_*_units; do
  diff -r "$folder" "loader/units/${folder##*/}" || fail "${folder##*/}: CMake's are not Bazel's"
done
diff -r "$(dirname "$units")/com_microsoft_units" loader/com_microsoft/com_microsoft_units ||
  fail "com_microsoft: CMake's units are not Bazel's"
[ "$(ls loader/units)" = "$(cd "$units" && ls -d operator_units kernels_*_units | sort)" ] || fail "other levels"

# Within a project that has xsimd's tree in itself, joins sources, and hides names, in a shared library: the tool has
# xsimd's texts, kernels are sealed as they are, and the library exports its names.
quietly project around -DTENON_LOADER=ON -DTREE="$tree" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON << 'END'
find_path(FOLDER xsimd/xsimd.hpp HINTS ENV TENON_XSIMD)
add_library(xsimd INTERFACE)
target_include_directories(xsimd INTERFACE "$<BUILD_INTERFACE:${FOLDER}>" "$<INSTALL_INTERFACE:include>")
set(CMAKE_UNITY_BUILD ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(BUILD_SHARED_LIBS ON)
set(TENON_INSTALL ON)
add_subdirectory("${TREE}" tenon)
END
around=$work/around/build
grep -q '/xsimd/xsimd\.hpp$' "$around/tenon/loader/embedded_headers.txt" || fail "the tool lacks the texts of xsimd"
grep -e 'kernels_[a-z0-9_]*\.dir/Unity/' -e '-fvisibility=hidden' "$around/compile_commands.json" && fail "other kernels, or no names"
grep 'libjpeg' "$around/tenon/tenon-loader.pc" && fail "a shared library brings along what it links"
grep -q '^Requires: tenon .*libjpeg' loader/tenon-loader.pc || fail "a static library links what it needs"
cmake -S "$tree" -B none -DTENON_LOADER=OFF -DTENON_MPI=ON > log 2>&1 && fail "tenon-mpi without Tenon::loader"
grep -q 'tenon-mpi needs Tenon::loader' log || fail "tenon-mpi without Tenon::loader: $(cat log)"
rm -r none

# The loader of one level: everything is compiled for it, users are told, and nothing is sealed.
quietly cmake -S "$tree" -B only -DTENON_LOADER=ON -DTENON_LEVEL=baseline -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
[ "$(ls only/units | xargs)" = "kernels_baseline_units operator_units" ] || fail "one level: $(ls only/units)"
grep '"command"' only/compile_commands.json | grep -v ' -DTENON_ONLY_LEVEL=baseline ' | grep -v 'embed\.cc' &&
  fail "one level: other units"
grep -q ' -DTENON_ONLY_LEVEL=baseline ' only/tenon-loader.pc || fail "one level: $(cat only/tenon-loader.pc)"
grep -rlE 'seal\.sh' only/build.ninja only/CMakeFiles 2> /dev/null && fail "one level: kernels are sealed"
if [ "$(uname -m)" = x86_64 ]; then
  quietly cmake -S "$tree" -B only -DTENON_LEVEL=avx2
  grep '"command"' only/compile_commands.json | grep -v ' -mavx2 -mfma -mf16c ' | grep -v 'embed\.cc' &&
    fail "avx2: units without its flags"
fi
cmake -S "$tree" -B none -DTENON_LOADER=ON -DTENON_LEVEL=none > log 2>&1 && fail "a level that does not exist"
grep -q "TENON_LEVEL is 'none', which is none of: all, baseline" log || fail "no level: $(cat log)"

# A pack of operators in a project of its own: the same units again, each compiled alone.
mkdir "$work/pack"
cp -rL "$pack/include" "$work/pack"
quietly project pack -DTENON_LOADER=ON -DTREE="$tree" -DCMAKE_UNITY_BUILD=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON << 'END'
add_subdirectory("${TREE}" tenon)
tenon_add_pack(example_pack example.pack include)
END
diff -r "$pack/example_pack_units" "$work/pack/build/example_pack/example_pack_units" || fail "the pack's units are not Bazel's"
! grep '/example_pack\.dir/Unity/' "$work/pack/build/compile_commands.json" || fail "the pack's units are joined"
