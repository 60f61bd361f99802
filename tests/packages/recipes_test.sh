#!/bin/bash
# Files for package managers that are not at hand are what their languages call well-formed: Python, Bazel's
# part of it, JSON and CMake.
for program in python3 cmake; do
  if ! command -v $program > /dev/null; then
    echo "skipped: $program is not installed"
    exit 0
  fi
done
recipes=loader/packaging
for file in $recipes/conan/conanfile.py MODULE.bazel loader/bazel/module.bzl; do
  python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' $file || exit 1
done
for file in $recipes/*/*.json; do
  python3 -m json.tool $file /dev/null || { echo "$file"; exit 1; }
done

if command -v ruby > /dev/null; then
  ruby -c $recipes/homebrew/tenon.rb > /dev/null || exit 1
fi

# vcpkg's functions do nothing here.
script=$(mktemp)
trap 'rm -f "$script"' EXIT
{
  echo 'cmake_minimum_required(VERSION 3.21)'
  echo "set(CURRENT_PACKAGES_DIR \"$script.packages\")"
  grep -o '^ *vcpkg_[a-z_]*' $recipes/vcpkg/portfile.cmake | sort -u | sed 's/.*/function(&)\nendfunction()/'
  echo "include($PWD/$recipes/vcpkg/portfile.cmake)"
} > "$script"
cmake -P "$script"
