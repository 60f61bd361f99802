# tenon_add_pack(NAME DOMAIN FOLDER): the operators of a domain, whose headers are
# FOLDER/tenon/op/DOMAIN/*.hpp, as loader/bazel/pack.bzl has them. The library NAME has tenon::register_NAME,
# and NAME_headers, for a tool that writes headers, their texts. See include/tenon/op/README.md.
function(tenon_add_pack name domain folder)
  get_filename_component(folder "${folder}" ABSOLUTE)
  get_filename_component(base "${folder}" NAME)
  if(NOT base STREQUAL "include")
    message(FATAL_ERROR "tenon_add_pack(${name}): ${folder} is not called include")
  endif()
  file(GLOB headers CONFIGURE_DEPENDS "${folder}/tenon/op/${domain}/*.hpp")
  if(NOT headers)
    message(FATAL_ERROR "tenon_add_pack(${name}): there are no headers ${folder}/tenon/op/${domain}/*.hpp")
  endif()
  set(written "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  set(DOMAIN "${domain}")
  set(FUNCTION "register_${name}")
  tenon_write_unit("${written}/include/tenon/op/${domain}.hpp" pack.hpp.in ${headers})

  tenon_operator_units(units "${written}/${name}_units" "register_${name}" 8 ${headers})
  add_library(${name} STATIC ${units})
  target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${written}/include>" "$<BUILD_INTERFACE:${folder}>")
  target_link_libraries(${name} PUBLIC tenon_loader)
  # A unit states which headers it registers before it includes any.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)

  set(embedded "${written}/${name}_headers.cc")
  list(JOIN headers "\n" list)
  file(CONFIGURE OUTPUT "${written}/${name}_headers.txt" CONTENT "${list}\n" @ONLY)
  add_custom_command(OUTPUT "${embedded}"
    COMMAND tenon_embed -o "${embedded}" --as "${name}_headers" --list "${written}/${name}_headers.txt"
    DEPENDS tenon_embed ${headers} COMMENT "Writing ${name}_headers.cc" VERBATIM)
  add_library(${name}_headers STATIC EXCLUDE_FROM_ALL "${embedded}")
  target_link_libraries(${name}_headers PRIVATE tenon_commands)
endfunction()
