vcpkg_from_git(OUT_SOURCE_PATH source URL "@URL@" REF "@REF@")

set(loader OFF)
if("loader" IN_LIST FEATURES)
  set(loader ON)
  vcpkg_find_acquire_program(PKGCONFIG)
endif()
vcpkg_cmake_configure(
  SOURCE_PATH "${source}"
  OPTIONS -DTENON_LOADER=${loader} "-DTenon_XSIMD_INCLUDE_DIR=${CURRENT_INSTALLED_DIR}/include"
    "-DTENON_PROTOC=${CURRENT_HOST_INSTALLED_DIR}/tools/protobuf/protoc" "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME Tenon CONFIG_PATH lib/cmake/Tenon)
vcpkg_fixup_pkgconfig()
if(loader)
  vcpkg_copy_tools(TOOL_NAMES tenon AUTO_CLEAN)
endif()
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE")
