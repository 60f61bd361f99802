# The translation units that loader/bazel/units.bzl writes, of the same names and the same text, in ${PROJECT_BINARY_DIR}/units:
#   TENON_LEVELS                  the levels that the processor family aimed at has
#   TENON_LEVEL_TAG_<level>, TENON_LEVEL_OPTIONS_<level>, TENON_KERNEL_UNITS_<level>
#   TENON_OPERATOR_UNITS          unit_<n>.cc and all.cc
set(bazel "${PROJECT_SOURCE_DIR}/loader/bazel")
set(TENON_BAZEL_FILES "${bazel}" CACHE INTERNAL "Where Bazel's rules and scripts lie")
set(units "${PROJECT_BINARY_DIR}/units")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${bazel}/levels.bzl" "${bazel}/units.bzl")

# "tenon/op/math/add.hpp", as sources spell it.
function(tenon_include_of header result)
  string(REGEX REPLACE "^.*include/(tenon/)" "\\1" path "${header}")
  set(${result} "${path}" PARENT_SCOPE)
endfunction()

# Kernels: one unit a header and level. A row of levels.bzl reads ("avx2", "Avx2", "x86_64", ["avx2", "fma", "f16c"]),
# and a level has the features of the rows of its family above it.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/tenon/kernels/*_impl.hpp")
file(STRINGS "${bazel}/levels.bzl" rows REGEX "^    \\(\"[a-z0-9_]+\", \"[A-Za-z0-9_]+\", ")
set(TENON_LEVELS)
foreach(row IN LISTS rows)
  if(NOT row MATCHES "\\(\"([a-z0-9_]+)\", \"([A-Za-z0-9_]+)\", (None|\"[a-z0-9_]+\"), \\[(.*)\\]\\),$")
    message(FATAL_ERROR "loader/cmake/units.cmake does not understand a row of loader/bazel/levels.bzl: ${row}")
  endif()
  set(level ${CMAKE_MATCH_1})
  set(tag ${CMAKE_MATCH_2})
  string(REPLACE "\"" "" family "${CMAKE_MATCH_3}")
  string(REGEX MATCHALL "[a-z0-9_.]+" features "${CMAKE_MATCH_4}")
  if(NOT family STREQUAL "None")
    check_cxx_source_compiles("#ifndef __${family}__\n#error\n#endif\nint main() {}" TENON_FAMILY_${family})
    if(NOT TENON_FAMILY_${family})
      continue()
    endif()
  endif()
  list(TRANSFORM features PREPEND -m)
  list(APPEND options_of_${family} ${features})
  list(APPEND TENON_LEVELS ${level})
  set(TENON_LEVEL_TAG_${level} ${tag})
  set(TENON_LEVEL_OPTIONS_${level} ${options_of_${family}})
  foreach(header IN LISTS headers)
    tenon_include_of("${header}" path)
    string(REGEX REPLACE "\\.hpp$" "" name "${path}")
    string(REPLACE "/" "_" name "${name}")
    set(unit "${units}/kernels_${level}_units/${name}.cc")
    file(CONFIGURE OUTPUT "${unit}" @ONLY CONTENT
      "#define TENON_INSTANTIATE tenon::simd::${tag}\n#include \"${path}\"\n")
    list(APPEND TENON_KERNEL_UNITS_${level} "${unit}")
  endforeach()
endforeach()
if(NOT TENON_LEVELS)
  message(FATAL_ERROR "loader/cmake/units.cmake finds no levels in loader/bazel/levels.bzl")
endif()

# Operators: a header's unit follows from the hash of its path, as Bazel computes it: h = 31 h + c over the characters, in
# 32 bits with a sign. The expression is Horner's, written out, and evaluated once.
function(tenon_unit_of path count result)
  string(LENGTH "${path}" length)
  string(REPEAT "((" ${length} horner)
  string(HEX "${path}" characters)
  string(REGEX REPLACE "(..)" "*31+0x\\1)&0xffffffff)" characters "${characters}")
  math(EXPR hash "${horner}0${characters}")
  if(hash GREATER_EQUAL 2147483648)
    math(EXPR hash "${hash} - 4294967296")
  endif()
  math(EXPR unit "(${hash} % ${count} + ${count}) % ${count}")
  set(${result} ${unit} PARENT_SCOPE)
endfunction()

# Sets RESULT to units that register the operators of headers, and to one with tenon::REGISTER, which calls them all.
function(tenon_operator_units result folder register)
  file(STRINGS "${TENON_BAZEL_FILES}/units.bzl" count REGEX "\"count\": attr.int\\(default = [0-9]+\\)")
  if(NOT count MATCHES "default = ([0-9]+)")
    message(FATAL_ERROR "loader/cmake/units.cmake finds no count of units in loader/bazel/units.bzl")
  endif()
  set(count ${CMAKE_MATCH_1})
  foreach(header IN LISTS ARGN)
    tenon_include_of("${header}" path)
    tenon_unit_of("${path}" ${count} unit)
    list(APPEND headers_of_${unit} "${header}")
  endforeach()

  get_filename_component(name "${folder}" NAME)
  set(files "${folder}/all.cc")
  set(declarations "")
  set(calls "")
  math(EXPR last "${count} - 1")
  foreach(unit RANGE ${last})
    if(NOT headers_of_${unit})
      continue()
    endif()
    set(file "${folder}/unit_${unit}.cc")
    add_custom_command(OUTPUT "${file}"
      COMMAND awk -v register=${register} -v unit=${unit} -f "${TENON_BAZEL_FILES}/register.awk" ${headers_of_${unit}} > "${file}"
      DEPENDS "${TENON_BAZEL_FILES}/register.awk" ${headers_of_${unit}}
      COMMENT "Writing ${name}/unit_${unit}.cc" VERBATIM)
    list(APPEND files "${file}")
    string(APPEND declarations "void ${register}_${unit}(Registry& registry);\n")
    string(APPEND calls "  ${register}_${unit}(registry);\n")
  endforeach()
  file(CONFIGURE OUTPUT "${folder}/all.cc" @ONLY CONTENT
    "#include \"tenon/op/framework/registry.hpp\"\n\nnamespace tenon::TENON_ABI {\n\n${declarations}\nvoid ${register}(Registry& registry) {\n${calls}}\n\n}  // namespace tenon::TENON_ABI\n")
  set(${result} ${files} PARENT_SCOPE)
endfunction()

tenon_operator_units(TENON_OPERATOR_UNITS "${units}/operator_units" register_all ${TENON_OPERATOR_HEADERS})

# All units and nothing compiled: tests/packages compares them with Bazel's.
add_custom_target(tenon_units DEPENDS ${TENON_OPERATOR_UNITS})
