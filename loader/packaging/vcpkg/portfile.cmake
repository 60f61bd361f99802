vcpkg_from_git(OUT_SOURCE_PATH source URL "@URL@" REF "@REF@")

set(options -DTENON_LOADER=OFF)
if("loader" IN_LIST FEATURES)
  vcpkg_find_acquire_program(PKGCONFIG)
  set(options -DTENON_LOADER=ON "-DTENON_PROTOC=${CURRENT_HOST_INSTALLED_DIR}/tools/protobuf/protoc"
    "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}")
else()
  set(VCPKG_BUILD_TYPE release)  # headers alone have one configuration
endif()
vcpkg_cmake_configure(
  SOURCE_PATH "${source}"
  OPTIONS ${options} "-DTenon_XSIMD_INCLUDE_DIR=${CURRENT_INSTALLED_DIR}/include")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/Tenon)
vcpkg_fixup_pkgconfig()
if("loader" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES tenon AUTO_CLEAN)
endif()
# Headers and documents are the release's.
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE" "${source}/loader/NOTICE")
