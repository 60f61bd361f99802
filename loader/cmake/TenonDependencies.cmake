# The libraries that Tenon needs. Its build and programs that use the installation find them in the same way.

# Tenon::xsimd: xsimd's headers. The target `xsimd` of version 8 is not linked itself: where xsimd was built with
# xtl, as Debian's is, the target links xtl without finding it.
macro(tenon_find_xsimd)
  if(NOT TARGET Tenon::xsimd)
    if(TARGET xsimd)
      # A target of this build names one folder for the build and one for the installation, by generator expressions.
      get_target_property(Tenon_XSIMD_INCLUDE_DIR xsimd INTERFACE_INCLUDE_DIRECTORIES)
      string(REGEX REPLACE "[$]<BUILD_INTERFACE:([^>]*)>" "\\1" Tenon_XSIMD_INCLUDE_DIR "${Tenon_XSIMD_INCLUDE_DIR}")
      string(GENEX_STRIP "${Tenon_XSIMD_INCLUDE_DIR}" Tenon_XSIMD_INCLUDE_DIR)
    else()
      find_path(Tenon_XSIMD_INCLUDE_DIR xsimd/xsimd.hpp HINTS ENV TENON_XSIMD "${PACKAGE_PREFIX_DIR}/include")
      mark_as_advanced(Tenon_XSIMD_INCLUDE_DIR)
    endif()
    if(Tenon_XSIMD_INCLUDE_DIR)
      add_library(Tenon::xsimd INTERFACE IMPORTED GLOBAL)
      set_target_properties(Tenon::xsimd PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Tenon_XSIMD_INCLUDE_DIR}")
    endif()
  endif()
endmacro()

# What Tenon::loader links, by the names of pkg-config, which alone finds all of them: several come without files
# for CMake, and OpenJPEG's files name programs that Debian installs separately.
set(TENON_LOADER_MODULES protobuf-lite re2 libjpeg libpng libtiff-4 libwebpdemux libwebp libopenjp2)

# PkgConfig::TENON_LOADER: the modules. `missing` names a list that gets those which are not there.
macro(tenon_find_loader_modules missing)
  find_package(PkgConfig QUIET)
  if(NOT PKG_CONFIG_FOUND)
    list(APPEND ${missing} pkg-config)
  elseif(NOT TARGET PkgConfig::TENON_LOADER)
    pkg_check_modules(TENON_LOADER QUIET IMPORTED_TARGET GLOBAL ${TENON_LOADER_MODULES})
    if(NOT TARGET PkgConfig::TENON_LOADER)
      foreach(Tenon_module IN LISTS TENON_LOADER_MODULES)
        execute_process(COMMAND "${PKG_CONFIG_EXECUTABLE}" --exists ${Tenon_module} RESULT_VARIABLE Tenon_absent)
        if(Tenon_absent)
          list(APPEND ${missing} ${Tenon_module})
        endif()
      endforeach()
    endif()
  endif()
endmacro()
