# Tenon::loader: one library with all operators, the kernels of every level and the loading of files; and the
# tool, `tenon`. Static, unless BUILD_SHARED_LIBS asks otherwise.
set(missing)
tenon_find_loader_modules(missing)
find_program(TENON_PROTOC protoc)
if(NOT TENON_PROTOC)
  list(APPEND missing protoc)
endif()
mark_as_advanced(TENON_PROTOC)
# The tool has all headers in itself, deflated.
find_package(ZLIB QUIET)
if(NOT ZLIB_FOUND)
  list(APPEND missing zlib)
endif()
include("${CMAKE_CURRENT_LIST_DIR}/levels.cmake")
# Sealing, loader/bazel/seal.sh, is for objects in ELF, and for kernels of several levels.
if(NOT TENON_ONLY_LEVEL)
  set(sealing)
  foreach(program bash awk ar readelf)
    find_program(TENON_HAS_${program} ${program})
    mark_as_advanced(TENON_HAS_${program})
    if(NOT TENON_HAS_${program})
      list(APPEND sealing ${program})
    endif()
  endforeach()
  foreach(program LINKER OBJCOPY)  # of the processor that code is made for
    if(NOT CMAKE_${program})
      list(APPEND sealing "CMAKE_${program}")
    endif()
  endforeach()
  if(NOT CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF")
    list(APPEND sealing "objects in ELF")
  endif()
  if(sealing)
    list(APPEND missing ${sealing} "or a level that TENON_LEVEL names, which does without these")
  endif()
endif()
if(missing)
  list(JOIN missing ", " missing)
  set(advice "Debian: apt-get install pkg-config libprotobuf-dev protobuf-compiler libre2-dev libjpeg-dev libpng-dev libtiff-dev libwebp-dev libopenjp2-7-dev zlib1g-dev")
  if(NOT TENON_LOADER STREQUAL "AUTO")
    message(FATAL_ERROR "Tenon::loader cannot be built: missing are ${missing}. ${advice}")
  endif()
  message(STATUS "Tenon: headers alone, without Tenon::loader: missing are ${missing}. ${advice}")
  return()
endif()

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

# A project around Tenon may join sources into units, which have other objects than those that are sealed here, and may
# hide names, which programs take from a shared library.
set(CMAKE_UNITY_BUILD OFF)
if(BUILD_SHARED_LIBS)
  set(CMAKE_CXX_VISIBILITY_PRESET default)
  set(CMAKE_VISIBILITY_INLINES_HIDDEN OFF)
endif()

# Kernels: for each of several levels a library with flags of its own, which seal.sh makes safe to link with
# the others. Its objects become parts of Tenon::loader, renamed, for an archive with two members of one name
# cannot be taken apart again. Link-time optimisation would mix functions of all levels. A single level has
# nothing to be mixed with.
file(GLOB_RECURSE kernels CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/tenon/kernels/*_impl.hpp")
set(definitions TENON_COMPILED)
if(TENON_ONLY_LEVEL)
  list(APPEND definitions TENON_ONLY_LEVEL=${TENON_ONLY_LEVEL})
endif()
set(objects)
foreach(level IN LISTS TENON_LEVELS TENON_LAYOUTS)
  tenon_kernel_units(units "${PROJECT_BINARY_DIR}/units/kernels_${level}_units" ${TENON_LEVEL_TAG_${level}} ${kernels})
  set(open tenon_kernels_${level})
  if(TENON_ONLY_LEVEL)
    add_library(${open} OBJECT EXCLUDE_FROM_ALL ${units})
    set(objects $<TARGET_OBJECTS:${open}>)
  else()
    add_library(${open} STATIC EXCLUDE_FROM_ALL ${units})
    target_compile_options(${open} PRIVATE -fno-lto)
    set_target_properties(${open} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
    set(folder "${PROJECT_BINARY_DIR}/sealed/${level}")
    file(MAKE_DIRECTORY "${folder}")
    set(sealed)
    set(renames)
    foreach(unit IN LISTS units)
      get_filename_component(name "${unit}" NAME)
      set(object "${folder}/${level}_${name}${CMAKE_CXX_OUTPUT_EXTENSION}")
      list(APPEND sealed "${object}")
      list(APPEND renames COMMAND "${CMAKE_COMMAND}" -E rename "${name}${CMAKE_CXX_OUTPUT_EXTENSION}" "${object}")
    endforeach()
    add_custom_command(OUTPUT ${sealed}
      COMMAND "${CMAKE_COMMAND}" -E env "LD=${CMAKE_LINKER}" "OBJCOPY=${CMAKE_OBJCOPY}"
      "${PROJECT_SOURCE_DIR}/loader/bazel/seal.sh" $<TARGET_FILE:${open}> "${folder}/sealed.a" ${TENON_LEVEL_TAG_${level}}
      COMMAND ar x "${folder}/sealed.a" ${renames}
      DEPENDS ${open} "${PROJECT_SOURCE_DIR}/loader/bazel/seal.sh"
      WORKING_DIRECTORY "${folder}" COMMENT "Sealing the kernels of ${level}" VERBATIM)
    set_source_files_properties(${sealed} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    list(APPEND objects ${sealed})
  endif()
  target_link_libraries(${open} PRIVATE tenon)
  target_compile_definitions(${open} PRIVATE ${definitions})
  target_compile_options(${open} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3> ${TENON_LEVEL_OPTIONS_${level}})
  set_target_properties(${open} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
endforeach()
tenon_operator_units(units "${PROJECT_BINARY_DIR}/units/operator_units" register_all 20 ${TENON_OPERATOR_HEADERS})

set(proto "${PROJECT_SOURCE_DIR}/loader/onnx.proto")
set(written "${PROJECT_BINARY_DIR}/loader/onnx.pb.cc" "${PROJECT_BINARY_DIR}/loader/onnx.pb.h")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/loader")
add_custom_command(OUTPUT ${written}
  COMMAND "${TENON_PROTOC}" "--cpp_out=${PROJECT_BINARY_DIR}" "-I${PROJECT_SOURCE_DIR}" "${proto}"
  DEPENDS "${proto}" COMMENT "Writing loader/onnx.pb.cc" VERBATIM)

# The styles and the scripts of pages: @page_css@ in the template is page.css.
file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/loader/draw/page/*.css" "${PROJECT_SOURCE_DIR}/loader/draw/page/*.js")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)
  string(REPLACE "." "_" name "${name}")
  file(READ "${file}" ${name})
  string(REGEX REPLACE "\n$" "" ${name} "${${name}}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
endforeach()
configure_file("${PROJECT_SOURCE_DIR}/loader/draw/page/pages.cc.in" "${PROJECT_BINARY_DIR}/loader/pages.cc" @ONLY)
list(APPEND written "${PROJECT_BINARY_DIR}/loader/pages.cc")

file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/loader/*.cc" "${PROJECT_SOURCE_DIR}/loader/*/*.cc")
list(FILTER sources EXCLUDE REGEX "/loader/(bazel|mpi|tool)/")
if(WIN32 AND BUILD_SHARED_LIBS)
  message(FATAL_ERROR "Tenon::loader is a static library on Windows: a DLL cannot export as many names as it has")
endif()
add_library(tenon_loader ${sources} ${written} ${units} ${objects})
add_library(Tenon::loader ALIAS tenon_loader)
target_include_directories(tenon_loader PRIVATE "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")
target_link_libraries(tenon_loader PUBLIC tenon PRIVATE PkgConfig::TENON_LOADER $<$<PLATFORM_ID:Windows>:bcrypt>)
# Programs leave out the bodies that the library has, and call kernels of the only level if there is one.
target_compile_definitions(tenon_loader PUBLIC ${definitions} TENON_COMPILED_SESSION)
set_target_properties(tenon_loader PROPERTIES OUTPUT_NAME tenon-loader EXPORT_NAME loader POSITION_INDEPENDENT_CODE ON
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# The tool has the texts of all headers in it, xsimd's too. Files are listed in a file, and no command here needs a
# shell: Windows limits the lines of its own to less than hundreds of names.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include/tenon/*.hpp"
  "${PROJECT_SOURCE_DIR}/loader/freestanding/*.hpp")
list(REMOVE_ITEM headers include/tenon/tenon.hpp)
list(FILTER headers EXCLUDE REGEX "^include/tenon/op/[^/]*[.][^/]*/")
get_target_property(folder Tenon::xsimd INTERFACE_INCLUDE_DIRECTORIES)
file(GLOB_RECURSE xsimd "${folder}/xsimd/*.hpp")
set(texts loader/NOTICE ${headers} "${PROJECT_BINARY_DIR}/include/tenon/tenon.hpp" ${xsimd})
list(TRANSFORM headers PREPEND "${PROJECT_SOURCE_DIR}/")
add_executable(tenon_embed EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/loader/bazel/embed.cc")
target_compile_features(tenon_embed PRIVATE cxx_std_20)
target_link_libraries(tenon_embed PRIVATE ZLIB::ZLIB)
set(embedded "${PROJECT_BINARY_DIR}/loader/embedded_headers.cc")
list(JOIN texts "\n" list)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/loader/embedded_headers.txt" CONTENT "${list}\n" @ONLY)
add_custom_command(OUTPUT "${embedded}"
  COMMAND tenon_embed -o "${embedded}" --list "${PROJECT_BINARY_DIR}/loader/embedded_headers.txt"
  DEPENDS tenon_embed "${PROJECT_SOURCE_DIR}/loader/NOTICE" ${headers} "${PROJECT_BINARY_DIR}/include/tenon/tenon.hpp" ${xsimd}
  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" COMMENT "Writing loader/embedded_headers.cc" VERBATIM)

# tenon_join(TARGET SOURCE…): compiles up to ten sources of a folder as one unit, as Bazel's build does
# (loader/bazel/units.bzl).
function(tenon_join target)
  set(folders)
  foreach(source IN LISTS ARGN)
    get_filename_component(folder "${source}" DIRECTORY)
    get_filename_component(folder "${folder}" NAME)
    list(APPEND folders "${folder}")
    list(APPEND files_of_${folder} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(LENGTH files_of_${folder} size)
    math(EXPR count "(${size} + 9) / 10")
    set(k 0)
    foreach(source IN LISTS files_of_${folder})
      math(EXPR unit "${k} * ${count} / ${size} + 1")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${folder}_${unit})
      math(EXPR k "${k} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
list(FILTER sources EXCLUDE REGEX "/loader/(image|regex)/")
tenon_join(tenon_loader ${sources})

# Tenon::tool is all of it but main.cc, for a tool that knows other operators as well:
# loader/tool/commands.hpp.
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/loader/tool/*.cc")
list(REMOVE_ITEM sources "${PROJECT_SOURCE_DIR}/loader/tool/main.cc")
add_library(tenon_commands STATIC EXCLUDE_FROM_ALL ${sources} "${embedded}")
tenon_join(tenon_commands ${sources})
add_library(Tenon::tool ALIAS tenon_commands)
target_include_directories(tenon_commands PRIVATE "${PROJECT_BINARY_DIR}"
  PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
target_link_libraries(tenon_commands PUBLIC tenon_loader PRIVATE PkgConfig::TENON_LOADER ZLIB::ZLIB)
add_executable(tenon_tool "${PROJECT_SOURCE_DIR}/loader/tool/main.cc")
target_link_libraries(tenon_tool PRIVATE tenon_commands)
set_target_properties(tenon_tool PROPERTIES OUTPUT_NAME tenon)

# ONNX Runtime's operators. The tool knows them; other programs link Tenon::com_microsoft.
include("${CMAKE_CURRENT_LIST_DIR}/pack.cmake")
tenon_add_pack(com_microsoft com.microsoft "${PROJECT_SOURCE_DIR}/include")
add_library(Tenon::com_microsoft ALIAS com_microsoft)
set_target_properties(com_microsoft PROPERTIES OUTPUT_NAME tenon-com-microsoft)
target_link_libraries(tenon_tool PRIVATE com_microsoft com_microsoft_headers)

set(programs tenon_tool)
if(TENON_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI REQUIRED COMPONENTS CXX)
  add_executable(tenon_mpi "${PROJECT_SOURCE_DIR}/loader/mpi/main.cc")
  target_link_libraries(tenon_mpi PRIVATE tenon_commands com_microsoft MPI::MPI_CXX)
  set_target_properties(tenon_mpi PROPERTIES OUTPUT_NAME tenon-mpi)
  list(APPEND programs tenon_mpi)
endif()

# As much stack as threads have on Linux: models at the bounds of nesting take up to 1 MiB, all that Visual C++ reserves.
foreach(program IN LISTS programs)
  if(MSVC)
    target_link_options(${program} PRIVATE "LINKER:/STACK:8388608")
  elseif(MINGW)
    target_link_options(${program} PRIVATE "LINKER:--stack,8388608")
  endif()
endforeach()

foreach(target tenon_loader tenon_commands ${programs} com_microsoft com_microsoft_headers)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  # Operators compile for minutes and gain nothing from -O3: the kernels have it, and Bazel's build gives -O2
  # as well.
  target_compile_options(${target} PRIVATE ${TENON_LEVEL_OPTIONS_${TENON_ONLY_LEVEL}} $<$<CONFIG:Release>:-O2>)
  # Within another project they are built when something links them.
  if(NOT PROJECT_IS_TOP_LEVEL AND NOT TENON_INSTALL)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endforeach()
