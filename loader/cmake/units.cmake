# Fills in loader/units/*.in, as loader/bazel/units.bzl does, with the same names and the same text.

# "tenon/op/math/add.hpp", as sources spell it.
function(tenon_include_of header result)
  string(REGEX REPLACE "^.*include/(tenon/)" "\\1" path "${header}")
  set(${result} "${path}" PARENT_SCOPE)
endfunction()

# tenon_write_unit(OUTPUT TEMPLATE HEADER…): @INCLUDES@ are lines that include the headers; variables have
# other values.
function(tenon_write_unit output template)
  set(INCLUDES)
  foreach(header IN LISTS ARGN)
    tenon_include_of("${header}" path)
    list(APPEND INCLUDES "#include \"${path}\"")
  endforeach()
  list(SORT INCLUDES)
  list(JOIN INCLUDES "\n" INCLUDES)
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../units/${template}" "${output}" @ONLY)
endfunction()

# The number of a header's unit follows from its name alone, so that a new operator recompiles one unit and
# not all.
function(tenon_unit_of header units result)
  get_filename_component(name "${header}" NAME_WE)
  string(LENGTH "${name}" length)
  string(SUBSTRING "${name}" 0 1 first)
  string(FIND "abcdefghijklmnopqrstuvwxyz" "${first}" place)
  math(EXPR unit "(7 * ${length} + ${place}) % ${units}")
  set(${result} ${unit} PARENT_SCOPE)
endfunction()

# tenon_operator_units(RESULT FOLDER REGISTER COUNT HEADER…): sets RESULT to at most COUNT units that register the
# headers' operators, and to one with tenon::REGISTER, which calls them all.
function(tenon_operator_units result folder register count)
  list(SORT ARGN)
  set(units)
  foreach(header IN LISTS ARGN)
    tenon_unit_of("${header}" ${count} unit)
    list(APPEND units ${unit})
    list(APPEND headers_of_${unit} "${header}")
  endforeach()
  list(REMOVE_DUPLICATES units)
  list(SORT units COMPARE NATURAL)

  set(files)
  set(declarations "")
  set(calls "")
  foreach(unit IN LISTS units)
    set(FUNCTION "${register}_${unit}")
    set(CALLS "")
    set(REGISTERS "")
    foreach(header IN LISTS headers_of_${unit})
      tenon_include_of("${header}" path)
      string(APPEND CALLS "\n  register_header<\"${path}\">(registry);")
      string(APPEND REGISTERS "\nTENON_REGISTERS(\"${path}\")")
    endforeach()
    string(SUBSTRING "${CALLS}" 1 -1 CALLS)
    string(SUBSTRING "${REGISTERS}" 1 -1 REGISTERS)
    tenon_write_unit("${folder}/unit_${unit}.cc" operators.cc.in ${headers_of_${unit}})
    list(APPEND files "${folder}/unit_${unit}.cc")
    string(APPEND declarations "\nvoid ${FUNCTION}(Registry& registry);")
    string(APPEND calls "\n  ${FUNCTION}(registry);")
  endforeach()
  set(FUNCTION "${register}")
  string(SUBSTRING "${declarations}" 1 -1 DECLARATIONS)
  string(SUBSTRING "${calls}" 1 -1 CALLS)
  tenon_write_unit("${folder}/all.cc" all.cc.in)
  set(${result} "${folder}/all.cc" ${files} PARENT_SCOPE)
endfunction()

# tenon_kernel_units(RESULT FOLDER TAG HEADER…): sets RESULT to units that instantiate the kernels for the
# level with that tag.
function(tenon_kernel_units result folder TAG)
  set(files)
  foreach(header IN LISTS ARGN)
    tenon_include_of("${header}" HEADER)
    string(REGEX REPLACE "\\.hpp$" "" name "${HEADER}")
    string(REPLACE "/" "_" name "${name}")
    tenon_write_unit("${folder}/${name}.cc" kernels.cc.in)
    list(APPEND files "${folder}/${name}.cc")
  endforeach()
  set(${result} ${files} PARENT_SCOPE)
endfunction()
