# Headers, libraries, the tools, files for find_package and pkg-config, and the licences. All of them find each other by
# paths from where they lie themselves, so that the prefix can be moved. Components: headers, loader, tool, mpi.
include(CMakePackageConfigHelpers)
set(folder "${CMAKE_INSTALL_LIBDIR}/cmake/Tenon")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tenon" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT headers
  FILES_MATCHING PATTERN "*.hpp" PATTERN "tenon.hpp" EXCLUDE PATTERN "com.microsoft.hpp" EXCLUDE)
install(FILES "${PROJECT_BINARY_DIR}/include/tenon/tenon.hpp" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tenon"
  COMPONENT headers)
install(FILES "${PROJECT_BINARY_DIR}/include/tenon/op/com.microsoft.hpp"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tenon/op" COMPONENT headers)
# xsimd's code is in everything that is compiled.
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/loader/NOTICE" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  COMPONENT headers)
install(TARGETS tenon EXPORT TenonTargets)
install(EXPORT TenonTargets NAMESPACE Tenon:: DESTINATION "${folder}" COMPONENT headers)

# A library is for one architecture, and a shared one brings along what it links.
set(TENON_LINKS_MODULES OFF)
set(architecture ARCH_INDEPENDENT)
if(TARGET tenon_loader)
  set(architecture)
  get_target_property(type tenon_loader TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    set(TENON_LINKS_MODULES ON)
  endif()
endif()
# Until version 1 a minor version may break what the one before it had.
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/TenonConfig.cmake.in" "${PROJECT_BINARY_DIR}/TenonConfig.cmake"
  INSTALL_DESTINATION "${folder}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake" COMPATIBILITY SameMinorVersion
  ${architecture})
install(FILES "${PROJECT_BINARY_DIR}/TenonConfig.cmake" "${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/TenonDependencies.cmake" DESTINATION "${folder}" COMPONENT headers)

# pkg-config's files: the prefix in terms of the folder that they lie in, unless that was set to an absolute
# path.
set(pc_folder "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(IS_ABSOLUTE "${pc_folder}")
  set(PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH PC_PREFIX "/${pc_folder}" "/")
  string(REGEX REPLACE "/$" "" PC_PREFIX "\${pcfiledir}/${PC_PREFIX}")
endif()
foreach(which INCLUDEDIR LIBDIR)
  set(PC_${which} "${CMAKE_INSTALL_${which}}")
  if(NOT IS_ABSOLUTE "${PC_${which}}")
    string(PREPEND PC_${which} "\${prefix}/")
  endif()
endforeach()
configure_file("${CMAKE_CURRENT_LIST_DIR}/tenon.pc.in" "${PROJECT_BINARY_DIR}/tenon.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tenon.pc" DESTINATION "${pc_folder}" COMPONENT headers)

if(TARGET tenon_loader)
  install(TARGETS tenon_loader com_microsoft EXPORT TenonLoaderTargets COMPONENT loader)
  install(EXPORT TenonLoaderTargets NAMESPACE Tenon:: DESTINATION "${folder}" COMPONENT loader)
  install(TARGETS tenon_tool COMPONENT tool)
  if(TARGET tenon_mpi)
    install(TARGETS tenon_mpi COMPONENT mpi)
  endif()

  set(PC_REQUIRES "tenon = ${PROJECT_VERSION}")
  if(TENON_LINKS_MODULES)
    list(JOIN TENON_LOADER_MODULES " " modules)
    string(APPEND PC_REQUIRES " ${modules}")
  else()
    file(RELATIVE_PATH from_tool "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
    set_target_properties(${programs} PROPERTIES INSTALL_RPATH "$ORIGIN/${from_tool}")
  endif()
  set(PC_SYSTEM_LIBS)
  if(WIN32)
    set(PC_SYSTEM_LIBS " -lbcrypt")
  endif()
  get_target_property(PC_DEFINITIONS tenon_loader INTERFACE_COMPILE_DEFINITIONS)
  list(TRANSFORM PC_DEFINITIONS PREPEND -D)
  list(JOIN PC_DEFINITIONS " " PC_DEFINITIONS)
  foreach(name tenon-loader tenon-com-microsoft)
    configure_file("${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${pc_folder}" COMPONENT loader)
  endforeach()
endif()
